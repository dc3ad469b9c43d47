"""A run may be cancelled at every point at which it waits: the facts are whole, nothing is left, and it can go on."""

import asyncio
import gc
import threading
import time
from collections.abc import Coroutine, Generator
from typing import Any

import pytest

from toolspeak.execution import THREAD_POOL
from toolspeak.models import Request
from toolspeak.run import Agent, AsyncStream, Outcome, portal
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.tools import tool
from toolspeak.values.codec import dump_facts, load_facts
from toolspeak.values.events import Fact, RunEnded

from .playing import Clock, cancel_after, check, left, play, run_coroutine, sendable, until, whole


@tool(effect="read")
async def look(what: str) -> str:
    "Look."
    await asyncio.sleep(0)
    return f"seen {what}"


async def act(what: str) -> str:
    "Do."
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return f"done {what}"


@tool(approve=True)
def ask(what: str) -> str:
    "Do it if allowed; in a thread."
    return f"asked {what}"


async def tidies(what: str) -> str:
    "Takes a moment to end when cancelled."
    try:
        await asyncio.sleep(0.001)
    except asyncio.CancelledError:
        await asyncio.sleep(0.001)
        raise
    return what


async def allow(call: Any) -> bool:
    await asyncio.sleep(0)
    return True


TOOLS = [look, act, ask, tidies]
SCRIPT = [
    calls(
        ("look", {"what": "a"}), ("act", {"what": "b"}), ("ask", {"what": "c"}), ("tidies", {"what": "d"}), text="So:"
    ),
    calls(("act", {"what": "e"}), ("look", {"what": "f"})),
    says("Everything is done."),
]
DIALECTS = ["native", "python"]


def agent(dialect: str, *, streamed: bool = True) -> Agent:
    tools = TOOLS if streamed else [act, tidies, ask, tool(look, effect="idempotent")]
    return Agent(ScriptedModel(SCRIPT, chunk=9), tools, dialect=dialect, approve=allow)


class CancelledAt:
    """Awaits a coroutine, and cancels the task it runs in at the k-th point at which it waits."""

    def __init__(self, work: Coroutine[Any, Any, Any], k: int) -> None:
        self.work, self.k, self.waited = work, k, 0

    def __await__(self) -> Generator[Any, Any, Any]:
        thrown: BaseException | None = None
        while True:
            try:
                waiting = self.work.send(None) if thrown is None else self.work.throw(thrown)
            except StopIteration as stop:
                return stop.value
            self.waited += 1
            if self.waited == self.k:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            try:
                yield waiting
                thrown = None
            except BaseException as error:
                thrown = error


def ended_whole(facts: list[Fact], reason: str, resuming: Agent) -> None:
    """They end the run, every call has its result, and the run goes on from them to the same end."""
    whole(facts)
    assert isinstance(facts[-1], RunEnded)
    assert facts[-1].reason == reason
    again = resuming.resume(load_facts(dump_facts(facts)))
    sendable(again.messages, resuming.toolbox)
    assert (again.text, again.stop_reason) == ("Everything is done.", "answered")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("face", ["arun", "astream"])
def test_at_every_point_at_which_it_waits(face: str, dialect: str):
    async def taken() -> Outcome:
        if face == "arun":
            return await agent(dialect).arun("Go.", record=facts.append)
        stream = agent(dialect).astream("Go.", record=facts.append)
        async for _ in stream:
            pass
        return stream.outcome

    async def cancelled_at(k: int) -> bool:
        work = CancelledAt(taken(), k)

        async def run() -> None:
            await work

        task = asyncio.create_task(run())
        await asyncio.wait([task])
        assert left() == []
        if not task.cancelled():
            task.result()
            return False
        return True

    k = 1
    while True:
        facts: list[Fact] = []
        if not run_coroutine(cancelled_at(k)):
            break
        if facts[-1].reason == "answered":  # it had ended, and was waiting for nothing but its own tidying up
            whole(facts)
        else:
            ended_whole(facts, "cancelled", agent(dialect))
        k += 1
    assert k > 8, "it should have waited more often"


@pytest.mark.parametrize("streamed", [True, False])
def test_at_every_step_of_the_event_loop(streamed: bool):
    """Not only where the run itself waits: between any two steps of the model, of a tool, of whoever is asked."""
    facts: list[Fact] = []

    steps = 1
    while True:
        facts.clear()
        run = agent("native", streamed=streamed).arun("Go.", record=facts.append)
        if not run_coroutine(cancel_after(steps, run)):
            break
        if facts and facts[-1].reason != "answered":
            ended_whole(facts, "cancelled", agent("native"))
        steps += 1 if steps < 60 else steps // 12  # a thread takes as many steps as it likes
    assert steps > 20


def test_a_stream_that_is_cancelled_tells_its_end():
    for place in range(1, 30, 2):
        stream = agent("native").stream("Go.")
        events = []
        for event in stream:
            events.append(event)
            if len(events) == place:
                stream.cancel()
        outcome = check(stream.outcome)
        assert events[-1] is outcome.facts[-1]
        assert outcome.stop_reason in ("cancelled", "answered")
        if outcome.stop_reason == "cancelled":
            ended_whole(list(outcome.facts), "cancelled", agent("native"))


def test_a_stream_that_is_cancelled_before_it_begins_asks_nobody():
    model = ScriptedModel(SCRIPT)
    stream = Agent(model, TOOLS).stream("Go.")
    stream.cancel()
    assert [event.kind for event in stream][-1] == "run_ended"
    assert check(stream.outcome).stop_reason == "cancelled"


def test_an_async_stream_can_be_cancelled_from_another_thread():
    async def main() -> Outcome:
        stream = Agent(ScriptedModel([calls(("hang", {}))]), [hang]).astream("Go.")
        async for event in stream:
            if event.kind == "tool_started":
                threading.Timer(0.05, stream.cancel).start()
        return stream.outcome

    async def hang() -> None:
        "Hangs."
        await asyncio.sleep(20)

    clock = Clock()
    outcome = check(run_coroutine(main()))
    assert clock() < 10
    assert outcome.stop_reason == "cancelled"


# Whoever listens may leave


def forgotten(facts: list[Fact]) -> bool:
    return bool(facts) and isinstance(facts[-1], RunEnded)


@pytest.mark.parametrize("how", ["with", "close", "let go"])
def test_leaving_a_stream_ends_the_run(how: str):
    for place in range(1, 26, 3):
        facts: list[Fact] = []
        stream = agent("python").stream("Go.", record=facts.append)
        if how == "with":
            with stream:
                for _ in zip(range(place), stream, strict=False):
                    pass
        else:
            for _ in zip(range(place), stream, strict=False):
                pass
            if how == "close":
                stream.close()
            del stream
        whole(facts)
        assert forgotten(facts)
        if facts[-1].reason == "cancelled":
            ended_whole(facts, "cancelled", agent("python"))


async def pass_steps() -> None:
    """Let everything in this event loop go on that waits for nobody."""
    for _ in range(200):
        await asyncio.sleep(0)


def test_a_stream_that_nobody_takes_from_stands_still():
    """One batch a request, as in an async stream: whoever leaves at the first event has let no call run."""
    paid: list[int] = []

    async def pay(amount: int) -> str:
        "Pay."
        paid.append(amount)
        return "paid"

    script = [calls(("pay", {"amount": amount})) for amount in (1, 2, 3)]
    stream = Agent(ScriptedModel([*script, says("All paid.")]), [pay]).stream("Pay.")
    assert next(stream).kind == "run_started"
    portal.call(pass_steps())
    assert paid == []
    assert next(event for event in stream if event.kind == "tool_finished").kind == "tool_finished"
    portal.call(pass_steps())
    assert paid == [1]
    assert [event.kind for event in stream][-1] == "run_ended"
    assert paid == [1, 2, 3]
    assert check(stream.outcome).text == "All paid."


async def some(stream: AsyncStream[Outcome], count: int) -> None:
    async for _ in stream:
        count -= 1
        if not count:
            break


@pytest.mark.parametrize("how", ["with", "close", "let go", "keep"])
def test_leaving_an_async_stream_ends_the_run(how: str, caplog: pytest.LogCaptureFixture):
    kept: list[Any] = []
    gc.collect()  # what other tests left may be logged, but not here
    caplog.clear()

    async def main(place: int, facts: list[Fact]) -> None:
        stream = agent("python").astream("Go.", record=facts.append)

        if how == "with":
            async with stream:
                await some(stream, place)
        else:
            await some(stream, place)
        if how == "close":
            await stream.aclose()
        if how == "keep":
            kept.append(stream)
        del stream

    for place in range(1, 26, 3):
        facts: list[Fact] = []
        asyncio.run(main(place, facts))
        whole(facts)
        assert forgotten(facts)
    assert caplog.records == []


def test_a_stream_that_nobody_began_leaves_nothing():
    facts: list[Fact] = []
    agent("native").stream("Go.", record=facts.append).close()

    async def main() -> None:
        await agent("native").astream("Go.", record=facts.append).aclose()
        agent("native").astream("Go.", record=facts.append)

    run_coroutine(main())
    assert facts == []


# Recording


@pytest.mark.parametrize("face", ["run", "arun", "stream", "astream"])
def test_a_recorder_that_fails_ends_the_run_and_leaves_nothing(face: str):
    count = len(play(agent("native")).facts)
    for place in range(count):
        taken: list[Fact] = []

        def record(fact: Fact) -> None:
            if len(taken) == place:  # noqa: B023 (used in this round only)
                raise OSError("disk full")
            taken.append(fact)  # noqa: B023 (called within this round)

        clock = Clock()
        with pytest.raises(OSError, match="disk full"):
            play(agent("native"), face, record=record)
        assert clock() < 10


def test_everything_is_recorded_before_it_is_done():
    log: list[str] = []

    @tool(effect="read")
    async def look() -> str:
        "Look."
        log.append("look")
        return "seen"

    model = ScriptedModel([calls(("look", {})), says("Done.")])
    outcome = Agent(model, [look]).run("Go.", record=lambda fact: log.append(fact.kind))
    assert log.index("tool_started") < log.index("look") < log.index("tool_finished")
    assert [kind for kind in log if kind != "look"] == [fact.kind for fact in outcome.facts]


# Threads


def test_a_tool_in_a_thread_is_left_behind_when_its_run_is_cancelled():
    let_go, ended, before = threading.Event(), threading.Event(), THREAD_POOL.stuck

    def hang() -> None:
        "Hangs."
        let_go.wait(80)
        ended.set()

    async def main() -> list[Fact]:
        facts: list[Fact] = []
        task = asyncio.create_task(Agent(ScriptedModel([calls(("hang", {}))]), [hang]).arun("Go.", record=facts.append))
        while not any(fact.kind == "tool_started" for fact in facts):
            await asyncio.sleep(0.01)
        clock = Clock()
        task.cancel()
        await asyncio.wait([task])
        assert clock() < 40
        assert task.cancelled()
        return facts

    facts = run_coroutine(main())
    whole(facts)
    assert not ended.is_set()
    assert THREAD_POOL.stuck >= 1  # threads of other tests may be stuck, too
    let_go.set()
    assert ended.wait(60)
    until(lambda: THREAD_POOL.stuck <= before)


def test_a_timeout_of_the_caller_ends_the_run():
    async def hang() -> None:
        "Hangs."
        await asyncio.sleep(20)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(Agent(ScriptedModel([calls(("hang", {}))]), [hang]).arun("Go."), 0.1)
        assert left() == []

    clock = Clock()
    run_coroutine(main())
    assert clock() < 10


def test_an_abandoned_stream_is_collected_in_the_thread_of_the_runs(caplog: pytest.LogCaptureFixture):
    def peek() -> None:
        stream = Agent(ScriptedModel([says("a b c d e f")], chunk=2, pace=0.01)).stream("Go.")
        cycle: list[Any] = [stream]
        cycle.append(cycle)
        next(iter(stream))

    def collect(_: Request) -> ScriptedReply:
        gc.collect()
        return says("Hello.")

    gc.collect()
    gc.freeze()  # what other tests left takes no time, and is logged elsewhere
    gc.disable()
    caplog.clear()
    try:
        peek()
        before = time.monotonic()
        assert Agent(ScriptedModel([collect])).run("Go.").text == "Hello."
    finally:
        gc.enable()
        gc.unfreeze()
    assert time.monotonic() - before < portal.CANCEL_TIMEOUT_SECONDS  # nobody waited until it was given up
    assert not [record for record in caplog.records if record.name == "asyncio"]
