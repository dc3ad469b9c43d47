"""The commit barrier: what is launched, and told, is committed first."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.durable.loops import in_loop
from toolspeak import Agent, tool
from toolspeak.run.barrier import CommitBarrier, Durability, RunParked
from toolspeak.run.inbox import DELTAS
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.events import (
    ApprovalNeeded,
    Event,
    Fact,
    Interrupted,
    NestedFact,
    RunResumed,
    ToolFinished,
    ToolStarted,
)

COMMIT_STEPS = 20
"""How often the event loop goes round during a commit, so that much can happen meanwhile."""


async def go_round() -> None:
    for _ in range(COMMIT_STEPS):
        await asyncio.sleep(0)


class Notebook:
    """Commits facts, one commit after the other, and lets a test look at what was committed when."""

    def __init__(self, fail_after: int | None = None) -> None:
        self.facts: list[Fact] = []
        self.commits = 0
        self._fail_after = fail_after

    async def commit(self, events: Sequence[Event]) -> None:
        await go_round()
        if self.commits == self._fail_after:
            raise ConnectionError("the database is gone")
        self.commits += 1
        self.facts += [each for each in events if not isinstance(each, DELTAS)]

    def has(self, kind: type[Fact]) -> bool:
        return any(isinstance(each, kind) for each in self.facts)

    def durability(self, **changes: Any) -> Durability:
        return Durability(run_id="r1", commit=self.commit, **changes)


async def drive(agent: Agent[Any], durability: Durability) -> list[Event]:
    run = agent.prepare("Go on.", {}, durability=durability)
    return [event async for batch in run.batches() for event in batch]


@in_loop
async def test_a_call_runs_and_an_event_is_told_after_its_commit() -> None:
    notebook, seen = Notebook(), list[bool]()

    @tool(effect="once")
    async def pay() -> str:
        "Pay."
        seen.append(notebook.has(ToolStarted))
        return "paid"

    agent = Agent(ScriptedModel([calls(("pay", {})), says("Done.")]), [pay])
    run = agent.prepare("Pay.", {}, durability=notebook.durability())
    told = list[Fact]()
    async for batch in run.batches():
        told += [each for each in batch if not each.kind.endswith("delta")]  # pyright: ignore[reportArgumentType] (facts)
        assert notebook.facts[: len(told)] == told
    assert seen == [True]
    assert tuple(notebook.facts) == run.outcome.facts
    assert run.outcome.run_id == "r1"


@pytest.mark.parametrize("commits", range(6))
@in_loop
async def test_nothing_happens_after_a_commit_that_failed(commits: int) -> None:
    notebook, ran = Notebook(fail_after=commits), list[str]()

    @tool(effect="once")
    def pay() -> str:
        "Pay."
        ran.append("pay")
        return "paid"

    agent = Agent(ScriptedModel([calls(("pay", {})), says("Done.")]), [pay])
    failed = False
    try:
        await drive(agent, notebook.durability())
    except ConnectionError:
        failed = True
    assert failed or notebook.commits <= commits
    assert len(ran) == notebook.has(ToolStarted)
    assert not any(isinstance(fact, Interrupted) for fact in notebook.facts)


@pytest.mark.parametrize("depth", [1, 2, 3])
@in_loop
async def test_a_call_of_an_inner_run_waits_for_the_commit_of_the_outermost_run(depth: int) -> None:
    notebook, seen = Notebook(), list[bool]()

    @tool(effect="once")
    async def pay() -> str:
        "Pay."
        started = [
            each for each in notebook.facts if isinstance(each, NestedFact) and isinstance(each.event, ToolStarted)
        ]
        seen.append([len(each.path) for each in started] == [*range(1, depth + 1)])
        return "paid"

    agent = Agent(ScriptedModel([calls(("pay", {})), says("Paid.")]), [pay])
    for _ in range(depth):
        model = ScriptedModel([calls(("clerk", {"prompt": "Pay."})), says("Done.")])
        agent = Agent(model, [agent.as_tool("clerk")])
    await drive(agent, notebook.durability())
    assert seen == [True]


@pytest.mark.parametrize("fails", [False, True])
@in_loop
async def test_whoever_waits_during_a_commit_goes_on_after_it_and_never_if_it_fails(fails: bool) -> None:
    commit: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    barrier = CommitBarrier(Durability(run_id="r1", commit=lambda _: commit))
    barrier.add(RunResumed())
    flushing = asyncio.ensure_future(barrier.flush())
    await go_round()
    waiting = asyncio.ensure_future(barrier.wait())
    await go_round()
    assert not waiting.done()
    if fails:
        commit.set_exception(ConnectionError())
    else:
        commit.set_result(None)
    await asyncio.wait([flushing])
    late = asyncio.ensure_future(barrier.wait())
    await go_round()
    assert (waiting.done(), late.done()) == (not fails, not fails)
    assert isinstance(flushing.exception(), ConnectionError) == fails
    waiting.cancel()
    late.cancel()


@in_loop
async def test_a_call_that_is_cancelled_before_its_commit_does_not_run() -> None:
    notebook, ran = Notebook(), list[str]()

    @tool(effect="once")
    def pay() -> str:
        "Pay."
        ran.append("pay")
        return "paid"

    agent = Agent(ScriptedModel([calls(("pay", {})), says("Done.")]), [pay])
    run = agent.prepare("Pay.", {}, durability=notebook.durability(news=(Interrupted(cause="cancelled"),)))
    async for _ in run.batches():
        pass
    assert run.outcome.stop_reason == "cancelled"
    assert ran == []


@in_loop
async def test_a_parked_run_starts_nothing_more_and_goes_on_from_its_facts() -> None:
    notebook, ran = Notebook(), list[str]()

    @tool(effect="once")
    async def pay() -> str:
        "Pay."
        ran.append("pay")
        run.park()
        return "paid"

    agent = Agent(ScriptedModel([calls(("pay", {})), calls(("pay", {})), says("Done.")]), [pay])
    run = agent.prepare("Pay.", {}, durability=notebook.durability())
    with pytest.raises(RunParked):
        _ = [batch async for batch in run.batches()]
    assert ran == ["pay"]
    assert isinstance(notebook.facts[-1], ToolFinished)
    outcome = await agent.aresume(tuple(notebook.facts))
    assert outcome.stop_reason == "answered"
    assert ran == ["pay", "pay"]


@in_loop
async def test_a_deadline_is_counted_through_a_takeover() -> None:
    notebook = Notebook()

    @tool
    async def wait() -> str:
        "Wait."
        await asyncio.sleep(60)
        return "done"

    agent = Agent(ScriptedModel([calls(("wait", {})), says("Done.")]), [wait])
    run = agent.prepare("Wait.", {}, durability=notebook.durability(seconds_left=0.05))
    async for _ in run.batches():
        pass
    assert (run.outcome.stop_reason, run.outcome.detail) == ("limit", "the deadline of the run is over")


@in_loop
async def test_an_approval_is_bound_to_the_tool_and_its_arguments() -> None:
    def make(amount: int, description: str) -> Agent[None]:
        @tool(approve=True)
        def pay(amount: int) -> str:
            return str(amount)

        @tool(name="pay", approve=True)
        def pay_more(amount: float) -> str:
            return str(amount)

        chosen = pay if description == "int" else pay_more
        return Agent(ScriptedModel([calls(("pay", {"amount": amount})), says("Done.")]), [chosen])

    async def find_digest(agent: Agent[None]) -> str:
        notebook = Notebook()
        with pytest.raises(Exception, match="waits for somebody"):
            await drive(agent, notebook.durability())
        return next(fact.digest for fact in notebook.facts if isinstance(fact, ApprovalNeeded))

    digests = [await find_digest(make(*each)) for each in ((1, "int"), (1, "int"), (2, "int"), (1, "float"))]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
