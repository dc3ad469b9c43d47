"""What changes nothing starts as soon as its call is complete; everything else waits until the message has ended well."""

import asyncio
import threading
import time
from typing import Any

import pytest

from toolspeak.execution import THREAD_POOL
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.tools import tool
from toolspeak.values.events import CallReady, Event, RunEnded, ToolFinished, ToolStarted, TurnEnded
from toolspeak.values.limits import Limits

from .playing import SPOKEN, Clock, check, play, until


@tool(effect="read")
async def look(what: str) -> str:
    "Look."
    await asyncio.sleep(0.5)
    return f"seen {what}"


@tool(effect="read")
def look_slowly(what: str) -> str:
    "Look, in a thread."
    time.sleep(0.5)
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


def timed(agent: Agent) -> list[tuple[float, Event]]:
    """The events of a run, and when each came."""
    clock = Clock()
    stream = agent.stream("Go.")
    events = [(clock(), event) for event in stream]
    check(stream.outcome, agent.toolbox)
    return events


def times(events: list[tuple[float, Event]], kind: type[Any]) -> list[float]:
    return [when for when, event in events if isinstance(event, kind)]


@pytest.mark.parametrize(("name", "dialect"), [("look", "native"), ("look_slowly", "python")])
def test_results_are_there_long_before_the_message_ends(name: str, dialect: str):
    made = [(name, {"what": each}) for each in "abcd"]
    model = ScriptedModel([calls(*made, pauses=(0.2, 0.2, 0.2, 0.2), lingers=2.2), says("Done.")])
    events = timed(Agent(model, [look, look_slowly], dialect=dialect))
    ready, finished = times(events, CallReady), times(events, ToolFinished)
    assert len(finished) == 4
    [first_end, _] = times(events, TurnEnded)
    assert (
        max(finished) < first_end - 0.5
    )  # calls that waited for the end of the message would finish 0.5 seconds after
    assert first_end - ready[-1] > 1
    assert len(times(events, ToolStarted)) == 4  # and nothing ran again


@pytest.mark.parametrize("face", ["run", "arun", "stream", "astream"])
def test_every_face_is_eager(face: str):
    model = ScriptedModel([calls(("look", {"what": "a"}), lingers=0.5), says("Done.")])
    outcome = play(Agent(model, [look]), face)
    assert outcome.text == "Done."
    kinds = [fact.kind for fact in outcome.facts]
    assert kinds.index("tool_started") < kinds.index("turn_ended")


@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("name", ["act", "peek", "stare"])
def test_all_others_wait_for_the_end(name: str, dialect: str):
    model = ScriptedModel([calls((name, {"what": "a"}), lingers=0.1), says("Done.")])
    kinds = [
        event.kind for _, event in timed(Agent(model, [act, peek, stare], dialect=dialect, approve=lambda call: True))
    ]
    assert kinds.index("call_ready") < kinds.index("turn_ended") < kinds.index("tool_started")


@pytest.mark.parametrize("dialect", ["native", "python"])
@pytest.mark.parametrize("name", ["watch", "watch_slowly"])
def test_a_message_that_is_cut_cancels_what_has_started(name: str, dialect: str):
    let_go = threading.Event()

    @tool(effect="read")
    async def watch(what: str) -> None:
        "Look without end."
        await asyncio.sleep(20)

    @tool(effect="read")
    def watch_slowly(what: str) -> None:
        "Look without end, in a thread."
        let_go.wait(20)

    made = [(name, {"what": "a"}), ("act", {"what": "b"})]
    model = ScriptedModel([calls(*made, pauses=(0, 0.05), finish="length"), says("Never.")])
    agent = Agent(model, [watch, watch_slowly, act], dialect=dialect)
    events = timed(agent)
    assert len(times(events, ToolStarted)) == 1
    [end] = times(events, RunEnded)
    assert end < 10  # far less than the 20 seconds for which the tool looks
    outcome = play(agent)
    assert outcome.stop_reason == "length"
    assert "cancelled before it was done" in (outcome.calls[0].error or "")
    assert "cut off" in (outcome.calls[1].error or "")
    let_go.set()
    until(lambda: THREAD_POOL.stuck == 0)


def test_what_ended_before_the_message_was_cut_stays():
    @tool(effect="read")
    async def glance() -> str:
        "Look quickly."
        return "seen"

    model = ScriptedModel([calls(("glance", {}), lingers=0.5, finish="length")])
    [made] = play(Agent(model, [glance])).calls
    assert made.output == "seen"


def test_a_call_that_needs_another_waits_for_it_and_not_for_the_end():
    text = '```python\na = look("a")\nb = look(a)\n'
    model = ScriptedModel([ScriptedReply(text=text, lingers=1.2), says("Done.")], chunk=4)
    agent = Agent(model, [look], dialect="python")
    events = timed(agent)
    started = times(events, ToolStarted)
    assert len(started) == 2
    assert started[1] > started[0] + 0.45
    assert times(events, TurnEnded)[0] > started[1]


def test_no_more_start_early_than_may_run():
    model = ScriptedModel([calls(*[("look", {"what": each}) for each in "abcdef"], lingers=0.2), says("Done.")])
    for limits, most in ((Limits(calls=2), 2), (Limits(concurrent=3), 3)):
        kinds = [event.kind for _, event in timed(Agent(model, [look], limits=limits))]
        assert kinds[: kinds.index("turn_ended")].count("tool_started") == most


def test_nothing_starts_early_when_nothing_may_be_called():
    model = ScriptedModel([calls(("look", {"what": "a"}), lingers=0.05), says("Done.")])
    agent = Agent(model, [look], tool_choice="none")
    assert times(timed(agent), ToolStarted) == []
