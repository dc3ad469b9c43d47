"""Clients of MCP, unmodified, on functions that `toolspeak mcp serve` serves."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.connecting import OFFICE, ROOT, command

from .installed import find_program, needs_node, run_program
from .text_server import TextServer, serve, write_call, write_calls
from .transcripts import Folders, run_claude_code

pytestmark = [pytest.mark.timeout(480), *needs_node]

SHOW_ALL_TOOLS = json.dumps({"env": {"ENABLE_TOOL_SEARCH": "false"}})  # else the model must look for them first
VARIABLES = {"PYTHONPATH": str(ROOT / "src")}


@pytest.mark.smoke
def test_claude_code_calls_a_function(tmp_path: Path):
    """A model that knows no tools calls a plain function: through the gateway, Claude Code and MCP."""
    program, *arguments = command(str(OFFICE))
    settings = {"mcpServers": {"office": {"command": program, "args": arguments, "env": VARIABLES}}}
    (tmp_path / "mcp.json").write_text(json.dumps(settings))
    calls = [write_call("python", "mcp__office__add", first=41), write_call("python", "mcp__office__write", letters=3)]
    script = [write_calls("python", each, text="Now a call.") for each in calls]
    server, folders = TextServer([*script, "All done."], tool="mcp__office__add"), Folders(tmp_path)
    with serve(server, "python") as url:
        options = ("--mcp-config", str(tmp_path / "mcp.json"), "--strict-mcp-config", "--settings", SHOW_ALL_TOOLS)
        steps = run_claude_code(folders, url, options=options, allowed="mcp__office")
    assert "Add two numbers." in server.shown[0]
    assert [step for step in steps if step[0] != "result"] == [
        ("text", "Now a call."),
        ("tool_use", "mcp__office__add"),
        ("text", "Now a call."),
        ("tool_use", "mcp__office__write"),
        ("text", "All done."),
    ]
    added, written = (text for kind, text in steps if kind == "result")
    assert json.loads(added) == {"result": 42}  # it shows the typed output to the model, where there is one
    assert written == "xxx"


def inspect(tmp_path: Path, *arguments: str) -> Any:
    folders = Folders(tmp_path)
    program = [find_program("mcp-inspector"), "--cli", *command(str(OFFICE)), *arguments]
    done = run_program(program, folders.home, folders.work, VARIABLES, 400)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_inspector_lists_the_functions(tmp_path: Path):
    tools = inspect(tmp_path, "--method", "tools/list")["tools"]
    (add,) = (each for each in tools if each["name"] == "add")
    assert add["annotations"] == {"readOnlyHint": True}


def test_the_inspector_calls_a_function(tmp_path: Path):
    call = ("--method", "tools/call", "--tool-name", "add", "--tool-arg", "first=41")
    assert inspect(tmp_path, *call)["structuredContent"] == {"result": 42}
