"""What durable runs cost: `python bench/durable.py [--store postgres] [--runs N] [--rounds N]`.

Prints, for a store in SQLite or in a Postgres server that is started for it (Debian's package `postgresql`):

- the milliseconds of a turn with one call that does nothing, durable and plain, by the clock and of CPU, and how many
  transactions such a turn commits;
- how many short runs (two turns, one call) three worker processes drive in a second, from the first start to the last
  end, each start after the one before, and the CPU time of a run in all processes; on Postgres DBOS hands them out;
- how long it takes until somebody who follows a run in another process has an event: half of the results of a tool that
  returns the time arrive within so many milliseconds, their commit included;
- the bytes of a run of 50 turns in which a tool returns 1 MB, and those of a chat of 100 runs against one of 50.

Times depend on the machine and on what else it does. So everything is measured in rounds, one after the other, and the
median of the rounds counts, beside the least and the most of them. The load is printed too, and how long the disk takes
for a flush, for which each commit waits. The CPU time and the number of commits hardly depend on what else goes on.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, cast

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.durable.effects import EffectsFile
from tests.durable.postgres import PostgresServer
from tests.durable.processes import Nursery, WorkerProcess, WorkerSettings

from toolspeak import Agent, Limits, Tool, tool
from toolspeak.durable import Runs, Worker
from toolspeak.durable.dispatch import ClaimDispatcher
from toolspeak.durable.journal import ChangeWatch, Journal, JournalSession
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.events import ToolFinished

TURNS = 20
WORKERS = 3
BIG_CHARS = 1_000_000
BARS = {"sqlite": (5.0, 100.0), "postgres": (15.0, 30.0)}
"""For each store: the most milliseconds of a turn beyond a plain run, and the least runs in a second."""


@tool(effect="read")
def quick(turn: int) -> int:
    """Do nothing."""
    return turn


@tool(effect="read")
def fetch(turn: int) -> str:
    """Fetch something that is large."""
    return "x" * BIG_CHARS if turn == 0 else "small"


def build_agent(function: Tool[..., Any], turns: int) -> Agent:
    script = [*(calls((function.name, {"turn": turn})) for turn in range(turns)), says("Done.")]
    return Agent(ScriptedModel(script), [function], limits=Limits(turns=turns + 5))


class Spread(NamedTuple):
    """The median of some figures, the least and the most."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.median:.1f} ({self.least:.1f} to {self.most:.1f})"


def spread(figures: Sequence[float]) -> Spread:
    return Spread(median(figures), min(figures), max(figures))


class CountingJournal:
    """A journal that counts the transactions that its sessions commit."""

    def __init__(self, journal: Journal) -> None:
        self.url = journal.url
        self.commits = 0
        self._journal = journal

    def connect(self) -> JournalSession:
        session: Any = CountingSession(self._journal.connect(), self)
        return session

    def watch(self) -> ChangeWatch:
        return self._journal.watch()


class CountingSession:
    """A session of a `CountingJournal`."""

    def __init__(self, session: JournalSession, journal: CountingJournal) -> None:
        self._session = session
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    @contextmanager
    def transaction(self) -> Generator[None]:
        with self._session.transaction():
            yield
        self._journal.commits += 1


class TurnCosts(NamedTuple):
    """What turns cost, in each round: milliseconds by the clock and of CPU, durable and plain, and commits."""

    durable_ms: list[float]
    plain_ms: list[float]
    durable_cpu_ms: list[float]
    plain_cpu_ms: list[float]
    commits: list[float]


async def measure_turns(store: str, rounds: int) -> TurnCosts:
    """Measure turns, durable ones and plain ones by turns."""
    agent = build_agent(quick, TURNS)
    costs = TurnCosts([], [], [], [], [])
    runs = Runs(store)
    journal = CountingJournal(runs.journal)
    runs.journal = journal
    dispatcher = ClaimDispatcher(runs.watcher, can_isolate=False)
    async with runs, Worker(runs, {"steps": agent}, dispatcher=dispatcher):
        for _ in range(rounds):
            clock, cpu = time.perf_counter(), time.process_time()
            await agent.arun("Go on.")
            costs.plain_ms.append((time.perf_counter() - clock) / TURNS * 1000)
            costs.plain_cpu_ms.append((time.process_time() - cpu) / TURNS * 1000)
            cpu, commits = time.process_time(), journal.commits
            run = await runs.start("steps", "Go on.")
            await run.outcome()
            costs.durable_cpu_ms.append((time.process_time() - cpu) / TURNS * 1000)
            costs.commits.append((journal.commits - commits) / TURNS)
            facts = await runs.read(lambda session, run_id=run.id: session.read_facts(run_id))
            costs.durable_ms.append((facts[-1].at - facts[0].at) / TURNS)
    return costs


class Throughput(NamedTuple):
    """How many short runs were driven in a second, and the milliseconds of CPU that one took."""

    rate: float
    worker_ms: float
    client_ms: float
    server_ms: float


async def wait_for_workers(runs: Runs) -> None:
    """Wait until all workers drive runs."""
    for run in [await runs.start("short", "Go on.") for _ in range(3 * WORKERS)]:
        await run.outcome()
    while sum(worker.expires > worker.beat for worker in await runs.workers()) < WORKERS:
        await asyncio.sleep(0.05)


async def measure_throughput(
    runs: Runs, workers: Sequence[WorkerProcess], server: int | None, count: int
) -> Throughput:
    """Measure short runs that three workers drive."""

    def read_all() -> tuple[float, float, float]:
        driven = sum(read_cpu_ms(worker.pid) for worker in workers)
        return driven, time.process_time() * 1000, 0.0 if server is None else read_cpu_ms(server, with_children=True)

    before, began = read_all(), time.perf_counter()
    started = [await runs.start("short", "Go on.") for _ in range(count)]
    for run in started:
        await run.outcome()
    rate = count / (time.perf_counter() - began)
    return Throughput(rate, *((now - then) / count for now, then in zip(read_all(), before, strict=True)))


def measure_flush(folder: Path) -> float:
    """Return the milliseconds that the disk takes to make a page safe: half of the flushes take less."""
    took = list[float]()
    with (folder / "flushed").open("wb", buffering=0) as file:
        for _ in range(50):
            file.write(b"x" * 4096)
            began = time.perf_counter()
            os.fsync(file.fileno())
            took.append((time.perf_counter() - began) * 1000)
    return median(took)


def read_cpu_ms(pid: int, *, with_children: bool = False) -> float:
    """Return the milliseconds of CPU that a process has used, on Linux; with those of its children, ended ones too."""
    path = Path(f"/proc/{pid}")
    try:
        fields = (path / "stat").read_text().rpartition(")")[2].split()
        children = (path / "task" / str(pid) / "children").read_text().split() if with_children else []
    except FileNotFoundError:
        return 0.0
    ticks = sum(int(each) for each in fields[11 : 15 if with_children else 13])
    used = ticks / os.sysconf("SC_CLK_TCK") * 1000
    return used + sum(read_cpu_ms(int(child), with_children=True) for child in children)


async def measure_latency(runs: Runs) -> float:
    """Return within how many milliseconds half of the results of a run arrive in this process."""
    run = await runs.start("clock", "Go on.")
    return 1000 * median(
        [
            time.time() - cast("float", each.event.result.output)
            async for each in run.events()
            if isinstance(each.event, ToolFinished)
        ]
    )


async def measure_bytes(runs: Runs) -> tuple[int, int, int]:
    """Return the bytes of a run of 50 turns with a large result, and of chats of 50 and 100 runs."""

    def count(run_ids: list[str]) -> int:
        session = runs.journal.connect()
        total = 0
        for run_id in run_ids:
            texts = [row.data for row in session.read_facts(run_id)]
            names = {word for text in texts for word in text.split('"') if len(word) == 64}
            texts += [session.read_blob(run_id, name) or "" for name in names]
            row = session.read_run(run_id)
            total += sum(len(text.encode()) for text in texts) + (len(row.request) if row else 0)
        session.close()
        return total

    talk = Agent(ScriptedModel([says("A fine answer of some words.")] * 200))
    dispatcher = ClaimDispatcher(runs.watcher, can_isolate=False)
    async with Worker(runs, {"big": build_agent(fetch, 50), "talk": talk}, dispatcher=dispatcher):
        big = await runs.start("big", "Go on.")
        await big.outcome()
        chat: list[str] = []
        for _ in range(100):
            run = await runs.start("talk", "Tell me more about it.", chat="c")
            await run.outcome()
            chat.append(run.id)
    return count([big.id]), count(chat[:50]), count(chat)


async def measure(kind: str, store: str, folder: Path, server: int | None, count: int, rounds: int) -> bool:
    """Measure a store, print what was found, and return whether the bars were met."""
    settings = WorkerSettings(
        store=store,
        effects=str(EffectsFile(folder / "effects").path),
        seconds=0.0,
        lease=30.0,
        slots=8,
        dispatcher="claim" if kind == "sqlite" else "dbos",
    )
    load = os.getloadavg()[0]
    turns = await measure_turns(store, rounds)
    flushes, shorts, latencies = list[float](), list[Throughput](), list[float]()
    async with Runs(store) as runs:
        big, half, whole = await measure_bytes(runs)
        with Nursery(folder / "log") as nursery:
            workers = [nursery.start_worker(settings) for _ in range(WORKERS)]
            await wait_for_workers(runs)
            for _ in range(rounds):
                flushes.append(measure_flush(folder))
                shorts.append(await measure_throughput(runs, workers, server, count // rounds))
                latencies.append(await measure_latency(runs))
    most_ms, least_rate = BARS[kind]
    beyond = spread([durable - plain for durable, plain in zip(turns.durable_ms, turns.plain_ms, strict=True)])
    rate = spread([each.rate for each in shorts])
    cpu = [median(each) for each in zip(*(each[1:] for each in shorts), strict=True)]
    cores = os.cpu_count() or 1
    print(
        f"{kind}, {rounds} rounds, load {load:.1f} at first and {os.getloadavg()[0]:.1f} at last on {cores} cores, "
        f"a flush of the disk {spread(flushes)} ms"
    )
    print(f"  a turn: {spread(turns.durable_ms)} ms, plain {spread(turns.plain_ms)} ms")
    print(f"    beyond a plain one: {beyond} ms (bar {most_ms:g})")
    print(f"    CPU: {spread(turns.durable_cpu_ms)} ms, plain {spread(turns.plain_cpu_ms)} ms")
    print(f"    commits: {median(turns.commits):.1f}")
    print(f"  short runs with {WORKERS} workers: {rate} a second (bar {least_rate:g})")
    print("    CPU of one: {:.1f} ms in the workers, {:.1f} in the client, {:.1f} in the server;".format(*cpu), end=" ")
    print(f"{cores} cores that do nothing else have time for {cores * 1000 / sum(cpu):.0f} a second")
    print(f"  an event in another process: after {spread(latencies)} ms (half of them)")
    print(f"  50 turns with a result of {BIG_CHARS:,} bytes: {big:,} bytes (bar {BIG_CHARS + 100_000:,})")
    print(f"  a chat of 50 runs: {half:,} bytes, of 100 runs: {whole:,} bytes, {whole / half:.2f} times as many")
    is_small = big <= BIG_CHARS + 100_000 and whole < 2.2 * half
    return beyond.median <= most_ms and rate.median >= least_rate and is_small


def main() -> int:
    """Measure, print, and return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--store", choices=list(BARS), default="sqlite")
    parser.add_argument("--runs", type=int, default=500, help="short runs in all rounds together")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store, server = f"sqlite:///{folder}/runs.db", None
        if options.store == "postgres":
            postgres = stack.enter_context(PostgresServer(durable=True))
            store, server = postgres.create_database(), postgres.pid
        return 0 if asyncio.run(measure(options.store, store, folder, server, options.runs, options.rounds)) else 1


if __name__ == "__main__":
    sys.exit(main())
