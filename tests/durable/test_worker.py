"""What a worker does with its runs when something goes wrong: with the store, with the loop, with the runs."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Collection, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.durable.loops import in_loop
from toolspeak import Agent, tool
from toolspeak.durable import Lane, RunEvent, RunHandle, Runs, Worker
from toolspeak.durable.dispatch import Driving, Entry, RetryDelays
from toolspeak.durable.journal import ChangeWatch, Journal, JournalSession
from toolspeak.durable.quarantine import QUARANTINE_DEATHS
from toolspeak.durable.rows import RunRow
from toolspeak.durable.worker import FIRST_DELAY_MS, MAX_DELAY_MS, MAX_DEPS_FAILURES
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.errors import StoreUnavailable
from toolspeak.values.events import TextDelta
from toolspeak.values.messages import Text
from toolspeak.values.pieces import Answer, Piece

WAIT_SECONDS = 60
LEAVING_PROGRAM = Path(__file__).with_name("leaving_program.py")


def echo_agent() -> Agent[Any]:
    return Agent(ScriptedModel([says("Hello.")] * 3))


class ClaimHook:
    """What a test does when a claim has found runs, within its transaction and after its commit."""

    def within(self) -> None:
        """Do something before the commit."""

    def after(self) -> None:
        """Do something after the commit."""


class HookedSession:
    """A session with a hook in its claims."""

    def __init__(self, session: JournalSession, hook: ClaimHook) -> None:
        self._session = session
        self._hook = hook
        self._has_claimed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def claim_next(self, *args: Any) -> list[RunRow]:
        claimed = self._session.claim_next(*args)
        if claimed:
            self._has_claimed = True
            self._hook.within()
        return claimed

    @contextmanager
    def transaction(self) -> Generator[None]:
        self._has_claimed = False
        with self._session.transaction():
            yield
        if self._has_claimed:
            self._hook.after()


class HookedJournal:
    """A journal with a hook in the claims of its sessions."""

    def __init__(self, journal: Journal, hook: ClaimHook) -> None:
        self.url = journal.url
        self._journal = journal
        self._hook = hook

    def connect(self) -> JournalSession:
        session: Any = HookedSession(self._journal.connect(), self._hook)
        return session

    def watch(self) -> ChangeWatch:
        return self._journal.watch()


class LostAnswer(ClaimHook):
    """The connection is lost at the first commit of a claim: the claim took effect, and the worker does not know."""

    is_lost = False

    def after(self) -> None:
        if not self.is_lost:
            self.is_lost = True
            raise StoreUnavailable("the connection was lost at the commit")


@in_loop
async def test_a_claim_that_took_effect_although_its_commit_failed_is_given_back(tmp_path: Path) -> None:
    hook = LostAnswer()
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await runs.start("echo", "Hi.")
        runs.journal = HookedJournal(runs.journal, hook)
        async with Worker(runs, {"echo": echo_agent()}, lease=5):
            assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
        row = await run.row()
    assert hook.is_lost
    assert (row.epoch, row.deaths, row.takeovers) == (2, 0, 0)


class SlowClaim(ClaimHook):
    """A claim that is under way until the worker has had time to stop."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self.worker: Worker | None = None

    def within(self) -> None:
        assert self.worker is not None
        self.loop.call_soon_threadsafe(self.began.set)
        while not self.worker.is_stopping:
            time.sleep(0.001)
        time.sleep(0.02)


@in_loop
async def test_a_worker_that_stops_while_it_claims_a_run_gives_the_run_back(tmp_path: Path) -> None:
    hook = SlowClaim()
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await runs.start("echo", "Hi.")
        runs.journal = HookedJournal(runs.journal, hook)
        hook.worker = Worker(runs, {"echo": echo_agent()}, lease=60)
        async with hook.worker:
            await hook.began.wait()
        row = await run.row()
    assert (row.status, row.owner, row.epoch, row.deaths, row.takeovers) == ("queued", "", 2, 0, 0)


@in_loop
async def test_a_run_that_a_worker_lost_and_took_again_can_be_cancelled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    began, go_on = [asyncio.Event(), asyncio.Event()], asyncio.Event()

    @tool(effect="idempotent")
    async def work() -> str:
        """Work."""
        first = not began[0].is_set()
        began[0 if first else 1].set()
        await (go_on if first else asyncio.Event()).wait()
        return "done"

    agent = Agent(ScriptedModel([calls(("work", {})), says("Done.")]), [work])
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, {"worker": agent}) as worker:
        run = await runs.start("worker", "Work.")
        await began[0].wait()
        await runs.write(lambda session: session.fail(run.id, 1, worker.name))  # as a sweep of another worker does
        await began[1].wait()
        go_on.set()
        while "was taken over" not in caplog.text:  # the old segment finds itself fenced
            await asyncio.sleep(0.01)
        assert await run.cancel()
        assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "cancelled"


@in_loop
async def test_a_run_whose_own_process_ends_without_giving_it_up_is_tried_again(tmp_path: Path) -> None:
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await runs.start("leaver", "Leave.")
        await runs.write(lambda session: lose(session, run.id, deaths=QUARANTINE_DEATHS))
        async with Worker(runs, f"{LEAVING_PROGRAM}:agents"):
            outcome = await run.outcome(timeout=WAIT_SECONDS)
        row = await run.row()
    assert (outcome.stop_reason, row.epoch) == ("answered", QUARANTINE_DEATHS + 2)


def lose(session: JournalSession, run_id: str, *, deaths: int) -> None:
    """Let workers claim a run and die."""
    for epoch in range(1, deaths + 1):
        session.claim(run_id, epoch, "dead")
        session.fail(run_id, epoch, "dead")


@in_loop
async def test_an_outage_of_what_a_run_needs_counts_as_no_death(tmp_path: Path) -> None:
    deaths = list[int]()

    def make_deps(run: RunRow) -> None:
        deaths.append(run.deaths)
        if len(deaths) < 3:
            raise ConnectionError("the database of the customers restarts")

    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, {"echo": echo_agent()}, deps=make_deps):
        outcome = await (await runs.start("echo", "Hi.")).outcome(timeout=WAIT_SECONDS)
    assert (outcome.stop_reason, deaths) == ("answered", [0, 0, 0])


@in_loop
async def test_a_run_ends_whose_deps_fail_again_and_again(tmp_path: Path) -> None:
    tries, answered = list[int](), list[bool]()

    async def make_deps(run: RunRow) -> None:
        tries.append(run.epoch)
        if not answered:
            raise KeyError("no such tenant")

    def hurry(session: JournalSession) -> None:
        session._write("UPDATE ts_runs SET ready = 0 WHERE status = 'queued'")  # pyright: ignore[reportPrivateUsage] (the wait is not the point)

    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, {"echo": echo_agent()}, deps=make_deps):
        run = await runs.start("echo", "Hi.")
        async with asyncio.timeout(WAIT_SECONDS):
            while await run.status() != "done":
                await runs.write(hurry)
                await asyncio.sleep(0.02)
        outcome = await run.outcome()
        assert (outcome.stop_reason, len(tries)) == ("error", MAX_DEPS_FAILURES)
        assert outcome.detail == "deps=make_deps failed: KeyError: 'no such tenant'"
        answered.append(True)
        await run.retry()
        assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"


def test_a_run_that_cannot_be_driven_waits_longer_each_time_up_to_two_minutes() -> None:
    retries = RetryDelays(FIRST_DELAY_MS, MAX_DELAY_MS)
    delays = [retries.next_delay_ms("r1") for _ in range(12)]
    assert delays[:4] == [500, 1000, 2000, 4000]
    assert delays[-1] == MAX_DELAY_MS
    assert retries.next_delay_ms("r2") == 500
    retries.forget("r1")
    assert retries.next_delay_ms("r1") == 500


@pytest.mark.parametrize("limit", ["lane", "slots"])
@in_loop
async def test_queued_runs_are_ended_while_their_lane_or_all_slots_are_full(tmp_path: Path, limit: str) -> None:
    began = asyncio.Event()

    @tool
    async def work() -> str:
        """Work."""
        began.set()
        await asyncio.Event().wait()
        return "done"

    agent = Agent(ScriptedModel([calls(("work", {})), says("Done.")]), [work])
    lanes = {"gpt": Lane(concurrency=1 if limit == "lane" else None)}
    slots = 1 if limit == "slots" else 8
    async with (
        Runs(f"sqlite:///{tmp_path}/runs.db", lanes=lanes) as runs,
        Worker(runs, {"worker": agent}, slots=slots) as worker,
    ):
        first = await runs.start("worker", "Work.", lane="gpt")
        await began.wait()
        late = await runs.start("worker", "Work.", lane="gpt", deadline=0.01)
        unwanted = await runs.start("worker", "Work.", lane="gpt")
        await unwanted.cancel()
        assert (await late.outcome(timeout=WAIT_SECONDS)).stop_reason == "limit"
        assert (await unwanted.outcome(timeout=WAIT_SECONDS)).stop_reason == "cancelled"
        assert (await first.row()).owner == worker.name
        await first.cancel()
        await first.outcome(timeout=WAIT_SECONDS)


class Busy:
    """An agent whose runs work until they are let go."""

    def __init__(self) -> None:
        self.began, self.go_on = asyncio.Event(), asyncio.Event()

        @tool
        async def work() -> str:
            """Work."""
            self.began.set()
            await self.go_on.wait()
            return "done"

        self.agent: Agent[Any] = Agent(ScriptedModel([calls(("work", {})), says("Done.")] * 2), [work])


@in_loop
async def test_a_suspect_run_waits_until_its_worker_is_idle_and_holds_up_nobody(tmp_path: Path) -> None:
    busy = Busy()
    agents = {"busy": busy.agent, "echo": echo_agent()}
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        long, suspect = await runs.start("busy", "Work.", priority=9), await start_suspect(runs)
        async with Worker(runs, agents, deps=lambda _: None):
            await busy.began.wait()
            other = await runs.start("echo", "Hi.")
            assert (await other.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
            assert await suspect.status() == "queued"
            busy.go_on.set()
            for run in (long, suspect):
                assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"


async def start_suspect(runs: Runs) -> RunHandle:
    """Start a run with a high priority that killed two workers; before a worker may claim it."""
    run = await runs.start("echo", "Hi.", priority=5)

    def lose_at_once(session: JournalSession) -> None:
        lose(session, run.id, deaths=QUARANTINE_DEATHS)

    await runs.write(lose_at_once)
    return run


class NoDispatcher:
    """A dispatcher that hands nothing out: the test does."""

    @asynccontextmanager
    async def launch(self, worker: Driving) -> AsyncGenerator[None]:
        yield

    async def enqueue(self, runs: Sequence[RunRow]) -> None:
        pass

    async def forget(self, entries: Collection[Entry]) -> None:
        pass

    async def held_by_none_of(self, alive: Collection[str]) -> Sequence[Entry]:
        return ()


@in_loop
async def test_a_worker_gives_back_what_it_must_not_drive_beside_other_runs(tmp_path: Path) -> None:
    busy = Busy()
    agents = {"busy": busy.agent, "echo": echo_agent()}
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        long, suspect = await runs.start("busy", "Work."), await start_suspect(runs)
        async with Worker(runs, agents, deps=lambda _: None, dispatcher=NoDispatcher()) as worker:
            driving = asyncio.create_task(worker.drive(long.id, 1))
            await busy.began.wait()
            epoch = QUARANTINE_DEATHS + 1
            await worker.drive(suspect.id, epoch)
            row = await suspect.row()
            assert (row.status, row.epoch, row.deaths) == ("queued", epoch + 1, QUARANTINE_DEATHS)
            busy.go_on.set()
            await driving
            await worker.drive(suspect.id, epoch + 1)
            assert await suspect.status() == "done"


class StuckDispatcher(NoDispatcher):
    """A dispatcher whose engine answers once."""

    def __init__(self) -> None:
        self.has_answered = False
        self.is_stuck = asyncio.Event()

    async def held_by_none_of(self, alive: Collection[str]) -> Sequence[Entry]:
        if self.has_answered:
            self.is_stuck.set()
            await asyncio.Event().wait()
        self.has_answered = True
        return ()


@in_loop
async def test_a_worker_whose_engine_does_not_answer_still_lives(tmp_path: Path) -> None:
    dispatcher = StuckDispatcher()
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        worker = Worker(runs, {"echo": echo_agent()}, lease=0.6, dispatcher=dispatcher)
        setattr(worker, "_max_silence", 0.4)  # noqa: B010 (it is private, and a minute by default)
        async with worker:
            await dispatcher.is_stuck.wait()
            stuck = await runs.read(lambda session: session.read_clock())
            async with asyncio.timeout(WAIT_SECONDS):
                while (await runs.workers())[0].beat < stuck + 1000:
                    await asyncio.sleep(0.02)


@in_loop
async def test_a_run_whose_agent_no_worker_has_can_be_cancelled(tmp_path: Path) -> None:
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, {"echo": echo_agent()}):
        foreign = await runs.start("unknown", "Hi.")
        suspect = await runs.start("unknown", "Hi.")
        late = await runs.start("unknown", "Hi.", deadline=0.01)
        await runs.write(lambda session: lose(session, suspect.id, deaths=QUARANTINE_DEATHS))
        for run in (foreign, suspect):
            await run.cancel()
            assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "cancelled"
        outcome = await late.outcome(timeout=WAIT_SECONDS)
    assert (outcome.stop_reason, outcome.messages[0].text) == ("limit", "Hi.")


@in_loop
async def test_a_worker_that_lost_a_run_adds_no_deltas_to_it(
    tmp_path: Path,
) -> None:
    """The words of a message that a lost worker still receives are not told beside those of the next one."""
    go_on = asyncio.Event()

    class Talker(ScriptedModel):
        async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
            yield [TextDelta(text="The first words.")]
            await go_on.wait()
            yield [TextDelta(text=" The next words.")]
            await asyncio.Event().wait()

    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await runs.start("talker", "Talk.")
        async with Worker(runs, {"talker": Agent(Talker([]))}, grace=0, dispatcher=NoDispatcher()) as worker:
            driving = asyncio.create_task(worker.drive(run.id, 1))
            while not (before := await read_deltas(runs, run)):
                await asyncio.sleep(0.01)
            await runs.write(lambda session: session.fail(run.id, 1, worker.name))
            go_on.set()
            await worker.write(lambda session: session.read_clock())
            for _ in range(10):  # the delta is submitted in the meantime, and is done before the next write
                await asyncio.sleep(0)
                await worker.write(lambda session: session.read_clock())
            after = await read_deltas(runs, run)
            driving.cancel()
    assert before == after == ["The first words."]


@in_loop
async def test_after_a_takeover_the_deltas_of_the_open_turn_begin_anew(tmp_path: Path) -> None:
    """Whoever follows the run sees what it had seen, then the resumption, then the message from its first word on."""
    asked = list[Request]()

    class Talker(ScriptedModel):
        async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
            asked.append(request)
            first = TextDelta(text=f"The first words of message {len(asked)}.")
            yield [first]
            if len(asked) == 1:
                await asyncio.Event().wait()
            rest = TextDelta(text=" The rest.")
            yield [rest, Answer(parts=(Text(text=first.text + rest.text),), finish="stop")]

    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await runs.start("talker", "Talk.")
        live = list[RunEvent]()
        async with Worker(runs, {"talker": Agent(Talker([]))}, grace=0) as worker:
            async for each in run.events():
                live.append(each)
                if isinstance(each.event, TextDelta) and len(asked) == 1:
                    await runs.write(lambda session: session.fail(run.id, 1, worker.name))
            later = [each async for each in run.events()]
    told = [each.event.text if isinstance(each.event, TextDelta) else each.event.kind for each in live]
    assert told[told.index("turn_started") + 1 :][:2] == ["The first words of message 1.", "run_resumed"]
    again = told[told.index("run_resumed") :]
    assert [each for each in again if " " in each] == ["The first words of message 2.", " The rest."]
    ids = [tuple(map(int, each.id.split("."))) for each in live]
    assert ids == sorted(set(ids))
    assert [each for each in live if not isinstance(each.event, TextDelta)] == [
        each for each in later if not isinstance(each.event, TextDelta)
    ]


async def read_deltas(runs: Runs, run: RunHandle) -> list[str]:
    rows = await runs.read(lambda session: session.read_deltas(run.id, (-1, 0), 100))
    return [json.loads(row.data)["text"] for row in rows]


INTERRUPTED = """
import asyncio, os, signal, sys
from toolspeak import Agent
from toolspeak.durable import Runs, Worker
from toolspeak.testing import ScriptedModel, calls, says


class LoopWithoutSignals(asyncio.SelectorEventLoop):
    def add_signal_handler(self, *_):
        raise NotImplementedError


def press_ctrl_c():
    'Press Ctrl-C.'
    os.kill(os.getpid(), signal.SIGINT)


signal.signal(signal.SIGINT, signal.default_int_handler)
agent = Agent(ScriptedModel([calls(("press_ctrl_c", {})), says("Done.")]), [press_ctrl_c])
runs = Runs(sys.argv[1])
run = runs.start_sync("presser", "Go.")
try:
    with asyncio.Runner(loop_factory=LoopWithoutSignals) as runner:
        runner.run(Worker(runs, {"presser": agent}).arun())
except KeyboardInterrupt:
    print(run.status_sync(), runs.workers_sync())
runs.close()
"""


def test_ctrl_c_parks_runs_where_a_loop_takes_no_signals_as_on_windows(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, f"sqlite:///{tmp_path}/runs.db"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_SECONDS)
    assert (done.stdout, done.stderr) == ("queued []\n", "")
