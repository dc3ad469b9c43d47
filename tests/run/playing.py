"""What the tests of runs share: the four faces of a run, and what must hold after every run."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from toolspeak.dialects import DIALECTS
from toolspeak.models import Request
from toolspeak.run import Agent, Outcome, portal
from toolspeak.testing import FakeClock
from toolspeak.tools import Toolbox
from toolspeak.values.codec import dump_facts, dump_messages, load_facts
from toolspeak.values.errors import ModelError
from toolspeak.values.events import CallReady, Fact, RunEnded, ToolFinished, ToolStarted
from toolspeak.values.messages import Message, Result
from toolspeak.values.pieces import Piece

T = TypeVar("T")

FACES = ("run", "arun", "stream", "astream")
RESUMING = dict(zip(FACES, ("resume", "aresume", "stream_resume", "astream_resume"), strict=True))
SPOKEN = ("native", "json", "typescript", "python")


def play(agent: Agent, face: str = "run", prompt: str = "Go on.", **options: Any) -> Outcome[Any]:
    """A run by one of its faces, and what must hold after it."""
    try:
        outcome = _played(agent, face, prompt, options)
    except ModelError as error:
        check(error.outcome, agent.toolbox)
        raise
    return check(outcome, agent.toolbox)


def _played(agent: Agent, face: str, prompt: str, options: dict[str, Any]) -> Outcome[Any]:
    if face != "stream":
        return start(agent, face, prompt, **options)
    stream = agent.stream(prompt, **options)
    events = list(stream)
    assert [event for event in events if not event.kind.endswith("_delta")] == list(stream.outcome.facts)
    return stream.outcome


def start(runnable: Any, face: str, *given: Any, resumes: bool = False, **options: Any) -> Outcome[Any]:
    """Begin or resume a run of an agent or a chat by one of its faces, and wait for its end."""
    begin = getattr(runnable, RESUMING[face] if resumes else face)

    async def take_all() -> Outcome[Any]:
        async with begin(*given, **options) as events:
            async for _ in events:
                pass
        return events.outcome

    match face:
        case "run":
            return begin(*given, **options)
        case "arun":
            return run_coroutine(begin(*given, **options))
        case "stream":
            with begin(*given, **options) as events:
                list(events)
            return events.outcome
        case _:
            return run_coroutine(take_all())


def run_coroutine(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in an event loop of its own, in which no task may be left behind."""

    async def watched() -> Any:
        try:
            return await work
        finally:
            assert left() == []

    return asyncio.run(watched())


async def cancel_after(steps: int, work: Coroutine[Any, Any, Any]) -> bool:
    """Cancel a run after so many steps of the event loop; whether it was still going on. Nothing of it is left."""
    task = asyncio.create_task(work)
    for _ in range(steps):
        if task.done():
            break
        await asyncio.sleep(0)
    if task.done():
        task.result()
        return False
    task.cancel()
    await asyncio.wait([task])
    assert left() == []
    return task.cancelled()


def left() -> list[str]:
    """The tasks of the running event loop, but for this one."""
    return [repr(task) for task in asyncio.all_tasks() - {asyncio.current_task()}]


async def _left() -> list[str]:
    return left()


def nothing_left(threads: Sequence[threading.Thread]) -> None:
    """No task in the portal, and no thread beside these but those of the pool, which stay for a while."""
    clock = Clock()
    while (tasks := portal.call(_left())) and clock() < 5:  # one that was cancelled ends a moment later
        time.sleep(0.01)
    assert tasks == []
    until(lambda: all(each in threads or each.name.startswith("toolspeak") for each in threading.enumerate()))
    began = [each for each in threading.enumerate() if each.name == "toolspeak tool" and each not in threads]
    assert len(began) < 50


def check(outcome: Outcome[Any], toolbox: Toolbox | None = None) -> Outcome[Any]:
    """Nothing is lost: the facts are whole and can be saved, the history can be sent by every dialect."""
    sendable(outcome.messages, toolbox)
    whole(outcome.facts)
    assert [fact.kind for fact in outcome.facts].count("run_ended") == 1
    assert isinstance(outcome.facts[-1], RunEnded)
    assert outcome.facts[-1].reason == outcome.stop_reason
    return outcome


def whole(facts: Sequence[Fact]) -> None:
    """They survive their JSON, and each call that was started has ended, once."""
    assert load_facts(dump_facts(facts)) == tuple(facts)
    started = [fact.call_id for fact in facts if isinstance(fact, ToolStarted)]
    finished = [fact.result.call_id for fact in facts if isinstance(fact, ToolFinished)]
    assert sorted(started) == sorted(finished)
    assert len(started) == len(set(started))


def sendable(messages: Sequence[Message], toolbox: Toolbox | None = None) -> None:
    """Each call has one result, in order, right after its message; every dialect can render it."""
    ids = [call.id for message in messages for call in message.calls]
    assert len(ids) == len(set(ids))
    assert all(0 < len(call_id) <= 200 for call_id in ids)
    called: list[str] = []
    for message in messages:
        results = [part.call_id for part in message.parts if isinstance(part, Result)]
        assert results == called
        assert (message.role == "tool") == bool(results)
        called = [call.id for call in message.calls]
    assert not called, "calls without results"
    for dialect in DIALECTS.values():
        shown = dialect.render(toolbox.specs if toolbox else (), messages)
        json.loads(dump_messages(shown.messages).split("\n")[0], parse_constant=lambda name: 1 / 0)


def summarize(outcome: Outcome[Any]) -> tuple[Any, ...]:
    """What every face and every dialect must agree on."""
    made = [(each.name, each.arguments, each.output, each.error) for each in outcome.calls]
    return made, outcome.text, outcome.stop_reason


def collect_notes(outcome: Outcome[Any]) -> str:
    """All that the model was told in results and notes."""
    return "\n".join(
        text.text
        for message in outcome.messages
        if message.role == "tool"
        for part in message.parts
        for text in (part.content if isinstance(part, Result) else (part,))
        if hasattr(text, "text")
    )


def ready(facts: Sequence[Fact]) -> list[str]:
    return [fact.call.id for fact in facts if isinstance(fact, CallReady)]


class Piecewise:
    """A model that says given pieces, a list of batches a turn; for what a script cannot say."""

    def __init__(self, *turns: Sequence[Sequence[Piece]], dialect: str = "native") -> None:
        self._turns = turns
        self.name, self.dialect = "piecewise", dialect

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        for batch in self._turns[sum(message.role == "assistant" for message in request.shown.messages)]:
            await asyncio.sleep(0)
            yield batch


class Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self) -> float:
        return time.monotonic() - self._began


class SkippedClock(FakeClock):
    """A fake clock that whoever has got so far sets ahead: then the time is over, on a machine of any speed."""

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        async def main() -> T:
            self._loop = asyncio.get_running_loop()
            return await coroutine

        return super().run(main())

    def skip(self, seconds: float) -> None:
        """Let time pass, from any thread. What the caller did before is noticed first."""
        with suppress(RuntimeError):  # the event loop is closed: all is over
            self._loop.call_soon_threadsafe(self._pass, seconds)

    def _pass(self, seconds: float) -> None:
        self.seconds += seconds


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something that happens in another thread."""
    clock = Clock()
    while not condition():
        assert clock() < seconds, "it did not happen"
        time.sleep(0.01)
