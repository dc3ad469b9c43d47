"""The gateway before the embedded model: the `openai` client gets native tool calls, where the endpoint has none.

Needs the weights (`toolspeak pull`) and the extras `local` and `gateway`. The moving picture of the README shows both.
"""

import importlib.util
import json
import threading
import time
import uuid
from collections.abc import Generator
from itertools import pairwise
from typing import Any

import openai
import pytest

from toolspeak.dialects import dialect
from toolspeak.gateway import ServedModel, app
from toolspeak.gateway.server import build_server
from toolspeak.models import EmbeddedModel
from toolspeak.models.weights import QWEN_CODER
from toolspeak.models.weights_download import find_weights
from toolspeak.settings import cache_folder

WEIGHTS = find_weights(QWEN_CODER, cache_folder() / "models")

pytestmark = [
    pytest.mark.skipif(WEIGHTS is None, reason="the weights are not here: toolspeak pull"),
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
    pytest.mark.timeout(590),
]

QUESTION = "What's the weather like in Paris and London? Also convert 20C to Fahrenheit."

ANSWER_OPENING_TOKENS = 8
"""With so many tokens a prompt ends that open the answer; the next one may have other tokens there."""


def tool(name: str, about: str, argument: str, meaning: str) -> Any:
    properties = {argument: {"type": "string", "description": meaning}}
    parameters = {"type": "object", "properties": properties, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


TOOLS = [  # those of the demo
    tool("get_weather", "Get the current weather for a given city.", "city", "The name of the city."),
    tool(
        "calculator",
        "Evaluate an arithmetic expression.",
        "expression",
        "Numbers and + - * / ( ), such as 20 * 9/5 + 32.",
    ),
]


@pytest.fixture(scope="module")
def model() -> Generator[EmbeddedModel]:
    assert WEIGHTS is not None
    embedded = EmbeddedModel(WEIGHTS, name="local", context=4096)
    running = embedded.load()
    yield embedded
    running.stop()


@pytest.fixture(scope="module")
def url(model: EmbeddedModel) -> Generator[str]:
    """One model under the names of the dialects in which it is spoken to."""
    served = [ServedModel(name=name, model=model, dialect=dialect(name)) for name in ("python", "typescript")]
    running = build_server(app(served), host="127.0.0.1", port=0)
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}/v1"
    running.should_exit = True
    thread.join()


def asked(base_url: str, name: str, *, key: str = "none", streams: bool = False) -> Any:
    """The same question, put by the same client with the same settings."""
    asks: Any = {"messages": [{"role": "user", "content": QUESTION}], "tools": TOOLS}
    asks |= {"model": name, "temperature": 0, "max_tokens": 200}
    with openai.OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=550) as client:
        if not streams:
            return client.chat.completions.create(**asks).choices[0]
        with client.chat.completions.stream(**asks) as stream:
            return stream.get_final_completion().choices[0]


def made(choice: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls or ()]


def check(choice: Any) -> None:
    paris, london, (name, arguments) = made(choice)
    assert (paris, london) == (("get_weather", {"city": "Paris"}), ("get_weather", {"city": "London"}))
    assert name == "calculator"
    expression = arguments["expression"]
    assert set(expression) <= set("0123456789.+-*/() ")  # so that it may be evaluated here
    assert eval(expression) == 68
    assert choice.finish_reason == "tool_calls"


@pytest.mark.long
def test_the_endpoint_itself_gives_no_calls(model: EmbeddedModel) -> None:
    running = model.load()
    bare = asked(running.base_url, "local", key=running.key)
    assert made(bare) == []


@pytest.mark.parametrize("streams", [pytest.param(False, marks=pytest.mark.long), True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", ["typescript", pytest.param("python", marks=pytest.mark.long)])
def test_the_gateway_gives_three_right_calls(url: str, name: str, streams: bool) -> None:
    choice = asked(url, name, streams=streams)
    check(choice)


def test_a_turn_reads_only_what_is_new(url: str) -> None:
    """Also if messages of the system stand between turns, and if a session id stands first."""

    def ask(messages: list[Any]) -> tuple[int, int]:
        asks: Any = {"model": "python", "messages": messages, "tools": TOOLS, "temperature": 0, "max_tokens": 4}
        with openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=550) as client:
            usage = client.chat.completions.create(**asks).usage
        assert usage is not None
        assert usage.prompt_tokens_details is not None
        return usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens or 0

    def begin(question: str) -> list[Any]:
        prompt = f"Session: {uuid.uuid4()}\nYou know about towns. You answer in a word or two."
        return [{"role": "system", "content": prompt}, {"role": "user", "content": question}]

    messages = begin("Which town is the capital of France?")
    counts: list[tuple[int, int]] = []
    for answer, question in (("Paris.", "And of Italy?"), ("Rome.", "And of Spain?"), ("Madrid.", "")):
        counts.append(ask(messages))
        note = {"role": "system", "content": f"The user has asked {len(counts)} questions."}
        messages += [{"role": "assistant", "content": answer}, note, {"role": "user", "content": question}]
    for (before, _), (_, cached) in pairwise(counts):
        assert cached >= before - ANSWER_OPENING_TOKENS
    tokens, cached = ask(begin("Which town is the largest of Norway?"))
    assert tokens - cached < tokens // 2  # the id stands behind the system prompt and the tools
