"""`Segment`: drives a run from the moment it was claimed until it ends, pauses, is parked or is lost.

Each fact is committed before the run acts on it (`run/barrier.py`), fenced by the hold of this worker. If a commit
fails, nothing more is launched or told; whoever claims the run next goes on from what is committed. Deltas are added
in the transaction of the facts, after the fence was checked; deltas without facts check it with `is_held`.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from toolspeak.durable.approvals import build_answers
from toolspeak.durable.journal import Fenced, JournalSession
from toolspeak.durable.records import (
    Conversation,
    RunProgress,
    decode_fact,
    decode_request,
    encode_facts,
    load_conversation,
    unwrap,
)
from toolspeak.durable.rows import CommandRow, DeltaRow, FactRow, Hold, RunRow
from toolspeak.durable.writer import Writer
from toolspeak.loop.decide import STOP_REASONS
from toolspeak.run.agent import Agent
from toolspeak.run.barrier import Durability, RunParked
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
    RunEnded,
    RunResumed,
    RunStarted,
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

MakeDeps = Callable[[RunRow], Any]
"""A function that makes what tools get in their `Context`, for a run."""


class LoadedRun(NamedTuple):
    """What a run is when it is claimed."""

    facts: list[Fact]
    rows: list[FactRow]
    commands: list[CommandRow]
    conversation: Conversation
    now: int


class Segment:
    """One time that a run is driven.

    Args:
        run: The run, as it was claimed.
        agent: The agent; None if the run is only to be ended.
        writer: The thread that uses the journal.
        deps: Makes what tools get in their `Context`.
        owner: The name of the worker.
    """

    def __init__(
        self, run: RunRow, agent: Agent[Any] | None, writer: Writer, deps: MakeDeps | None, owner: str
    ) -> None:
        self.run = run
        self._agent = agent
        self._writer = writer
        self._make_deps = deps
        self._hold = Hold(run.run_id, run.epoch, owner, run.next_seq)
        self._pos = 0
        self._progress = RunProgress()
        self._before: tuple[Message, ...] = ()
        self._handled: list[str] = []
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
        """
        loaded = await self._read()
        try:
            agent_run = await self._prepare(loaded)
        except UsageError as error:  # it can never be driven by this program
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
        self._progress = RunProgress(loaded.facts)
        return loaded

    def _load(self, session: JournalSession) -> LoadedRun:
        run, commands = self.run, session.read_commands([self.run.run_id])
        if self._hold.next_seq == 0 and not run.parent:  # a run that begins has no facts: nobody else can write them
            return LoadedRun([], [], commands, Conversation(), run.updated)
        conversation = load_conversation(session, run.parent) if run.parent else Conversation()
        rows = session.read_facts(run.run_id)
        facts = [decode_fact(session, run, row, conversation) for row in rows]
        return LoadedRun(facts, rows, commands, conversation, session.read_clock())

    async def _prepare(self, loaded: LoadedRun) -> AgentRun[Any] | Interrupted:
        """Return the run to drive, or the fact that ends it before it has begun."""
        given, self._handled = build_answers(loaded.facts, loaded.commands)
        if (ended := _find_interruption(loaded)) is not None:
            return ended
        if self._agent is None:
            raise UsageError(f"there is no agent {self.run.agent}")
        deadline = self.run.deadline
        durability = Durability(
            run_id=self.run.run_id,
            commit=self._commit,
            news=tuple(given),
            elapsed=_count_elapsed(loaded),
            seconds_left=None if deadline is None else (deadline - loaded.now) / 1000,
            interruption=self._interruption,
        )
        deps = None
        if self._make_deps is not None:
            made = self._make_deps(self.run)
            deps = made
            if asyncio.iscoroutine(made):
                deps, ended = await wait_within(Limits(seconds=None), made, None, durability)
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
        handled, self._handled = self._handled, []

        def append(session: JournalSession) -> Hold:
            following = session.append(
                hold,
                encoded.texts,
                blobs=encoded.blobs,
                handled=handled,
                has_progress=has_progress,
                stop_reason="" if ended is None else ended.reason,
            )
            if deltas:  # after the append: whoever does not hold the run adds none
                session.add_deltas(deltas)
            return following

        self._hold = await self._writer.write(append)
        self._has_ended = ended is not None

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


def _count_elapsed(loaded: LoadedRun) -> float:
    """Return the seconds that count for `Limits.seconds`: from the start or the last approval on, through takeovers."""
    began = loaded.now
    for index, (fact, row) in enumerate(zip(loaded.facts, loaded.rows, strict=True)):
        follows_resume = index > 0 and isinstance(loaded.facts[index - 1], RunResumed)
        if isinstance(fact, RunStarted) or (isinstance(unwrap(fact)[1], ApprovalGiven) and follows_resume):
            began = row.at
    return max(0, loaded.now - began) / 1000
