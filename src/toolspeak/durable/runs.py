"""`Runs`: a store of durable runs, in which any process starts, finds and follows them; `RunHandle`: one of them.

A run is stored as a request, not as `RunStarted`: whoever starts a run needs no agent, and the worker makes the first
fact.
"""

import asyncio
import builtins
import json
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Self, TypeVar, Unpack

from toolspeak.durable.approvals import ApprovalResult, WaitingCall, answer, list_waiting
from toolspeak.durable.cron import parse_cron
from toolspeak.durable.event_feed import RunEvent, find_run, follow_run
from toolspeak.durable.journal import Journal, JournalSession, OutcomeUnknown, RetryRefused
from toolspeak.durable.records import (
    MAX_DEADLINE_SECONDS,
    StartOptions,
    build_filter,
    build_run,
    find_fork,
    fold_facts,
    load_facts,
    read_seconds,
    retry_run,
)
from toolspeak.durable.rows import (
    AgentStats,
    Lane,
    NewRun,
    RunRow,
    RunStatus,
    Schedule,
    Started,
    WaitRow,
    WorkerRow,
    build_stats,
    read_shared_lane,
)
from toolspeak.durable.sqlite import SqliteJournal
from toolspeak.durable.watcher import Watcher, wait_for_change
from toolspeak.durable.writer import Writer
from toolspeak.run import portal
from toolspeak.run.output import Output
from toolspeak.run.run import build_outcome, find_output
from toolspeak.run.runnable import BaseAgent, Prompt
from toolspeak.tools.context import check_signal_name
from toolspeak.values.address import hide_secrets
from toolspeak.values.errors import StoreUnavailable, UsageError
from toolspeak.values.events import Allow, Fact
from toolspeak.values.outcome import Outcome
from toolspeak.values.package import suggest_install

SQLITE_PREFIX = "sqlite:///"
POSTGRES_SCHEMES = ("postgresql://", "postgres://")


def open_journal(url: str) -> Journal:
    """Return the journal of an address. Nothing is opened before its first session.

    `sqlite:///runs.db` is a file of this machine; a path that begins with `/` follows after `sqlite://`.
    `postgresql://…` is a database that many machines share, and needs the extra `cluster`.

    Raises:
        UsageError: The address has another form, or needs a package that is not installed.
    """
    if url.startswith(SQLITE_PREFIX):
        return SqliteJournal(url.removeprefix(SQLITE_PREFIX))
    if url.startswith(POSTGRES_SCHEMES):
        return import_cluster("toolspeak.durable.postgres", "a store in Postgres").PostgresJournal(url)
    raise UsageError(
        f"{hide_secrets(url)!r} is not the address of a store; use sqlite:///FILE or postgresql://USER@HOST/DATABASE"
    )


def import_cluster(module: str, user: str) -> Any:
    """Return a module that needs the extra `cluster`; `user` says in words what needs the module."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is missing, which {user} needs: {suggest_install('cluster')}") from None


MAX_WAIT_SECONDS = 5.0
"""How long whoever waits for an outcome goes without looking."""

MIN_WAIT_SECONDS = 0.02
"""How long they wait at least before they look again: every commit of any run wakes them."""


class RunHandle:
    """A handle of a durable run. It keeps no state, so you can use any number of handles at once, in any process.

    Each method has a synchronous version: `outcome_sync` and so on.

    Attributes:
        id: The id of the run.
        is_new: Whether `Runs.start` has started it; False if its key was used before, or the handle was created by id.
    """

    def __init__(self, runs: "Runs", run_id: str, *, is_new: bool = False) -> None:
        self.id = run_id
        self.is_new = is_new
        self._runs = runs

    def __repr__(self) -> str:
        return f"RunHandle({self.id!r})"

    async def row(self) -> RunRow:
        """Return the stored data of the run: its status, its owner, its times.

        Raises:
            RunUnknown: There is no such run.
        """
        return await self._runs.read(lambda session: find_run(session, self.id))

    async def status(self) -> RunStatus:
        """Return the status of the run: `queued`, `running`, `paused` or `done`."""
        return (await self.row()).status

    async def facts(self) -> tuple[Fact, ...]:
        """Return the facts so far."""
        return tuple(await self._runs.read(lambda session: load_facts(session, find_run(session, self.id))))

    async def waiting(self) -> list[WaitingCall]:
        """Return the calls that wait for an approval; none if the run has ended, was cancelled or is late."""
        return await self._runs.read(lambda session: list_waiting(session, find_run(session, self.id)))

    async def waits(self) -> list[WaitRow]:
        """Return the times and signals that suspended calls wait for."""
        return await self._runs.read(lambda session: session.list_waits(self.id))

    async def events(self, after: str | None = None) -> AsyncGenerator[RunEvent]:
        """Yield the events of the run as they are committed, until it has ended.

        Args:
            after: The id of the last event that you have seen, to continue after it; None for all events.
        """
        async for batch in self._batches(after):
            for event in batch:
                yield event

    async def _batches(self, after: str | None) -> AsyncGenerator[list[RunEvent]]:
        await self._runs.prepare()
        async for batch in follow_run(self._runs.writer, self._runs.watcher, self.id, after):
            yield batch

    async def approve(
        self, call_id: str, approved: bool | str | Allow = True, *, by: str = "", digest: str | None = None
    ) -> ApprovalResult:
        """Decide whether a call may run, and return whether this decision counts: only the first one does.

        If it does not, `result.state` says why: another one came first, or the run was cancelled or has ended.

        Args:
            call_id: The call, as `ApprovalNeeded` or `waiting` names it.
            approved: True, False, a reason for refusing, or `Allow(remember=True)` to allow its values in doubt for the
                rest of the conversation.
            by: Who decides; it is recorded.
            digest: The digest of the call that was shown, from `ApprovalNeeded` or `waiting`.

        Raises:
            ApprovalRefused: Nobody was asked about the call yet, or its tool or arguments do not match the digest.
        """
        return await self._runs.write(
            lambda session: answer(session, find_run(session, self.id), call_id, approved, by, digest)
        )

    async def cancel(self) -> bool:
        """Cancel the run; return False if it has ended or was already cancelled."""
        await self.row()
        return await self._runs.write(lambda session: session.add_command(self.id, "cancel", "{}"))

    async def retry(self, *, deadline: float | None = None) -> None:
        """Resume a run that ended with an error, was cancelled or missed its deadline, from where it ended.

        Finished calls do not run again. Clients that follow the run see the new events after its first end.

        Args:
            deadline: Seconds from now after which the run is ended; None for no deadline.

        Raises:
            RetryRefused: The run has not ended, was answered, or would end at once in the same way.
        """
        deadline_ms = read_seconds("deadline", deadline)
        await self._runs.write(lambda session: retry_run(session, find_run(session, self.id), deadline_ms))

    async def fork(
        self, prompt: Prompt = None, *, turns: int | None = None, **options: Unpack[StartOptions]
    ) -> "RunHandle":
        """Start another run of the same agent with the first turns of this one, which does not change.

        Args:
            prompt: The next prompt; None to ask the model again.
            turns: How many turns to keep, with the results of their calls; None for all complete ones.
            **options: How the new run is started; see `StartOptions`. Its data is that of this run unless it is given.

        Raises:
            UsageError: This run has fewer turns, or was answered there and there is no next prompt.
        """

        def find(session: JournalSession) -> tuple[str, StartOptions]:
            run = find_run(session, self.id)
            return run.agent, find_fork(run, load_facts(session, run), turns, is_asked=prompt is not None)

        agent, kept = await self._runs.read(find)
        return await self._runs.start(agent, prompt, **(kept | options))

    async def outcome(self, output: Any = None, *, timeout: float | None = None) -> Outcome[Any]:
        """Wait until the run has ended, and return its outcome. This also waits for a paused run.

        Args:
            output: The type of the answer, instead of the agent's own. The agent's own is known where a `Worker` of
                this store drives it, or from `Runs(agents=…)`; else the answer is JSON data. `Any` gives JSON data.
            timeout: Seconds after which `TimeoutError` is raised; the run continues.
        """
        async with asyncio.timeout(timeout):
            run, facts = await self._wait_for_end()
        state = fold_facts(facts)
        value: Any = None
        if state.run is not None and state.run.output is not None:
            result = find_output(state, state.run.output)
            value = None if result is None else self._load_output(run, result.output, output)
        return build_outcome(state, facts, value)

    def _load_output(self, run: RunRow, data: Any, kind: Any) -> Any:
        """Return the typed answer of a run from its JSON data."""
        if kind is Any or (kind is None and self._runs.outputs.get(run.agent) is None):
            return data
        try:
            return Output(self._runs.outputs[run.agent] if kind is None else kind).load(data)
        except UsageError as error:
            if kind is not None:
                raise
            raise UsageError(
                f"run {self.id} was answered with another type than {run.agent} has now; outcome(OLD_TYPE) gives its "
                f"answer, and outcome(Any) gives it as data: {error}"
            ) from error

    async def _wait_for_end(self) -> tuple[RunRow, tuple[Fact, ...]]:
        """Wait until the run has ended, and return it with its facts."""
        await self._runs.prepare()
        with self._runs.watcher.subscribe() as changed:
            while (ended := await self._runs.read(self._load_ended)) is None:
                await asyncio.sleep(MIN_WAIT_SECONDS)
                await wait_for_change(changed, MAX_WAIT_SECONDS)
        return ended

    def _load_ended(self, session: JournalSession) -> tuple[RunRow, tuple[Fact, ...]] | None:
        run = find_run(session, self.id)
        return (run, tuple(load_facts(session, run))) if run.status == "done" else None

    # For programs that are not async

    def row_sync(self) -> RunRow:
        """Return the stored data of the run; see `row`."""
        return portal.call(self.row())

    def status_sync(self) -> RunStatus:
        """Return the status of the run; see `status`."""
        return portal.call(self.status())

    def facts_sync(self) -> tuple[Fact, ...]:
        """Return the facts so far."""
        return portal.call(self.facts())

    def waiting_sync(self) -> list[WaitingCall]:
        """Return the calls that wait for an approval."""
        return portal.call(self.waiting())

    def waits_sync(self) -> list[WaitRow]:
        """Return the times and signals that suspended calls wait for; see `waits`."""
        return portal.call(self.waits())

    def events_sync(self, after: str | None = None) -> Generator[RunEvent]:
        """Yield the events of the run as they are committed; see `events`."""
        return portal.iterate(self._batches(after))

    def approve_sync(
        self, call_id: str, approved: bool | str | Allow = True, *, by: str = "", digest: str | None = None
    ) -> ApprovalResult:
        """Decide whether a call may run; see `approve`."""
        return portal.call(self.approve(call_id, approved, by=by, digest=digest))

    def cancel_sync(self) -> bool:
        """Cancel the run; see `cancel`."""
        return portal.call(self.cancel())

    def retry_sync(self, *, deadline: float | None = None) -> None:
        """Resume a run that ended without an answer; see `retry`."""
        portal.call(self.retry(deadline=deadline))

    def fork_sync(
        self, prompt: Prompt = None, *, turns: int | None = None, **options: Unpack[StartOptions]
    ) -> "RunHandle":
        """Start another run with the first turns of this one; see `fork`."""
        return portal.call(self.fork(prompt, turns=turns, **options))

    def outcome_sync(self, output: Any = None, *, timeout: float | None = None) -> Outcome[Any]:
        """Wait until the run has ended, and return its outcome; see `outcome`."""
        return portal.call(self.outcome(output, timeout=timeout))


T = TypeVar("T")

MAX_STATS_RUNS = 100_000
"""Of how many runs `stats` tells at most: the latest."""

PRUNE_LIMIT = 500
"""How many runs are deleted in one transaction."""

MAX_CATCH_UP = 1000
"""How many missed times of a schedule are made up for at most."""


def _start(session: JournalSession, new: NewRun) -> Started:
    """Store a run, or go on with the one of the same key if that ended with an error."""
    started = session.start(new)
    if started.is_new or (started.run.status, started.run.stop_reason) != ("done", "error"):
        return started
    try:
        return Started(retry_run(session, started.run, new.deadline_ms), is_new=True)
    except RetryRefused:
        return started


class Runs:
    """A store of durable runs. It is opened when it is first used; `close` ends its threads.

    Each method has a synchronous version: `start_sync` and so on.

    Attributes:
        url: The address of the store, with its password; `journal.url` is without.
        journal: The store.
        writer: The thread that uses it.
        watcher: The thread that notices changes.
        outputs: The output types of known agents, by name.
    """

    def __init__(
        self,
        url: str,
        *,
        lanes: Mapping[str, Lane] | None = None,
        agents: Mapping[str, BaseAgent[Any]] | None = None,
    ) -> None:
        """Name a store.

        Args:
            url: `sqlite:///runs.db`, or `postgresql://…`.
            lanes: Lanes to define or change. They are kept in the store, and hold for all processes.
            agents: The agents by name, so that outcomes have the types of their answers. The agents of a `Worker` that
                drives runs of this store in this process are known without.

        Raises:
            UsageError: The address or a lane cannot be used.
        """
        self.url = url
        self.journal = open_journal(url)
        self.writer = Writer(self.journal)
        self.watcher = Watcher(self.journal)
        self.outputs = {name: agent.output for name, agent in (agents or {}).items()}
        self._lanes = dict(lanes or {})
        for name, lane in self._lanes.items():
            limits = (lane.concurrency, lane.rate, lane.waiting)
            if not name or any(limit is not None and limit < 1 for limit in limits) or lane.period <= 0:
                raise UsageError(
                    f"the lane {name!r} needs a name, limits of at least 1, and a period of more than 0 seconds"
                )
            if read_shared_lane(name) is not None:
                raise UsageError(f"the name of the lane {name!r} ends like that of runs with concurrency=; change it")

    async def __aenter__(self) -> Self:
        await self.prepare()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Commit pending writes, and end the threads."""
        self.watcher.close()
        self.writer.close()

    async def prepare(self) -> None:
        """Define the lanes, if that was not done."""
        if self._lanes:
            lanes, self._lanes = self._lanes, {}
            try:
                await self.writer.write(lambda session: session.set_lanes(lanes))
            except BaseException:
                self._lanes = lanes
                raise

    async def write(self, job: Callable[[JournalSession], T]) -> T:
        """Do something with the journal in a transaction."""
        await self.prepare()
        return await self.writer.write(job)

    async def read(self, job: Callable[[JournalSession], T]) -> T:
        """Read something from the journal."""
        await self.prepare()
        return await self.writer.read(job)

    async def start(
        self,
        agent: str,
        prompt: Prompt = None,
        **options: Unpack[StartOptions],
    ) -> RunHandle:
        """Start a run, and return its handle as soon as it is stored. A worker that has the agent executes it.

        Args:
            agent: The name under which workers know the agent.
            prompt: The prompt.
            **options: How the run is started; see `StartOptions`.

        Raises:
            StartRefused: The key was used for another request, or the lane is full or unknown.
            UsageError: An argument cannot be used or stored.
            OutcomeUnknown: The connection to the database was lost. Start the run again with the same key.
        """
        new = build_run(agent, prompt, options)
        try:
            started = await self.write(lambda session: _start(session, new))
        except OutcomeUnknown:
            if new.key:  # the run may be stored now, by this start or by another one
                raise
            started = await self.write(lambda session: session.start(new))  # nobody else knows its id
            return RunHandle(self, started.run.run_id, is_new=True)
        return RunHandle(self, started.run.run_id, is_new=started.is_new)

    async def schedule(
        self,
        name: str,
        agent: str,
        prompt: Prompt = None,
        *,
        cron: str = "",
        timezone: str = "UTC",
        every: float | None = None,
        catch_up: int = 1,
        **options: Unpack[StartOptions],
    ) -> Schedule:
        """Let workers start runs on a schedule, and return when the next one is due. It replaces one of the same name.

        Each scheduled time starts at most one run, however many workers there are. Its key is the name and the time.

        Args:
            name: The name of the schedule.
            agent: The name under which workers know the agent.
            prompt: The prompt.
            cron: When: minute, hour, day, month and weekday, as in `30 9 * * mon-fri`.
            timezone: The time zone of `cron`, such as Europe/Berlin.
            every: The interval in seconds, instead of `cron`.
            catch_up: How many of the latest missed times are made up, after no worker was alive.
            **options: How each run is started; see `StartOptions`. A schedule makes the keys itself.

        Raises:
            UsageError: An argument cannot be used or stored, or the lane is unknown.
        """
        if not name or bool(cron) == (every is not None):
            raise UsageError("a schedule needs a name, and either cron= or every=")
        if every is not None and not 1 <= every <= MAX_DEADLINE_SECONDS:
            raise UsageError("every= is a number of seconds, at least 1")
        if catch_up < 0 or catch_up > MAX_CATCH_UP:
            raise UsageError(f"catch_up= is a number from 0 to {MAX_CATCH_UP}")
        if cron:
            parse_cron(cron, timezone)
        if options.get("key"):
            raise UsageError("key= names one run; a schedule gives each of its runs a key of its own")
        run = build_run(agent, prompt, options)
        new = Schedule(name=name, run=run, cron=cron, zone=timezone, seconds=every, catch_up=catch_up)
        await self.write(lambda session: session.check_lane(run.lane, needs_room=False))
        return await self.write(lambda session: session.set_schedule(new))

    async def schedules(self) -> "builtins.list[Schedule]":
        """Return all schedules, in the order of their names."""
        return await self.read(lambda session: session.list_schedules())

    async def unschedule(self, name: str) -> bool:
        """Delete a schedule; return whether there was one. Runs that it has started continue."""
        return await self.write(lambda session: session.drop_schedule(name))

    async def signal(self, name: str, value: Any = None) -> bool:
        """Send a signal, and return whether it counts: the first one of a name does, and is kept until it is pruned.

        Calls that wait for it (`Context.wait_for`) continue, and so do those that wait for it later.

        Args:
            name: Its name, such as `payment-42`.
            value: Its value, as JSON data.

        Raises:
            UsageError: The name cannot be used, or the value cannot be stored.
            OutcomeUnknown: The connection to the database was lost. Send the signal again; the second one may not
                count then.
        """
        check_signal_name(name)
        try:
            data = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(f"the value of a signal is stored as JSON, and cannot be ({error})") from None
        counts = await self.write(lambda session: session.add_signal(name, data))
        with suppress(StoreUnavailable):  # it is stored: a worker does the rest
            await self.write(lambda session: session.wake_due())  # after the commit: see `Agenda`
        return counts

    def handle(self, run_id: str) -> RunHandle:
        """Return the handle of a run, without checking that the run exists."""
        return RunHandle(self, run_id)

    async def list(
        self,
        *,
        statuses: Collection[RunStatus] = (),
        agent: str = "",
        chat: str = "",
        stop_reasons: Collection[str] = (),
        data: Mapping[str, Any] | None = None,
        limit: int = 100,
        since: float | None = None,
        before: int = 0,
    ) -> "builtins.list[RunRow]":
        """Return runs, newest first; see `JournalSession.list_runs`.

        `data` filters by strings, numbers and booleans of the runs' data: `data={"tenant": "acme"}`. `since` is a
        number of seconds: only runs that were started within that time are returned.
        """
        labels = build_filter(data or {})

        def load(session: JournalSession) -> builtins.list[RunRow]:
            begin = 0 if since is None else session.read_clock() - round(since * 1000)
            return session.list_runs(
                statuses=statuses,
                agent=agent,
                chat=chat,
                stop_reasons=stop_reasons,
                labels=labels,
                limit=limit,
                since=begin,
                before=before,
            )

        return await self.read(load)

    async def count(self) -> dict[tuple[str, RunStatus], int]:
        """Return how many runs there are, by lane and status."""
        return await self.read(lambda session: session.count_runs())

    async def stats(self, *, since: float | None = None) -> "builtins.list[AgentStats]":
        """Return how the runs of each agent ended and how long they took, for runs of the last `since` seconds."""
        return build_stats(await self.list(since=since, limit=MAX_STATS_RUNS))

    async def workers(self) -> "list[WorkerRow]":
        """Return the workers of the last day."""
        return await self.read(lambda session: session.list_workers())

    async def prune(self, older_than: float) -> int:
        """Delete runs that ended and signals that arrived more than so many seconds ago; return how many runs."""
        count = 0
        while True:
            pruned = await self.write(
                lambda session: session.prune(session.read_clock() - round(older_than * 1000), PRUNE_LIMIT)
            )
            count += len(pruned)
            if not pruned:
                break
        while await self.read(lambda session: session.shrink()):
            pass
        return count

    # For programs that are not async

    def start_sync(self, agent: str, prompt: Prompt = None, **options: Unpack[StartOptions]) -> RunHandle:
        """Start a run; see `start`."""
        return portal.call(self.start(agent, prompt, **options))

    def schedule_sync(
        self,
        name: str,
        agent: str,
        prompt: Prompt = None,
        *,
        cron: str = "",
        timezone: str = "UTC",
        every: float | None = None,
        catch_up: int = 1,
        **options: Unpack[StartOptions],
    ) -> Schedule:
        """Let workers start runs on a schedule; see `schedule`."""
        coming = self.schedule(
            name, agent, prompt, cron=cron, timezone=timezone, every=every, catch_up=catch_up, **options
        )
        return portal.call(coming)

    def schedules_sync(self) -> "builtins.list[Schedule]":
        """Return all schedules."""
        return portal.call(self.schedules())

    def unschedule_sync(self, name: str) -> bool:
        """Delete a schedule; see `unschedule`."""
        return portal.call(self.unschedule(name))

    def signal_sync(self, name: str, value: Any = None) -> bool:
        """Send a signal; see `signal`."""
        return portal.call(self.signal(name, value))

    def list_sync(
        self,
        *,
        statuses: Collection[RunStatus] = (),
        agent: str = "",
        chat: str = "",
        stop_reasons: Collection[str] = (),
        data: Mapping[str, Any] | None = None,
        limit: int = 100,
        since: float | None = None,
        before: int = 0,
    ) -> "builtins.list[RunRow]":
        """Return runs, newest first; see `list`."""
        return portal.call(
            self.list(
                statuses=statuses,
                agent=agent,
                chat=chat,
                stop_reasons=stop_reasons,
                data=data,
                limit=limit,
                since=since,
                before=before,
            )
        )

    def count_sync(self) -> dict[tuple[str, RunStatus], int]:
        """Return how many runs there are, by lane and status."""
        return portal.call(self.count())

    def stats_sync(self, *, since: float | None = None) -> "builtins.list[AgentStats]":
        """Return how the runs of each agent ended and how long they took; see `stats`."""
        return portal.call(self.stats(since=since))

    def workers_sync(self) -> "list[WorkerRow]":
        """Return the workers of the last day."""
        return portal.call(self.workers())

    def prune_sync(self, older_than: float) -> int:
        """Delete the runs that ended more than so many seconds ago."""
        return portal.call(self.prune(older_than))
