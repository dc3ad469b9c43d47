"""Which server a target means: the same in every folder, or none."""

import json
import os

import pytest

from tests.cases import each_case
from toolspeak import UsageError
from toolspeak.cli.conversations import encode_tools, select_tools
from toolspeak.mcp.config import OAuthClient, ServerConfig, read_target
from toolspeak.settings import Settings
from toolspeak.settings.project_file import find_project, resolve_target
from toolspeak.settings.server_targets import hide_keys


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Return the user's folder, which is the working directory, with a server. A stranger's lies beside it."""
    for name in ("mine", "theirs"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "server.py").write_text(f"# {name}")
        (folder / "mcp.json").write_text(
            json.dumps({"mcpServers": {"s": {"command": "python", "args": ["server.py"]}}})
        )
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


def select(saved):
    warnings = []
    return select_tools(saved, warnings.append), warnings


@pytest.mark.parametrize("command", ["python server.py", "npx some-server", "python -m server"])
def test_a_program_is_started_again_only_in_its_folder(mine, monkeypatch, command):
    saved = json.loads(json.dumps(encode_tools([f"mcp:{command}"])))
    [target] = select(saved)[0]
    assert read_target(target)[0].identity == read_target(f"mcp:{command}")[0].identity
    monkeypatch.chdir(mine.parent / "theirs")
    targets, [warning] = select(saved)
    assert not targets
    assert f"used in the folder {mine}; name them with --tools" in warning


def test_a_program_is_not_started_again_when_its_script_has_changed(mine):
    saved = encode_tools(["mcp:python server.py", "mcp:python --config=later.json"])
    (mine / "server.py").write_text("# another")
    (mine / "later.json").write_text("{}")
    targets, warnings = select(saved)
    assert not targets
    assert all("have changed since" in warning for warning in warnings)


def test_a_script_that_everybody_may_write_is_not_run_again(mine):
    saved = encode_tools(["mcp:python server.py"])
    (mine / "server.py").chmod(0o666)
    targets, [warning] = select(saved)
    assert not targets
    assert "every user may write to it" in warning


def test_what_was_remembered_without_a_folder_is_not_started(mine):
    assert select([{"target": "mcp:python server.py", "fingerprint": ""}])[0] == ()


@pytest.mark.parametrize("target", ["mcp.json", "mcp:mcp.json", "mcp: ./mcp.json"])
def test_a_file_of_servers_means_the_same_in_every_folder(mine, monkeypatch, target):
    saved = encode_tools([target])
    monkeypatch.chdir(mine.parent / "theirs")
    assert select(saved) == ((str(mine / "mcp.json"),), [])
    [server] = read_target(str(mine / "mcp.json"))
    assert (server.cwd, server.place) == (str(mine), f"python {mine / 'server.py'}")
    (mine / "server.py").write_text("# another")
    assert select(saved)[0] == ()


def test_a_folder_in_a_file_is_relative_to_the_file(mine):
    (mine / "mcp.json").write_text('{"mcpServers": {"a": {"command": "x", "cwd": "sub"}}}')
    assert read_target("mcp.json")[0].cwd == str(mine / "sub")


@pytest.mark.parametrize("target", ["mcp:python server.py", "mcp:python --run=server.py", "mcp:mcp.json", "mcp.json"])
def test_the_script_of_a_server_is_part_of_the_fingerprint_of_a_project(mine, target):
    (mine / "toolspeak.toml").write_text(f'tools = ["{target}"]')
    before = find_project(mine).file
    (mine / "server.py").write_text("# another")
    after = find_project(mine).file
    assert before.fingerprint != after.fingerprint
    (mine / "server.py").chmod(0o666)
    assert "every user may write to it" in find_project(mine).skipped[0].reason


def test_files_of_a_server_in_settings_are_relative_to_the_settings(mine, monkeypatch):
    monkeypatch.chdir(mine.parent)
    assert resolve_target("mcp:python server.py a b", mine, None) == f"mcp:python {mine}{os.sep}server.py a b"
    assert resolve_target("mcp:mcp.json", mine, None) == str(mine / "mcp.json")
    assert resolve_target("mcp:https://example.com/x.json", mine, None) == "mcp:https://example.com/x.json"


@pytest.mark.parametrize("command", [("python", "server.py"), ("./server.py",), ("python", "-m", "server")])
def test_a_script_of_the_same_name_in_another_folder_is_another_server(mine, command):
    here = ServerConfig(name="s", command=command)
    there = ServerConfig(name="s", command=command, cwd=str(mine.parent / "theirs"))
    assert here.identity != there.identity
    assert str(mine) in here.place
    assert here.identity == ServerConfig(name="s", command=command, cwd=str(mine)).identity


def test_a_program_from_elsewhere_is_the_same_server_everywhere(mine):
    here = ServerConfig(name="s", command=("npx", "some-server"))
    assert here.identity == ServerConfig(name="s", command=("npx", "some-server"), cwd=str(mine.parent)).identity


def test_the_query_of_an_address_tells_servers_apart():
    [one], [two] = (read_target(f"mcp:https://example.com/mcp?tenant={name}") for name in "ab")
    assert one.identity != two.identity
    assert one.place == two.place == "https://example.com/mcp"


@pytest.mark.parametrize(
    "target",
    [
        "mcp:https://example.com/mcp?key=hush",
        "mcp:https://user:hush@example.com/mcp",
        "mcp:https://hush@example.com/mcp",
        "mcp:https://example.com/s/hush4f0c1d2e3f405162738495/mcp",
        "mcp:npx server --api-key hush",
        "mcp:npx server --api-key=hush",
        "mcp:docker run -e GITHUB_TOKEN=hush image",
        "mcp:npx mcp-remote https://example.com --header 'Authorization: Bearer hush'",
        "mcp:npx server hush4f0c1d2e3f405162738495",
    ],
)
def test_a_key_is_not_remembered(target):
    saved = encode_tools([target])
    assert "hush" not in json.dumps(saved)
    targets, [warning] = select(saved)
    assert not targets
    assert "keys are not remembered; name them with --tools" in warning


@pytest.mark.parametrize(
    "target",
    [
        "mcp:https://example.com/mcp?key=${KEY}",
        "mcp:https://user:${KEY}@example.com/mcp",
        "mcp:npx server --api-key ${KEY}",
        "mcp:npx mcp-remote https://example.com --header 'Authorization: Bearer ${KEY}'",
        "mcp:npx -y @modelcontextprotocol/server-filesystem /srv",
    ],
)
def test_the_name_of_a_variable_is_remembered(target):
    assert select(encode_tools([target])) == ((target,), [])


@each_case("target, shown", [
    ("mcp:https://user:hush@example.com/mcp?key=hush", "mcp:https://…@example.com/mcp?key=…"),
    ("mcp:https://example.com/mcp?hush", "mcp:https://example.com/mcp?…"),
    ("mcp:https://user:hush#x@example.com/mcp", "mcp:https://…"),
    ("mcp:https://${KEY}:hush@example.com/mcp", "mcp:https://…@example.com/mcp (${KEY})"),
    ("mcp:https://example.com/mcp?a=1&key=x${KEY}", "mcp:https://example.com/mcp?a=…&key=${KEY}"),
    ("mcp:https://example.com/mcp", "mcp:https://example.com/mcp"),
    ("mcp:npx server --path a=b", "mcp:npx server --path a=b"),
    ("tools.py", "tools.py"),
])  # fmt: skip
def test_targets_are_shown_without_keys_and_with_the_variables_that_they_send(target, shown):
    assert hide_keys(target) == shown
    assert shown in repr(Settings(tools=(target,)))


def test_a_configuration_is_shown_without_its_keys():
    config = ServerConfig(
        name="s",
        transport="http",
        command=("server", "--token", "hush"),
        url="https://user:hush@example.com/mcp?key=hush",
        env={"KEY": "hush"},
        headers={"authorization": "hush"},
        oauth=OAuthClient(client_id="me", client_secret="hush"),
    )
    assert config.place == "https://…@example.com/mcp"
    assert "hush" not in repr(config)


def test_an_address_that_is_none_is_not_shown():
    with pytest.raises(UsageError) as raised:
        read_target("mcp:http://?key=hush")
    assert "hush" not in str(raised.value)
