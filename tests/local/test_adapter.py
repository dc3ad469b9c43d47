"""The adapter of the embedded model, with its real weights: it loads, is used where it should be, and nowhere else."""

import importlib.util
import json
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from toolspeak import Agent, Sampling
from toolspeak.models import EmbeddedModel, Endpoint
from toolspeak.models.adapters import QWEN_CODER_CALLS, Adapter
from toolspeak.models.local import LocalServer, ServerOptions, start_server
from toolspeak.models.sender import HttpResponse
from toolspeak.models.transport import send_request
from toolspeak.models.weights import QWEN_CODER
from toolspeak.models.weights_download import find_weights
from toolspeak.settings import cache_folder
from toolspeak.tools import Tool
from toolspeak.values.errors import ModelError

WEIGHTS = find_weights(QWEN_CODER, cache_folder() / "models")

pytestmark = [
    pytest.mark.skipif(WEIGHTS is None, reason="the weights are not here: toolspeak pull"),
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
    pytest.mark.timeout(590),
]

SHOP = "You are the assistant of a small shop for bread, cakes and coffee in the old town. You answer politely. " * 3


@pytest.fixture(scope="module")
def model() -> Generator[EmbeddedModel]:
    assert WEIGHTS is not None
    embedded = EmbeddedModel(WEIGHTS, name="local", context=2048, adapter=QWEN_CODER_CALLS)
    running = embedded.load()
    yield embedded
    assert isinstance(running, LocalServer)
    running.stop()


def ask(server: Any, text: str, **more: Any) -> str:
    body = {"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 12, **more}
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{server.base_url}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=500) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def price(item: str) -> float:
    """Get the price of an item.

    Args:
        item: The name of the item.
    """
    return 3.5


@pytest.mark.long
def test_plain_talk_is_that_of_the_model_without_an_adapter(model: EmbeddedModel) -> None:
    assert WEIGHTS is not None
    questions = ["Why is the sky blue?", "Write a haiku about rain."]
    unused = [ask(model.load(), each, cache_prompt=False, lora=[{"id": 0, "scale": 0.0}]) for each in questions]
    assert [ask(model.load(), each, cache_prompt=False) for each in questions] == unused
    without = start_server(ServerOptions(weights=WEIGHTS, context=2048))
    assert [ask(without, each, cache_prompt=False) for each in questions] == unused
    without.stop()


def test_it_calls_and_answers_with_the_adapter(model: EmbeddedModel) -> None:
    outcome = Agent(model, tools=[price]).run("What does a croissant cost?")
    assert [(made.name, made.output) for made in outcome.calls] == [("price", 3.5)]
    assert "3.5" in outcome.text


def make_shelf(number: int) -> Tool[..., str]:
    def shelve(item: str) -> str:
        return f"{item} is on shelf {number}"

    return Tool(shelve, name=f"shelve_{number}", description=f"Puts an item on shelf {number} of the shop.")


def test_of_many_tools_the_called_ones_are_looked_at_closer(model: EmbeddedModel) -> None:
    assert WEIGHTS is not None
    bodies: list[dict[str, Any]] = []

    async def send(endpoint: Endpoint, path: str, body: bytes, /) -> HttpResponse:
        bodies.append(json.loads(body))
        return await send_request(endpoint, path, body)

    watched = EmbeddedModel(WEIGHTS, context=2048, adapter=QWEN_CODER_CALLS, sender=send)
    outcome = Agent(watched, tools=[price, *map(make_shelf, range(60))], tool_budget=300).run(
        "What does a croissant cost?"
    )
    assert [(made.name, made.output) for made in outcome.calls] == [("price", 3.5)]
    assert [body["lora"][0]["id"] for body in bodies] == [1, 0, 1]  # it chooses, looks closer, and tells the result
    assert ["find_tools" in body["messages"][0]["content"] for body in bodies] == [True, False, True]
    assert outcome.usage.input_tokens > 300


def test_a_plain_conversation_takes_nothing_from_one_with_tools(model: EmbeddedModel) -> None:
    brief = Sampling(max_tokens=4)
    Agent(model, tools=[price], system=SHOP, sampling=brief).run("Hello.")
    Agent(model, sampling=brief).run("Name a colour.")
    outcome = Agent(model, system=SHOP, sampling=brief).run("What do you sell?")
    assert outcome.usage.cached_tokens == 0


def test_a_forced_call_is_held_to_its_schema(model: EmbeddedModel) -> None:
    def choose(size: int) -> str:
        """Choose a size."""
        return "chosen"

    agent = Agent(model, tools=[choose], tool_choice="required", sampling=Sampling(max_tokens=40))
    outcome = agent.run("Choose the size called enormous.")
    assert [(made.name, type(made.arguments["size"])) for made in outcome.calls][:1] == [("choose", int)]


def test_an_adapter_that_does_not_fit_is_refused_with_the_log(tmp_path: Path) -> None:
    assert WEIGHTS is not None
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(QWEN_CODER_CALLS.path.read_bytes()[:200_000])
    with pytest.raises(ModelError, match=r"lora|adapter"):
        start_server(ServerOptions(weights=WEIGHTS, context=512, adapter=Adapter(path=cut)))
