"""`ClaimDispatcher`: takes runs straight from the journal, in its order and within its lanes. It needs nothing else."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager

from toolspeak.durable.dispatch import Driving, Entry
from toolspeak.durable.journal import Journal
from toolspeak.durable.rows import RunRow, Wanted
from toolspeak.errors import StoreUnavailable
from toolspeak.log import LOG

LOOK_SECONDS = 0.25
"""How often a worker looks for runs if nothing was committed: a lane has room again, or a delay is over."""

_RETRY_SECONDS = 0.5


class ClaimDispatcher:
    """Takes runs straight from the journal. Make one for each worker."""

    def __init__(self, journal: Journal) -> None:
        """Remember the journal, which is watched for new runs."""
        self._journal = journal
        self._is_leaving = False

    @asynccontextmanager
    async def launch(self, worker: Driving) -> AsyncGenerator[None]:
        """Hand runs to a worker within this context."""
        driving: set[asyncio.Task[None]] = set()
        looking = asyncio.create_task(self._look(worker, driving))
        try:
            yield
        finally:
            self._is_leaving = True  # a thread that waits for the database cannot be cancelled
            await looking
            while driving:
                await asyncio.wait(driving)

    async def _look(self, worker: Driving, driving: set[asyncio.Task[None]]) -> None:
        watch = await asyncio.to_thread(self._journal.watch)
        try:
            while not (worker.is_stopping or self._is_leaving):
                try:
                    claimed = await self._claim(worker, worker.slots - len(driving))
                    for run in claimed:
                        task = asyncio.create_task(worker.drive_claimed(run))
                        driving.add(task)
                        task.add_done_callback(driving.discard)
                    if len(driving) >= worker.slots:
                        await asyncio.wait(driving, return_when=asyncio.FIRST_COMPLETED)
                    else:
                        await asyncio.to_thread(watch.wait, LOOK_SECONDS)
                except StoreUnavailable as error:
                    LOG.warning("worker %s cannot look for runs: %s", worker.name, error)
                    await asyncio.sleep(_RETRY_SECONDS)
        finally:
            await asyncio.to_thread(watch.close)

    async def _claim(self, worker: Driving, count: int) -> list[RunRow]:
        if count <= 0:
            return []
        wanted = Wanted(agents=worker.agents, count=count)
        return await worker.write(lambda session: session.claim_next(worker.name, wanted))

    async def enqueue(self, runs: Sequence[RunRow]) -> None:
        """Do nothing: the journal is the queue."""

    async def forget(self, entries: Collection[Entry]) -> None:
        """Do nothing: the journal is the queue."""

    async def held_by_none_of(self, alive: Collection[str]) -> Sequence[Entry]:
        """Return nothing: what a lost worker holds is found in the journal."""
        return ()
