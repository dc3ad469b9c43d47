"""The driver: performs what the loop decides, and brings back what happens as facts.

Everything that happens outside arrives in one inbox: pieces from the model, results from tools, a yes or a no, a
deadline, a cancellation. Each fact is folded, recorded and acted upon before the next is looked at. Whatever ends the
driver, be it a cancellation from outside at any point, the facts are brought to an end first, so that every call has
its result, and nothing is left running.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import aclosing, suppress
from typing import Any, NamedTuple, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.dialects import Dialect
from toolspeak.errors import ModelError, ProviderError, RunPaused, StreamInterrupted, UsageError
from toolspeak.events import (
    ApprovalGiven,
    ApprovalNeeded,
    ArgsDelta,
    Event,
    Fact,
    Interrupted,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from toolspeak.execution import CANCEL_GRACE_SECONDS, THREAD_POOL, Executor, RunningCall
from toolspeak.execution.outcome import CallOutcome, Raised, format_error
from toolspeak.loop import (
    Action,
    AskApproval,
    AskModel,
    CancelTools,
    Finish,
    RunTools,
    State,
    StopStream,
    decide,
    reduce,
)
from toolspeak.messages import ToolCall, ToolResult
from toolspeak.models import Model, Request, Sampling
from toolspeak.pieces import Answer, Piece
from toolspeak.run.inbox import Inbox
from toolspeak.turns import TurnReader

Approver: TypeAlias = Callable[[ToolCall], bool | str | Awaitable[bool | str]]
"""Whoever agrees to calls: a yes, a no, or a text that says why not."""

Recorder: TypeAlias = Callable[[Fact], None]
"""Whoever keeps the facts of a run, each before it is acted upon."""

DELTAS = (TextDelta, ThinkingDelta, ArgsDelta)
"""Events that are told and are no facts."""


class Heard(NamedTuple):
    """The model said more."""

    turn: int
    pieces: Sequence[Piece]


@frozen
class Failed:
    """The model, or whoever was asked to agree, failed."""

    turn: int
    error: Exception


@frozen
class Setup:
    """What a driver works with."""

    model: Model
    dialect: Dialect
    executor: Executor
    sampling: Sampling = Sampling()
    stream: bool = True
    approve: Approver | None = None
    record: Recorder | None = None


class Driver:
    """Drives one run.

    Attributes:
        state: Where the run stands.
        facts: The run so far.
        error: What failed, if the run ended for it.
    """

    def __init__(self, setup: Setup, state: State, facts: Sequence[Fact] = ()) -> None:
        self.state = state
        self.facts: list[Fact] = list(facts)
        self.error: BaseException | None = None
        self._setup = setup
        self._inbox: Inbox[Fact | Heard | Failed] = Inbox()
        self._events: list[Event] = []
        self._reader: TurnReader | None = None
        self._running: dict[str, RunningCall] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._stopping = False
        self._waiting_for: tuple[ToolCall, ...] = ()

    async def batches(self, first: Sequence[Fact]) -> AsyncGenerator[list[Event]]:
        """The run, from its first facts to its end: events in the order in which they happened."""
        deadline = self._deadline(first)
        try:
            for fact in first:
                self._fold(fact)
            self._act()
            while True:
                if self._events:
                    events, self._events = self._events, []
                    yield events
                if self.state.ended is not None:
                    return
                if self._waiting_for:
                    raise self._paused()
                for item in await self._inbox.take():
                    self._handle(item)
        finally:
            if deadline is not None:
                deadline.cancel()
            try:
                self._bring_to_an_end()
            finally:
                await self._nothing_left()

    def cancel(self, detail: str = "") -> None:
        """End the run, in the event loop in which it runs; what there is stays."""
        self._inbox.put(Interrupted(cause="cancelled", detail=detail))

    # Facts

    def _fold(self, fact: Fact) -> None:
        if self._setup.record is not None:
            self._setup.record(fact)
        self.facts.append(fact)
        self._events.append(fact)
        self.state = reduce(self.state, fact)

    def _handle(self, item: Fact | Heard | Failed) -> None:
        if self.state.ended is not None:  # it came with what ended the run, and is too late
            return
        if isinstance(item, Heard):
            if self._reader is not None and self._is_open(item.turn):
                self._tell(self._reader.feed(item.pieces))
        elif isinstance(item, Failed):
            if self._is_open(item.turn):
                self.error = item.error
                self._fact(Interrupted(cause="endpoint", detail=str(item.error)))
        else:
            self._fact(item)
        if self._stopping and self.state.turn.open and self._reader is not None:
            self._tell(self._reader.close("closed" if self.state.halted is None else "error"))

    def _is_open(self, turn: int) -> bool:
        """Whether that turn still listens; what comes later no longer counts."""
        return self.state.turn.open and self.state.turn.number == turn

    def _tell(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, DELTAS):
                self._events.append(event)
            else:
                self._fact(event)

    def _fact(self, fact: Fact) -> None:
        before = self.state
        self._fold(fact)
        if self.state is not before:
            self._act()

    # Actions

    def _act(self) -> None:
        """Do what is to be done, until there is nothing more."""
        before = None
        while self.state is not before:
            before = self.state
            for action in decide(before):
                self._perform(action)

    def _perform(self, action: Action) -> None:
        match action:
            case AskModel():
                self._ask(action)
            case StopStream():
                self._stopping = True
                self._hang_up()
            case RunTools(calls=calls):
                self._run(calls)
            case CancelTools(call_ids=call_ids):
                for call_id in call_ids:
                    self._cancel(call_id)
            case AskApproval(calls=calls):
                self._ask_approval(calls)
            case Finish(reason=reason, detail=detail):
                self._fold(RunEnded(reason=reason, detail=detail))

    def _ask(self, action: AskModel) -> None:
        self._fold(TurnStarted(turn=action.turn))
        setup, state = self._setup, self.state
        specs = tuple(state.specs.values())
        shown = setup.dialect.render(specs, state.history, choice=action.choice, parallel=action.parallel)
        taken = {call.id for message in state.history for call in message.calls}
        self._reader = TurnReader(
            setup.dialect, specs, single=not action.parallel, prefix=_prefix(action.turn, taken), taken=taken
        )
        self._stopping = False
        request = Request(shown=shown, dialect=setup.dialect.name, stream=setup.stream, sampling=setup.sampling)
        self._listening = self._task(self._listen(request, action.turn))

    async def _listen(self, request: Request, turn: int) -> None:
        pieces: Sequence[Piece] = ()
        try:
            async with aclosing(self._setup.model.ask(request)) as answer:
                async for pieces in answer:
                    self._inbox.put(Heard(turn=turn, pieces=pieces))
            if not pieces or not isinstance(pieces[-1], Answer):
                raise StreamInterrupted(f"{self._setup.model.name} ended in the middle of a message")
        except (ModelError, UsageError) as error:
            self._inbox.put(Failed(turn=turn, error=error))
        except asyncio.CancelledError:  # if it was not us, somebody must be told; if it was, nobody listens any more
            self._inbox.put(Failed(turn=turn, error=StreamInterrupted(f"{self._setup.model.name} was cancelled")))
            raise
        except Exception as error:
            failure = ProviderError(f"{self._setup.model.name} failed: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self._inbox.put(Failed(turn=turn, error=failure))

    def _hang_up(self) -> None:
        if self._listening is not None:
            self._listening.cancel()

    def _run(self, calls: tuple[ToolCall, ...]) -> None:
        for call in calls:
            self._fold(ToolStarted(call_id=call.id))
        results = self.state.results

        def done(result: ToolResult) -> None:
            self._running.pop(result.call_id, None)
            self._inbox.put(ToolFinished(result=result))

        for call in calls:
            running = self._setup.executor.start(call, results, self.state.turn.number, done)
            if not running.ended:
                self._running[call.id] = running

    def _cancel(self, call_id: str) -> None:
        running = self._running.pop(call_id, None)
        if running is not None:
            running.cancel()

    # Approval

    def _ask_approval(self, calls: tuple[ToolCall, ...]) -> None:
        for call in calls:
            self._fold(ApprovalNeeded(call=call))
        if self._setup.approve is None:
            self._waiting_for = calls
        else:
            self._task(self._approvals(calls, self._setup.approve))

    async def _approvals(self, calls: tuple[ToolCall, ...], approve: Approver) -> None:
        """One after the other: whoever is asked may be a person."""
        try:
            for call in calls:
                answer = await _asked(approve, call)
                reason = answer if isinstance(answer, str) else ""
                self._inbox.put(ApprovalGiven(call_id=call.id, approved=answer is True, reason=reason))
        except BaseException as error:  # whoever is asked may leave the program: that is for whoever runs this
            if self.state.ended is None:
                self.error = error
                self._inbox.put(Interrupted(cause="cancelled", detail=f"the approval failed: {format_error(error)}"))

    def _paused(self) -> RunPaused:
        names = ", ".join(call.name for call in self._waiting_for)
        return RunPaused(
            f"the run waits for somebody to allow {names}; give the agent approve=…, or save the facts of this error "
            "and go on with agent.resume(facts, approvals={…})",
            self._waiting_for,
            tuple(self.facts),
        )

    # The end

    def _deadline(self, first: Sequence[Fact]) -> asyncio.TimerHandle | None:
        started = next((fact for fact in (*self.facts, *first) if isinstance(fact, RunStarted)), None)
        seconds = started.limits.seconds if started else None
        if seconds is None:
            return None
        late = Interrupted(cause="deadline", detail=f"the run may take {seconds:g} seconds, and they are over")
        return asyncio.get_running_loop().call_later(seconds, self._inbox.put, late)

    def _bring_to_an_end(self) -> None:
        """Whoever ran this has gone. The facts are completed all the same, without waiting for anything."""
        if self.state.run is None or self.state.ended is not None or self._waiting_for:
            return
        self._handle(Interrupted(cause="cancelled", detail="whoever started the run did not wait for its end"))
        while self.state.ended is None and (items := self._inbox.take_now()):
            for item in items:
                self._handle(item)

    async def _nothing_left(self) -> None:
        for running in list(self._running.values()):
            running.cancel()
        for task in self._tasks:
            task.cancel()
        # One that is done may still be in there: it leaves in the next round of the event loop.
        if left := [task for task in self._tasks | self._setup.executor.tasks if not task.done()]:
            await asyncio.wait(left, timeout=2 * CANCEL_GRACE_SECONDS)

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _prefix(turn: int, taken: Collection[str]) -> str:
    """What the ids of this turn begin with: nothing that an id of the conversation begins with."""
    while any(call_id.startswith(f"call_{turn}_") for call_id in taken):
        turn += 1
    return f"call_{turn}"


async def _asked(approve: Approver, call: ToolCall) -> bool | str:
    """Somebody's answer. A plain function may wait for a person, so it waits in a thread."""
    if inspect.iscoroutinefunction(approve):
        return await approve(call)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[CallOutcome] = loop.create_future()

    def answered(outcome: CallOutcome) -> None:
        def settle() -> None:
            if not answer.done():
                answer.set_result(outcome)

        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(settle)

    job = THREAD_POOL.start(lambda: approve(call), answered)
    try:
        outcome = await answer
    finally:
        job.abandon()
    if isinstance(outcome, Raised):
        raise outcome.error
    return await outcome.value if inspect.isawaitable(outcome.value) else outcome.value
