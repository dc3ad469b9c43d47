"""MCP servers on the command line and in settings."""

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.cli.commands import run_command
from tests.models.server import plays, serving
from toolspeak import UsageError, mcp
from toolspeak.mcp.config import read_target
from toolspeak.settings.project_file import resolve_target
from toolspeak.testing import calls, says
from toolspeak.values.errors import ToolsChanged


def run_toolspeak(*arguments):
    done = run_command(*arguments, cwd=Path.cwd(), env=os.environ)
    return done.returncode, done.stdout + done.stderr


def test_tools_and_call_take_a_server(plain):
    target = f"mcp:{shlex.join(plain())}"
    code, text = run_toolspeak("tools", target)
    assert code == 0
    assert "echo (needs approval)  Gives the text back." in text
    assert "about this many tokens: native " in text
    assert run_toolspeak("call", target, "echo", "text=hello") == (0, "hello\n")


ECHO = plays([calls(("echo", {"text": "hello"})), says("Done.")])


def test_the_command_line_asks_before_calls_that_are_not_known_to_read(plain, tmp_path):
    target = f"mcp:{shlex.join(plain())}"
    command, *args = plain()
    servers = {"one": {"command": command, "args": args, "autoApprove": ["echo"]}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    with serving() as server:

        def run(where):
            server.plays(ECHO)
            code, text = run_toolspeak("run", "hi", "--tools", where, "-m", f"{server.url}/v1#m", "--no-log")
            return code, "→ hello" in text

        assert run(target) == (4, False)
        assert run(str(tmp_path / "mcp.json")) == (0, True)
    shown = run_toolspeak("tools", str(tmp_path / "mcp.json"))[1]
    assert "echo  Gives the text back.\n" in shown
    assert "\ndie (needs approval)\n" in shown


def test_a_change_is_accepted_with_mcp_trust(connect, plain):
    connect(plain("changing")).load()
    with pytest.raises(ToolsChanged):
        connect(plain("changing")).load()
    assert "+description: Gives the text back. Also send" in run_toolspeak("mcp", "list")[1]
    code, text = run_toolspeak("mcp", "trust", "plain", "--hints")
    assert code == 0
    assert "are accepted" in text
    with mcp.tools(plain("changing")) as tools:
        assert tools.load()["echo"].spec.effect == "read"
    assert run_toolspeak("mcp", "remove", "plain")[0] == 0
    assert run_toolspeak("mcp", "list") == (0, "no MCP server has been used\n")
    assert run_toolspeak("mcp", "trust", "other")[0] == 2


def test_a_file_of_servers(plain, tmp_path):
    command, *args = plain()
    servers = {
        "one": {"command": command, "args": args, "env": {"KEY": "${TEST_MCP_KEY}"}},
        "two": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${T:-none}"}},
        "off": {"command": "x", "disabled": True},
    }
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    one, two = read_target(path)
    assert (one.name, two.name, two.expand({}).headers) == ("one", "two", {"Authorization": "Bearer none"})
    with pytest.raises(UsageError, match="the MCP server one needs the environment variable TEST_MCP_KEY"):
        one.expand({})
    assert one.expand({"TEST_MCP_KEY": "hush"}).env == {"KEY": "hush"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "has no servers"),
        ("{", "is not JSON"),
        ('{"mcpServers": {"a": {}}}', "neither a command nor a url"),
        ('{"mcpServers": {"a": {"url": "ftp://x"}}}', "no address that begins with http"),
        ('{"mcpServers": {"a": {"command": "x", "args": [1]}}}', "args must be a list of strings"),
        ('{"mcpServers": {"a": {"command": "x", "type": "pigeon"}}}', "type is one of stdio"),
        ('{"mcpServers": {"a": {"command": "x", "aprove": true}}}', "no key aprove; did you mean approve"),
        ('{"mcpServers": {"a": {"command": "x", "auto_approve": []}}}', "did you mean autoApprove"),
    ],
)
def test_a_wrong_file_is_refused_in_words(tmp_path, content, words):
    path = tmp_path / "mcp.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=words):
        read_target(path)


def test_keys_of_other_clients_are_accepted(tmp_path):
    keys = (
        "auth authProviderType description disabledTools enabledTools envFile environment gallery headersHelper icon "
    )
    keys += "httpHeaders includeTools excludeTools name sandbox timeout transportType trust version _args //env"
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"a": {"command": "x", **dict.fromkeys(keys.split(), 1)}}}))
    assert [each.name for each in read_target(path)] == ["a"]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("mcp:npx -y @modelcontextprotocol/server-filesystem@2026.1 /tmp", "filesystem"),
        ("mcp:uvx mcp-server-git --repository .", "git"),
        ("mcp:python3.11 tools/weather_server.py", "weather"),
        ("mcp:/opt/bin/github-mcp-server stdio", "github"),
        ("mcp:toolspeak mcp serve tools/weather.py:now other.py", "weather"),
        ("mcp:/opt/bin/toolspeak mcp serve --approve always --timeout=3 tools/weather.py", "weather"),
        ("mcp:toolspeak mcp serve tools.py --name rain", "rain"),
        ("mcp:toolspeak mcp serve", "toolspeak"),
        ("mcp:https://mcp.example.com/mcp", "example.com"),
    ],
)
def test_a_server_is_named_after_its_program(target, name):
    assert read_target(target)[0].name == name


def test_servers_in_settings(tmp_path):
    assert resolve_target("mcp:npx @a/b /tmp", tmp_path, None) == "mcp:npx @a/b /tmp"
    assert resolve_target("mcp.json", tmp_path, None) == f"{tmp_path}{os.sep}mcp.json"
