"""Workers that are killed at random moments: nothing is lost, and nothing is done twice.

`make test-durable` kills 200 workers on each store. `TOOLSPEAK_KILLS` says how many, and `TOOLSPEAK_SEED` which moments
are drawn.
"""

import os
from pathlib import Path

import pytest

from .kills import KillingSpree

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
