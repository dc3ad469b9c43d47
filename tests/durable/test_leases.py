"""When a worker that says nothing counts as lost: not by the time in the store alone."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.durable.clocks import FakeClock, ShiftedJournal, ShiftedSession
from tests.durable.journal_contract import ANY, LEASE_MS, start_and_claim
from tests.durable.loops import in_loop
from tests.durable.test_worker import Busy
from toolspeak import Agent, tool
from toolspeak.durable import Runs, Worker
from toolspeak.durable.journal import Fenced, FindLiving
from toolspeak.durable.leases import SilenceWatch, count_seconds
from toolspeak.durable.rows import Hold, Sweep, WorkerRow
from toolspeak.durable.segment import Segment
from toolspeak.durable.sqlite import SqliteJournal, SqliteSession
from toolspeak.durable.writer import Writer
from toolspeak.testing import ScriptedModel, calls, says

LEASE = 30.0
SLEEP_SECONDS = 100
HOUR = 3600


class Workers:
    """Two workers, of which one watches the other."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.beats = {"own": 0, "other": 0}
        self.is_heard = True
        self.watch = SilenceWatch("own", lambda: self.is_heard, self.clock)

    def pass_time(self, seconds: float, *beating: str) -> bool:
        """Let time pass, and these workers say that they live; return whether the other one counts as living."""
        self.clock.now += seconds
        for name in beating:
            self.beats[name] += 1
        rows = [WorkerRow(name, beat, beat + round(LEASE * 1000), "{}") for name, beat in self.beats.items()]
        living = self.watch.find_living(rows)
        assert "own" in living
        return "other" in living


def test_a_worker_is_lost_when_it_was_watched_for_its_whole_lease() -> None:
    workers = Workers()
    seen = [workers.pass_time(0.5, "own") for _ in range(61)]
    assert (seen[59], seen[60]) == (True, False)
    assert workers.pass_time(0.5, "own", "other")


def test_a_machine_that_slept_gives_each_worker_time_to_speak() -> None:
    workers = Workers()
    workers.pass_time(0.5, "own", "other")
    assert all(workers.pass_time(0.5, "own") for _ in range(20))
    assert workers.pass_time(HOUR, "own")
    assert all(workers.pass_time(0.5, "own") for _ in range(10))


def test_a_worker_that_is_not_heard_itself_takes_nothing() -> None:
    workers = Workers()
    workers.pass_time(0.5, "own", "other")
    workers.is_heard = False
    assert all(workers.pass_time(0.5) for _ in range(100))
    workers.is_heard = True
    assert all(workers.pass_time(0.5, "own") for _ in range(59))
    workers.watch.forget()  # the store failed
    assert all(workers.pass_time(0.5, "own") for _ in range(59))


def test_the_clock_goes_on_while_the_machine_sleeps() -> None:
    assert count_seconds() >= time.monotonic() - 1


def test_a_sweep_takes_nothing_from_a_living_worker_whatever_the_clock_says(tmp_path: Path) -> None:
    shift = tmp_path / "shift"
    shift.write_text("0")
    session = ShiftedJournal(tmp_path / "runs.db", shift).connect()
    start_and_claim(session)
    for seconds in (3 * 24 * HOUR, -HOUR):  # after days, rows of workers are deleted
        shift.write_text(str(seconds))
        assert session.sweep(lambda rows: [row.worker for row in rows]).taken == ()
        assert "w1" in {row.worker for row in session.list_workers()} or seconds > 0
    assert session.sweep(lambda _: []).taken == (("r1", 1),), "a worker that died before the clock was set back"
    assert session.claim_next("w2", ANY)[0].deaths == 1
    session.beat("w2", LEASE_MS)
    assert session.sweep().taken == ()
    session.close()


class SweptJournal(ShiftedJournal):
    """A file of runs that counts the sweeps, on a machine whose clock is set by the test."""

    sweeps = 0

    def connect(self) -> ShiftedSession:
        journal = self

        class Session(ShiftedSession):
            def sweep(self, find_living: FindLiving | None = None) -> Sweep:
                journal.sweeps += 1
                return super().sweep(find_living)

        return Session(self.path, self.shift)


@in_loop
async def test_a_worker_whose_clock_is_set_keeps_its_runs(tmp_path: Path) -> None:
    busy, shift = Busy(), tmp_path / "shift"
    shift.write_text("0")
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        journal = runs.journal = SweptJournal(tmp_path / "runs.db", shift)
        async with Worker(runs, {"busy": busy.agent}, lease=LEASE) as worker:
            run = await runs.start("busy", "Work.")
            await busy.began.wait()
            shift.write_text(str(HOUR))
            seen = journal.sweeps
            while journal.sweeps < seen + 3:
                await worker.read(lambda session: session.read_clock())
            busy.go_on.set()
            outcome, row = await run.outcome(timeout=60), await run.row()
    assert (outcome.stop_reason, row.epoch, row.deaths, row.takeovers) == ("answered", 1, 0, 0)


class SleepyJournal(SqliteJournal):
    """A file of runs whose process sleeps when it has committed that a call is started; others may take its runs."""

    def __init__(self, path: Path, clock: FakeClock, *, is_taken: bool) -> None:
        super().__init__(path)
        self.clock, self.is_taken = clock, is_taken

    def connect(self) -> SqliteSession:
        journal = self

        class Session(SqliteSession):
            def append(self, hold: Hold, facts: Sequence[str], **options: Any) -> Hold:
                following = super().append(hold, facts, **options)
                if any('"tool_started"' in each for each in facts):
                    journal.clock.now += SLEEP_SECONDS
                    if journal.is_taken:
                        self.fail(hold.run_id, hold.epoch, hold.owner)
                return following

        return Session(self.path)


@pytest.mark.parametrize("is_taken", [True, False])
@in_loop
async def test_a_worker_that_wakes_up_before_a_call_starts_it_only_if_it_still_has_the_run(
    is_taken: bool, tmp_path: Path
) -> None:
    clock, done = FakeClock(), list[str]()

    @tool(effect="once")
    async def pay() -> str:
        """Pay."""
        done.append("paid")
        return "paid"

    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await runs.start("payer", "Pay.")
        row = await runs.write(lambda session: session.claim(run.id, 1, "w1"))
        assert row is not None
        agent = Agent(ScriptedModel([calls(("pay", {})), says("Done.")]), [pay])
        writer = Writer(SleepyJournal(tmp_path / "runs.db", clock, is_taken=is_taken))
        segment = Segment(row, agent, writer, None, "w1", LEASE, clock)
        if is_taken:
            with pytest.raises(Fenced):
                await segment.drive()
        else:
            assert await segment.drive() == "done"
        await asyncio.to_thread(writer.close)
    assert done == ([] if is_taken else ["paid"])
