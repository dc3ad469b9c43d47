"""`ClaimDispatcher`: a worker takes its runs from the journal itself. It needs nothing else, and serves SQLite."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from toolspeak.durable.dispatch import Driving, Entry
from toolspeak.durable.quarantine import QUARANTINE_DEATHS, is_suspect
from toolspeak.durable.rows import RunRow, Wanted
from toolspeak.durable.watcher import Watcher, wait_for_change
from toolspeak.errors import StoreUnavailable
from toolspeak.log import LOG

MAX_WAIT_SECONDS = 0.5
"""How long a run stays unnoticed that becomes ready by time alone."""

MIN_PAUSE_SECONDS = 0.02
"""How long a worker that found no run waits at least before it looks again: every commit of any process wakes it."""


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

    def launch(self, worker: Driving) -> AbstractAsyncContextManager[None]:
        """Return a context in which runs are handed to a worker."""
        return self._serve_in_background(worker)

    @asynccontextmanager
    async def _serve_in_background(self, worker: Driving) -> AsyncGenerator[None]:
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
                await self._pause(changed)
        await asyncio.sleep(0)  # the runs that were claimed last begin, so that the worker can give them back

    async def _pause(self, changed: asyncio.Event) -> None:
        if self._looked_in_vain and not self._is_closing:
            await asyncio.sleep(MIN_PAUSE_SECONDS)
        await wait_for_change(changed, MAX_WAIT_SECONDS)

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
