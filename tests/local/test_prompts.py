"""What was read of a prompt, with the real weights: a new process takes it from the disk."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from toolspeak import Agent, Outcome, Sampling
from toolspeak.models import EmbeddedModel
from toolspeak.models.adapters import QWEN_CODER_CALLS
from toolspeak.models.local import LocalServer
from toolspeak.models.prompt_store import PromptStore
from toolspeak.models.weights import QWEN_CODER
from toolspeak.models.weights_download import find_weights
from toolspeak.settings import cache_folder

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


def run_in_new_process(store: PromptStore | None, question: str) -> tuple[Outcome[Any], list[int]]:
    """Return the outcome, and how many tokens had been read at each report."""
    assert WEIGHTS is not None
    model = EmbeddedModel(WEIGHTS, name="local", context=1024, adapter=QWEN_CODER_CALLS, prompts=store)
    reports: list[int] = []
    model.on_prompt_read = lambda done, total: reports.append(done)
    stream = Agent(model, tools=[price], sampling=Sampling(max_tokens=24)).stream(question)
    for _ in stream:
        pass
    outcome = stream.outcome
    server = model.load()
    assert isinstance(server, LocalServer)
    server.stop()
    return outcome, reports


def test_a_new_process_reads_only_the_question(tmp_path: Path) -> None:
    store = PromptStore(tmp_path / "prompts")
    question = "What does a croissant cost?"
    plain, _ = run_in_new_process(None, question)
    first, read_first = run_in_new_process(store, question)
    (state,) = store.folder.iterdir()
    second, read_then = run_in_new_process(store, question)
    assert [made.name for made in plain.calls] == ["price"]
    assert plain.text == first.text == second.text
    assert [made.arguments for made in plain.calls] == [made.arguments for made in second.calls]
    assert min(read_first) == 0
    assert min(read_then) > 60  # the tools and what is said of them
    whole = state.read_bytes()
    state.write_bytes(whole[: len(whole) // 2])  # llama.cpp would end its process on it
    third, read_again = run_in_new_process(store, question)
    assert third.text == plain.text
    assert min(read_again) == 0
    assert state.read_bytes() == whole
