"""What every dispatcher must do, with small workers that claim runs and end them.

Derive a test class from `DispatcherContract`, and give it the fixtures `journal` and `make_dispatcher`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TypeVar

import pytest

from toolspeak.durable.dispatch import ClaimDispatcher, Dispatcher
from toolspeak.durable.journal import Journal, JournalSession
from toolspeak.durable.rows import Hold, Lane, RunRow
from toolspeak.values.errors import StoreUnavailable

from .journal_contract import new_run

T = TypeVar("T")
LEASE_MS = 60_000
RETRIES = 3
"""How often a transaction is tried again that was rolled back. A server cuts one off when it is idle for seconds, which
happens when a busy machine lets this process wait for that long."""


class SmallWorker:
    """Claims runs and ends them. What a run does in between is to wait for `gate`."""

    def __init__(
        self, journal: Journal, dispatcher: Dispatcher, name: str, slots: int, agents: tuple[str, ...]
    ) -> None:
        self.name, self.slots, self.agents = name, slots, agents
        self.is_stopping = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.driven: list[str] = []
        self.running: set[str] = set()
        self.most_running = 0
        self._dispatcher = dispatcher
        self._thread = ThreadPoolExecutor(1)
        self._journal = journal

    async def write(self, job: Callable[[JournalSession], T]) -> T:
        def work() -> T:
            with self._session.transaction():
                return job(self._session)

        return await self._try(work)

    async def _try(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        for _ in range(RETRIES):
            with suppress(StoreUnavailable):
                return await loop.run_in_executor(self._thread, work)
        return await loop.run_in_executor(self._thread, work)

    async def read(self, job: Callable[[JournalSession], T]) -> T:
        return await self.write(job)

    async def drive(self, run_id: str, epoch: int) -> None:
        run = await self.write(lambda session: session.claim(run_id, epoch, self.name))
        if run is not None:
            await self.drive_claimed(run)

    async def drive_claimed(self, run: RunRow) -> None:
        self.driven.append(run.run_id)
        self.running.add(run.run_id)
        self.most_running = max(self.most_running, len(self.running))
        await self.gate.wait()
        hold = Hold(run.run_id, run.epoch, run.owner, run.next_seq)
        await self.write(lambda session: session.append(hold, ['"end"'], stop_reason="answered"))
        self.running.discard(run.run_id)

    async def look_after_entries(self) -> None:
        """Do what a worker does now and then."""
        found = await self.write(lambda session: session.sweep())
        await self._dispatcher.forget(found.taken)
        lost = await self._dispatcher.held_by_none_of(found.alive)
        for entry in lost:
            await self.write(lambda session, entry=entry: session.requeue(*entry))
        await self._dispatcher.forget(lost)
        if isinstance(self._dispatcher, ClaimDispatcher):
            return
        runs = await self.write(lambda session: session.list_undispatched(100))
        await self._dispatcher.enqueue(runs)
        await self.write(lambda session: session.mark_dispatched([(run.run_id, run.epoch) for run in runs]))

    @asynccontextmanager
    async def working(self) -> AsyncGenerator["SmallWorker"]:
        self._session = await self._try(self._journal.connect)
        await self.write(lambda session: session.beat(self.name, LEASE_MS))
        async with self._dispatcher.launch(self):
            try:
                yield self
            finally:
                self.is_stopping = True
                self.gate.set()
        await self.write(lambda session: session.leave(self.name))
        await asyncio.get_running_loop().run_in_executor(self._thread, self._session.close)
        self._thread.shutdown()


class DispatcherContract:
    """The tests. Each runs in an event loop of its own."""

    @pytest.fixture
    def journal(self) -> Journal:
        raise NotImplementedError("give the class a fixture `journal` that returns an empty journal")

    @pytest.fixture
    def make_dispatcher(self, journal: Journal) -> Callable[[], Dispatcher]:
        raise NotImplementedError("give the class a fixture `make_dispatcher`")

    @pytest.fixture
    def start_worker(self, journal: Journal, make_dispatcher: Callable[[], Dispatcher]) -> "WorkerMaker":
        def make(name: str = "w1", slots: int = 4, agents: tuple[str, ...] = ("helper",)) -> SmallWorker:
            return SmallWorker(journal, make_dispatcher(), name, slots, agents)

        return make

    def test_every_run_is_driven_once(self, start_worker: "WorkerMaker") -> None:
        async def main() -> None:
            async with working(start_worker("w1"), start_worker("w2")) as workers:
                await start(workers[0], *[f"r{number}" for number in range(20)])
                await until(workers, lambda: count_driven(workers) >= 20 and not any(each.running for each in workers))
            assert sorted(run for worker in workers for run in worker.driven) == sorted(f"r{n}" for n in range(20))

        asyncio.run(main())

    def test_a_worker_drives_no_more_runs_than_it_has_slots(self, start_worker: "WorkerMaker") -> None:
        async def main() -> None:
            async with working(start_worker(slots=2)) as (worker,):
                worker.gate.clear()
                await start(worker, *[f"r{number}" for number in range(5)])
                await until([worker], lambda: len(worker.running) == 2)
                worker.gate.set()
                await until([worker], lambda: len(worker.driven) == 5 and not worker.running)
                assert worker.most_running == 2

        asyncio.run(main())

    def test_runs_with_a_higher_priority_are_first(self, start_worker: "WorkerMaker") -> None:
        async def main() -> None:
            async with working(start_worker(slots=1)) as (worker,):
                worker.gate.clear()
                await start(worker, "first")
                await until([worker], lambda: worker.driven == ["first"])
                await start(worker, "low", "negative", "high", "low_2", priority=[0, -5, 7, 0])
                await worker.look_after_entries()
                worker.gate.set()
                await until([worker], lambda: len(worker.driven) == 5)
                assert worker.driven == ["first", "high", "low", "low_2", "negative"]

        asyncio.run(main())

    def test_a_lane_bounds_how_many_of_its_runs_go_on_at_once(self, start_worker: "WorkerMaker") -> None:
        async def main() -> None:
            async with working(start_worker("w1"), start_worker("w2")) as workers:
                await workers[0].write(lambda session: session.set_lanes({"gpt": Lane(concurrency=2)}))
                for worker in workers:
                    worker.gate.clear()
                await start(workers[0], "a", "b", "c", "d", lane="gpt")
                await start(workers[0], "free")
                await until(workers, lambda: count_driven(workers) == 3)
                assert "free" in {run for worker in workers for run in worker.running}
                for worker in workers:
                    worker.gate.set()
                await until(workers, lambda: count_driven(workers) == 5)

        asyncio.run(main())

    def test_runs_with_a_limit_of_their_own_need_no_lane(self, start_worker: "WorkerMaker") -> None:
        async def main() -> None:
            async with working(start_worker("w1"), start_worker("w2")) as workers:
                for worker in workers:
                    worker.gate.clear()
                await start(workers[0], "a", "b", "c", lane="acme (1 at once)")
                await start(workers[0], "d", "e", lane="globex (1 at once)")
                await until(workers, lambda: count_driven(workers) == 2)
                assert {run for worker in workers for run in worker.running} == {"a", "d"}
                for worker in workers:
                    worker.gate.set()
                await until(workers, lambda: count_driven(workers) == 5)

        asyncio.run(main())

    def test_a_lane_bounds_how_many_of_its_runs_begin_in_a_while(self, start_worker: "WorkerMaker") -> None:
        async def main() -> None:
            async with working(start_worker()) as (worker,):
                await worker.write(lambda session: session.set_lanes({"gpt": Lane(rate=2, period=600)}))
                await start(worker, "a", "b", "c", lane="gpt")
                await until([worker], lambda: len(worker.driven) == 2)
                await start(worker, "free")
                await until([worker], lambda: "free" in worker.driven)
                assert worker.driven == ["a", "b", "free"] or worker.driven == ["b", "a", "free"]

        asyncio.run(main())

    def test_a_worker_is_given_only_runs_of_its_agents(self, start_worker: "WorkerMaker") -> None:
        async def main() -> None:
            async with working(start_worker("w1", agents=("other",)), start_worker("w2")) as workers:
                await start(workers[0], *[f"r{number}" for number in range(6)])
                await until(workers, lambda: len(workers[1].driven) == 6)
                assert workers[0].driven == []

        asyncio.run(main())

    def test_a_run_of_a_lost_worker_is_driven_by_another(self, start_worker: "WorkerMaker") -> None:
        async def main() -> None:
            async with working(start_worker(slots=1)) as (worker,):
                await worker.write(lambda session: (session.start(new_run()), session.claim("r1", 1, "dead")))
                await until([worker], lambda: worker.driven == ["r1"] and not worker.running)
                run = await worker.write(lambda session: session.read_run("r1"))
                assert run is not None
                assert (run.status, run.takeovers) == ("done", 1)

        asyncio.run(main())

    def test_a_worker_that_stops_is_given_nothing(self, start_worker: "WorkerMaker") -> None:
        async def main() -> None:
            async with working(start_worker("w1"), start_worker("w2")) as workers:
                workers[0].is_stopping = True
                await start(workers[1], *[f"r{number}" for number in range(6)])
                await until(workers[1:], lambda: len(workers[1].driven) == 6)
                assert workers[0].driven == []

        asyncio.run(main())


WorkerMaker = Callable[..., SmallWorker]


@asynccontextmanager
async def working(*workers: SmallWorker) -> AsyncGenerator[tuple[SmallWorker, ...]]:
    async with AsyncExitStack() as stack:
        for worker in workers:
            await stack.enter_async_context(worker.working())
        yield workers


async def start(worker: SmallWorker, *run_ids: str, lane: str = "", priority: list[int] | None = None) -> None:
    for number, run_id in enumerate(run_ids):
        run = new_run(run_id, lane=lane, priority=priority[number] if priority else 0)
        await worker.write(lambda session, run=run: session.start(run))


def count_driven(workers: tuple[SmallWorker, ...]) -> int:
    return sum(len(worker.driven) for worker in workers)


async def until(workers: "list[SmallWorker] | tuple[SmallWorker, ...]", condition: Callable[[], bool]) -> None:
    """Wait for something, while the workers do what they do now and then."""
    async with asyncio.timeout(60):
        while not condition():
            for worker in workers:
                await worker.look_after_entries()
            await asyncio.sleep(0.02)
