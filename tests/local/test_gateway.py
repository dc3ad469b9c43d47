"""The gateway before the embedded model: the `openai` client gets native tool calls, where the endpoint has none.

Needs the weights (`toolspeak pull`) and the extras `local` and `gateway`. What the two say is in the README.
"""

import importlib.util
import json
import threading
import time
from collections.abc import Generator
from typing import Any

import openai
import pytest

from toolspeak.dialects import dialect
from toolspeak.gateway import ServedModel, app
from toolspeak.gateway.server import build_server
from toolspeak.models import EmbeddedModel
from toolspeak.models.weights import QWEN_CODER, find_weights
from toolspeak.settings import cache_folder

WEIGHTS = find_weights(QWEN_CODER, cache_folder() / "models")

pytestmark = [
    pytest.mark.skipif(WEIGHTS is None, reason="the weights are not here: toolspeak pull"),
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
    pytest.mark.timeout(590),
]

QUESTION = "What's the weather like in Paris and London? Also convert 20C to Fahrenheit."


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


def test_the_endpoint_itself_gives_no_calls(model: EmbeddedModel) -> None:
    running = model.load()
    bare = asked(running.base_url, "local", key=running.key)
    assert made(bare) == []


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(
    "name",
    ["typescript", "python"],
)
def test_the_gateway_gives_three_right_calls(url: str, name: str, streams: bool) -> None:
    choice = asked(url, name, streams=streams)
    check(choice)
