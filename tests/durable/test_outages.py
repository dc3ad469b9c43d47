"""A store that fails while runs are driven: the error is told, nothing is repeated, and the runs go on afterwards."""

import asyncio
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from tests.durable.loops import in_loop
from toolspeak import Agent, tool
from toolspeak.durable import Runs, Worker
from toolspeak.durable.journal import JournalSession
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.events import ToolFinished

WAIT_SECONDS = 60
BIG_CHARS = 300_000


class Shop:
    """An agent that pays once, and fetches something big that it may fetch again; with what it has done."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.is_fetching, self.may_fetch = asyncio.Event(), asyncio.Event()

        @tool(effect="once")
        async def pay() -> str:
            """Pay."""
            self.done["pay"] += 1
            return "paid"

        @tool(effect="idempotent")
        async def fetch() -> str:
            """Fetch something."""
            self.is_fetching.set()
            await self.may_fetch.wait()
            self.done["fetch"] += 1
            return "x" * BIG_CHARS

        script = [calls(("pay", {})), calls(("fetch", {})), calls(("pay", {})), says("Done.")]
        self.agents = {"shop": Agent(ScriptedModel(script), [pay, fetch])}


async def wait_for_log(caplog: pytest.LogCaptureFixture, text: str) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while text not in caplog.text:
            await asyncio.sleep(0.01)


def limit_pages(session: JournalSession, more: int) -> None:
    """Let the file of a session grow by so many pages at most."""
    connection: sqlite3.Connection = getattr(session, "_runs")  # noqa: B009 (it is private)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + more}")


@in_loop
async def test_a_run_goes_on_when_a_full_disk_has_room_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop()
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, shop.agents) as worker:
        run = await runs.start("shop", "Buy it.")
        await shop.is_fetching.wait()
        await worker.read(lambda session: limit_pages(session, 5))
        shop.may_fetch.set()
        await wait_for_log(caplog, f"the store {tmp_path}/runs.db cannot be used: database or disk is full")
        assert shop.done["pay"] == 1
        await worker.read(lambda session: limit_pages(session, 100_000))
        outcome = await run.outcome(timeout=WAIT_SECONDS)
        row, facts = await run.row(), await run.facts()
    assert (outcome.stop_reason, row.deaths, row.takeovers) == ("answered", 0, 0)
    assert shop.done["pay"] == 2
    assert sum(isinstance(fact, ToolFinished) for fact in facts) == 3


@in_loop
async def test_a_run_goes_on_when_a_store_that_vanished_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop()
    store, elsewhere = tmp_path / "runs.db", tmp_path / "elsewhere.db"
    async with Runs(f"sqlite:///{store}") as runs, Worker(runs, shop.agents, lease=60):
        run = await runs.start("shop", "Buy it.")
        await shop.is_fetching.wait()
        store.rename(elsewhere)
        shop.may_fetch.set()
        await wait_for_log(caplog, f"run {run.id} could not be driven, and is tried again")
        assert f"the store {store} was removed or replaced while it was in use" in caplog.text
        assert "Traceback" not in caplog.text
        assert shop.done == {"pay": 1, "fetch": 1}
        elsewhere.rename(store)
        outcome = await run.outcome(timeout=WAIT_SECONDS)
        row = await run.row()
    assert (outcome.stop_reason, row.deaths, row.takeovers) == ("answered", 0, 0)
    assert shop.done["pay"] == 2
