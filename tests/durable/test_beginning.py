"""A cancellation and a deadline end a run that has not begun: what is asked before its first request may hang."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.durable.loops import in_loop
from toolspeak import Agent, Limits, tool
from toolspeak.durable import RunHandle, RunRow, Runs, Worker
from toolspeak.run.barrier import Durability
from toolspeak.run.deadline import wait_within
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Context, Toolbox
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Interrupted, RunEnded

WAIT_SECONDS = 60


class Gate:
    """Hangs for ever when it is shut; a test can wait until somebody hangs there."""

    def __init__(self) -> None:
        self.is_shut = True
        self.was_reached = asyncio.Event()

    async def pass_through(self) -> None:
        if self.is_shut:
            self.was_reached.set()
            await asyncio.get_running_loop().create_future()


class Setup(NamedTuple):
    """An agent, and the deps that its worker makes."""

    agent: Agent[Any]
    deps: Callable[[RunRow], Any] | None = None


@tool(effect="once", approve=True)
def pay() -> str:
    """Pay."""
    return "paid"


def build_model() -> ScriptedModel:
    return ScriptedModel([calls(("pay", {})), says("Done.")])


def hang_in_system(gate: Gate) -> Setup:
    async def system(context: Context[Any]) -> str:
        await gate.pass_through()
        return "Be kind."

    return Setup(Agent(build_model(), [pay], system=system))


def hang_in_choice(gate: Gate) -> Setup:
    async def choose(context: Context[Any], tools: Toolbox) -> Toolbox:
        await gate.pass_through()
        return tools

    return Setup(Agent(build_model(), [pay], choose_tools=choose))


def hang_in_deps(gate: Gate) -> Setup:
    async def make_deps(run: RunRow) -> str:
        await gate.pass_through()
        return "deps"

    return Setup(Agent(build_model(), [pay]), make_deps)


async def pause(runs: Runs, gate: Gate, setup: Setup, **options: Any) -> RunHandle:
    """Start a run with an open gate, wait for its pause, shut the gate and approve the call."""
    gate.is_shut = False
    run = await runs.start("a", "Pay.", **options)
    async with Worker(runs, {"a": setup.agent}, deps=setup.deps):
        while await run.status() != "paused":
            await asyncio.sleep(0.01)
    gate.is_shut = True
    assert await run.approve((await run.waiting())[0].id)
    return run


@pytest.mark.parametrize(
    ("build", "is_resumed"),
    [
        (hang_in_system, False),  # a resumed run has its text
        (hang_in_choice, False),
        (hang_in_choice, True),
        (hang_in_deps, False),
        (hang_in_deps, True),
    ],
)
@in_loop
async def test_a_run_that_hangs_before_it_begins_is_cancelled(
    tmp_path: Path, build: Callable[[Gate], Setup], is_resumed: bool
) -> None:
    gate = Gate()
    setup = build(gate)
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await pause(runs, gate, setup) if is_resumed else await runs.start("a", "Pay.")
        async with Worker(runs, {"a": setup.agent}, deps=setup.deps, grace=0):
            await gate.was_reached.wait()
            await run.cancel()
            outcome = await run.outcome(timeout=WAIT_SECONDS)
    assert (outcome.stop_reason, outcome.detail) == ("cancelled", "the run was cancelled")
    assert [each.kind for each in outcome.facts].count("interrupted") == 1
    assert all(call.error for call in outcome.calls)
    if build is hang_in_system:
        with pytest.raises(UsageError, match="ended before its system prompt and tools were known"):
            await setup.agent.aresume(outcome.facts)


@pytest.mark.parametrize("build", [hang_in_system, hang_in_choice, hang_in_deps])
@in_loop
async def test_a_run_that_hangs_before_it_begins_ends_at_its_deadline(
    tmp_path: Path, build: Callable[[Gate], Setup]
) -> None:
    setup = build(Gate())
    async with (
        Runs(f"sqlite:///{tmp_path}/runs.db") as runs,
        Worker(runs, {"a": setup.agent}, deps=setup.deps, grace=0),
    ):
        outcome = await (await runs.start("a", "Pay.", deadline=0.2)).outcome(timeout=WAIT_SECONDS)
    assert (outcome.stop_reason, outcome.detail) == ("limit", "the deadline of the run is over")


@in_loop
async def test_a_run_that_was_cancelled_before_it_was_claimed_asks_for_nothing(tmp_path: Path) -> None:
    def make_deps(run: RunRow) -> str:
        raise ConnectionError("no database")

    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await runs.start("a", "Pay.")
        await run.cancel()
        async with Worker(runs, {"a": Agent(build_model(), [pay])}, deps=make_deps):
            outcome = await run.outcome(timeout=WAIT_SECONDS)
    assert outcome.stop_reason == "cancelled"
    assert [each.kind for each in outcome.facts] == ["run_started", "interrupted", "run_ended"]


async def commit(_: Any) -> None:
    await asyncio.sleep(0)


@in_loop
async def test_what_a_run_has_used_of_its_time_counts_before_it_begins() -> None:
    durability = Durability(run_id="r1", commit=commit, elapsed=599.95)
    never: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    value, ended = await wait_within(Limits(seconds=600), never, "given up", durability)
    assert (value, ended and ended.cause) == ("given up", "deadline")


@in_loop
async def test_a_run_that_is_ended_while_it_begins_ends_whatever_was_asked() -> None:
    asked: asyncio.Future[Interrupted] = asyncio.get_running_loop().create_future()
    durability = Durability(run_id="r1", commit=commit, interruption=asked)
    cancelled = Interrupted(cause="cancelled")

    async def work() -> str:
        asked.set_result(cancelled)
        return "done"

    assert await wait_within(Limits(seconds=None), work(), "given up", durability) == ("done", cancelled)
    await asyncio.sleep(0)  # the callback finds the work ended
    run = Agent(build_model(), [pay]).prepare("Pay.", {}, durability=durability)
    facts = [event async for batch in run.batches() for event in batch]
    assert isinstance(facts[-1], RunEnded)
    assert facts[-1].reason == "cancelled"
