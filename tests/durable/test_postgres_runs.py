"""Runs in Postgres that DBOS hands out: a server that crashes, a worker that sleeps, people who answer at once."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from toolspeak.durable import RunHandle, Runs
from toolspeak.values.errors import StoreUnavailable
from toolspeak.values.events import ApprovalGiven, RunResumed

from .effects import EFFECTS, TURNS, EffectsFile, judge, judge_waits
from .loops import in_loop, wait_until_running
from .postgres import PostgresServer
from .processes import ROOT, Nursery, WorkerProcess, WorkerSettings

WAIT_SECONDS = 100
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


async def find_violations(started: list[RunHandle], effects: EffectsFile) -> list[str]:
    facts = {run.id: list(enumerate(await run.facts())) for run in started}
    return judge(facts, effects, TURNS * len(EFFECTS)).violations


@in_loop
async def test_runs_survive_five_crashes_of_the_server(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    effects = EffectsFile(tmp_path / "effects")
    settings = WorkerSettings(store=postgres_url, effects=str(effects.path), seconds=0.3, lease=3.0, dispatcher="dbos")
    with Nursery(tmp_path / "log") as nursery:
        workers = [nursery.start_worker(settings) for _ in range(3)]
        async with Runs(postgres_url) as runs:
            started = [await runs.start("busy", "Work.") for _ in range(9)]
            await wait_for_all(workers, effects)
            for number in range(5):
                await wait_for_facts(started, 10 * (number + 1))
                await asyncio.to_thread(postgres.crash)
                with pytest.raises(StoreUnavailable, match="cannot be used"):
                    await runs.start("busy", "Work.")
                await asyncio.to_thread(postgres.start)
            for run in started:
                assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
            assert all(worker.is_alive for worker in workers)
            assert await find_violations(started, effects) == []


async def wait_for_all(workers: list[WorkerProcess], effects: EffectsFile) -> None:
    """Wait until each worker has begun a call."""
    async with asyncio.timeout(WAIT_SECONDS):
        while {worker.pid for worker in workers} - effects.list_processes():
            await asyncio.sleep(0.05)


async def wait_for_facts(started: list[RunHandle], count: int) -> None:
    """Wait until the runs have so many facts, all together, or have ended."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            rows = [await run.row() for run in started]
            if sum(row.next_seq for row in rows) >= count or all(row.status == "done" for row in rows):
                return
            await asyncio.sleep(0.05)


@in_loop
async def test_a_worker_that_wakes_up_after_its_lease_writes_and_starts_nothing_more(
    postgres_url: str, tmp_path: Path
) -> None:
    effects = EffectsFile(tmp_path / "effects")
    settings = WorkerSettings(store=postgres_url, effects=str(effects.path), seconds=0.2, lease=1.0, dispatcher="dbos")
    with Nursery(tmp_path / "log") as nursery:
        async with Runs(postgres_url) as runs:
            zombie = nursery.start_worker(settings)
            run = await runs.start("busy", "Work.")
            await wait_until_running(run)
            zombie.send(signal.SIGSTOP)
            nursery.start_worker(settings)
            async for each in run.events():
                if isinstance(each.event, RunResumed):
                    break
            zombie.send(signal.SIGCONT)
            assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
            assert (await run.row()).takeovers >= 1
            assert await find_violations([run], effects) == []


@in_loop
async def test_runs_wait_for_times_and_signals(postgres_url: str, tmp_path: Path) -> None:
    effects = EffectsFile(tmp_path / "effects")
    settings = WorkerSettings(store=postgres_url, effects=str(effects.path), lease=20.0, dispatcher="dbos")
    with Nursery(tmp_path / "log") as nursery:
        async with Runs(postgres_url) as runs:
            nursery.start_worker(settings)
            run = await runs.start("patient", "Go on.")
            for turn in reversed(range(TURNS)):  # the last signals come before their waits
                assert await runs.signal(f"{run.id} {turn}", turn)
            facts = (await run.outcome(timeout=WAIT_SECONDS)).facts
    verdict = judge_waits({run.id: list(enumerate(facts))}, effects)
    assert (verdict.violations, verdict.unknown) == ([], 0)


@in_loop
async def test_of_two_answers_at_the_same_time_one_counts(postgres_url: str, tmp_path: Path) -> None:
    effects = EffectsFile(tmp_path / "effects")
    settings = WorkerSettings(store=postgres_url, effects=str(effects.path), seconds=0.0, lease=5.0, dispatcher="dbos")
    with Nursery(tmp_path / "log") as nursery:
        nursery.start_worker(settings)
        async with Runs(postgres_url) as runs, Runs(postgres_url) as others:
            started = [await runs.start("asks", "Wire it.") for _ in range(10)]
            async with asyncio.timeout(WAIT_SECONDS):
                while {await run.status() for run in started} != {"paused"}:
                    await asyncio.sleep(0.02)
            for run in started:
                [call] = await run.waiting()
                answers = [run.approve(call.call.id), others.handle(run.id).approve(call.call.id, "no")]
                assert sorted(await asyncio.gather(*answers)) == [False, True]
            for run in started:
                assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
                given = [fact for fact in await run.facts() if isinstance(fact, ApprovalGiven)]
                assert len(given) == 1
                assert sum(done.run_id == run.id for done in effects.count("begin")) == given[0].approved
            assert set(effects.count("begin").values()) <= {1}
    with psycopg.connect(postgres_url) as connection:
        stored = connection.execute("SELECT DISTINCT serialization FROM dbos.workflow_status").fetchall()
    assert stored == [("portable_json",)], "nothing is pickled"


SHARING = """
import asyncio, sys
from dbos import DBOS
from toolspeak import Agent
from toolspeak.durable import Runs, Worker
from toolspeak.testing import ScriptedModel, says

@DBOS.workflow()
def double(number: int) -> int:
    return 2 * number

async def main() -> None:
    address = sys.argv[1].replace("postgresql://", "postgresql+psycopg://")
    DBOS(config={"name": "shop", "system_database_url": address, "log_level": "ERROR"})
    await asyncio.to_thread(DBOS.launch)
    async with Runs(sys.argv[1]) as runs, Worker(runs, {"greeter": Agent(ScriptedModel([says("Hello.")]))}, lease=5):
        run = await runs.start("greeter", "Hi.")
        print((await run.outcome(timeout=60)).text)
        print(await asyncio.to_thread(double, 4))
    print(await asyncio.to_thread(double, 5))
    await asyncio.to_thread(DBOS.destroy)

asyncio.run(main())
"""


def test_a_program_with_a_dbos_of_its_own_shares_it(postgres_url: str) -> None:
    command = [sys.executable, "-c", SHARING, postgres_url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=200)
    assert (done.stdout.split(), done.stderr) == (["Hello.", "8", "10"], "")
