"""Agents on Ollama's own API, over HTTP."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolspeak import settings
from toolspeak.models import SERVERS, HttpModel, RetryPolicy, Sampling, connect, resolve_model
from toolspeak.run import Agent
from toolspeak.run.model_lookup import find_model
from toolspeak.values.errors import ContextExceeded, ModelError
from toolspeak.values.events import Compacted
from toolspeak.values.messages import Call, Message, Text, Thinking, ToolCall, assistant

from .ollama import Ollama
from .server import Server, answers, serving, streams


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of its own for each test: what a server says is remembered for the process."""
    with serving() as server:
        yield server


def find_city(name: str) -> str:
    "Look a city up."
    return f"{name} is cold. " + "It snows, and the wind blows from the north. " * 20


def look_up_then_answer(messages: list[Message]) -> Message:
    if messages[-1].role == "tool":
        return Message(role="assistant", parts=(Thinking(text="So."), Text(text="Oslo is cold.")))
    call = ToolCall(id="call_1", name="find_city", arguments={"name": "Oslo"})
    return Message(role="assistant", parts=(Thinking(text="Hm."), Call(call=call)))


def model_on(server: Server, extra: dict[str, Any] | None = None) -> HttpModel:
    """The model `ollama:qwen3` on a server of the tests."""
    found = resolve_model("ollama:qwen3", environ={"OLLAMA_HOST": server.url}, retry=RetryPolicy(attempts=1))
    return HttpModel(replace(found.endpoint, extra=extra or {}), "qwen3", found.own_dialect_choice)


@pytest.mark.parametrize("stream", [True, False])
def test_an_agent_calls_tools(server: Server, stream: bool):
    ollama = Ollama(look_up_then_answer)
    ollama.play_on(server)
    sampling = Sampling(max_tokens=50, extra={"think": True})
    agent = Agent(model_on(server, extra={"num_ctx": 8192}), [find_city], dialect="native", sampling=sampling)
    streamed = agent.stream("How is Oslo?")
    outcome = (list(streamed), streamed.outcome)[1] if stream else agent.run("How is Oslo?")
    assert (outcome.text, len(outcome.calls), outcome.usage.output_tokens) == ("Oslo is cold.", 1, 40)
    first, second = ollama.posts
    assert first["options"] == {"num_predict": 50, "num_ctx": 8192}
    assert (first["think"], first["truncate"], first["stream"]) == (True, False, stream)
    said, result = second["messages"][-2:]
    assert said["thinking"] == "Hm."
    assert said["tool_calls"][0]["function"] == {"name": "find_city", "arguments": {"name": "Oslo"}}
    assert (result["role"], result["tool_name"]) == ("tool", "find_city")


def test_the_context_is_known_once_the_model_is_loaded(server: Server):
    Ollama(lambda _: assistant("Hello.")).play_on(server)
    model = model_on(server)
    assert model.context_tokens is None
    assert Agent(model).run("Hello?").text == "Hello."
    Agent(model).run("Hello?")
    assert model.context_tokens == 4096
    asked = [post.path for post in server.ability_posts]
    assert sorted(asked) == ["/api/ps", "/api/ps", "/api/show", "/api/show"]
    Agent(model).run("Hello?")
    assert len(server.ability_posts) == 4


@pytest.mark.parametrize(
    ("parameters", "extra", "context"),
    [
        ('num_keep 24\nnum_ctx                        16384\nstop "x"', {}, 16384),
        ("num_ctx 16384", {"num_ctx": 8192}, 8192),
        ("", {"options": {"num_ctx": 2048}}, 2048),
        ("", {"num_ctx": 1_000_000}, 32768),
    ],
)
def test_a_context_that_is_set_is_known_before(server: Server, parameters: str, extra: dict[str, Any], context: int):
    Ollama(lambda _: assistant("Hello."), parameters=parameters).play_on(server)
    model = model_on(server, extra=extra)
    assert asyncio.run(model.ask_context()) == context


def test_a_run_can_ask_for_another_context(server: Server):
    Ollama(lambda _: assistant("Hello.")).play_on(server)
    model = model_on(server, extra={"num_ctx": 2048})
    asyncio.run(model.ask_context())
    assert model.find_context(Sampling(extra={"num_ctx": 16384})) == 16384


def test_a_long_conversation_is_compacted_and_never_cut(server: Server):
    """An older server, which cuts without notice."""
    ollama = Ollama(lambda _: assistant("I see. " * 30), knows_truncate=False)
    ollama.play_on(server)
    chat = Agent(model_on(server), dialect="native").chat()
    facts = [fact for turn in range(30) for fact in chat.run(f"Number {turn}: " + "words and more words " * 40).facts]
    assert any(isinstance(fact, Compacted) for fact in facts)
    assert (ollama.cuts, ollama.loaded) == (0, 4096)
    assert len(server.ability_posts) == 4


def test_a_server_that_refuses_says_so(server: Server):
    Ollama(lambda _: assistant("Hello.")).play_on(server)
    with pytest.raises(ContextExceeded, match="the input length exceeds the context length"):
        Agent(model_on(server)).run("word " * 5000)


@pytest.mark.parametrize("kind", ["application/x-ndjson", "application/json", "text/plain"])
def test_a_stream_under_another_content_type(server: Server, kind: str):
    lines = (
        b'{"message":{"content":"Hel"},"done":false}\n{"message":{"content":"lo."},"done":true,"done_reason":"stop"}\n'
    )
    server.plays(streams(lines[:50], lines[50:], kind=kind))
    assert Agent(model_on(server)).run("Hello?").text == "Hello."


def test_an_error_in_a_stream(server: Server):
    lines = b'{"message":{"content":"Half"},"done":false}\n{"error":"the model ran out of memory"}\n'
    server.plays(streams(lines, kind="application/x-ndjson"))
    with pytest.raises(ModelError, match=r"ollama at http://.*: the model ran out of memory"):
        Agent(model_on(server)).run("Hello?")


def test_a_refused_request(server: Server):
    server.plays(answers(404, {"error": "model 'qwen3' not found"}))
    with pytest.raises(ModelError, match="answered 404: model 'qwen3' not found"):
        Agent(model_on(server)).run("Hello?")


def test_the_openai_route_of_ollama_stays(server: Server):
    """What was written for OpenAI's API is sent there."""
    server.plays(answers(body={"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]}))
    model = connect("qwen3", at=f"{server.url}/v1")
    assert Agent(model).run("Hello?").text == "Hello."
    assert server.posts[0].path == "/v1/chat/completions"


def test_options_in_the_settings(tmp_path: Path):
    (tmp_path / "toolspeak.toml").write_text(
        '[endpoints.big]\nbase_url = "http://127.0.0.1:11434"\napi = "ollama"\nnum_ctx = 16384\nthink = false\n'
    )
    environ = {"HOME": str(tmp_path), "TOOLSPEAK_TRUST_PROJECT": str(tmp_path)}
    model = find_model("big:qwen3", configured=settings.load(tmp_path, environ=environ))
    assert isinstance(model, HttpModel)
    assert (model.endpoint.api, model.endpoint.extra) == ("ollama", {"num_ctx": 16384, "think": False})
    assert (model.endpoint.quirks, model.asks_context, model.context_tokens) == (SERVERS["ollama"].quirks, True, 16384)


def test_fields_given_to_connect():
    model = connect("ollama:qwen3", extra={"num_ctx": 32768, "think": False})
    assert (model.endpoint.api, model.endpoint.extra) == ("ollama", {"num_ctx": 32768, "think": False})
    assert model.context_tokens == 32768
    assert connect("ollama:qwen3", api="openai").endpoint.api == "openai"
