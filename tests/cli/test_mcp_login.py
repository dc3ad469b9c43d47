"""The commands `mcp login` and `mcp logout`."""

import json

import pytest

from tests.cli.commands import run_command
from tests.cli.terminal import environment, terminal
from tests.mcp.authorization import Authority, browse, serve_notes
from toolspeak.mcp.config import read_target
from toolspeak.settings.user_files import list_logins, save_login


@pytest.fixture
def notes():
    """Return the address of an MCP server that wants a login."""
    with serve_notes(Authority()) as address:
        yield address


@pytest.fixture
def config_env(tmp_path, monkeypatch):
    folder = str(tmp_path / "config")
    monkeypatch.setenv("TOOLSPEAK_CONFIG_FOLDER", folder)
    return environment(tmp_path, TOOLSPEAK_CONFIG_FOLDER=folder)


@pytest.fixture
def toolspeak(tmp_path, config_env):
    """Return a function that runs a command, and returns its exit code and its output."""

    def run(*arguments):
        done = run_command(*arguments, cwd=tmp_path, env=config_env)
        return done.returncode, done.stdout + done.stderr

    return run


def test_mcp_login_and_logout(notes, tmp_path, config_env, toolspeak):
    with terminal(tmp_path, "mcp", "login", notes, "--no-browser", env=config_env, columns=400) as screen:
        screen.wait_for("waiting; Ctrl-C gives up")
        (address,) = [line.strip() for line in screen.all_text.splitlines() if "code_challenge" in line]
        browse(address)
        screen.wait_for("you are logged in to 127.0.0.1")
        assert screen.wait_for_exit() == 0
    code, text = toolspeak("call", f"mcp:{notes}", "greet", "name=Ada")
    assert (code, json.loads(text)) == (0, {"result": "hello Ada"})
    assert "1 tool, logged in" in toolspeak("mcp", "list")[1]
    assert toolspeak("mcp", "logout", "127.0.0.1")[0] == 0
    assert not list_logins()


def test_mcp_login_needs_a_terminal(notes, toolspeak):
    code, text = toolspeak("mcp", "login", notes)
    assert code == 2
    assert "needs a terminal" in text
    code, text = toolspeak("mcp", "login", "other")
    assert "no MCP server named 'other' asked for a login; known are: none" in text


def test_servers_of_the_same_name_are_told_apart(toolspeak):
    for port in (1, 2):
        (config,) = read_target(f"mcp:http://127.0.0.1:{port}/mcp")
        save_login(config.identity, {"name": config.name, "url": config.url, "type": "http"})
    code, text = toolspeak("mcp", "logout", "127.0.0.1")
    assert code == 2
    assert f"{config.identity[:8]} is http://127.0.0.1:2/mcp" in text
    assert toolspeak("mcp", "logout", config.identity[:8])[0] == 0
    assert len(list_logins()) == 1
