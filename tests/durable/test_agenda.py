"""Runs that begin by time, and whose end is told: schedules, and webhooks over HTTP."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.durable.loops import in_loop
from toolspeak import Agent
from toolspeak.durable import Runs, Worker
from toolspeak.durable.cron import parse_cron
from toolspeak.durable.records import StartOptions
from toolspeak.durable.webhooks import sign, verify
from toolspeak.testing import ScriptedModel, gives, says
from toolspeak.values.errors import UsageError

WAIT_SECONDS = 60
SECRET = "a secret of the test"


@asynccontextmanager
async def serve(app: web.Application) -> AsyncGenerator[str]:
    """Serve an app on loopback, and yield its address."""
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        ("30 9 * * mon-fri", "UTC", "2026-11-20T09:30", ["2026-11-23T09:30", "2026-11-24T09:30"]),
        ("*/20 8,9 * * *", "UTC", "2026-01-01T08:50", ["2026-01-01T09:00", "2026-01-01T09:20"]),
        ("0 9 1 * mon", "UTC", "2026-11-17T00:00", ["2026-11-23T09:00", "2026-11-30T09:00", "2026-12-01T09:00"]),
        ("0 0 29 feb *", "UTC", "2026-01-01T00:00", ["2028-02-29T00:00"]),
        ("0 0 * * 7", "UTC", "2026-11-17T00:00", ["2026-11-22T00:00"]),
        ("0 9 * * *", "Europe/Berlin", "2026-03-28T00:00", ["2026-03-28T08:00", "2026-03-29T07:00"]),
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00", ["2026-03-28T01:30", "2026-03-30T00:30"]),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
    ],
)
def test_times_of_cron(cron: str, zone: str, after: str, expected: list[str]) -> None:
    time_after = datetime.fromisoformat(after).replace(tzinfo=UTC)
    found = list[str]()
    for _ in expected:
        time_after = parse_cron(cron, zone).find_next(time_after)
        found.append(time_after.strftime("%Y-%m-%dT%H:%M"))
    assert found == expected


@in_loop
async def test_a_schedule_starts_runs_with_its_data(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel([says("Done.")] * 9))
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, {"clerk": agent}):
        options: StartOptions = {"data": {"tenant": "acme"}, "lane": "reports", "concurrency": 1}
        made = await runs.schedule("report", "clerk", "Write it.", every=1, **options)
        assert [each.name for each in await runs.schedules()] == ["report"]
        async with asyncio.timeout(WAIT_SECONDS):
            while len(rows := await runs.list(data={"tenant": "acme"}, statuses=["done"])) < 2:
                await asyncio.sleep(0.05)
        assert len({row.key for row in rows}) == len(rows)
        assert all(row.created >= made.due for row in rows)
        assert await runs.unschedule("report")
        assert not await runs.unschedule("report")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "either cron= or every="),
        ({"cron": "* * * * *", "every": 5}, "either cron= or every="),
        ({"every": 0.1}, "at least 1"),
        ({"cron": "* *"}, "five fields"),
        ({"cron": "61 * * * *"}, "'61' is not a minute"),
        ({"cron": "*/0 * * * *"}, "is not a minute"),
        ({"cron": "0 0 30 2 *"}, "never comes"),
        ({"cron": "* * * * *", "timezone": "Mars/Base"}, "no time zone 'Mars/Base'"),
        ({"every": 5, "key": "k"}, "key of its own"),
        ({"every": 5, "concurrency": 2}, "needs lane="),
        ({"every": 5, "webhook": "ftp://host/x"}, "https://HOST/PATH"),
        ({"every": 5, "catch_up": -1}, "from 0 to"),
        ({"every": 5, "lane": "gtp"}, "there is no lane 'gtp'"),
    ],
)
def test_a_schedule_that_cannot_be_kept_is_refused(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, pytest.raises(UsageError, match=words):
        runs.schedule_sync("s", "clerk", "Hi.", **options)


@in_loop
async def test_the_end_of_a_run_is_told_until_it_is_taken(tmp_path: Path) -> None:
    taken: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    statuses = [503, 200]

    async def take(request: web.Request) -> web.Response:
        status = statuses.pop(0) if statuses else 200
        if status == 200:
            taken.put_nowait(verify(SECRET, request.headers, await request.read()))
        return web.Response(status=status)

    app = web.Application()
    app.router.add_post("/ended", take)
    async with serve(app) as address, Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        agents = {
            "clerk": Agent(ScriptedModel([says("All is paid.")])),
            "typed": Agent(ScriptedModel([gives([7])]), output=list[int]),
        }
        async with Worker(runs, agents, webhook_secret=SECRET):
            run = await runs.start("clerk", "Pay.", webhook=f"{address}/ended", data={"tenant": "acme"})
            async with asyncio.timeout(WAIT_SECONDS):
                told = await taken.get()
                while await runs.read(lambda session: session.has_webhooks()):
                    await asyncio.sleep(0.05)
                typed = await runs.start("typed", "Pay.", webhook=f"{address}/ended")
                told_of_typed = await taken.get()
                assert (told_of_typed["id"], told_of_typed["output"]) == (typed.id, [7])
    assert told["output"] is None
    assert (told["id"], told["text"], told["stop_reason"]) == (run.id, "All is paid.", "answered")
    assert (told["type"], told["data"]) == ("run.ended", {"tenant": "acme"})


def test_a_webhook_with_another_signature_or_of_another_day_is_refused() -> None:
    body, now = b'{"id": "r1"}', str(int(time.time()))
    headers = {"webhook-id": "r1", "webhook-timestamp": now, "webhook-signature": sign("a", "r1", now, body)}
    assert verify("a", headers, body) == {"id": "r1"}
    assert verify("a", {name.title(): value for name, value in headers.items()}, body) == {"id": "r1"}
    text: Any = body.decode()
    with pytest.raises(UsageError, match="the body of a webhook is bytes, as they arrived, not str"):
        verify("a", headers, text)
    for secret, changed, data in (("b", {}, body), ("a", {"webhook-id": "r2"}, body), ("a", {}, b"{}"), ("a", {}, b"")):
        with pytest.raises(UsageError, match="no signature that fits"):
            verify(secret, {**headers, **changed}, data)
    old = str(int(time.time()) - 3600)
    late = {**headers, "webhook-timestamp": old, "webhook-signature": sign("a", "r1", old, body)}
    with pytest.raises(UsageError, match="five minutes old"):
        verify("a", late, body)
