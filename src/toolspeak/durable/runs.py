"""`Runs`: a store of durable runs, in which any process starts, finds and follows them."""

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import Self, TypeVar, Unpack, cast

from toolspeak.durable.handle import RunHandle
from toolspeak.durable.journal import JournalSession, OutcomeUnknown
from toolspeak.durable.records import digest_request, encode_request
from toolspeak.durable.rows import ID_CHARS, Lane, NewRun, RunRow, RunStatus, WorkerRow
from toolspeak.durable.stores import open_journal
from toolspeak.durable.watcher import Watcher
from toolspeak.durable.writer import Writer
from toolspeak.errors import UsageError
from toolspeak.messages import Message
from toolspeak.run import portal
from toolspeak.run.runnable import Prompt, RunOptions

T = TypeVar("T")

PRUNE_LIMIT = 500
"""How many runs are deleted in one transaction."""


class Runs:
    """A store of durable runs. Nothing is opened before it is used; `close` ends its threads.

    Each method has a twin for programs that are not async: `start_sync` and so on.

    Attributes:
        url: The address of the store.
        journal: The store.
        writer: The thread that uses it.
        watcher: The thread that notices changes.
    """

    def __init__(self, url: str, *, lanes: Mapping[str, Lane] | None = None) -> None:
        """Name a store.

        Args:
            url: `sqlite:///runs.db`, or `postgresql://…`.
            lanes: Lanes to define or change. They are kept in the store, and hold for all processes.

        Raises:
            UsageError: The address or a lane cannot be used.
        """
        self.url = url
        self.journal = open_journal(url)
        self.writer = Writer(self.journal)
        self.watcher = Watcher(self.journal)
        self._lanes = dict(lanes or {})
        for name, lane in self._lanes.items():
            _check_lane(name, lane)

    async def __aenter__(self) -> Self:
        await self.prepare()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
            **options: `messages`, `tool_choice`, `limits` and `compacted`; see `RunOptions`.

        Raises:
            StartRefused: The key stands for another request, the lane is full or unknown, or the chat is busy.
            UsageError: An argument cannot be used or stored.
            OutcomeUnknown: The database was lost while it stored a run with a key. Start it again with the same key.
        """
        if not isinstance(cast("object", prompt), str | Message | None):
            raise UsageError(f"a prompt is a text or a message, not {type(prompt).__name__}")
        if deadline is not None and deadline < 0:
            raise UsageError("a deadline is a number of seconds from now")
        request = encode_request(prompt, options)
        new = NewRun(
            run_id=hashlib.sha256(f"key {key}".encode()).hexdigest()[:ID_CHARS]
            if key
            else secrets.token_hex(ID_CHARS // 2),
            agent=agent,
            request=request,
            request_digest=digest_request(agent, request, chat),
            key=key,
            priority=priority,
            lane=lane,
            chat=chat,
            deadline_ms=None if deadline is None else round(deadline * 1000),
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
        limit: int = 100,
        before: int = 0,
    ) -> list[RunRow]:
        """Return runs, those that were started last first; see `JournalSession.list_runs`."""
        return await self.read(
            lambda session: session.list_runs(statuses=statuses, agent=agent, chat=chat, limit=limit, before=before)
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
        limit: int = 100,
        before: int = 0,
    ) -> "list[RunRow]":
        """Return runs, those that were started last first."""
        return portal.call(self.list(statuses=statuses, agent=agent, chat=chat, limit=limit, before=before))

    def count_sync(self) -> dict[tuple[str, RunStatus], int]:
        """Return how many runs there are, by lane and status."""
        return portal.call(self.count())

    def workers_sync(self) -> "list[WorkerRow]":
        """Return the workers of the last day."""
        return portal.call(self.workers())

    def prune_sync(self, older_than: float) -> int:
        """Delete the runs that ended more than so many seconds ago."""
        return portal.call(self.prune(older_than))


def _check_lane(name: str, lane: Lane) -> None:
    """Refuse a lane whose limits cannot hold."""
    limits = (lane.concurrency, lane.rate, lane.waiting)
    if not name or any(limit is not None and limit < 1 for limit in limits) or lane.period <= 0:
        raise UsageError(f"the lane {name!r} needs a name, limits of at least 1, and a period of more than 0 seconds")
