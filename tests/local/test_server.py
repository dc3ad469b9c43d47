"""The embedded model for real: its weights, its process, its answers.

Needs the weights (`toolspeak pull`) and the extra `local`; without them everything here is skipped.
"""
# Tests assert, start programs and ask the loopback.

import asyncio
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from toolspeak.dialects import Shown
from toolspeak.models import Endpoint, HttpModel, Request, Sampling
from toolspeak.models.local import LocalServer, ServerOptions, get_shared_server, start_server
from toolspeak.models.weights import QWEN_CODER
from toolspeak.models.weights_download import find_weights
from toolspeak.settings import cache_folder
from toolspeak.values.errors import ModelError
from toolspeak.values.messages import user
from toolspeak.values.pieces import Answer

WEIGHTS = find_weights(QWEN_CODER, cache_folder() / "models")

pytestmark = [
    pytest.mark.skipif(WEIGHTS is None, reason="the weights are not here: toolspeak pull"),
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def server() -> Generator[LocalServer]:
    assert WEIGHTS is not None
    running = get_shared_server(ServerOptions(weights=WEIGHTS, context=2048))
    yield running
    running.stop()


def opened(server: LocalServer, body: dict[str, Any], *, key: str | None = None) -> Any:
    headers = {"Authorization": f"Bearer {key or server.key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{server.base_url}/chat/completions", json.dumps(body).encode(), headers)
    return urllib.request.urlopen(request, timeout=200)


def asked(server: LocalServer, text: str, **more: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 24, **more}
    with opened(server, body) as answer:
        return json.load(answer)


def said(answer: dict[str, Any]) -> str:
    return answer["choices"][0]["message"]["content"]


def test_it_answers(server: LocalServer) -> None:
    answer = asked(server, "What is the capital of France?")
    assert "Paris" in said(answer)
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["model"] == "local"


def test_it_streams(server: LocalServer) -> None:
    body = {"messages": [{"role": "user", "content": "Count from 1 to 5."}], "max_tokens": 24, "stream": True}
    with opened(server, {**body, "temperature": 0, "stream_options": {"include_usage": True}}) as answer:
        lines = [line.decode().removeprefix("data: ").strip() for line in answer if line.strip()]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    assert sum(bool(each["choices"] and each["choices"][0]["delta"].get("content")) for each in chunks) > 3
    assert chunks[-1]["usage"]["completion_tokens"] > 3


def test_a_longer_conversation_is_not_read_anew(server: LocalServer) -> None:
    messages = [{"role": "system", "content": "You are brief. " * 12}, {"role": "user", "content": "Say hello."}]
    first = asked(server, "", messages=messages)
    later = asked(
        server, "", messages=[*messages, first["choices"][0]["message"], {"role": "user", "content": "And goodbye."}]
    )
    assert later["usage"]["prompt_tokens_details"]["cached_tokens"] >= first["usage"]["prompt_tokens"]


@pytest.mark.long  # five hundred tokens are read
def test_a_conversation_that_comes_back_is_not_read_anew() -> None:
    assert WEIGHTS is not None
    server = start_server(
        ServerOptions(weights=WEIGHTS, context=2048)
    )  # which place is overwritten depends on all conversations before
    long = "You like short answers and colours. " * 60  # builds of the server differ in whether they keep shorter ones
    try:
        asked(server, long + "Say hello.")
        asked(server, "Something else entirely: name a colour.")
        again = asked(server, long + "Say hello.")
    finally:
        server.stop()
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] > 400


def test_it_honours_a_grammar(server: LocalServer) -> None:
    assert said(asked(server, "How are you?", grammar='root ::= "blue" | "green"')) in ("blue", "green")


def test_it_honours_a_schema(server: LocalServer) -> None:
    schema = {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"]}
    form = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema, "strict": True}}
    answer = json.loads(said(asked(server, "Tell me a story of a city.", response_format=form)))
    assert answer["city"] in ("Oslo", "Rome")


def test_what_does_not_fit_is_an_error_and_no_crash(server: LocalServer) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        asked(server, "word " * 4000)
    assert caught.value.code == 400
    assert b"exceeds the available context size" in caught.value.read()
    caught.value.close()
    assert server.is_alive


def test_without_its_key_nobody_is_answered(server: LocalServer) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        opened(server, {"messages": []}, key="another")
    assert caught.value.code == 401
    caught.value.close()


def test_a_file_that_is_cut_is_told_with_the_log(tmp_path: Path) -> None:
    assert WEIGHTS is not None
    with WEIGHTS.open("rb") as whole:
        (tmp_path / "cut.gguf").write_bytes(whole.read(5_000_000))
    with pytest.raises(ModelError, match="failed to load model"):
        start_server(ServerOptions(weights=tmp_path / "cut.gguf"))


def test_after_a_crash_the_next_use_starts_anew() -> None:
    assert WEIGHTS is not None
    one = get_shared_server(ServerOptions(weights=WEIGHTS, context=512))
    os.kill(one.pid, signal.SIGSEGV)
    while one.is_alive:
        time.sleep(0.02)
    assert "SIGSEGV" in one.describe_exit()
    two = get_shared_server(ServerOptions(weights=WEIGHTS, context=512))
    assert "Paris" in said(asked(two, "What is the capital of France?"))
    two.stop()


PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from toolspeak.models.local import ServerOptions, get_shared_server
server = get_shared_server(ServerOptions(weights=Path(sys.argv[1]), context=512))
print(server.pid, flush=True)
if os.fork() == 0:  # it holds the pipe open, and lives on
    time.sleep(60)
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_is_gone_when_the_program_is_killed_and_a_fork_lives_on() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(WEIGHTS)], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        program.wait(60)
        end = time.monotonic() + 40
        while running(pid) and time.monotonic() < end:
            time.sleep(0.1)
        assert not running(pid)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_control_tokens_in_messages_are_text(server: LocalServer) -> None:
    """Each token in the text of a user costs several tokens of the model, not the one that it is in the vocabulary."""
    tokens = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<tool_call>", "<|fim_prefix|>"] * 4
    request = Request(shown=Shown(messages=(user("".join(tokens)),)), stream=False, sampling=Sampling(max_tokens=1))

    async def count_prompt_tokens(*, reads_control_tokens: bool) -> int:
        endpoint = Endpoint(
            name="local", base_url=server.base_url, key=server.key, reads_control_tokens=reads_control_tokens
        )
        pieces = [piece async for batch in HttpModel(endpoint, "m").ask(request) for piece in batch]
        assert isinstance(pieces[-1], Answer)
        assert pieces[-1].usage is not None
        return pieces[-1].usage.input_tokens

    unbroken = asyncio.run(count_prompt_tokens(reads_control_tokens=False))
    assert asyncio.run(count_prompt_tokens(reads_control_tokens=True)) - unbroken > 2 * len(tokens)
