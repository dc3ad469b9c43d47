"""Workers that are killed at random moments: nothing is lost, and nothing is done twice.

`make test-durable` kills 200 workers on each store. `TOOLSPEAK_KILLS` says how many, and `TOOLSPEAK_SEED` which moments
are drawn.
"""

import os
import random
import time
from datetime import datetime
from pathlib import Path

import pytest

from toolspeak.durable import Runs

from .kills import KillingSpree, SignalSpree
from .processes import Nursery, WorkerSettings

KILLS = int(os.environ.get("TOOLSPEAK_KILLS", "3"))
SEED = int(os.environ.get("TOOLSPEAK_SEED", "1"))
SECONDS_FOR_A_KILL = 6.0
"""Not a limit of what is tested, but of how long a loaded machine may take."""


@pytest.mark.heavy
@pytest.mark.timeout(300 + 2 * SECONDS_FOR_A_KILL * KILLS)
@pytest.mark.parametrize("dispatcher", ["claim", "dbos"])
def test_nothing_is_lost_or_done_twice(dispatcher: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    store = f"sqlite:///{tmp_path}/runs.db" if dispatcher == "claim" else request.getfixturevalue("postgres_url")
    spree = KillingSpree(store, dispatcher, tmp_path, SEED)
    verdict = spree.run(KILLS, 30 + SECONDS_FOR_A_KILL * KILLS)
    took = sorted(spree.takeover_seconds) or [0.0]
    print(
        f"\n{store.partition(':')[0]}, {dispatcher}: {spree.kills} kills, {len(spree.handles)} runs, "
        f"{spree.interruptions} interrupted; {verdict.begun_again} calls in flight begun again, {verdict.unknown} once "
        f"calls of unknown outcome; takeover p50 {took[len(took) // 2]:.1f} s, max {took[-1]:.1f} s"
    )
    assert not verdict.violations, "\n".join(verdict.violations)
    assert spree.kills == KILLS


@pytest.mark.heavy
@pytest.mark.timeout(300 + 2 * SECONDS_FOR_A_KILL * KILLS)
@pytest.mark.parametrize("dispatcher", ["claim", "dbos"])
def test_a_schedule_is_kept_over_restarts(dispatcher: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Kill the only worker again and again while a schedule is due every second: no time is missed or met twice."""
    url = f"sqlite:///{tmp_path}/runs.db" if dispatcher == "claim" else request.getfixturevalue("postgres_url")
    settings = WorkerSettings(url, str(tmp_path / "effects"), dispatcher=dispatcher)
    moments = random.Random(SEED)
    with Runs(url) as runs, Nursery(tmp_path / "log") as nursery:
        runs.schedule_sync("tick", "nobody", "Now.", every=1, catch_up=1000)
        for _ in range(KILLS // 2):
            worker = nursery.start_worker(settings)
            time.sleep(moments.uniform(0.05, 2.5))
            worker.kill()
        nursery.start_worker(settings)
        before = time.time()
        while not (rows := runs.list_sync(limit=100_000)) or rows[0].created < before * 1000:
            time.sleep(0.1)
    times = sorted(round(datetime.fromisoformat(row.key.removeprefix("tick ")).timestamp() * 1000) for row in rows)
    print(f"\n{url.partition(':')[0]}: {KILLS // 2} restarts, {len(times)} times of a schedule, each once")
    assert times == list(range(times[0], times[-1] + 1, 1000))


@pytest.mark.heavy
@pytest.mark.timeout(300 + 2 * SECONDS_FOR_A_KILL * KILLS)
@pytest.mark.parametrize("dispatcher", ["claim", "dbos"])
def test_no_wait_is_lost_or_ends_twice(dispatcher: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    store = f"sqlite:///{tmp_path}/runs.db" if dispatcher == "claim" else request.getfixturevalue("postgres_url")
    spree = SignalSpree(store, dispatcher, tmp_path, SEED)
    verdict = spree.run(KILLS, 30 + SECONDS_FOR_A_KILL * KILLS)
    print(
        f"\n{store.partition(':')[0]}, {dispatcher}: {spree.kills} kills, {len(spree.handles)} runs, "
        f"{spree.interruptions} interrupted; {spree.sent} signals; {verdict.unknown} once calls of unknown outcome"
    )
    assert not verdict.violations, "\n".join(verdict.violations)
    assert (spree.kills, spree.refused) == (KILLS, 0)
