"""What happens to real machines: they sleep, their clocks are set, their disks are full, their models are away.

Workers are processes. A machine that sleeps is a set of processes that are stopped for longer than their leases. These
tests have the machine for themselves; beside each is a fast one with a clock of its own.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.durable.effects import EFFECTS, TURNS, EffectsFile, judge
from tests.durable.loops import in_loop
from tests.durable.postgres import PostgresServer
from tests.durable.processes import Nursery, WorkerProcess, WorkerSettings
from toolspeak import Agent
from toolspeak.durable import RunHandle, Runs, Worker
from toolspeak.models import Endpoint, HttpModel
from toolspeak.values.events import RunEnded

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]

WAIT_SECONDS = 300
LEASE = 1.5
RUNS, ROUNDS = 16, 4
HOUR = 3600
OUTAGE_SECONDS = 15


@contextmanager
def small_disk(folder: Path) -> Generator[Path]:
    """Give a file system of a few megabytes, if this process may mount one."""
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], check=False).returncode:
        pytest.skip("only root may mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(file: Path) -> None:
    """Take all the room that is left on a disk."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT)
    for size in (65536, 512, 1):
        try:
            while True:
                os.write(handle, b"x" * size)
        except OSError:
            pass
    os.close(handle)


async def wait_until_driven(runs: Runs, count: int = 2) -> None:
    """Wait until some runs are driven, or none is left."""
    while True:
        rows = await runs.list(statuses=["queued", "running", "paused"])
        if not rows or sum(row.status == "running" for row in rows) >= min(count, len(rows)):
            return
        await asyncio.sleep(0.02)


async def wait_for_effects(effects: EffectsFile, count: int) -> None:
    """Wait until so many calls were begun."""
    while effects.count().total() < count:
        await asyncio.sleep(0.02)


async def report(name: str, started: list[RunHandle], effects: EffectsFile) -> list[str]:
    """Print how runs ended, and return what must not have happened."""
    ends, rows = Counter[str](), [await run.row() for run in started]
    found = {run.id: list(enumerate(await run.facts())) for run in started}
    for rows_of_run in found.values():
        last = rows_of_run[-1][1]
        ends[f"{last.reason} {last.detail[:60]}" if isinstance(last, RunEnded) else "open"] += 1
    verdict = judge(found, effects, TURNS * len(EFFECTS))
    takeovers, deaths = sum(row.takeovers for row in rows), sum(row.deaths for row in rows)
    print(f"\n{name}: {dict(ends)}, {takeovers} takeovers, {deaths} deaths, {verdict.unknown} of unknown outcome")
    return verdict.violations


@pytest.mark.parametrize("dispatcher", ["claim", "dbos"])
@pytest.mark.parametrize("trouble", ["sleep", "clock"])
@in_loop
async def test_what_happens_to_all_workers_at_once_takes_no_run_from_them(
    trouble: str, dispatcher: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    effects, shift, server = EffectsFile(tmp_path / "effects"), tmp_path / "shift", None
    shift.write_text("0")
    store = f"sqlite:///{tmp_path}/runs.db"
    if dispatcher == "dbos":
        store, server = request.getfixturevalue("postgres_url"), request.getfixturevalue("postgres")
    settings = WorkerSettings(
        store=store,
        effects=str(effects.path),
        seconds=0.6,
        lease=LEASE,
        slots=RUNS // 2,
        dispatcher=dispatcher,
        shift=str(shift) if dispatcher == "claim" else "",
    )
    set_clock(0, store, shift, server)
    with Nursery(tmp_path / "log") as nursery:
        async with Runs(store) as runs:
            workers = [nursery.start_worker(settings) for _ in range(2)]
            started = [await runs.start("busy", "Work.") for _ in range(RUNS)]
            for number in range(1, ROUNDS + 1):
                await wait_until_driven(runs)
                if trouble == "sleep":
                    await let_sleep(workers, 2 * LEASE)
                else:
                    set_clock(number * HOUR, store, shift, server)
                await asyncio.sleep(LEASE)
            for run in started:
                await run.outcome(timeout=WAIT_SECONDS)
            assert await report(f"{trouble}, {dispatcher}", started, effects) == []
            assert [run.id for run in started if (await run.row()).takeovers] == []


async def let_sleep(workers: list[WorkerProcess], seconds: float) -> None:
    for worker in workers:
        worker.send(signal.SIGSTOP)
    await asyncio.sleep(seconds)
    for worker in workers:
        worker.send(signal.SIGCONT)


def set_clock(seconds: int, store: str, shift: Path, server: PostgresServer | None) -> None:
    """Let the clock of a store be so many seconds ahead."""
    shift.with_suffix(".new").write_text(str(seconds))
    shift.with_suffix(".new").rename(shift)
    if server is not None:
        server.shift_clock(store, seconds)


@in_loop
async def test_a_disk_that_is_full_for_longer_than_a_lease_takes_no_run_from_its_worker(tmp_path: Path) -> None:
    effects = EffectsFile(tmp_path / "effects")
    with small_disk(tmp_path / "disk") as disk, Nursery(tmp_path / "log") as nursery:
        store = f"sqlite:///{disk}/runs.db"
        settings = WorkerSettings(store=store, effects=str(effects.path), seconds=0.6, lease=LEASE, slots=RUNS // 2)
        async with Runs(store) as runs:
            for _ in range(2):
                nursery.start_worker(settings)
            started = [await runs.start("busy", "Work.") for _ in range(RUNS)]
            for _ in range(ROUNDS):
                await wait_until_driven(runs)
                await wait_for_effects(effects, RUNS)  # the files that SQLite maps into memory are there by then
                fill(disk / "ballast")
                await asyncio.sleep(2 * LEASE)
                (disk / "ballast").unlink()
                await asyncio.sleep(LEASE)
            for run in started:
                await run.outcome(timeout=WAIT_SECONDS)
            assert await report("disk", started, effects) == []
            assert [run.id for run in started if (await run.row()).takeovers] == []


class ShakyEndpoint:
    """A real endpoint on loopback that answers every request with an error for a while, or cuts some of its streams.

    Attributes:
        url: Its address.
        status: What it answers with; 200 to answer.
        cuts: The share of its streams that it cuts.
    """

    def __init__(self) -> None:
        self.url, self.status, self.cuts, self.asked = "", 200, 0.0, 0
        self._random = random.Random(1)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a request with a short text, as a stream of OpenAI's API."""
        handler.rfile.read(int(handler.headers["content-length"]))
        self.asked += 1
        handler.close_connection = True
        if self.status != 200:
            handler.send_response(self.status)
            handler.send_header("content-length", "0")
            handler.end_headers()
            return
        words: list[dict[str, object]] = [
            {"delta": {"content": word}, "index": 0, "finish_reason": None} for word in ("All ", "is ", "well.")
        ]
        last: dict[str, object] = {"delta": {}, "index": 0, "finish_reason": "stop"}
        lines = [f"data: {json.dumps({'id': '1', 'choices': [each]})}\n\n".encode() for each in (*words, last)]
        if self._random.random() < self.cuts:
            lines = lines[:2]
        else:
            lines.append(b"data: [DONE]\n\n")
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        for line in lines:
            handler.wfile.write(line)

    @contextmanager
    def serve(self) -> Generator["ShakyEndpoint"]:
        """Answer requests within this context."""
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                endpoint.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            self.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()


@pytest.mark.parametrize("dispatcher", ["claim", "dbos"])
@pytest.mark.parametrize("trouble", [503, 429, "cuts"])
@in_loop
async def test_runs_wait_for_an_endpoint_that_is_away(
    trouble: int | str, dispatcher: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = f"sqlite:///{tmp_path}/runs.db" if dispatcher == "claim" else request.getfixturevalue("postgres_url")
    with ShakyEndpoint().serve() as endpoint:
        agent = Agent(HttpModel(Endpoint(name="shaky", base_url=endpoint.url), "model"))
        async with Runs(store) as runs, Worker(runs, {"echo": agent}, slots=25):
            if isinstance(trouble, int):
                endpoint.status = trouble
            else:
                endpoint.cuts = 0.1
            started = [await runs.start("echo", "How are you?") for _ in range(50)]
            if isinstance(trouble, int):
                await asyncio.sleep(OUTAGE_SECONDS)
                endpoint.status = 200
            began = time.monotonic()
            outcomes = [await run.outcome(timeout=WAIT_SECONDS) for run in started]
    ends = Counter(outcome.stop_reason for outcome in outcomes)
    took = time.monotonic() - began
    print(f"\n{trouble}, {dispatcher}: {dict(ends)}, {endpoint.asked} requests, {took:.1f} s after the outage")
    assert ends == {"answered": 50}
    assert {outcome.text for outcome in outcomes} == {"All is well."}


@pytest.mark.parametrize("dispatcher", ["claim", "dbos"])
@in_loop
async def test_a_worker_that_wakes_up_after_the_end_of_its_runs_starts_nothing(
    dispatcher: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    effects = EffectsFile(tmp_path / "effects")
    store = f"sqlite:///{tmp_path}/runs.db" if dispatcher == "claim" else request.getfixturevalue("postgres_url")
    settings = WorkerSettings(
        store=store,
        effects=str(effects.path),
        seconds=0.02,
        lease=LEASE,
        slots=RUNS,
        dispatcher=dispatcher,
        stops=True,
    )
    with Nursery(tmp_path / "log") as nursery:
        async with Runs(store) as runs:
            started = [await runs.start("busy", "Work.") for _ in range(RUNS)]
            zombie = nursery.start_worker(settings)
            while not zombie.is_stopped:
                await asyncio.sleep(0.02)
            nursery.start_worker(replace(settings, stops=False))
            for run in started:
                await run.outcome(timeout=WAIT_SECONDS)
            before = effects.count()
            zombie.send(signal.SIGCONT)
            fresh = await runs.start("busy", "Work.")
            await fresh.outcome(timeout=WAIT_SECONDS)
            await asyncio.sleep(2 * LEASE)
            late = effects.count() - before
            violations = await report(f"zombies, {dispatcher}", started, effects)
    late = Counter({doing: count for doing, count in late.items() if doing.run_id != fresh.id})
    once = sum(count for doing, count in late.items() if EFFECTS[doing.tool] == "once")
    print(f"{late.total()} calls after the end, {once} once")
    assert violations == []
    assert late == Counter()
