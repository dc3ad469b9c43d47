"""`Segment`: drives a run from the moment it was claimed until it ends, pauses, is parked or is lost.

Each fact is committed before the run acts on it (`run/barrier.py`), fenced by the hold of this worker. If a commit
fails, nothing more is launched or told; whoever claims the run next goes on from what is committed. Deltas are added
in the transaction of the facts, after the fence was checked; deltas without facts check it with `is_held`.

A process may be stopped between a commit and what the commit announces, and go on when the run has ended elsewhere. So
a clock that goes on meanwhile is looked at right before each launch. If a third of the lease has passed since the
commit was asked for, the store is asked whether the run is still held.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from toolspeak.durable.approvals import build_answers
from toolspeak.durable.journal import Fenced, JournalSession
from toolspeak.durable.leases import Clock, count_seconds
from toolspeak.durable.records import (
    Conversation,
    RunProgress,
    decode_fact,
    decode_request,
    encode_facts,
    load_conversation,
    unwrap,
)
from toolspeak.durable.rows import CommandRow, DeltaRow, FactRow, Hold, NewWait, RunRow, WaitRow
from toolspeak.durable.writer import Writer
from toolspeak.execution.outcome import format_error
from toolspeak.loop.decide import STOP_REASONS
from toolspeak.run.agent import Agent
from toolspeak.run.barrier import Durability, ModelUnavailable, RunParked
from toolspeak.run.deadline import DEADLINE_OVER, wait_within
from toolspeak.run.inbox import DELTAS
from toolspeak.run.run import AgentRun
from toolspeak.run.runnable import ResumeOptions
from toolspeak.values import codec
from toolspeak.values.errors import RunPaused, StoreUnavailable, UsageError
from toolspeak.values.events import (
    ApprovalGiven,
    Event,
    Fact,
    Interrupted,
    NestedFact,
    RunEnded,
    RunResumed,
    RunStarted,
    ToolSuspended,
    TurnEnded,
    TurnRestarted,
    WaitOver,
)
from toolspeak.values.limits import Limits
from toolspeak.values.log import LOG
from toolspeak.values.messages import Message, user

COMMAND_FACTS: dict[str, Interrupted] = {
    "cancel": Interrupted(cause="cancelled", detail="the run was cancelled"),
    "deadline": DEADLINE_OVER,
}
"""What the commands do that end a run. They are never marked as handled: `RunResumed` takes an interruption back, so
every worker that claims the run applies them anew until it has ended."""

MAX_OUTAGE_SECONDS = 24 * 3600
"""How long a run without a deadline waits for a model that does not answer."""

MakeDeps = Callable[[RunRow], Any]
"""A function that makes what tools get in their `Context`, for a run."""


class DepsFailed(Exception):
    """The function of `deps=` raised an exception. What it needs may be away for a while."""


class LoadedRun(NamedTuple):
    """What a run is when it is claimed."""

    facts: list[Fact]
    rows: list[FactRow]
    commands: list[CommandRow]
    conversation: Conversation
    now: int
    waits: list[WaitRow]


class Segment:
    """One time that a run is driven.

    Attributes:
        run: The run, as it was claimed.
        has_progressed: Whether the run got further.

    Args:
        run: The run, as it was claimed.
        agent: The agent; None if the run is only to be ended.
        writer: The thread that uses the journal.
        deps: Makes what tools get in their `Context`.
        owner: The name of the worker.
        lease: The lease of the worker, in seconds.
        clock: A clock that goes on while the machine sleeps.
        is_last_try: Whether the run ends if the function of `deps=` fails once more.
    """

    def __init__(
        self,
        run: RunRow,
        agent: Agent[Any] | None,
        writer: Writer,
        deps: MakeDeps | None,
        owner: str,
        lease: float,
        clock: Clock = count_seconds,
        *,
        is_last_try: bool = False,
    ) -> None:
        self.run = run
        self._agent = agent
        self._writer = writer
        self._make_deps = deps
        self._hold = Hold(run.run_id, run.epoch, owner, run.next_seq)
        self._lease = lease
        self._clock = clock
        self._is_last_try = is_last_try
        self._held_at = clock()  # the run was held then
        self._pos = 0
        self._progress = RunProgress()
        self.has_progressed = False
        self._before: tuple[Message, ...] = ()
        self._handled: list[str] = []
        self._waiting: set[str] = set()  # calls that are stored as such that wait
        self._agent_run: AgentRun[Any] | None = None
        self._is_parking = False
        self._interruption: asyncio.Future[Interrupted] = asyncio.get_running_loop().create_future()
        self._is_interrupted = False
        self._has_ended = False

    def park(self) -> None:
        """Put the run down as soon as nothing is under way."""
        self._is_parking = True
        if self._agent_run is not None:
            self._agent_run.park()

    def interrupt(self, command: str) -> None:
        """End the run, because of a command of that name. What is asked before the run begins is given up."""
        if not self._interruption.done():
            self._interruption.set_result(COMMAND_FACTS[command])
        if self._agent_run is not None and not self._is_interrupted:
            self._is_interrupted = self._agent_run.interrupt(COMMAND_FACTS[command])

    async def drive(self) -> str:
        """Drive the run, and return where it is then: `done`, `paused` or `queued`.

        Raises:
            Fenced: Another worker has the run.
            StoreUnavailable: The journal failed.
            ModelUnavailable: No model answers now; the run is to be tried again later.
            DepsFailed: The function of `deps=` failed; the run is to be tried again later.
        """
        loaded = await self._read()
        try:
            agent_run = await self._prepare(loaded)
        except UsageError as error:  # it can never be driven by this program
            return await self._end_with_error(loaded, str(error))
        except DepsFailed as error:
            if not self._is_last_try:
                raise
            LOG.warning("run %s has ended with an error: %s", self.run.run_id, error)
            return await self._end_with_error(loaded, str(error))
        if isinstance(agent_run, Interrupted):
            return await self._end(loaded, agent_run)
        self._agent_run = agent_run
        if self._is_parking:
            agent_run.park()
        try:
            async for _ in agent_run.batches():
                pass
        except RunPaused:
            return await self._writer.write(lambda session: session.release(self._hold, "paused"))
        except RunParked:
            return await self._writer.write(lambda session: session.release(self._hold, "queued"))
        except (Fenced, StoreUnavailable):
            raise
        except ModelUnavailable as outage:
            loaded = await self._writer.read(self._load)
            if self.run.deadline is None and _count_outage(loaded) > MAX_OUTAGE_SECONDS:
                return await self._end_with_error(loaded, str(outage))
            raise
        except Exception as error:
            if not self._has_ended:
                if isinstance(error, UsageError):
                    return await self._end_with_error(await self._writer.read(self._load), str(error))
                raise
            LOG.warning("run %s has ended with an error: %s", self.run.run_id, error)
        return "done"

    async def end_as_poison(self) -> str:
        """End a run whose workers died again and again."""
        loaded = await self._read()
        last = next((fact for fact in reversed(loaded.facts) if not isinstance(fact, RunResumed)), None)
        place = "before its first turn"
        if last is not None:
            of = getattr(last, "call_id", "") or getattr(last, "turn", "")
            place = f"last after {last.kind} {of}".rstrip()
        detail = f"{self.run.deaths} workers in a row died while they drove the run, {place}"
        return await self._end_with_error(loaded, detail)

    async def end_by_command(self) -> str:
        """End a run because of a command, without its agent; give it up if there is no such command."""
        loaded = await self._read()
        if (interrupted := _find_interruption(loaded)) is not None:
            return await self._end(loaded, interrupted)
        return await self._writer.write(lambda session: session.release(self._hold, "queued"))

    async def _read(self) -> LoadedRun:
        loaded = await self._writer.read(self._load)
        self._before = loaded.conversation.messages
        self._waiting = {wait.call for wait in loaded.waits}
        self._progress = RunProgress(loaded.facts)
        return loaded

    def _load(self, session: JournalSession) -> LoadedRun:
        run, commands = self.run, session.read_commands([self.run.run_id])
        if self._hold.next_seq == 0 and not run.parent:  # a run that begins has no facts: nobody else can write them
            return LoadedRun([], [], commands, Conversation(), run.updated, [])
        conversation = load_conversation(session, run.parent) if run.parent else Conversation()
        rows = session.read_facts(run.run_id)
        facts = [decode_fact(session, run, row, conversation) for row in rows]
        has_waited = any(isinstance(unwrap(fact)[1], ToolSuspended) for fact in facts)
        now = session.read_clock()  # before the waits: one that is over now was over when they were read
        waits = session.list_waits(run.run_id) if has_waited else []
        return LoadedRun(facts, rows, commands, conversation, now, waits)

    async def _prepare(self, loaded: LoadedRun) -> AgentRun[Any] | Interrupted:
        """Return the run to drive, or the fact that ends it before it has begun."""
        given, self._handled = build_answers(loaded.facts, loaded.commands)
        if (ended := _find_interruption(loaded)) is not None:
            return ended
        if self._agent is None:
            raise UsageError(f"there is no agent {self.run.agent}")
        over = _build_ends_of_waits(loaded)
        deadline = self.run.deadline
        durability = Durability(
            run_id=self.run.run_id,
            commit=self._commit,
            confirm=self._confirm,
            news=(*given, *over),
            elapsed=0.0 if given else _count_elapsed(loaded, is_woken=bool(over)),
            seconds_left=None if deadline is None else (deadline - loaded.now) / 1000,
            interruption=self._interruption,
        )
        deps = None
        if self._make_deps is not None:
            try:
                deps = made = self._make_deps(self.run)
                if asyncio.iscoroutine(made):
                    deps, ended = await wait_within(Limits(seconds=None), made, None, durability)
            except UsageError:
                raise
            except Exception as error:
                name = getattr(self._make_deps, "__name__", repr(self._make_deps))
                raise DepsFailed(f"deps={name} failed: {format_error(error)}") from error
            if ended is not None:
                return ended
        if loaded.facts:
            going_on: ResumeOptions = {"deps": deps, "data": self.run.data}
            return self._agent.prepare_resume(loaded.facts, going_on, output_optional=True, durability=durability)
        prompt, options = decode_request(self.run.request, loaded.conversation)
        options["deps"] = deps
        return self._agent.prepare(
            prompt, options, output_optional=True, earlier=loaded.conversation.started, durability=durability
        )

    async def _end_with_error(self, loaded: LoadedRun, detail: str) -> str:
        """End a run that cannot be driven."""
        return await self._end(loaded, Interrupted(cause="endpoint", detail=detail))

    async def _end(self, loaded: LoadedRun, interrupted: Interrupted) -> str:
        """End a run without asking its agent for anything."""
        first: Fact = RunResumed()
        if not loaded.facts:
            prompt, options = decode_request(self.run.request, loaded.conversation)
            asked = user(prompt) if isinstance(prompt, str) else prompt
            messages = (*options.get("messages", ()), *(() if asked is None else (asked,)))
            agent = self._agent
            model, dialect = ("", "") if agent is None else (agent.model.name, agent.dialect.name)
            first = RunStarted(run_id=self.run.run_id, model=model, dialect=dialect, messages=messages)
        ended = RunEnded(reason=STOP_REASONS[interrupted.cause], detail=interrupted.detail)
        await self._commit([first, interrupted, ended])
        return "done"

    async def _commit(self, events: Sequence[Event]) -> None:
        """Store events: facts for good, deltas for whoever follows the run."""
        hold, deltas = self._hold, self._number_deltas(events)
        facts = [event for event in events if not isinstance(event, DELTAS)]
        if not facts:
            self._writer.submit(lambda session: session.add_deltas(deltas) if session.is_held(hold) else None)
            return
        encoded = encode_facts(facts, self._before)
        ended = next((fact for fact in facts if isinstance(fact, RunEnded)), None)
        has_progress = self._progress.add(facts)
        self.has_progressed |= has_progress
        waits, waits_over = self._note_waits(facts, is_end=ended is not None)
        handled, self._handled = self._handled, []

        def append(session: JournalSession) -> Hold:
            following = session.append(
                hold,
                encoded.texts,
                blobs=encoded.blobs,
                handled=handled,
                waits=waits,
                waits_over=waits_over,
                has_progress=has_progress,
                stop_reason="" if ended is None else ended.reason,
            )
            if deltas:  # after the append: whoever does not hold the run adds none
                session.add_deltas(deltas)
            return following

        asked_at = self._clock()
        self._hold = await self._writer.write(append)
        self._held_at = asked_at
        self._has_ended = ended is not None

    def _note_waits(self, facts: Sequence[Fact], *, is_end: bool) -> tuple[list[NewWait], set[str]]:
        """Return what calls wait for after these facts, and the calls that wait no more."""
        waits, over = dict[str, NewWait](), set[str]()
        for path, event in map(unwrap, facts):
            if isinstance(event, ToolSuspended):
                call = json.dumps([*path, event.call_id])
                waits[call] = NewWait(call, event.number, event.signal, event.seconds)
            elif isinstance(event, WaitOver):
                over.add(json.dumps([*path, event.call_id]))
        if is_end:
            waits, over = {}, set(self._waiting)
        self._waiting = (self._waiting - over) | waits.keys()
        return list(waits.values()), over

    async def _confirm(self) -> None:
        """Make sure, before something is launched, that nobody has taken the run; the clock alone says so mostly.

        Raises:
            Fenced: Another worker has the run, or had it.
            StoreUnavailable: The journal failed.
        """
        while (asked_at := self._clock()) - self._held_at >= self._lease / 3:
            if not await self._writer.read(lambda session: session.is_held(self._hold)):
                raise Fenced(self.run.run_id)
            self._held_at = asked_at

    def _number_deltas(self, events: Sequence[Event]) -> list[DeltaRow]:
        """Return the deltas among events, each with its place after the last fact before it."""
        seq, rows = self._hold.next_seq - 1, list[DeltaRow]()
        for event in events:
            if isinstance(event, DELTAS):
                self._pos += 1
                rows.append(DeltaRow(self.run.run_id, seq, self._pos, json.dumps(codec.encode_event(event))))
            else:
                seq, self._pos = seq + 1, 0
        return rows


def _find_interruption(loaded: LoadedRun) -> Interrupted | None:
    """Return the fact that ends a run because of a command that came before the run was claimed."""
    return next((COMMAND_FACTS[each.name] for each in loaded.commands if each.name in COMMAND_FACTS), None)


def _count_outage(loaded: LoadedRun) -> float:
    """Return for how many seconds no model has answered."""
    began: int | None = None
    for fact, row in zip(loaded.facts, loaded.rows, strict=True):
        event = unwrap(fact)[1]
        if isinstance(event, TurnEnded):
            began = None
        elif isinstance(event, TurnRestarted) and began is None:
            began = row.at
    return 0 if began is None else (loaded.now - began) / 1000


def _build_ends_of_waits(loaded: LoadedRun) -> list[Fact]:
    """Return the facts of the waits of a run that are over. A signal counts even if it came after the time."""
    found: list[Fact] = []
    for wait in loaded.waits:
        if wait.value is None and (wait.until is None or wait.until > loaded.now):
            continue
        *path, call_id = json.loads(wait.call)
        came = wait.value is not None
        value = json.loads(wait.value) if wait.value is not None else None
        over = WaitOver(call_id=call_id, number=wait.number, signal=wait.signal, came=came, value=value)
        found.append(NestedFact(path=tuple(path), event=over) if path else over)
    return found


def _count_elapsed(loaded: LoadedRun, *, is_woken: bool) -> float:
    """Return the seconds that count for `Limits.seconds`: from the start or the last approval on, through takeovers.

    The time in which the run was paused because its calls waited does not count.
    """
    began, last = loaded.now, loaded.now
    for index, (fact, row) in enumerate(zip(loaded.facts, loaded.rows, strict=True)):
        event, follows_resume = unwrap(fact)[1], index > 0 and isinstance(loaded.facts[index - 1], RunResumed)
        if isinstance(fact, RunStarted) or (isinstance(event, ApprovalGiven) and follows_resume):
            began = row.at
        elif isinstance(event, WaitOver) and follows_resume:
            began += row.at - last
        if not isinstance(fact, RunResumed):
            last = row.at
    return max(0, loaded.now - began - (loaded.now - last if is_woken else 0)) / 1000
