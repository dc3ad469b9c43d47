"""Coding agents, unmodified, on a model that knows no tools: each writes a file, edits it and runs it."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from .installed import needs_node
from .text_server import TextServer, serve, write_call, write_calls
from .transcripts import Folders, run_claude_code, run_codex, run_gemini_cli, run_kimi, run_opencode

pytestmark = [pytest.mark.timeout(480), *needs_node]

# The smaller half runs in `.ci/run`: one dialect of each agent.
dialects = pytest.mark.parametrize("dialect", [pytest.param("python", marks=pytest.mark.smoke), "typescript"])

FIRST = 'print("one\\ttab")\n'
LAST = 'print("two `ticks`")\n'
OLD, NEW = "one\\ttab", "two `ticks`"
OUTPUT = "two `ticks`"

CREATES = f"*** Begin Patch\n*** Add File: hello.py\n+{FIRST}*** End Patch"
EDITS = f"*** Begin Patch\n*** Update File: hello.py\n@@\n-{FIRST}+{LAST}*** End Patch"


def write_turn(dialect: str, tool: str, **arguments: str) -> str:
    return write_calls(dialect, write_call(dialect, tool, **arguments), text=f"Now {tool}.")


def check_file(folders: Folders, server: TextServer) -> None:
    """Check what is on the disk, and that the model was shown what its program printed."""
    assert (folders.work / "hello.py").read_text() == LAST
    assert len(server.shown) == 4
    before, after = (shown.count(OUTPUT) for shown in server.shown[-2:])
    assert after > before


@dialects
def test_codex_with_free_form_patches(tmp_path: Path, dialect: str, cell: Callable[..., None]):
    """Codex offers the free-form patch only with models that it knows; the model writes a patch as a raw block."""
    cell("Codex", "npm:@openai/codex", "Responses", "streamed")
    patches = [f"Now a patch.\n\n```apply_patch\n{patch}\n```" for patch in (CREATES, EDITS)]
    run = write_turn(dialect, "exec_command", cmd="python3 hello.py")
    server, folders = TextServer([*patches, run, "All done."], tool="exec_command"), Folders(tmp_path)
    with serve(server, dialect) as url:
        steps = run_codex(folders, url, model="gpt-5.5")
    check_file(folders, server)
    assert steps == [
        ("text", "Now a patch."),
        ("file", "add hello.py"),
        ("text", "Now a patch."),
        ("file", "update hello.py"),
        ("text", "Now exec_command."),
        ("command", f"{OUTPUT}\n", "0"),
        ("text", "All done."),
    ]
    assert "begin_patch hunk+ end_patch" in server.shown[0]  # the grammar of a patch
    assert CREATES in server.shown[1]


@pytest.mark.parametrize("dialect", ["python", "typescript"])
def test_codex_with_a_model_that_it_does_not_know(tmp_path: Path, dialect: str, cell: Callable[..., None]):
    """It offers no patch then, and all is done by commands."""
    cell("Codex", "npm:@openai/codex", "Responses", "streamed")
    folders = Folders(tmp_path)
    (folders.home / "first").write_text(FIRST)
    commands = [f"cp {folders.home}/first hello.py", "echo 'print(\"two `ticks`\")' > hello.py", "python3 hello.py"]
    turns = [write_turn(dialect, "exec_command", cmd=command) for command in commands]
    server = TextServer([*turns, "All done."], tool="exec_command")
    with serve(server, dialect) as url:
        steps = run_codex(folders, url)
    check_file(folders, server)
    ran = [("text", "Now exec_command."), ("command", "", "0")]
    assert steps == [*ran, *ran, ran[0], ("command", f"{OUTPUT}\n", "0"), ("text", "All done.")]
    assert "apply_patch(" not in server.shown[0]


@dialects
def test_claude_code(tmp_path: Path, dialect: str, cell: Callable[..., None]):
    cell("Claude Code", "npm:@anthropic-ai/claude-code", "Messages", "streamed")
    folders = Folders(tmp_path)
    path = str(folders.work / "hello.py")
    turns = [
        write_turn(dialect, "Write", file_path=path, content=FIRST),
        write_turn(dialect, "Edit", file_path=path, old_string=OLD, new_string=NEW),
        write_turn(dialect, "Bash", command="python3 hello.py", description="Run it"),
    ]
    server = TextServer([*turns, "All done."], tool="file_path")
    with serve(server, dialect) as url:
        steps = run_claude_code(folders, url)
    check_file(folders, server)
    results = [text for kind, text in steps if kind == "result"]
    assert results[0].startswith(f"File created successfully at: {path}")
    assert results[1].startswith(f"The file {path} has been updated successfully.")
    assert results[2] == OUTPUT
    said = [("text", f"Now {name}.") for name in ("Write", "Edit", "Bash")]
    used = [("tool_use", name) for name in ("Write", "Edit", "Bash")]
    pairs = [step for turn in zip(said, used, strict=True) for step in turn]
    assert [step for step in steps if step[0] != "result"] == [*pairs, ("text", "All done.")]


@dialects
def test_opencode(tmp_path: Path, dialect: str, cell: Callable[..., None]):
    cell("opencode", "npm:opencode-ai", "Chat", "streamed")
    folders = Folders(tmp_path)
    path = str(folders.work / "hello.py")
    turns = [
        write_turn(dialect, "write", filePath=path, content=FIRST),
        write_turn(dialect, "edit", filePath=path, oldString=OLD, newString=NEW),
        write_turn(dialect, "bash", command="python3 hello.py", description="Run it"),
    ]
    server = TextServer([*turns, "All done."], tool="filePath")
    with serve(server, dialect) as url:
        steps = run_opencode(folders, url)
    check_file(folders, server)
    assert steps == [
        ("text", "Now write."),
        ("tool", "write", "Wrote file successfully."),
        ("text", "Now edit."),
        ("tool", "edit", "Edit applied successfully."),
        ("text", "Now bash."),
        ("tool", "bash", f"{OUTPUT}\n"),
        ("text", "All done."),
    ]


@dialects
def test_gemini_cli(tmp_path: Path, dialect: str, cell: Callable[..., None]):
    cell("Gemini CLI", "npm:@google/gemini-cli", "Gemini", "streamed")
    folders = Folders(tmp_path)
    path = str(folders.work / "hello.py")
    change = {"instruction": "Change the text.", "old_string": OLD, "new_string": NEW}
    turns = [
        write_turn(dialect, "write_file", file_path=path, content=FIRST),
        write_turn(dialect, "replace", file_path=path, **change),
        write_turn(dialect, "run_shell_command", command="python3 hello.py", description="Run it"),
    ]
    server = TextServer([*turns, "All done."], tool="write_file")
    with serve(server, dialect) as url:
        steps = run_gemini_cli(folders, url)
    check_file(folders, server)
    assert steps == [
        ("text", "Now write_file."),
        ("tool", "write_file", ""),
        ("text", "Now replace."),
        ("tool", "replace", ""),
        ("text", "Now run_shell_command."),
        ("tool", "run_shell_command", OUTPUT),
        ("text", "All done."),
    ]


KIMI = "npm:@moonshot-ai/kimi-code"
KIMI_APIS = {"google-genai": "Gemini", "openai": "Chat", "openai_responses": "Responses", "anthropic": "Messages"}


@pytest.mark.parametrize("kind", KIMI_APIS)
@dialects
def test_kimi_code(tmp_path: Path, dialect: str, kind: str, cell: Callable[..., None]):
    cell("Kimi Code", KIMI, KIMI_APIS[kind], "streamed")
    folders = Folders(tmp_path)
    path = str(folders.work / "hello.py")
    turns = [
        write_turn(dialect, "Write", path=path, content=FIRST),
        write_turn(dialect, "Edit", path=path, old_string=OLD, new_string=NEW),
        write_turn(dialect, "Bash", command="python3 hello.py", description="Run it"),
    ]
    server = TextServer([*turns, "All done."], tool="old_string")
    with serve(server, dialect) as url:
        steps = run_kimi(folders, url, kind)
    check_file(folders, server)
    assert steps == [
        ("text", "Now Write."),
        ("tool", "Write", f"Wrote {len(FIRST)} bytes to {path}"),
        ("text", "Now Edit."),
        ("tool", "Edit", f"Replaced 1 occurrence in {path}"),
        ("text", "Now Bash."),
        ("tool", "Bash", f"{OUTPUT}\n"),
        ("text", "All done."),
    ]


CUT = "The weather in Paris is about to be told when the server dies, which nobody has expected."
WORDS = "ended the connection in the middle of an answer"


class Agent(NamedTuple):
    """An agent whose first stream is cut: a row of the table, a word in its requests, and what it prints of the cut."""

    name: str
    package: str
    api: str
    run: Callable[[Folders, str], list[tuple[str, ...]]]
    word: str
    prints: str = ""


CODEX_PRINTS = f"Reconnecting... 1/5 (stream disconnected before completion: text at URL {WORDS}"
KIMI_PRINTS = {"google-genai": "Incomplete JSON segment at the end"}
AGENTS = [
    Agent("Codex", "npm:@openai/codex", "Responses", run_codex, "exec_command", CODEX_PRINTS),
    Agent("Claude Code", "npm:@anthropic-ai/claude-code", "Messages", run_claude_code, "file_path"),
    Agent("Gemini CLI", "npm:@google/gemini-cli", "Gemini", run_gemini_cli, "write_file"),
    Agent("opencode", "npm:opencode-ai", "Chat", run_opencode, "filePath"),
    *(
        Agent("Kimi Code", KIMI, api, partial(run_kimi, kind=kind), "old_string", KIMI_PRINTS.get(kind, WORDS))
        for kind, api in KIMI_APIS.items()
    ),
]


@pytest.mark.parametrize("agent", [pytest.param(each, id=f"{each.name}, {each.api}") for each in AGENTS])
def test_a_stream_that_is_cut_is_asked_for_again(tmp_path: Path, agent: Agent, cell: Callable[..., None]):
    """Agents do not end with an error. They ask once more, and some print why."""
    cell(agent.name, agent.package, agent.api, "cut stream")
    folders = Folders(tmp_path)
    server = TextServer([CUT] * 9, tool=agent.word, cuts=1)
    with serve(server, "python") as url:
        steps = agent.run(folders, url)
    assert steps[-1][0] == "text"
    assert steps[-1][1].endswith(CUT)
    assert len(server.shown) == 2
    printed = re.sub(r"http://127.0.0.1:\d+/v1", "URL", folders.done.stdout + folders.done.stderr)
    assert agent.prints in printed, printed
