"""`toolspeak serve`, run as a person runs it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from toolspeak.cli.serve import ServeOptions, find_served_models
from toolspeak.dialects import TYPESCRIPT
from toolspeak.errors import UsageError
from toolspeak.settings import load

from .conversing import MADE, OPENAI_TOOLS, QUESTION, scripted
from .hosting import gateway, served, until
from .test_faults import posted
from .upstream import drips, event, upstream

KEY = "correct-horse-battery-staple"


def started(home: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLSPEAK_", "XDG_", "OPENAI_"))}
    command = [sys.executable, "-m", "toolspeak.cli", "serve", *arguments]
    return subprocess.Popen(
        command,
        cwd=home,
        env={**own, "HOME": str(home), "PYTHONUNBUFFERED": "1", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(home: Path, *arguments: str, **variables: str) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    """The address, the line it was told in, and the process."""
    with started(home, "--port", "0", *arguments, **variables) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.match(r"(http://[^ ]+)/v1 serves ", line)
            assert found, process.stderr and process.stderr.read()
            yield found[1], line, process
        finally:
            process.kill()


def refused(home: Path, *arguments: str, **variables: str) -> str:
    with started(home, *arguments, **variables) as process:
        out, error = process.communicate(timeout=25)
    assert (process.returncode, out, error.count("\n")) == (2, "", 1)
    return error


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """The home of a user who has configured endpoints, of which the first is there."""
    with gateway(served(scripted(), TYPESCRIPT)) as upstream:
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
        out, log = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert re.search(r"req_\w+ POST /v1/chat/completions 200 \d+ ms\n", log)
    assert "Traceback" not in log
    assert QUESTION not in log


def test_ctrl_c_does_not_wait_for_a_connection_that_is_kept(home: Path):
    with serving(home, "--model", "there") as (url, line, process):
        assert "nowhere" not in line
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
            client.models.list()  # a connection that is kept
            process.send_signal(signal.SIGINT)
            process.wait(20)
    assert process.returncode == 0


def test_ctrl_c_cuts_an_answer_that_has_no_end(tmp_path: Path):
    with upstream() as endless:
        endless.plays = drips(event("more"))
        name = f"{endless.url}/v1#m"
        with serving(tmp_path, "--model", name, "--dialect", "native") as (url, _, process):
            body = {"model": name, "messages": [{"role": "user", "content": "Go on."}], "stream": True}
            with posted(url, body) as client:
                assert b"200 OK" in client.recv(65536)
                process.send_signal(signal.SIGINT)
                _, log = process.communicate(timeout=15)
        assert process.returncode == 0
        assert "Traceback" not in log
        until(lambda: endless.left == 1)


def test_others_are_let_in_with_the_key_alone(home: Path):
    options = ("--host", "0.0.0.0", "--model", "there")
    assert "--host 0.0.0.0 can be reached by others, so a key is needed" in refused(home, *options)
    assert "--key-env MY_KEY: this environment variable is not set" in refused(home, *options, "--key-env", "MY_KEY")
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
    ],
)
def test_what_is_wrong_is_one_line(home: Path, options: list[str], error: str):
    assert error in refused(home, *options)


def test_a_port_that_is_taken_is_one_line(home: Path):
    with gateway(served(scripted(), TYPESCRIPT)) as url:
        port = url.rpartition(":")[2]
        assert f"cannot listen on 127.0.0.1:{port}" in refused(home, "--model", "there", "--port", port)


def test_which_dialect_is_spoken(home: Path):
    configured = load(home, environ={"HOME": str(home), "TOOLSPEAK_DIALECT": "json"})
    spoken = {
        each.name: each.dialect.name
        for each in find_served_models(ServeOptions(models=("there", "nowhere")), configured)
    }
    assert spoken == {"there": "typescript", "nowhere": "json"}
    all_python = find_served_models(
        ServeOptions(models=("there", "nowhere"), dialect="python", mends=0, thinks=True), configured
    )
    assert {(each.dialect.name, each.max_repairs, each.thinks) for each in all_python} == {("python", 0, True)}


def test_a_default_model_that_was_asked_for_must_be_there(home: Path):
    configured = load(home, environ={"HOME": str(home), "TOOLSPEAK_MODEL": "local:/nowhere.gguf"})
    with pytest.raises(UsageError, match="there is no such file"):
        find_served_models(ServeOptions(), configured)
