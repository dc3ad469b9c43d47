"""Calls that wait for a time or a signal: their runs hold no worker, and go on when the wait is over."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.durable.loops import in_loop
from toolspeak import Agent, Tool, tool
from toolspeak.durable import RunHandle, Runs, Worker
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Context
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Limits, NestedFact, ToolStarted, ToolSuspended, WaitOver
from toolspeak.values.outcome import Outcome

WAIT_SECONDS = 60
DAY = 86_400


class Shop:
    """Tools that wait, and what they have done."""

    def __init__(self) -> None:
        self.log: list[str] = []

        @tool(effect="once")
        async def ship(order: int, context: Context[None]) -> str:
            """Ship an order when it is paid."""
            self.log.append("begin")
            paid = await context.wait_for(f"payment-{order}", timeout=DAY)
            self.log.append(f"ship {paid}")
            return f"shipped {order}: {paid}"

        @tool(effect="once", approve=True)
        async def nap(days: float, context: Context[None]) -> str:
            """Sleep."""
            self.log.append("begin")
            await context.sleep(days=days)
            self.log.append("slept")
            return "slept"

        @tool(effect="once")
        async def give_up(context: Context[None]) -> str:
            """Wait in vain."""
            return str(await context.wait_for("never", timeout=0))

        @tool(effect="once")
        async def look() -> str:
            """Look."""
            self.log.append("look")
            return "seen"

        self.tools: Sequence[Tool[..., Any]] = (ship, nap, give_up, look)


@asynccontextmanager
async def drive(tmp_path: Path, agent: Agent[Any]) -> AsyncGenerator[Runs]:
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, {"shop": agent}, lease=60):
        yield runs


async def until(run: RunHandle, status: str) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while await run.status() != status:
            await asyncio.sleep(0.01)


async def finish(run: RunHandle) -> Outcome[Any]:
    return await run.outcome(timeout=WAIT_SECONDS)


def list_results(outcome: Outcome[Any]) -> list[Any]:
    return [each.error if each.error is not None else each.output for each in outcome.calls]


@in_loop
async def test_a_signal_lets_a_call_go_on(tmp_path: Path) -> None:
    shop = Shop()
    agent = Agent(ScriptedModel([calls(("ship", {"order": 42}), ("look", {})), says("Sent.")]), shop.tools)
    async with drive(tmp_path, agent) as runs:
        run = await runs.start("shop", "Ship it.", limits=Limits(calls=2))
        await until(run, "paused")
        row = await run.row()
        assert (row.owner, shop.log) == ("", ["begin", "look"])
        [wait] = await run.waits()
        assert (wait.signal, wait.call_id) == ("payment-42", wait.call_id)
        assert wait.until is not None
        assert abs(wait.until - row.created - DAY * 1000) < 60_000
        assert await runs.signal("payment-42", {"amount": 7})
        assert not await runs.signal("payment-42", {"amount": 8})
        outcome = await finish(run)
        assert await run.waits() == []
    assert outcome.text == "Sent."
    assert list_results(outcome) == ["shipped 42: {'amount': 7}", "seen"]
    assert shop.log == ["begin", "look", "begin", "ship {'amount': 7}"]
    waits = [fact for fact in outcome.facts if isinstance(fact, ToolSuspended | WaitOver)]
    assert [(fact.kind, fact.number, fact.signal) for fact in waits] == [
        ("tool_suspended", 1, "payment-42"),
        ("wait_over", 1, "payment-42"),
    ]


@in_loop
async def test_a_signal_that_came_before_and_a_time_that_passes(tmp_path: Path) -> None:
    shop = Shop()
    script = [calls(("ship", {"order": 1}), ("nap", {"days": 0.2 / DAY}), ("give_up", {})), says("Done.")]
    agent = Agent(ScriptedModel(script), shop.tools, approve=lambda call: True)
    async with drive(tmp_path, agent) as runs:
        await runs.signal("payment-1", "early")
        outcome = await finish(await runs.start("shop", "Go."))
    shipped, slept, gave_up = list_results(outcome)
    assert (shipped, slept) == ("shipped 1: early", "slept")
    assert gave_up == "the signal never did not come in time"
    assert shop.log.count("slept") == shop.log.count("ship early") == 1


@in_loop
async def test_a_wait_outlives_its_worker_and_whoever_sent_the_signal(tmp_path: Path) -> None:
    shop = Shop()
    agent = Agent(ScriptedModel([calls(("ship", {"order": 1})), says("Sent.")]), shop.tools)
    async with drive(tmp_path, agent) as runs:
        run = await runs.start("shop", "Go.")
        await until(run, "paused")
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:  # the sender died before it woke anybody
        assert await runs.write(lambda session: session.add_signal("payment-1", '"paid"'))
        assert await runs.handle(run.id).status() == "paused"
    async with drive(tmp_path, agent) as runs:
        outcome = await finish(runs.handle(run.id))
        assert (await runs.handle(run.id).row()).takeovers == 0
    assert list_results(outcome) == ["shipped 1: paid"]


@in_loop
async def test_a_call_of_an_agent_that_is_a_tool_and_of_a_program_may_wait(tmp_path: Path) -> None:
    shop = Shop()
    inner = Agent(ScriptedModel([calls(("ship", {"order": 1})), says("Inside.")]), shop.tools)
    program = 'print(look())\nprint(ship(order=2))\nprint("end")'
    clerk = Agent(ScriptedModel([calls(("run_program", {"code": program})), says("Ran.")]), shop.tools, code=True)
    tools = [inner.as_tool("ask_inner", "Ask."), clerk.as_tool("ask_clerk", "Ask.")]
    script = [calls(("ask_inner", {"prompt": "Go."}), ("ask_clerk", {"prompt": "Go."})), says("Done.")]
    async with drive(tmp_path, Agent(ScriptedModel(script), tools)) as runs:
        run = await runs.start("shop", "Go.")
        for sent in ("payment-2", "payment-1"):
            await until(run, "paused")
            assert sent in [wait.signal for wait in await run.waits()]
            assert await runs.signal(sent, sent)
        outcome = await finish(run)
    assert list_results(outcome) == ["Inside.", "Ran."]
    assert sorted(shop.log) == ["begin"] * 4 + ["look", "ship payment-1", "ship payment-2"]
    over = [fact.event for fact in outcome.facts if isinstance(fact, NestedFact) and isinstance(fact.event, WaitOver)]
    assert sorted(each.signal for each in over) == ["payment-1", "payment-2"]


@in_loop
async def test_an_approval_counts_after_the_wait_and_is_asked_for_while_another_call_waits(tmp_path: Path) -> None:
    shop = Shop()
    agent = Agent(ScriptedModel([calls(("ship", {"order": 1}), ("nap", {"days": 0})), says("Done.")]), shop.tools)
    async with drive(tmp_path, agent) as runs:
        run = await runs.start("shop", "Go.")
        await until(run, "paused")
        [asked] = await run.waiting()
        assert await run.approve(asked.id, True)
        async with asyncio.timeout(WAIT_SECONDS):
            while "slept" not in shop.log:
                await asyncio.sleep(0.01)
        await until(run, "paused")
        assert await run.waiting() == []
        await runs.signal("payment-1")
        outcome = await finish(run)
    assert list_results(outcome) == ["shipped 1: None", "slept"]


@pytest.mark.parametrize("how", ["cancel", "deadline"])
@in_loop
async def test_a_run_that_waits_can_be_ended(tmp_path: Path, how: str) -> None:
    shop = Shop()
    agent = Agent(ScriptedModel([calls(("ship", {"order": 1})), says("Done.")]), shop.tools)
    async with drive(tmp_path, agent) as runs:
        run = await runs.start("shop", "Go.", deadline=0.5 if how == "deadline" else None)
        if how == "cancel":
            await until(run, "paused")
            assert await run.cancel()
        outcome = await finish(run)
        assert await run.waits() == []
        assert await runs.signal("payment-1")  # nobody waits any more
    assert outcome.stop_reason == ("cancelled" if how == "cancel" else "limit")
    assert "ship" not in shop.log


def let_time_pass(path: Path, seconds: int) -> None:
    """Let all that has happened in a store so far have happened that much earlier."""
    store = sqlite3.connect(path, timeout=WAIT_SECONDS)
    with store:
        store.execute("UPDATE ts_facts SET at = at - ?", (seconds * 1000,))
        store.execute("UPDATE ts_waits SET until = until - ?", (seconds * 1000,))
    store.close()


@in_loop
async def test_the_time_of_a_wait_and_of_an_approval_does_not_count(tmp_path: Path) -> None:
    shop = Shop()
    script = [calls(("nap", {"days": 2})), calls(("ship", {"order": 1})), says("Done.")]
    async with drive(tmp_path, Agent(ScriptedModel(script), shop.tools)) as runs:
        run = await runs.start("shop", "Go.", limits=Limits(seconds=600))
        await until(run, "paused")
        [asked] = await run.waiting()
        let_time_pass(tmp_path / "runs.db", 900)
        await run.approve(asked.id, True)
        async with asyncio.timeout(WAIT_SECONDS):
            while not await run.waits():
                await asyncio.sleep(0.01)
        await until(run, "paused")
        let_time_pass(tmp_path / "runs.db", 3 * DAY)
        async with asyncio.timeout(WAIT_SECONDS):
            while [wait.signal for wait in await run.waits()] != ["payment-1"]:
                await asyncio.sleep(0.01)
        await until(run, "paused")
        await runs.signal("payment-1", 1)
        outcome = await finish(run)
    assert (outcome.stop_reason, outcome.text, outcome.detail) == ("answered", "Done.", "")
    assert list_results(outcome) == ["slept", "shipped 1: 1"]


@in_loop
async def test_a_function_that_catches_everything_or_has_changed(tmp_path: Path) -> None:
    names = ["first", "second"]

    @tool(effect="once")
    async def stubborn(context: Context[None]) -> str:
        """Wait, and go on whatever happens."""
        try:
            return str(await context.wait_for(names.pop(0)))
        except BaseException as error:
            return f"went on: {error}"

    agent = Agent(ScriptedModel([calls(("stubborn", {})), says("Done.")]), [stubborn])
    async with drive(tmp_path, agent) as runs:
        run = await runs.start("shop", "Go.")
        await until(run, "paused")  # although the function returned
        await runs.signal("first")
        outcome = await finish(run)
    [told] = list_results(outcome)
    changed = "its function has changed while it waited: wait 1 was for 'first', and is for 'second' now"
    assert told == f"went on: {changed}"
    assert sum(isinstance(fact, ToolStarted) for fact in outcome.facts) == 2


@in_loop
async def test_without_a_store_sleep_waits_and_wait_for_is_refused_in_words() -> None:
    @tool
    async def short_nap(context: Context[None]) -> str:
        """Sleep."""
        await context.sleep(0.001, minutes=0)
        return "slept"

    @tool
    async def wait(context: Context[None]) -> str:
        """Wait."""
        return str(await context.wait_for("paid"))

    @tool
    async def wrong(context: Context[None]) -> None:
        """Sleep."""
        await context.sleep(-1)

    script = [calls(("short_nap", {}), ("wait", {}), ("wrong", {})), says("Done.")]
    outcome = await Agent(ScriptedModel(script), [short_nap, wait, wrong]).arun("Go.")
    slept, waited, went_wrong = list_results(outcome)
    assert slept == "slept"
    assert "context.wait_for('paid') needs a durable run" in waited
    assert "-1.0 is not a number of seconds" in went_wrong


def test_a_signal_that_cannot_be_stored_is_refused(tmp_path: Path) -> None:
    with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        for name in ("", "x" * 201, "two\nlines"):
            with pytest.raises(UsageError, match="1 to 200 printable"):
                runs.signal_sync(name)
        with pytest.raises(UsageError, match="stored as JSON"):
            runs.signal_sync("paid", {1, 2})
