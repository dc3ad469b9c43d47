"""Workers in processes of their own: killed, stopped, ended, and all at the same time.

A worker that is to be lost has a lease that a busy machine keeps too, and the one that goes on with its runs has a long
one. How soon runs are taken over is measured by the heavy tests, which have the machine for themselves.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.durable.effects import EFFECTS, TURNS, EffectsFile, judge
from tests.durable.loops import in_loop, wait_until_running
from tests.durable.processes import ROOT, Nursery, WorkerSettings
from toolspeak.durable import RunHandle, Runs
from toolspeak.values.events import RunResumed, ToolFinished

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

WAIT_SECONDS = 240
LOST_LEASE, LONG_LEASE = 3.0, 60.0
KILLS = 20
CALLS = TURNS * len(EFFECTS)


async def find_violations(runs: Runs, started: list[RunHandle], effects: EffectsFile) -> list[str]:
    facts = {run.id: list(enumerate(await run.facts())) for run in started}
    return judge(facts, effects, CALLS).violations


async def find_resumption(runs: Runs, run: RunHandle) -> float:
    """Return the time at which another worker went on with a run, by the clock of the store."""
    rows = await runs.read(lambda session: session.read_facts(run.id))
    facts = await run.facts()
    return next(row.at for row, fact in zip(rows, facts, strict=True) if isinstance(fact, RunResumed)) / 1000


class Lateness:
    """Measures how late a thread comes that only sleeps: time that the machine gave to others, and to no worker."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._ended = threading.Event()

    def __enter__(self) -> "Lateness":
        threading.Thread(target=self._measure, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()

    def _measure(self) -> None:
        while not self._ended.is_set():
            began = time.monotonic()
            time.sleep(0.02)
            self.seconds += time.monotonic() - began - 0.02


@in_loop
async def test_ten_processes_may_be_the_first_at_once(tmp_path: Path) -> None:
    store, effects = f"sqlite:///{tmp_path}/runs.db", EffectsFile(tmp_path / "effects")
    settings = WorkerSettings(store=store, effects=str(effects.path), seconds=0.0, lease=LONG_LEASE)
    with Nursery(tmp_path / "log") as nursery:
        workers = [nursery.start_worker(settings) for _ in range(10)]
        async with Runs(store) as runs:
            started = [await runs.start("busy", "Work.") for _ in range(10)]
            for run in started:
                assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
            while len(await runs.workers()) < 10:
                assert all(worker.is_alive for worker in workers)
                await asyncio.sleep(0.02)
            assert await find_violations(runs, started, effects) == []
    assert "Traceback" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize("lease", [LOST_LEASE, pytest.param(1.0, marks=pytest.mark.heavy)])
@in_loop
async def test_a_killed_worker_is_replaced_within_its_lease_and_two_seconds(tmp_path: Path, lease: float) -> None:
    store, effects = f"sqlite:///{tmp_path}/runs.db", EffectsFile(tmp_path / "effects")
    settings = WorkerSettings(store=store, effects=str(effects.path), seconds=0.1, lease=lease)
    with Nursery(tmp_path / "log") as nursery:
        async with Runs(store) as runs:
            first = nursery.start_worker(settings)
            run = await runs.start("busy", "Work.")
            await wait_until_running(run)
            nursery.start_worker(replace(settings, lease=LONG_LEASE))
            while len(await runs.workers()) < 2:
                await asyncio.sleep(0.01)
            first.kill()
            killed = time.time()
            with Lateness() as late:
                assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
            if lease < LOST_LEASE:  # a heavy test
                assert await find_resumption(runs, run) - killed <= settings.lease + 2 + late.seconds
            assert (await run.row()).takeovers == 1
            assert await find_violations(runs, [run], effects) == []


@pytest.mark.heavy
@pytest.mark.parametrize("dispatcher", ["claim", "dbos"])
@in_loop
async def test_twenty_killed_workers_are_each_replaced_within_the_lease_and_two_seconds(
    dispatcher: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = f"sqlite:///{tmp_path}/runs.db" if dispatcher == "claim" else request.getfixturevalue("postgres_url")
    effects, started = EffectsFile(tmp_path / "effects"), list[RunHandle]()
    took, late = list[float](), list[float]()
    settings = WorkerSettings(store=store, effects=str(effects.path), seconds=0.1, dispatcher=dispatcher)
    with Nursery(tmp_path / "log") as nursery:
        async with Runs(store) as runs:
            workers = [nursery.start_worker(settings) for _ in range(3)]
            for _ in range(KILLS):
                while sum(f"-{worker.pid}-" in each.worker for each in await runs.workers() for worker in workers) < 3:
                    await asyncio.sleep(0.02)
                run = await runs.start("busy", "Work.")
                await wait_until_running(run)
                row = await run.row()
                [victim] = [worker for worker in workers if f"-{worker.pid}-" in row.owner]
                victim.kill()
                killed = time.time()
                with Lateness() as lateness:
                    workers[workers.index(victim)] = nursery.start_worker(settings)
                    assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
                took.append(await find_resumption(runs, run) - killed)
                late.append(lateness.seconds)
                assert (await run.row()).takeovers == 1
                started.append(run)
            assert await find_violations(runs, started, effects) == []
    print(f"\n{dispatcher}: {len(took)} kills, takeover p50 {sorted(took)[KILLS // 2]:.1f} s, max {max(took):.1f} s")
    print(f"the machine was late by at most {max(late):.1f} s")
    assert max(seconds - machine for seconds, machine in zip(took, late, strict=True)) <= settings.lease + 2


@in_loop
async def test_a_worker_that_wakes_up_after_its_lease_writes_and_starts_nothing_more(tmp_path: Path) -> None:
    store, effects = f"sqlite:///{tmp_path}/runs.db", EffectsFile(tmp_path / "effects")
    settings = WorkerSettings(store=store, effects=str(effects.path), seconds=0.5, lease=LOST_LEASE)
    with Nursery(tmp_path / "log") as nursery:
        async with Runs(store) as runs:
            zombie = nursery.start_worker(settings)
            run = await runs.start("busy", "Work.")
            await wait_until_running(run)
            zombie.send(signal.SIGSTOP)
            nursery.start_worker(replace(settings, lease=LONG_LEASE))
            async for each in run.events():
                if isinstance(each.event, RunResumed):
                    break
            zombie.send(signal.SIGCONT)
            assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
            assert (await run.row()).takeovers == 1
            assert await find_violations(runs, [run], effects) == []
            again = await runs.start("busy", "Work.")
            assert (await again.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"


@in_loop
async def test_sigterm_under_load_takes_nothing_over_and_leaves_nothing_unknown(tmp_path: Path) -> None:
    store, effects = f"sqlite:///{tmp_path}/runs.db", EffectsFile(tmp_path / "effects")
    settings = WorkerSettings(store=store, effects=str(effects.path), seconds=0.05, lease=LONG_LEASE)
    with Nursery(tmp_path / "log") as nursery:
        async with Runs(store) as runs:
            first = nursery.start_worker(replace(settings, seconds=1.0))  # so that no run ends before the signal comes
            started = [await runs.start("busy", "Work.") for _ in range(4)]
            for run in started:
                await wait_until_running(run)
            first.send(signal.SIGTERM)
            nursery.start_worker(settings)
            for run in started:
                assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
                row = await run.row()
                assert (row.takeovers, row.deaths) == (0, 0)
            facts = [fact for run in started for fact in await run.facts()]
            assert any(isinstance(fact, RunResumed) for fact in facts)
            assert [fact for fact in facts if isinstance(fact, ToolFinished) and fact.result.error] == []
            assert await find_violations(runs, started, effects) == []
            assert set(effects.count("begin").values()) == {1}


@pytest.mark.parametrize("late_ms", [60_000, pytest.param(1000, marks=pytest.mark.heavy)])
@in_loop
async def test_a_deadline_holds_across_a_takeover(tmp_path: Path, late_ms: int) -> None:
    store, effects = f"sqlite:///{tmp_path}/runs.db", EffectsFile(tmp_path / "effects")
    settings = WorkerSettings(store=store, effects=str(effects.path), seconds=300.0, lease=LOST_LEASE)
    with Nursery(tmp_path / "log") as nursery:
        async with Runs(store) as runs:
            first = nursery.start_worker(settings)
            while not await runs.workers():
                await asyncio.sleep(0.01)
            run = await runs.start("busy", "Work.", deadline=10)
            while (await run.row()).status != "running":
                await asyncio.sleep(0.01)
            first.kill()
            nursery.start_worker(replace(settings, lease=LONG_LEASE))
            outcome = await run.outcome(timeout=WAIT_SECONDS)
            row = await run.row()
    assert (outcome.stop_reason, row.takeovers) == ("limit", 1)
    assert row.deadline is not None
    assert 0 <= row.updated - row.deadline <= late_ms


@pytest.mark.heavy
@pytest.mark.parametrize("agent", ["poison", "stubborn", "paired"])
@in_loop
async def test_a_run_that_kills_its_workers_is_ended_and_its_neighbours_finish(tmp_path: Path, agent: str) -> None:
    store, effects = f"sqlite:///{tmp_path}/runs.db", tmp_path / "effects"
    effects.touch()
    environment = {**os.environ, "EFFECTS": str(effects)}
    program = str(ROOT / "tests/durable/poison_program.py")
    async with Runs(store) as runs:
        innocent = [await runs.start("innocent", "Work.") for _ in range(3)]
        poison = await runs.start(agent, "Crash.")
        ended = asyncio.create_task(poison.outcome(timeout=150))
        deaths, worker = 0, subprocess.Popen([sys.executable, program, store], env=environment)
        try:
            while not ended.done():
                if worker.poll() is not None:
                    deaths, worker = deaths + 1, subprocess.Popen([sys.executable, program, store], env=environment)
                await asyncio.sleep(0.02)
            outcome = await ended
            for run in innocent:
                assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
        finally:
            worker.terminate()
            worker.wait()
    assert outcome.stop_reason == "error"
    assert "5 workers in a row died" in outcome.detail
    assert effects.read_text().count("crash") == 5
    assert deaths == 2, "from the third time on, the run is driven in a process of its own"
