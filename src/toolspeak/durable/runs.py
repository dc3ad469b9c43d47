"""`Runs`: a store of durable runs, in which any process starts, finds and follows them; `RunHandle`: one of them.

A run is stored as a request, not as `RunStarted`: whoever starts a run needs no agent, and the worker makes the first
fact.
"""

import asyncio
import builtins
import hashlib
import json
import secrets
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping
from importlib import import_module
from typing import Any, Self, TypeVar, Unpack, cast

from toolspeak.durable.approvals import WaitingCall, answer, find_waiting
from toolspeak.durable.event_feed import RunEvent, find_run, follow_run
from toolspeak.durable.journal import Journal, JournalSession, OutcomeUnknown
from toolspeak.durable.records import build_filter, build_labels, encode_request, fold_facts, load_facts
from toolspeak.durable.rows import ID_CHARS, Lane, NewRun, RunRow, RunStatus, WorkerRow
from toolspeak.durable.sqlite import SqliteJournal
from toolspeak.durable.watcher import Watcher, wait_for_change
from toolspeak.durable.writer import Writer
from toolspeak.run import portal
from toolspeak.run.output import Output
from toolspeak.run.run import build_outcome, find_output
from toolspeak.run.runnable import BaseAgent, Prompt, RunOptions
from toolspeak.values.address import hide_secrets
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Fact
from toolspeak.values.messages import Message
from toolspeak.values.outcome import Outcome

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
        cure = "pip install 'toolspeak[cluster]'"
        raise UsageError(f"{error.name} is missing, which {user} needs: {cure}") from None


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
        async for batch in self._batches(after):
            for event in batch:
                yield event

    async def _batches(self, after: str | None) -> AsyncGenerator[list[RunEvent]]:
        await self._runs.prepare()
        async for batch in follow_run(self._runs.writer, self._runs.watcher, self.id, after):
            yield batch

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
            output: The type of the answer, instead of the agent's own. The agent's own is known where a `Worker` of
                this store drives it, or from `Runs(agents=…)`; else the answer is JSON data. `Any` gives JSON data.
            timeout: Seconds after which `TimeoutError` is raised; the run goes on.
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


T = TypeVar("T")

MAX_PRIORITY = 2**31 - 1
"""The highest priority of a run, and the lowest one below zero: what every database stores."""

MAX_DEADLINE_SECONDS = 10_000_000_000
"""The latest deadline of a run, in seconds from its start."""

PRUNE_LIMIT = 500
"""How many runs are deleted in one transaction."""


class Runs:
    """A store of durable runs. Nothing is opened before it is used; `close` ends its threads.

    Each method has a twin for programs that are not async: `start_sync` and so on.

    Attributes:
        url: The address of the store, with its password; `journal.url` is without.
        journal: The store.
        writer: The thread that uses it.
        watcher: The thread that notices changes.
        outputs: The types of the answers of the agents that are known here, by the names of these agents.
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
        """Commit what was entered, and end the threads."""
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
        *,
        key: str = "",
        priority: int = 0,
        lane: str = "",
        deadline: float | None = None,
        chat: str = "",
        **options: Unpack[RunOptions],
    ) -> RunHandle:
        """Start a run, and return its handle as soon as it is stored. A worker that has the agent drives it.

        Args:
            agent: The name under which workers know the agent.
            prompt: What is asked.
            key: A name for this request. A second start with the same key gives the run of the first.
            priority: Runs with a higher one are driven first.
            lane: The lane whose limits hold for the run.
            deadline: Seconds from now after which the run is ended, whoever drives it then.
            chat: The conversation that the run goes on with; its runs happen one after the other.
            **options: `messages`, `tool_choice`, `limits`, `compacted` and `data`; see `RunOptions`. `data` is stored:
                `deps=` functions find it in `RunRow.data`, tools and rules in `Context.data`, and `list` filters by it.

        Raises:
            StartRefused: The key stands for another request, the lane is full or unknown, or the chat is busy.
            UsageError: An argument cannot be used or stored.
            OutcomeUnknown: The database was lost while it stored a run with a key. Start it again with the same key.
        """
        if not isinstance(cast("object", prompt), str | Message | None):
            raise UsageError(f"a prompt is a text or a message, not {type(prompt).__name__}")
        if abs(priority) > MAX_PRIORITY:
            raise UsageError(f"a priority is a whole number from {-MAX_PRIORITY} to {MAX_PRIORITY}")
        if deadline is not None and not 0 <= deadline <= MAX_DEADLINE_SECONDS:
            raise UsageError(f"a deadline is a number of seconds from now, {MAX_DEADLINE_SECONDS} at most")
        request = encode_request(prompt, options)
        new = NewRun(
            run_id=hashlib.sha256(f"key {key}".encode()).hexdigest()[:ID_CHARS]
            if key
            else secrets.token_hex(ID_CHARS // 2),
            agent=agent,
            request=request,
            request_digest=hashlib.sha256(json.dumps([agent, request, chat]).encode()).hexdigest(),
            key=key,
            priority=priority,
            lane=lane,
            chat=chat,
            deadline_ms=None if deadline is None else round(deadline * 1000),
            labels=build_labels(options.get("data")),
        )
        try:
            started = await self.write(lambda session: session.start(new))
        except OutcomeUnknown:
            if key:  # the run may be stored now, by this start or by another one
                raise
            started = await self.write(lambda session: session.start(new))  # nobody else knows its id
            return RunHandle(self, started.run.run_id, is_new=True)
        return RunHandle(self, started.run.run_id, is_new=started.is_new)

    def handle(self, run_id: str) -> RunHandle:
        """Return the handle of a run. Nothing is looked up."""
        return RunHandle(self, run_id)

    async def list(
        self,
        *,
        statuses: Collection[RunStatus] = (),
        agent: str = "",
        chat: str = "",
        data: Mapping[str, Any] | None = None,
        limit: int = 100,
        before: int = 0,
    ) -> "builtins.list[RunRow]":
        """Return runs, those that were started last first; see `JournalSession.list_runs`.

        `data` are texts, numbers and booleans with which the runs were started: `data={"tenant": "acme"}`.
        """
        labels = build_filter(data or {})
        return await self.read(
            lambda session: session.list_runs(
                statuses=statuses, agent=agent, chat=chat, labels=labels, limit=limit, before=before
            )
        )

    async def count(self) -> dict[tuple[str, RunStatus], int]:
        """Return how many runs there are, by lane and status."""
        return await self.read(lambda session: session.count_runs())

    async def workers(self) -> "list[WorkerRow]":
        """Return the workers of the last day."""
        return await self.read(lambda session: session.list_workers())

    async def prune(self, older_than: float) -> int:
        """Delete the runs that ended more than so many seconds ago, and return how many there were."""
        count = 0
        while True:
            pruned = await self.write(
                lambda session: session.prune(session.read_clock() - round(older_than * 1000), PRUNE_LIMIT)
            )
            count += len(pruned)
            if not pruned:
                return count

    # For programs that are not async

    def start_sync(
        self,
        agent: str,
        prompt: Prompt = None,
        *,
        key: str = "",
        priority: int = 0,
        lane: str = "",
        deadline: float | None = None,
        chat: str = "",
        **options: Unpack[RunOptions],
    ) -> RunHandle:
        """Start a run; see `start`."""
        return portal.call(
            self.start(agent, prompt, key=key, priority=priority, lane=lane, deadline=deadline, chat=chat, **options)
        )

    def list_sync(
        self,
        *,
        statuses: Collection[RunStatus] = (),
        agent: str = "",
        chat: str = "",
        data: Mapping[str, Any] | None = None,
        limit: int = 100,
        before: int = 0,
    ) -> "builtins.list[RunRow]":
        """Return runs, those that were started last first; see `list`."""
        return portal.call(self.list(statuses=statuses, agent=agent, chat=chat, data=data, limit=limit, before=before))

    def count_sync(self) -> dict[tuple[str, RunStatus], int]:
        """Return how many runs there are, by lane and status."""
        return portal.call(self.count())

    def workers_sync(self) -> "list[WorkerRow]":
        """Return the workers of the last day."""
        return portal.call(self.workers())

    def prune_sync(self, older_than: float) -> int:
        """Delete the runs that ended more than so many seconds ago."""
        return portal.call(self.prune(older_than))
