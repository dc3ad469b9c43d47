"""What changes nothing starts as soon as its call is complete; everything else waits until the message has ended well.

The model of these tests ends its message when something has happened, not after some time.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import pytest

from toolspeak.execution import THREAD_POOL
from toolspeak.models import Request
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.tools import tool
from toolspeak.values.limits import Limits
from toolspeak.values.pieces import Piece

from .playing import SPOKEN, check, play, until


class HeldModel(ScriptedModel):
    """A scripted model whose first message ends when `may_end` says so: all but its end is sent before."""

    def __init__(self, script: Sequence[Any], may_end: Callable[[], bool], **options: Any) -> None:
        super().__init__(script, **options)
        self.may_end = may_end

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        is_first = not any(message.role == "assistant" for message in request.shown.messages)
        last: Sequence[Piece] | None = None
        async for pieces in super().ask(request):
            if last is not None:
                yield last
            last = pieces
        while is_first and not self.may_end():
            await asyncio.sleep(0.001)
        assert last is not None
        yield last


@tool(effect="read")
async def look(what: str) -> str:
    "Look."
    return f"seen {what}"


@tool(effect="read")
def look_slowly(what: str) -> str:
    "Look, in a thread."
    return f"seen {what}"


async def act(what: str) -> str:
    "Do."
    return f"done {what}"


@tool(effect="read", approve=True)
async def peek(what: str) -> str:
    "Look, if allowed."
    return f"seen {what}"


@tool(effect="read", sequential=True)
async def stare(what: str) -> str:
    "Look, alone."
    return f"seen {what}"


def collect_kinds(agent: Agent, kinds: list[str] | None = None) -> list[str]:
    """Run the agent and return the kinds of its events; a list that is given has each as soon as it comes."""
    kinds = [] if kinds is None else kinds
    stream = agent.stream("Go.")
    for event in stream:
        kinds.append(event.kind)
    check(stream.outcome, agent.toolbox)
    return kinds


@pytest.mark.parametrize(("name", "dialect"), [("look", "native"), ("look_slowly", "python")])
def test_results_are_there_before_the_message_ends(name: str, dialect: str):
    kinds: list[str] = []
    made = [(name, {"what": each}) for each in "abcd"]
    model = HeldModel([calls(*made), says("Done.")], lambda: kinds.count("tool_finished") == 4)
    collect_kinds(Agent(model, [look, look_slowly], dialect=dialect), kinds)
    assert kinds[: kinds.index("turn_ended")].count("tool_finished") == 4
    assert kinds.count("tool_started") == 4  # and nothing ran again


@pytest.mark.parametrize("face", ["run", "arun", "stream", "astream"])
def test_every_face_is_eager(face: str):
    has_started = threading.Event()

    @tool(effect="read")
    async def look_once() -> str:
        "Look."
        has_started.set()
        return "seen"

    model = HeldModel([calls(("look_once", {})), says("Done.")], has_started.is_set)
    outcome = play(Agent(model, [look_once]), face)
    assert outcome.text == "Done."
    kinds = [fact.kind for fact in outcome.facts]
    assert kinds.index("tool_started") < kinds.index("turn_ended")


@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("name", ["act", "peek", "stare"])
def test_all_others_wait_for_the_end(name: str, dialect: str):
    model = ScriptedModel([calls((name, {"what": "a"}), lingers=0.1), says("Done.")])
    kinds = collect_kinds(Agent(model, [act, peek, stare], dialect=dialect, approve=lambda call: True))
    assert kinds.index("call_ready") < kinds.index("turn_ended") < kinds.index("tool_started")


@pytest.mark.parametrize("dialect", ["native", "python"])
@pytest.mark.parametrize("name", ["watch", "watch_slowly"])
def test_a_message_that_is_cut_cancels_what_has_started(name: str, dialect: str):
    has_started, let_go, before = threading.Event(), threading.Event(), THREAD_POOL.stuck

    @tool(effect="read")
    async def watch(what: str) -> None:
        "Look without end."
        has_started.set()
        await asyncio.Event().wait()

    @tool(effect="read")
    def watch_slowly(what: str) -> None:
        "Look without end, in a thread."
        has_started.set()
        let_go.wait()

    made = [(name, {"what": "a"}), ("act", {"what": "b"})]
    model = HeldModel([calls(*made, finish="length"), says("Never.")], has_started.is_set)
    try:
        outcome = play(Agent(model, [watch, watch_slowly, act], dialect=dialect))
    finally:
        let_go.set()
    assert [fact.kind for fact in outcome.facts].count("tool_started") == 1
    assert outcome.stop_reason == "length"
    assert "cancelled before it was done" in (outcome.calls[0].error or "")
    assert "cut off" in (outcome.calls[1].error or "")
    until(lambda: THREAD_POOL.stuck <= before)


def test_what_ended_before_the_message_was_cut_stays():
    kinds: list[str] = []
    model = HeldModel([calls(("look", {"what": "a"}), finish="length")], lambda: "tool_finished" in kinds)
    stream = Agent(model, [look]).stream("Go.")
    for event in stream:
        kinds.append(event.kind)  # noqa: PERF401 (the model waits for them one by one)
    [made] = stream.outcome.calls
    assert made.output == "seen a"


def test_a_call_that_needs_another_waits_for_it_and_not_for_the_end():
    kinds: list[str] = []
    text = '```python\na = look("a")\nb = look(a)\n'
    model = HeldModel([ScriptedReply(text=text), says("Done.")], lambda: kinds.count("tool_started") == 2, chunk=4)
    collect_kinds(Agent(model, [look], dialect="python"), kinds)
    steps = [kind for kind in kinds if kind in ("tool_started", "tool_finished", "turn_ended")]
    assert steps[:3] == ["tool_started", "tool_finished", "tool_started"]


@pytest.mark.parametrize(("limits", "most"), [(Limits(calls=2), 2), (Limits(concurrent=3), 3)])
def test_no_more_start_early_than_may_run(limits: Limits, most: int):
    kinds: list[str] = []

    @tool(effect="read")
    async def look_until_the_end(what: str) -> str:
        "Look."
        while "turn_ended" not in kinds:
            await asyncio.sleep(0.001)
        return f"seen {what}"

    made = [("look_until_the_end", {"what": each}) for each in "abcdef"]
    script = [calls(*made, lingers=0.1), says("Done.")]
    model = HeldModel(script, lambda: kinds.count("tool_started") >= most)
    collect_kinds(Agent(model, [look_until_the_end], limits=limits), kinds)
    assert kinds[: kinds.index("turn_ended")].count("tool_started") == most


def test_nothing_starts_early_when_nothing_may_be_called():
    model = ScriptedModel([calls(("look", {"what": "a"}), lingers=0.05), says("Done.")])
    agent = Agent(model, [look], tool_choice="none")
    assert "tool_started" not in collect_kinds(agent)
