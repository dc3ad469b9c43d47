"""`Dispatcher`: decides which worker drives which run when. Nothing that it does wrong can harm a run.

The journal says who may write a run. So a dispatcher may give a run to two workers, too late, or to a worker that dies:
`drive` claims the run first, and does nothing if the claim fails. A run that a dispatcher lost is found by the sweep.

`ClaimDispatcher` needs nothing but the journal, from which a worker takes its runs itself; it serves SQLite. An engine
(DBOS, `dbos_dispatcher.py`) keeps a queue of its own; each entry is known by `(run_id, epoch)`, so that entering one
twice is entering it once.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeAlias, TypeVar
from zlib import crc32

from toolspeak.durable.journal import JournalSession
from toolspeak.durable.quarantine import QUARANTINE_DEATHS, is_suspect
from toolspeak.durable.rows import RunRow, Wanted
from toolspeak.durable.watcher import Watcher, wait_for_change
from toolspeak.values.errors import StoreUnavailable
from toolspeak.values.log import LOG

T = TypeVar("T")

Entry: TypeAlias = tuple[str, int]
"""A run id and an epoch: one time that a run is to be driven."""


class Driving(Protocol):
    """What a dispatcher may ask of the worker that launched it. All of it is called in the worker's event loop.

    Attributes:
        name: The name of the worker, unique among all workers that ever were.
        slots: How many runs it drives at once.
        agents: The names of its agents.
        is_stopping: Whether it takes no more runs.
    """

    name: str
    slots: int
    agents: tuple[str, ...]
    is_stopping: bool

    async def drive(self, run_id: str, epoch: int) -> None:
        """Claim a run with this epoch, and drive it until it ends, pauses, or is parked.

        It never raises. If the run cannot be claimed, because it was claimed before or has another epoch, it returns at
        once. If the claim itself fails, the run gets another epoch, so that it is entered again.
        """
        ...

    async def drive_claimed(self, run: RunRow) -> None:
        """Drive a run that was claimed already, by `JournalSession.claim_next`; give it back if the worker stops.

        It never raises.
        """
        ...

    async def write(self, job: Callable[[JournalSession], T]) -> T:
        """Do something with the journal, in a transaction that the worker's writer thread commits."""
        ...

    async def read(self, job: Callable[[JournalSession], T]) -> T:
        """Read something from the journal, in the worker's writer thread."""
        ...


class Dispatcher(Protocol):
    """The seam between a worker and whatever hands out runs."""

    def launch(self, worker: Driving) -> AbstractAsyncContextManager[None]:
        """Return a context in which runs are handed to a worker, at most `worker.slots` at once.

        Nothing is handed out any more when `worker.is_stopping`. When the context is left, the worker has no run.
        """
        ...

    async def enqueue(self, runs: Sequence[RunRow]) -> None:
        """Enter runs, each as `(run_id, epoch)` with its priority and lane; those that were entered are left alone.

        The worker calls this for all that `list_undispatched` returns, and notes them as dispatched afterwards. A
        dispatcher that takes runs from the journal itself does nothing here.
        """
        ...

    async def forget(self, entries: Collection[Entry]) -> None:
        """Remove entries of runs that were taken from a lost worker, so that they hold no place in a lane any more."""
        ...

    async def held_by_none_of(self, alive: Collection[str]) -> Sequence[Entry]:
        """Return entries that were handed out to a worker that does not live, so that nobody will drive them.

        The worker raises the epoch of those that are still queued (`requeue`), and forgets the entries.
        """
        ...


MAX_DELAYED_RUNS = 10_000
"""How many runs have a delay. Another worker may have ended a run, so the oldest are forgotten."""


class RetryDelays:
    """How long runs wait that could not be driven: each time twice as long as before, until the run was driven."""

    def __init__(self, first_ms: int, longest_ms: int) -> None:
        self._first_ms = first_ms
        self._longest_ms = longest_ms
        self._delays: dict[str, int] = {}

    def next_delay_ms(self, run_id: str) -> int:
        """Return how long a run waits that could not be driven once more."""
        last = self._delays.pop(run_id, None)
        delay = self._delays[run_id] = self._first_ms if last is None else min(2 * last, self._longest_ms)
        if len(self._delays) > MAX_DELAYED_RUNS:
            del self._delays[next(iter(self._delays))]
        return delay

    def forget(self, run_id: str) -> None:
        """Begin anew with a run, since it was driven."""
        self._delays.pop(run_id, None)


MAX_WAIT_SECONDS = 0.5
"""How long a run stays unnoticed that becomes ready by time alone."""

MIN_ENQUEUE_PAUSE_SECONDS = 0.1
"""How long a worker waits at least between two times that it enters runs."""

MAX_UNENTERED_MS = 1000
"""After this time a run is entered by any worker, since that which should have entered it may be gone."""

MAX_RUNS = 200
"""How many runs are looked at each time."""


class Enqueuer:
    """Gives queued runs to a dispatcher that keeps a queue of its own, soon after they were committed.

    All workers look for such runs. To enter a run twice is harmless and costs time, so each run has one worker that
    enters it first. After a while any worker does.

    Attributes:
        alive: The names of the workers that live, in order.
    """

    def __init__(self, worker: Driving, dispatcher: Dispatcher, watcher: Watcher) -> None:
        self.alive: tuple[str, ...] = ()
        self._worker = worker
        self._dispatcher = dispatcher
        self._watcher = watcher

    async def serve(self) -> None:
        """Enter runs until the task is cancelled."""
        with self._watcher.subscribe() as changed:
            while True:
                try:
                    await self._enter()
                except Exception as error:
                    LOG.warning("worker %s could not enter runs: %s", self._worker.name, error)
                await asyncio.sleep(MIN_ENQUEUE_PAUSE_SECONDS)
                await wait_for_change(changed, MAX_WAIT_SECONDS)

    async def _enter(self) -> None:
        found = await self._worker.read(lambda session: session.list_undispatched(MAX_RUNS))
        if not found:
            return
        before = await self._worker.read(lambda session: session.read_clock()) - MAX_UNENTERED_MS
        waiting = [run for run in found if self._is_first_for(run) or max(run.updated, run.ready) < before]
        if not waiting:
            return
        await self._dispatcher.enqueue(waiting)
        entries = [(run.run_id, run.epoch) for run in waiting]
        await self._worker.write(lambda session: session.mark_dispatched(entries))

    def _is_first_for(self, run: RunRow) -> bool:
        name, alive = self._worker.name, self.alive
        return name not in alive or alive[crc32(run.run_id.encode()) % len(alive)] == name


MIN_PAUSE_SECONDS = 0.02
"""How long a worker that found no run waits at least before it looks again: every commit of any process wakes it.

A worker with full slots does not look at all, and one that found runs looks at once again, so this costs no throughput.
"""


class ClaimDispatcher:
    """Claims queued runs for a worker as long as it has free slots.

    Args:
        watcher: Notices that something was committed.
        can_isolate: Whether the worker can drive a run in a process of its own. If not, a suspect run is claimed when
            the worker drives nothing else, and nothing else is claimed meanwhile.
    """

    def __init__(self, watcher: Watcher, *, can_isolate: bool) -> None:
        self._watcher = watcher
        self._can_isolate = can_isolate
        self._drives: set[asyncio.Task[None]] = set()
        self._is_exclusive = False
        self._looked_in_vain = False
        self._is_closing = False

    @asynccontextmanager
    async def launch(self, worker: Driving) -> AsyncGenerator[None]:
        """Hand runs to a worker within this context."""
        with self._watcher.subscribe() as changed:
            serving = asyncio.create_task(self._serve(worker, changed))
            try:
                yield
            finally:
                self._is_closing = True
                changed.set()
                await serving  # not cancelled: a claim that is under way takes effect, and its runs must be given back
                for drive in self._drives:
                    drive.cancel()
                if self._drives:
                    await asyncio.wait(self._drives)

    async def enqueue(self, runs: Sequence[RunRow]) -> None:
        """Do nothing: queued runs are found in the journal."""

    async def forget(self, entries: Collection[Entry]) -> None:
        """Do nothing: a run that was taken over is no longer claimed."""

    async def held_by_none_of(self, alive: Collection[str]) -> Sequence[Entry]:
        """Return nothing: a claim is written in the journal, whose sweep finds it."""
        return ()

    async def _serve(self, worker: Driving, changed: asyncio.Event) -> None:
        while not (worker.is_stopping or self._is_closing):
            try:
                claimed = await self._claim(worker)
            except StoreUnavailable as error:
                LOG.warning("worker %s cannot claim runs: %s", worker.name, error)
                claimed = []
            for run in claimed:
                self._begin(worker, run, changed)
            if not claimed:
                if self._looked_in_vain and not self._is_closing:
                    await asyncio.sleep(MIN_PAUSE_SECONDS)
                await wait_for_change(changed, MAX_WAIT_SECONDS)
        await asyncio.sleep(0)  # the runs that were claimed last begin, so that the worker can give them back

    async def _claim(self, worker: Driving) -> list[RunRow]:
        self._looked_in_vain = False
        free = worker.slots - len(self._drives)
        if free < 1 or self._is_exclusive:
            return []
        waiting = await worker.read(lambda session: session.list_undispatched(1))
        self._looked_in_vain = not waiting
        if not waiting or worker.is_stopping or self._is_closing:
            return []
        wanted = self._choose(worker, free)
        claimed = await worker.write(lambda session: session.claim_next(worker.name, wanted))
        self._is_exclusive = not self._can_isolate and any(is_suspect(run) for run in claimed)
        return claimed

    def _choose(self, worker: Driving, free: int) -> Wanted:
        """Return which runs may be claimed now."""
        if self._can_isolate:
            return Wanted(agents=worker.agents, count=free)
        if self._drives:
            return Wanted(agents=worker.agents, count=free, max_deaths=QUARANTINE_DEATHS - 1)
        return Wanted(agents=worker.agents, count=1)  # it may be a suspect run, which is driven alone

    def _begin(self, worker: Driving, run: RunRow, changed: asyncio.Event) -> None:
        drive = asyncio.create_task(worker.drive_claimed(run))
        self._drives.add(drive)

        def end(task: asyncio.Task[None]) -> None:
            self._drives.discard(task)
            self._is_exclusive = False
            changed.set()

        drive.add_done_callback(end)
