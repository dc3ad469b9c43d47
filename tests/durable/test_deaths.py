"""A run with four turns and three tools whose process dies before and after every commit."""

import asyncio
from pathlib import Path

import pytest

from tests.durable.deaths import DEAD, Deaths
from tests.durable.effects import EFFECTS, TURNS, EffectsFile, build_agents, judge
from toolspeak.durable import Runs, Worker
from toolspeak.durable.dispatch import ClaimDispatcher


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_process_may_die_before_and_after_every_commit_in_sqlite(tmp_path: Path) -> None:
    asyncio.run(die_before_and_after_every_commit(f"sqlite:///{tmp_path}/runs.db", tmp_path))


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_a_process_may_die_before_and_after_every_commit_in_postgres(postgres_schema: str, tmp_path: Path) -> None:
    asyncio.run(die_before_and_after_every_commit(postgres_schema, tmp_path))


async def die_before_and_after_every_commit(store: str, folder: Path) -> None:
    effects = EffectsFile(folder / "effects")
    names = dict[str, str]()
    async with Runs(store) as runs:
        with Deaths() as deaths:
            for when in ("before", "after"):
                commit, code = 0, DEAD
                while code == DEAD:
                    commit += 1
                    name = f"{when}-{commit}"
                    run = await runs.start(name, "Work.")
                    names[name] = run.id
                    code = deaths.drive(
                        store=store, effects=str(effects.path), run_id=run.id, agent=name, commit=commit, when=when
                    )
                assert code == 0
                assert commit > 12, "the run should have many commits"
        agents = dict.fromkeys(names, build_agents(effects, 0.0)["busy"])
        dispatcher = ClaimDispatcher(runs.watcher, can_isolate=False)
        async with Worker(runs, agents, lease=0.3, dispatcher=dispatcher):
            for run_id in names.values():
                await runs.handle(run_id).outcome(timeout=200)
        found = {run_id: list(enumerate(await runs.handle(run_id).facts())) for run_id in names.values()}
        rows = {run_id: await runs.read(lambda session, r=run_id: session.read_facts(r)) for run_id in names.values()}
    verdict = judge(found, effects, TURNS * len(EFFECTS))
    assert verdict.violations == []
    assert all([row.seq for row in each] == list(range(len(each))) for each in rows.values())
    assert verdict.begun_again > 0, "calls that were under way are begun again"
    assert verdict.unknown > 0, "a call of a once tool that was under way is not"
