"""What was read of a prompt, with the real weights: a new process takes it from the disk."""

import asyncio
import importlib.util
from collections.abc import Sequence
from pathlib import Path

import pytest

from toolspeak import Sampling
from toolspeak.dialects import PYTHON
from toolspeak.models import EmbeddedModel, Request
from toolspeak.models.adapters import QWEN_CODER_CALLS
from toolspeak.models.local import LocalServer
from toolspeak.models.prompt_store import PromptStore
from toolspeak.models.weights import QWEN_CODER
from toolspeak.models.weights_download import find_weights
from toolspeak.settings import cache_folder
from toolspeak.tools import Tool
from toolspeak.values.events import TextDelta
from toolspeak.values.messages import Call, Message, Result, Text, ToolCall, assistant, user

WEIGHTS = find_weights(QWEN_CODER, cache_folder() / "models")

pytestmark = [
    pytest.mark.skipif(WEIGHTS is None, reason="the weights are not here: toolspeak pull"),
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
    pytest.mark.timeout(590),
]


def price(item: str) -> float:
    """Get the price of an item.

    Args:
        item: The name of the item.
    """
    return 3.5


ASKED = (user("What does a croissant cost?"),)
TOLD = (
    *ASKED,
    Message(role="assistant", parts=(Call(call=ToolCall(id="1", name="price", arguments={"item": "croissant"})),)),
    Message(role="tool", parts=(Result(call_id="1", content=(Text(text="3.5"),)),)),
)


def ask(model: EmbeddedModel, history: Sequence[Message]) -> tuple[str, list[int]]:
    """Return the beginning of an answer, and how many tokens had been read at each report."""
    reports: list[int] = []
    model.on_prompt_read = lambda done, total: reports.append(done)
    shown = PYTHON.render((Tool(price).spec,), history)
    request = Request(shown=shown, dialect="python", sampling=Sampling(max_tokens=8))

    async def collect() -> str:
        pieces = [piece async for pieces in model.ask(request) for piece in pieces]
        return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))

    return asyncio.run(collect()), reports


def new_model(store: PromptStore | None) -> EmbeddedModel:
    assert WEIGHTS is not None
    # One thread: several of them wait for each other while the machine does something else.
    return EmbeddedModel(WEIGHTS, threads=1, context=1024, adapter=QWEN_CODER_CALLS, prompts=store)


def stop(model: EmbeddedModel) -> None:
    server = model.load()
    assert isinstance(server, LocalServer)
    server.stop()


def ask_new_process(store: PromptStore | None, history: Sequence[Message] = ASKED) -> tuple[str, list[int]]:
    model = new_model(store)
    found = ask(model, history)
    stop(model)
    return found


def test_a_new_process_reads_only_the_question(tmp_path: Path) -> None:
    store = PromptStore(tmp_path / "prompts")
    first, read_first = ask_new_process(store)
    (state,) = store.folder.iterdir()
    assert first.startswith("```python\nprice(")
    assert min(read_first) == 0
    second, read_then = ask_new_process(store)
    assert second == first
    assert min(read_then) > 60  # the tools and what is said of them
    whole = state.read_bytes()
    state.write_bytes(whole[: len(whole) // 2])  # llama.cpp would end its process on it
    third, read_again = ask_new_process(store)
    assert third == first
    assert min(read_again) == 0
    assert len(state.read_bytes()) == len(whole)


def test_after_results_the_tools_are_read_once_with_the_adapter_for_them(tmp_path: Path) -> None:
    store = PromptStore(tmp_path / "prompts")
    ask_new_process(store)
    told, read = ask_new_process(store, TOLD)
    assert "3.5" in told
    assert min(read) == 0  # what was read with the other adapter is of no use
    assert len(list(store.folder.iterdir())) == 2
    again, read_then = ask_new_process(store, TOLD)
    assert again == told == ask_new_process(None, TOLD)[0]
    assert min(read_then) > 60


def test_both_adapters_keep_what_they_have_read_while_they_take_turns() -> None:
    model = new_model(None)
    again = (*TOLD, assistant("3.5"), user("And a roll?"))
    call = Call(call=ToolCall(id="2", name="price", arguments={"item": "roll"}))
    result = Result(call_id="2", content=(Text(text="0.9"),))
    told = (*again, Message(role="assistant", parts=(call,)), Message(role="tool", parts=(result,)))
    first = [ask(model, history)[1] for history in (ASKED, TOLD)]
    text, read_with_first = ask(model, again)
    answer, read_with_second = ask(model, told)
    stop(model)
    assert [min(each) for each in first] == [0, 0]
    assert text.startswith("```python\nprice(")
    assert "0.9" in answer
    assert min(read_with_first) > max(first[0])
    assert min(read_with_second) >= max(first[1]) > max(first[0])
