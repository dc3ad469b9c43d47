"""`RunHandle`: a durable run, for any process that can reach the store."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from typing import TYPE_CHECKING, Any

from toolspeak.durable.approvals import WaitingCall, answer, find_waiting
from toolspeak.durable.event_feed import RunEvent, find_run, follow_run
from toolspeak.durable.journal import JournalSession
from toolspeak.durable.records import fold_facts, load_facts
from toolspeak.durable.rows import RunRow, RunStatus
from toolspeak.durable.watcher import wait_for_change
from toolspeak.events import Fact
from toolspeak.outcome import Outcome
from toolspeak.run import portal
from toolspeak.run.output import Output
from toolspeak.run.results import build_outcome, find_output

if TYPE_CHECKING:
    from toolspeak.durable.runs import Runs

MAX_WAIT_SECONDS = 5.0
"""How long whoever waits for an outcome goes without looking."""

MIN_WAIT_SECONDS = 0.02
"""How long they wait at least before they look again: every commit of any run wakes them."""


class RunHandle:
    """A durable run. It keeps no state of the run, so any number of handles, in any process, may be used at once.

    Each method has a twin for programs that are not async: `outcome_sync` and so on.

    Attributes:
        id: The id of the run.
        is_new: Whether `Runs.start` has started it; False if its key was used before, or the handle was made by id.
    """

    def __init__(self, runs: "Runs", run_id: str, *, is_new: bool = False) -> None:
        self.id = run_id
        self.is_new = is_new
        self._runs = runs

    def __repr__(self) -> str:
        return f"RunHandle({self.id!r})"

    async def row(self) -> RunRow:
        """Return what the store knows of the run: its status, its owner, its times.

        Raises:
            RunUnknown: There is no such run.
        """
        return await self._runs.read(lambda session: find_run(session, self.id))

    async def status(self) -> RunStatus:
        """Return where the run is: `queued`, `running`, `paused` or `done`."""
        return (await self.row()).status

    async def facts(self) -> tuple[Fact, ...]:
        """Return the facts so far."""
        return tuple(await self._runs.read(lambda session: load_facts(session, find_run(session, self.id))))

    async def waiting(self) -> list[WaitingCall]:
        """Return the calls that wait for an approval."""
        return list(find_waiting(await self.facts()).values())

    async def events(self, after: str | None = None) -> AsyncGenerator[RunEvent]:
        """Yield the events of the run as they are committed, until it has ended.

        Args:
            after: The id of the last event that was seen, to go on behind it; None for all events.
        """
        await self._runs.prepare()
        async for batch in follow_run(self._runs.writer, self._runs.watcher, self.id, after):
            for event in batch:
                yield event

    async def approve(
        self, call_id: str, approved: bool | str = True, *, by: str = "", digest: str | None = None
    ) -> bool:
        """Answer whether a call may run, and return whether this answer counts: the first one does.

        Args:
            call_id: The call, as `ApprovalNeeded` or `waiting` names it.
            approved: True, False, or a text that says why not.
            by: Who answers; it is recorded.
            digest: The digest of the call that was looked at, from `ApprovalNeeded` or `waiting`.

        Raises:
            ApprovalRefused: Nobody was asked about the call yet, or its tool or arguments are others than the digest
                says.
        """
        return await self._runs.write(
            lambda session: answer(session, find_run(session, self.id), call_id, approved, by, digest)
        )

    async def cancel(self) -> bool:
        """End the run early; return False if it has ended or is cancelled already."""
        await self.row()
        return await self._runs.write(lambda session: session.add_command(self.id, "cancel", "{}"))

    async def outcome(self, output: Any = None, *, timeout: float | None = None) -> Outcome[Any]:
        """Wait until the run has ended, and return its outcome. A paused run is waited for.

        Args:
            output: The type of the answer, if the agent gives typed ones; without it, the answer is JSON data.
            timeout: Seconds after which `TimeoutError` is raised; the run goes on.
        """
        async with asyncio.timeout(timeout):
            facts = await self._wait_for_end()
        state = fold_facts(facts)
        value: Any = None
        if state.run is not None and state.run.output is not None:
            result = find_output(state, state.run.output)
            data = None if result is None else result.output
            value = data if output is None or result is None else Output(output).load(data)
        return build_outcome(state, facts, value)

    async def _wait_for_end(self) -> tuple[Fact, ...]:
        """Wait until the run has ended, and return its facts."""
        await self._runs.prepare()
        with self._runs.watcher.subscribe() as changed:
            while (facts := await self._runs.read(self._load_ended)) is None:
                await asyncio.sleep(MIN_WAIT_SECONDS)
                await wait_for_change(changed, MAX_WAIT_SECONDS)
        return facts

    def _load_ended(self, session: JournalSession) -> tuple[Fact, ...] | None:
        run = find_run(session, self.id)
        return tuple(load_facts(session, run)) if run.status == "done" else None

    # For programs that are not async

    def row_sync(self) -> RunRow:
        """Return what the store knows of the run; see `row`."""
        return portal.call(self.row())

    def status_sync(self) -> RunStatus:
        """Return where the run is; see `status`."""
        return portal.call(self.status())

    def facts_sync(self) -> tuple[Fact, ...]:
        """Return the facts so far."""
        return portal.call(self.facts())

    def waiting_sync(self) -> list[WaitingCall]:
        """Return the calls that wait for an approval."""
        return portal.call(self.waiting())

    def events_sync(self, after: str | None = None) -> Generator[RunEvent]:
        """Yield the events of the run as they are committed; see `events`."""
        return portal.iterate(self._batches(after))

    async def _batches(self, after: str | None) -> AsyncGenerator[list[RunEvent]]:
        async for event in self.events(after):
            yield [event]

    def approve_sync(
        self, call_id: str, approved: bool | str = True, *, by: str = "", digest: str | None = None
    ) -> bool:
        """Answer whether a call may run; see `approve`."""
        return portal.call(self.approve(call_id, approved, by=by, digest=digest))

    def cancel_sync(self) -> bool:
        """End the run early; see `cancel`."""
        return portal.call(self.cancel())

    def outcome_sync(self, output: Any = None, *, timeout: float | None = None) -> Outcome[Any]:
        """Wait until the run has ended, and return its outcome; see `outcome`."""
        return portal.call(self.outcome(output, timeout=timeout))
