"""Which settings of a project count: those of a trusted one, and harmless ones; and who may have written its file."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case
from toolspeak import Agent
from toolspeak.models import SERVERS
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import load
from toolspeak.settings.files import find_other_writer
from toolspeak.settings.loader import load_with_project
from toolspeak.settings.project_file import BUILT_IN_ENDPOINTS, BUILT_IN_KEY_VARIABLES, find_project
from toolspeak.settings.trust import find_decision, is_named_by_variable, list_decisions, remove_decision, save_decision
from toolspeak.values.errors import UsageError

HOSTILE = """
model = "x:y"
dialect = "json"
tools = ["t.py"]
approve = "never"
limits = {turns = 3, concurrent = 100000, tokens = "none"}
local = {threads = 2, slots = 9}
[endpoints.x]
base_url = "http://127.0.0.1:9/v1"
key_env = "GITHUB_TOKEN"
"""

needs_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "project"
    home.mkdir()
    return home


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"TOOLSPEAK_CONFIG_FOLDER": str(tmp_path / "config"), "HOME": str(tmp_path)}


def write(folder: Path, text: str = HOSTILE, name: str = "toolspeak.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def fingerprint(folder: Path, environ: dict[str, str]) -> str:
    found = find_project(folder, environ).file
    assert found is not None
    return found.fingerprint


# What counts


def test_without_trust_only_harmless_settings_count(folder: Path, environ: dict[str, str]):
    path = write(folder)
    loaded = load_with_project(find_project(folder, environ), trusted=False, environ=environ)
    assert (loaded.model, loaded.tools, loaded.approve, dict(loaded.endpoints)) == ("local", (), "ask", {})
    assert (loaded.dialect, loaded.limits.turns, loaded.local.threads, loaded.local.slots) == ("json", 3, 2, 1)
    assert loaded.limits.concurrent != 100000
    assert loaded.limits.tokens == load(environ=environ).limits.tokens
    (ignored,) = loaded.ignored
    assert (ignored.where, ignored.reason) == (str(path), "it is not trusted")
    assert dict(ignored.rows).keys() == {
        "model", "tools", "approve", "limits.concurrent", "limits.tokens", "local.slots", "endpoints.x",
    }  # fmt: skip
    assert "key in GITHUB_TOKEN" in dict(ignored.rows)["endpoints.x"]


def test_a_limit_counts_only_if_it_is_lower_than_the_users(folder: Path, environ: dict[str, str], tmp_path: Path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("limits = {turns = 2, calls = 'none'}")
    write(folder, "limits = {turns = 3, calls = 7}")
    loaded = load_with_project(find_project(folder, environ), trusted=False, environ=environ)
    assert (loaded.limits.turns, loaded.limits.calls) == (2, 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('approve = "always"', "cannot be set by a project"),
        ('[endpoints.openai]\nbase_url = "http://h/v1"', "cannot redefine the endpoint openai"),
        ('[endpoints.OpenAI]\nbase_url = "http://h/v1"', "cannot redefine the endpoint OpenAI"),
        ('[endpoints.ollama]\nbase_url = "http://h/v1"', "cannot redefine the endpoint ollama"),
        ('[endpoints.x]\nbase_url = "http://h/v1"\nkey_env = "OPENAI_API_KEY"', "cannot use OPENAI_API_KEY"),
        ('[endpoints.x]\nbase_url = "http://h/v1"\nkey_env = "TOOLSPEAK_API_KEY"', "cannot use TOOLSPEAK_API_KEY"),
    ],
)
def test_no_trust_lets_a_project_do_what_is_the_users_alone(
    folder: Path, environ: dict[str, str], text: str, message: str
):
    write(folder, text)
    with pytest.raises(UsageError, match=message):
        load(folder, environ=environ)
    assert load_with_project(find_project(folder, environ), trusted=False, environ=environ).ignored


@each_case(
    "entry",
    {
        "header": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer ${OPENAI_API_KEY}"}},
        "address": {"url": "https://h/${ANTHROPIC_API_KEY}/mcp"},
        "query": {"url": "https://h/mcp?k=${env:OPENAI_API_KEY}"},
        "login": {"url": "https://h/mcp", "oauth": {"clientSecret": "${GROQ_API_KEY}"}},
        "word": {"command": "npx", "args": ["x", "--key=${OPENAI_API_KEY}"]},
        "variable": {"command": "npx", "args": ["x"], "env": {"OPENAI_API_KEY": "${OPENAI_API_KEY}"}},
        "default of another": {"command": "npx", "args": ["${NONE:-${OPENAI_API_KEY}}"]},
        "program": {"command": "${OPENAI_API_KEY:-npx}"},
        "folder": {"command": "npx", "cwd": "${TOOLSPEAK_API_KEY}"},
    },
)
def test_no_project_gives_the_key_of_a_built_in_endpoint_to_a_server(
    folder: Path, environ: dict[str, str], entry: dict[str, Any]
):
    write(folder, 'tools = ["mcp.json"]')
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"s": entry}}))
    with pytest.raises(UsageError, match=r"a project cannot give .*_API_KEY, which is the key of a built-in endpoint"):
        load(folder, environ=environ)
    assert load_with_project(find_project(folder, environ), trusted=False, environ=environ).tools == ()


def test_no_target_of_a_project_holds_the_key_of_a_built_in_endpoint(folder: Path, environ: dict[str, str]):
    for target in ("mcp:https://h/${OPENAI_API_KEY}/mcp", "mcp:npx x ${OPENAI_API_KEY}"):
        write(folder, f'tools = ["{target}"]')
        with pytest.raises(UsageError, match="a project cannot give OPENAI_API_KEY"):
            load(folder, environ=environ)


def test_the_built_in_endpoints_and_keys_are_those_of_the_models():
    assert set(SERVERS) == BUILT_IN_ENDPOINTS
    variables = {name for each in SERVERS.values() for name in (each.key_variable, each.other_key_variable) if name}
    assert variables | {"TOOLSPEAK_API_KEY"} == BUILT_IN_KEY_VARIABLES


def test_the_users_own_file_may_redefine_a_built_in_endpoint(environ: dict[str, str], tmp_path: Path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('approve = "always"\nendpoints.ollama.base_url = "http://h/v1"')
    loaded = load(environ=environ)
    assert (loaded.approve, loaded.endpoints["ollama"].base_url) == ("always", "http://h/v1")


# The library


def test_the_library_reads_no_project_unless_told(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(folder, 'model = "work:m"\n[endpoints.work]\nbase_url = "http://127.0.0.1:9/v1"')
    monkeypatch.setenv("TOOLSPEAK_CONFIG_FOLDER", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    assert load().endpoints == {}
    with pytest.raises(UsageError, match="has no known endpoint"):
        find_model("work:m")
    with pytest.raises(UsageError, match="has no known endpoint"):
        Agent("work:m")
    for told in (load(folder), load(folder / "toolspeak.toml")):
        assert find_model("work:m", configured=told).name == "work:m"
        assert Agent(settings=told).model.name == "work:m"


# Fingerprints and decisions


def test_a_decision_ends_with_any_change(folder: Path, environ: dict[str, str]):
    write(folder, 'tools = ["t.py:f", "box/", "bag", "later.py"]')
    for name in ("t.py", "box/a.py", "box/pkg/__init__.py", "box/pkg/_b.py", "bag/c.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x = 1")
    project = find_project(folder, environ).file
    assert project is not None
    file = save_decision(project, trusted=True, environ=environ)
    assert file.stat().st_mode & 0o077 == 0
    decision = find_decision(project, environ=environ)
    assert decision is not None
    assert decision.is_trusted
    for name in ("t.py", "box/a.py", "box/pkg/_b.py", "bag/c.py", "box/new.py", "later.py", "toolspeak.toml"):
        before = fingerprint(folder, environ)
        with (folder / name).open("a") as changed:
            changed.write("\n# changed")
        assert fingerprint(folder, environ) != before, name
    again = find_project(folder / "box", environ).file
    assert again is not None
    assert find_decision(again, environ=environ) is None


def test_other_parts_of_a_pyproject_may_change(folder: Path, environ: dict[str, str]):
    table = '[tool.toolspeak]\nmodel = "a"\n'
    write(folder, table, "pyproject.toml")
    before = fingerprint(folder, environ)
    write(folder, f'{table}[project]\nname = "other"\n', "pyproject.toml")
    assert fingerprint(folder, environ) == before
    write(folder, table.replace('"a"', '"b"'), "pyproject.toml")
    assert fingerprint(folder, environ) != before


def test_the_same_settings_elsewhere_are_not_trusted(folder: Path, environ: dict[str, str], tmp_path: Path):
    write(folder)
    project = find_project(folder, environ).file
    assert project is not None
    save_decision(project, trusted=True, environ=environ)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write(elsewhere)
    copy = find_project(elsewhere, environ).file
    assert copy is not None
    assert find_decision(copy, environ=environ) is None


def test_decisions_are_listed_and_removed(folder: Path, environ: dict[str, str]):
    path = write(folder)
    project = find_project(folder, environ).file
    assert project is not None
    save_decision(project, trusted=False, environ=environ)
    assert [(each.path, each.is_trusted) for each in list_decisions(environ=environ)] == [(path, False)]
    path.unlink()
    assert remove_decision(folder / "below", environ=environ) is not None
    assert list_decisions(environ=environ) == []
    assert remove_decision(folder, environ=environ) is None


def test_the_variable_names_one_project(folder: Path, environ: dict[str, str], tmp_path: Path):
    write(folder)
    project = find_project(folder, environ).file
    assert project is not None
    assert is_named_by_variable(project, {"TOOLSPEAK_TRUST_PROJECT": str(folder)})
    assert not is_named_by_variable(project, {"TOOLSPEAK_TRUST_PROJECT": str(tmp_path)})
    assert not is_named_by_variable(project, {})
    for wrong in ("1", "true", "project", "/no/such/folder"):
        with pytest.raises(UsageError, match="takes the folder of the project"):
            is_named_by_variable(project, {"TOOLSPEAK_TRUST_PROJECT": wrong})


@pytest.mark.slow
def test_too_many_tool_files_are_an_error(folder: Path, environ: dict[str, str]):
    write(folder, 'tools = ["box/"]')
    (folder / "box").mkdir()
    for number in range(2001):
        (folder / "box" / f"m{number}.py").touch()
    with pytest.raises(UsageError, match="more than 2000 files"):
        find_project(folder, environ)


# Files of others


@needs_root
@pytest.mark.parametrize("name", ["toolspeak.toml", "pyproject.toml"])
def test_a_file_of_another_user_is_skipped_and_the_next_one_taken(
    folder: Path, environ: dict[str, str], tmp_path: Path, name: str
):
    write(tmp_path, 'model = "above"')
    text = '[tool.toolspeak]\nmodel = "evil"' if name == "pyproject.toml" else 'model = "evil"'
    path = write(folder, text, name)
    os.chown(path, 65534, 65534)
    loaded = load(folder, environ=environ)
    assert loaded.model == "above"
    assert [(each.where, each.rows) for each in loaded.ignored] == [(str(path), ())]
    assert "it belongs to the user" in loaded.ignored[0].reason


@needs_root
def test_tool_files_and_folders_of_another_user_make_a_project_skipped(folder: Path, environ: dict[str, str]):
    write(folder, 'tools = ["t.py"]')
    (folder / "t.py").touch()
    os.chown(folder / "t.py", 65534, 65534)
    (skipped,) = find_project(folder, environ).skipped
    assert skipped.reason.startswith(f"it names {folder / 't.py'} as tools: it belongs to")
    (folder / "t.py").unlink()
    os.chown(folder, 65534, 65534)
    (skipped,) = find_project(folder, environ).skipped
    assert skipped.reason.startswith("its folder belongs to")


@needs_root
def test_a_link_of_another_user_is_skipped(folder: Path, environ: dict[str, str], tmp_path: Path):
    real = write(tmp_path, 'model = "a"', "real.toml")
    (folder / "toolspeak.toml").symlink_to(real)
    os.chown(folder / "toolspeak.toml", 65534, 65534, follow_symlinks=False)
    assert "it belongs to" in find_project(folder, environ).skipped[0].reason


@pytest.mark.skipif(os.name != "posix", reason="modes of files are a matter of POSIX")
def test_files_that_everybody_may_write_are_skipped(folder: Path):
    path = write(folder)
    assert find_other_writer(path) is None
    path.chmod(0o666)
    assert find_other_writer(path) == "every user may write to it"
    path.chmod(0o644)
    folder.chmod(0o777)
    assert find_other_writer(path) == "every user may write to its folder"
    folder.chmod(0o1777)
    assert find_other_writer(path) is None


@needs_root
def test_a_group_of_others_may_not_write(folder: Path):
    path = write(folder)
    path.chmod(0o664)
    os.chown(path, 0, 65534)
    assert find_other_writer(path) == "its group may write to it"
    os.chown(path, 0, 0)  # the group of the user alone
    assert find_other_writer(path) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_not_waited_for(folder: Path, environ: dict[str, str]):
    os.mkfifo(folder / "toolspeak.toml")
    with pytest.raises(UsageError, match="not a regular file"):
        find_project(folder, environ)
