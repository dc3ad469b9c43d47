"""`toolspeak serve`, run as a person runs it."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.cli.commands import run_command
from toolspeak.cli.http_server import listen
from toolspeak.cli.serve import (
    ServedAddress,
    ServeOptions,
    find_served_models,
    format_client_lines,
    run_when_loaded,
)
from toolspeak.dialects import TYPESCRIPT
from toolspeak.gateway import app
from toolspeak.gateway.server import build_server
from toolspeak.models import HttpModel
from toolspeak.settings import load
from toolspeak.values.errors import ToolspeakError, UsageError

from .conversing import MADE, OPENAI_TOOLS, QUESTION, scripted
from .hosting import SlowModel, gateway, serve_model, until
from .test_faults import post_raw
from .upstream import drips, event, upstream

KEY = "correct-horse-battery-staple"


def environment(home: Path, **variables: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLSPEAK_", "XDG_", "OPENAI_"))}
    return {**own, "HOME": str(home), **variables}


def start_gateway(home: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "toolspeak.cli", "serve", *arguments]
    return subprocess.Popen(
        command,
        cwd=home,
        env=environment(home, PYTHONUNBUFFERED="1", **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(home: Path, *arguments: str, **variables: str) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    """The address, the line it was told in, and the process."""
    with start_gateway(home, "--port", "0", *arguments, **variables) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.match(r"(http://[^ ]+)/v1 serves ", line)
            assert found, process.stderr and process.stderr.read()
            yield found[1], line, process
        finally:
            process.kill()


def expect_refusal(home: Path, *arguments: str, **variables: str) -> str:
    done = run_command("serve", *arguments, cwd=home, env=environment(home, **variables), stdin=None)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    return done.stderr


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """The home of a user who has configured endpoints, of which the first is there."""
    with gateway(serve_model(scripted(), TYPESCRIPT)) as upstream:
        there = f'[endpoints.there]\nbase_url = "{upstream}/v1"\nmodel = "scripted"\ndialect = "typescript"\n'
        more = '[endpoints.nowhere]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "gpt-5"\n'
        unnamed = '[endpoints.unnamed]\nbase_url = "http://127.0.0.1:9/v1"\n'
        own = tmp_path / ".config" / "toolspeak" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text('dialect = "json"\n' + there + more + unnamed)
        yield tmp_path


def test_it_serves_what_is_configured_until_ctrl_c(home: Path):
    with serving(home) as (url, line, process):
        assert line == f"{url}/v1 serves there (typescript), nowhere (json); Ctrl-C stops it\n"
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            assert [each.id for each in client.models.list()] == ["there", "nowhere"]
            asks: dict[str, Any] = {"messages": [{"role": "user", "content": QUESTION}], "tools": OPENAI_TOOLS}
            said = client.chat.completions.create(model="there", **asks).choices[0].message
            assert [call.function.name for call in said.tool_calls or ()] == [name for name, _ in MADE]
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        assert process.stdout is not None
        assert process.stderr is not None
        out, log = process.stdout.read(), process.stderr.read()
    assert (process.returncode, out) == (0, client_lines(url, "there"))
    assert re.search(r"req_\w+ POST /v1/chat/completions 200 \d+ ms\n", log)
    assert "Traceback" not in log
    assert QUESTION not in log


def client_lines(url: str, model: str) -> str:
    return f"""
Claude Code:
  ANTHROPIC_BASE_URL={url} ANTHROPIC_AUTH_TOKEN=none ANTHROPIC_MODEL={model} ANTHROPIC_DEFAULT_HAIKU_MODEL={model} claude

Codex, in ~/.codex/config.toml:
  model = "{model}"
  model_provider = "toolspeak"

  [model_providers.toolspeak]
  name = "toolspeak"
  base_url = "{url}/v1"
  wire_api = "responses"

opencode, in opencode.json:
  {{"model": "toolspeak/{model}", "provider": {{"toolspeak": {{"npm": "@ai-sdk/openai-compatible", "options": {{"baseURL": "{url}/v1", "apiKey": "none"}}, "models": {{"{model}": {{}}}}}}}}}}

Gemini CLI, with {{"security": {{"auth": {{"selectedType": "gemini-api-key"}}}}}} in ~/.gemini/settings.json:
  GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_KEY=none gemini -m {model}

OpenAI's SDKs:
  OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=none

Anthropic's SDKs:
  ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=none
"""


def test_the_lines_for_clients_name_the_variable_of_the_key_and_an_address_that_is_reached():
    lines = format_client_lines(ServedAddress(host="::", port=80, model="a b", key_env="MY_KEY"))
    assert "ANTHROPIC_BASE_URL=http://[::1]:80 ANTHROPIC_AUTH_TOKEN=\"$MY_KEY\" ANTHROPIC_MODEL='a b'" in lines
    config = tomllib.loads(lines.partition("config.toml:")[2].partition("opencode")[0])
    provider = {"name": "toolspeak", "base_url": "http://[::1]:80/v1", "wire_api": "responses", "env_key": "MY_KEY"}
    assert config == {
        "model": "a b",
        "model_provider": "toolspeak",
        "model_providers": {"toolspeak": provider},
    }
    opencode = json.loads(lines.partition("opencode.json:")[2].partition("Gemini")[0])
    assert opencode["provider"]["toolspeak"]["options"]["apiKey"] == "{env:MY_KEY}"
    assert "GOOGLE_GEMINI_BASE_URL=http://[::1]:80 GEMINI_API_KEY=\"$MY_KEY\" gemini -m 'a b'" in lines
    assert "OPENAI_BASE_URL=http://127.0.0.1:80/v1" in format_client_lines(
        ServedAddress(host="0.0.0.0", port=80, model="m")
    )


@pytest.mark.slow
def test_names_aliases_and_pages(home: Path):
    options = ("--alias", "gpt-4o=there", "--allow-origin", "https://Chat.example/", "--strict")
    with serving(home, *options) as (url, _, process):
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            assert [each.id for each in client.models.list()] == ["there", "nowhere", "gpt-4o"]
            asks: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": QUESTION}]}
            page = {"origin": "https://chat.example"}
            assert client.chat.completions.create(**asks, tools=OPENAI_TOOLS, extra_headers=page).model == "gpt-4o"
            with pytest.raises(openai.BadRequestError, match="keep_alive"):
                client.chat.completions.create(**asks, extra_body={"keep_alive": 1})
            with pytest.raises(openai.PermissionDeniedError):
                client.chat.completions.create(**asks, extra_headers={"origin": "https://other.example"})
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_a_model_is_served_under_the_name_in_its_address(home: Path):
    configured = load(home, environ={"HOME": str(home)})
    one, other = "http://127.0.0.1:9/v1#m", "http://127.0.0.1:8/v1#m"
    third = "http://127.0.0.1:8/v1#n"
    found = find_served_models(ServeOptions(models=(one, other, third), dialect="json"), configured)
    assert [each.name for each in found] == [one, other, "n"]


@pytest.mark.slow
def test_ctrl_c_does_not_wait_for_a_connection_that_is_kept(home: Path):
    with serving(home, "--model", "there") as (url, line, process):
        assert "nowhere" not in line
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
            client.models.list()  # a connection that is kept
            process.send_signal(signal.SIGINT)
            process.wait(60)
    assert process.returncode == 0


@pytest.mark.slow
def test_ctrl_c_cuts_an_answer_that_has_no_end(tmp_path: Path):
    with upstream() as endless:
        endless.plays = drips(event("more"))
        name = f"{endless.url}/v1#m"
        with serving(tmp_path, "--model", name, "--dialect", "native") as (url, _, process):
            body = {"model": name, "messages": [{"role": "user", "content": "Go on."}], "stream": True}
            with post_raw(url, body) as client:
                assert b"200 OK" in client.recv(65536)
                process.send_signal(signal.SIGINT)
                _, log = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "Traceback" not in log
        until(lambda: endless.left == 1)


@pytest.mark.slow
def test_others_are_let_in_with_the_key_alone(home: Path):
    options = ("--host", "0.0.0.0", "--model", "there")
    assert "--host 0.0.0.0 can be reached by others, so a key is needed" in expect_refusal(home, *options)
    assert "--key-env MY_KEY: this environment variable is not set" in expect_refusal(
        home, *options, "--key-env", "MY_KEY"
    )
    with serving(home, *options, "--key-env", "MY_KEY", MY_KEY=KEY) as (url, line, _):
        assert KEY not in line
        url = url.replace("0.0.0.0", "127.0.0.1")
        with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY) as client:
            assert [each.id for each in client.models.list()] == ["there"]
        with openai.OpenAI(base_url=f"{url}/v1", api_key="x") as client, pytest.raises(openai.AuthenticationError):
            client.models.list()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--model", "there", "--dialect", "klingon"], "there is no dialect 'klingon'"),
        (["--model", "unnamed"], "endpoints.unnamed.model"),
        (["--model", "local"], "toolspeak pull"),
        (["--alias", "gpt-4o"], "--alias gpt-4o: write NAME=MODEL"),
        (["--model", "there", "--alias", "gpt-4o=their"], "which is not served; did you mean there?"),
        (["--allow-origin", "*"], "--allow-origin *: write one origin"),
        (["--allow-origin", "null"], "--allow-origin null: write one origin"),
    ],
)
def test_what_is_wrong_is_one_line(home: Path, options: list[str], error: str):
    assert error in expect_refusal(home, *options)


def test_a_port_that_is_taken_is_one_line(home: Path):
    with gateway(serve_model(scripted(), TYPESCRIPT)) as url:
        port = url.rpartition(":")[2]
        assert f"cannot listen on 127.0.0.1:{port}" in expect_refusal(home, "--model", "there", "--port", port)


def test_which_dialect_is_spoken(home: Path):
    configured = load(home, environ={"HOME": str(home), "TOOLSPEAK_DIALECT": "json"})
    spoken = {
        each.name: each.dialect.name
        for each in find_served_models(ServeOptions(models=("there", "nowhere")), configured)
    }
    assert spoken == {"there": "typescript", "nowhere": "json"}
    all_python = find_served_models(
        ServeOptions(models=("there", "nowhere"), dialect="python", mend=False, thinks=True), configured
    )
    assert {(each.dialect.name, each.max_repairs, each.thinks) for each in all_python} == {("python", 0, True)}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (2, 300.0, 1800.0)),
        ({"retries": 0, "timeout": 9.0}, (1, 9.0, 1800.0)),
        ({"timeout": 3600.0}, (2, 3600.0, 3600.0)),
    ],
)
def test_how_an_endpoint_is_waited_for(home: Path, options: dict[str, Any], expected: tuple[int, float, float]):
    configured = load(home, environ={"HOME": str(home)})
    (served,) = find_served_models(ServeOptions(models=("there",), dialect="json", **options), configured)
    assert isinstance(served.model, HttpModel)
    retry = served.model.endpoint.retry
    assert (retry.attempts, retry.read_timeout, retry.total_timeout) == expected


def test_the_budget_of_tools_is_that_of_the_settings_unless_one_is_given(home: Path):
    configured = load(home, environ={"HOME": str(home), "TOOLSPEAK_TOOL_BUDGET": "700"})
    for options, budget in (
        (ServeOptions(models=("there",)), 700),
        (ServeOptions(models=("there",), tool_budget=9), 9),
    ):
        [model] = find_served_models(options, configured)
        assert model.tool_budget == budget


def test_a_default_model_that_was_asked_for_must_be_there(home: Path):
    configured = load(home, environ={"HOME": str(home), "TOOLSPEAK_MODEL": "local:/nowhere.gguf"})
    with pytest.raises(UsageError, match="there is no such file"):
        find_served_models(ServeOptions(), configured)


# Models that are loaded


@contextmanager
def loading(model: SlowModel) -> Iterator[tuple[str, list[str], list[BaseException]]]:
    """Serve a model as the command does: the address, what was announced, and the error with which it ended."""
    announced, errors = list[str](), list[BaseException]()
    with listen("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = build_server(app([serve_model(model, TYPESCRIPT)]), host="127.0.0.1", port=0)

        def run() -> None:
            try:
                run_when_loaded([model], server, listener, lambda: announced.append(url), f"{url}/ready")
            except ToolspeakError as error:
                errors.append(error)

        threshold, thread = gc.get_threshold(), threading.Thread(target=run)
        thread.start()
        try:
            yield url, announced, errors
        finally:
            server.should_exit = True
            thread.join()
            gc.unfreeze()
            gc.set_threshold(*threshold)


def test_it_says_that_it_serves_when_the_model_is_loaded():
    model = SlowModel()
    with loading(model) as (url, announced, errors):
        assert httpx.get(f"{url}/ready", timeout=60).status_code == 503
        assert announced == []
        model.has_weights.set()
        until(lambda: announced)
        assert httpx.get(f"{url}/ready", timeout=60).status_code == 200
    assert errors == []


def test_a_model_that_cannot_be_loaded_ends_the_server():
    model = SlowModel("the file is broken")
    model.has_weights.set()
    with loading(model) as (_, announced, errors):
        until(lambda: errors)
    assert (announced, str(errors[0])) == ([], "the file is broken")


@pytest.mark.slow
def test_broken_weights_are_told_before_anything_is_served(tmp_path: Path):
    weights = tmp_path / "broken.gguf"
    weights.write_bytes(b"GGUF and more")
    command = ("serve", "--port", "0", "--model", f"local:{weights}")
    done = run_command(*command, cwd=tmp_path, env=environment(tmp_path), stdin=None)
    assert (done.returncode, done.stdout) == (1, "")
    assert "loading local:broken.gguf; http://127.0.0.1:" in done.stderr
    assert "failed to load model" in done.stderr
