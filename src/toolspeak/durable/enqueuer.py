"""`Enqueuer`: gives queued runs to a dispatcher that keeps a queue of its own, soon after they were committed.

All workers look for such runs. To enter a run twice is harmless and costs time, so each run has one worker that enters
it first. After a while any worker does.
"""

import asyncio
from zlib import crc32

from toolspeak.durable.dispatch import Dispatcher, Driving
from toolspeak.durable.rows import RunRow
from toolspeak.durable.watcher import Watcher, wait_for_change
from toolspeak.log import LOG

MIN_PAUSE_SECONDS = 0.1
"""How long a worker waits at least between two times that it enters runs."""

MAX_PAUSE_SECONDS = 0.5
"""How long a run stays unnoticed that becomes ready by time alone."""

MAX_UNENTERED_MS = 1000
"""After this time a run is entered by any worker, since that which should have entered it may be gone."""

MAX_RUNS = 200
"""How many runs are looked at each time."""


class Enqueuer:
    """Enters the runs of which a worker is the first, and those that others have left.

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
                await asyncio.sleep(MIN_PAUSE_SECONDS)
                await wait_for_change(changed, MAX_PAUSE_SECONDS)

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
