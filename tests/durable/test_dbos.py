"""Runs that DBOS hands out."""

import asyncio
import gc
from collections.abc import Callable, Iterator

import pytest

from toolspeak.durable.dbos_dispatcher import DbosDispatcher
from toolspeak.durable.dispatch import Dispatcher
from toolspeak.durable.journal import Journal
from toolspeak.durable.postgres import PostgresJournal
from toolspeak.durable.rows import Lane

from .dispatcher_contract import DispatcherContract, SmallWorker, start, until, working

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # DBOS leaves connections


@pytest.fixture(autouse=True)
def _collect_garbage() -> Iterator[None]:
    """Let connections that DBOS left be collected in the test that made them, where the warning is ignored."""
    yield
    gc.collect()


@pytest.mark.slow
class TestDbos(DispatcherContract):
    @pytest.fixture
    def journal(self, postgres_url: str) -> Journal:
        return PostgresJournal(postgres_url)

    @pytest.fixture
    def make_dispatcher(self, postgres_url: str) -> Callable[[], Dispatcher]:
        return lambda: DbosDispatcher(postgres_url)


def test_runs_of_a_lane_are_driven_once_each(postgres_url: str) -> None:
    """A quick test of what the contract, whose tests each start DBOS anew, has in detail."""

    async def main() -> None:
        worker = SmallWorker(PostgresJournal(postgres_url), DbosDispatcher(postgres_url), "w1", 4, ("helper",))
        async with working(worker):
            await worker.write(lambda session: session.set_lanes({"gpt": Lane(concurrency=2)}))
            await start(worker, "a", "b", "c", lane="gpt")
            await start(worker, "free", "first", priority=[0, 7])
            await until([worker], lambda: len(worker.driven) >= 5 and not worker.running)
        assert sorted(worker.driven) == ["a", "b", "c", "first", "free"]

    asyncio.run(main())


class NotingWorker(SmallWorker):
    """A worker that notes how long the run waits under each epoch in which it saw it given back."""

    def __init__(self, journal: Journal, dispatcher: Dispatcher, agents: tuple[str, ...]) -> None:
        super().__init__(journal, dispatcher, "w1", 4, agents)
        self.delays: dict[int, int] = {}

    async def look_after_entries(self) -> None:
        await super().look_after_entries()
        run = await self.write(lambda session: session.read_run("r1"))
        if run is not None and run.epoch > 1:
            self.delays[run.epoch] = run.ready - run.updated


@pytest.mark.slow
def test_a_run_that_no_worker_can_drive_is_handed_out_less_and_less_often(postgres_url: str) -> None:
    async def main() -> None:
        worker = NotingWorker(PostgresJournal(postgres_url), DbosDispatcher(postgres_url), ("other",))
        async with working(worker):
            await start(worker, "r1")
            await until([worker], lambda: max(worker.delays, default=0) >= 4)
        expected = {epoch: 300 * 2 ** (epoch - 2) for epoch in worker.delays}
        assert worker.delays == pytest.approx(expected, rel=0.4)  # the statement reads the clock twice

    asyncio.run(main())
