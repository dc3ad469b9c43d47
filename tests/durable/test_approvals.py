"""An approval of a durable run is bound to the tool that would run, and every question can be answered once."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.durable.loops import in_loop
from toolspeak import Agent, tool
from toolspeak.durable import RunHandle, Runs, WaitingCall, Worker
from toolspeak.durable.approvals import find_waiting
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Tool
from toolspeak.values.events import ApprovalGiven, ApprovalNeeded, Fact, NestedFact
from toolspeak.values.messages import ToolCall

WAIT_SECONDS = 60

Build = Callable[[Tool[..., Any]], Agent[Any]]


@tool(name="pay", effect="once", approve=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool(name="pay", effect="once", approve=True)
def pay_abroad(amount: int, iban: str = "NO93") -> str:
    """Pay."""
    return f"paid {amount} to {iban}"


def build_plain(paying: Tool[..., Any]) -> Agent[Any]:
    return Agent(ScriptedModel([calls(("pay", {"amount": 7})), says("Done.")]), [paying])


def build_outer(paying: Tool[..., Any]) -> Agent[Any]:
    model = ScriptedModel([calls(("clerk", {"prompt": "Pay."})), says("All done.")])
    return Agent(model, [build_plain(paying).as_tool("clerk")])


def build_outermost(paying: Tool[..., Any]) -> Agent[Any]:
    model = ScriptedModel([calls(("office", {"prompt": "Pay."})), says("All done.")])
    return Agent(model, [build_outer(paying).as_tool("office")])


def build_handoff(paying: Tool[..., Any]) -> Agent[Any]:
    """The agent that begins has a tool of the same name with another schema."""
    billing = Agent(ScriptedModel([says(""), calls(("pay", {"amount": 7})), says("Done.")]), [paying])
    other = pay if paying is pay_abroad else pay_abroad
    return Agent(ScriptedModel([calls(("billing", {}))]), [other, billing.as_handoff("billing", "For payments.")])


BUILDERS: Sequence[Build] = (build_plain, build_outer, build_outermost, build_handoff)


async def wait_for_question(run: RunHandle, number: int) -> WaitingCall:
    """Wait until the run is paused at its `number`-th question."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            waiting = await run.waiting()
            if await run.status() == "paused" and [each.question for each in waiting] == [number]:
                return waiting[0]
            await asyncio.sleep(0.01)


def list_outputs(facts: Sequence[Fact]) -> list[Any]:
    events = [fact.event if isinstance(fact, NestedFact) else fact for fact in facts]
    results = [event.result for event in events if event.kind == "tool_finished"]
    return [each.output for each in results if str(each.output).startswith("paid")]


@pytest.mark.parametrize("build", BUILDERS)
@in_loop
async def test_one_yes_is_enough_for_a_tool_that_has_not_changed(tmp_path: Path, build: Build) -> None:
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, {"payer": build(pay)}):
        run = await runs.start("payer", "Pay.")
        asked = await wait_for_question(run, 1)
        assert await run.approve(asked.id)
        assert not await run.approve(asked.id)
        assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
        assert list_outputs(await run.facts()) == ["paid 7"]


@pytest.mark.parametrize("build", BUILDERS)
@in_loop
async def test_after_a_deploy_and_a_rollback_somebody_is_asked_again(tmp_path: Path, build: Build) -> None:
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await runs.start("payer", "Pay.")
        for number, paying in enumerate([pay, pay_abroad, pay], 1):
            async with Worker(runs, {"payer": build(paying)}):
                asked = await wait_for_question(run, number)
            assert list_outputs(await run.facts()) == []
            assert await run.approve(asked.id, digest=asked.digest)
            assert not await run.approve(asked.id, digest=asked.digest)
        async with Worker(runs, {"payer": build(pay)}):
            assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered"
        assert list_outputs(await run.facts()) == ["paid 7"]


@in_loop
async def test_a_yes_that_is_withdrawn_does_not_hold_up_other_calls(tmp_path: Path) -> None:
    @tool(effect="once", approve=True)
    async def write(text: str) -> str:
        """Write."""
        await asyncio.sleep(0)
        return f"written {text}"

    def build(paying: Tool[..., Any]) -> Agent[Any]:
        both = calls(("pay", {"amount": 7}), ("write", {"text": "Hi."}))
        return Agent(ScriptedModel([both, says("Done.")]), [paying, write])

    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await runs.start("payer", "Pay.")
        async with Worker(runs, {"payer": build(pay)}):
            while await run.status() != "paused":
                await asyncio.sleep(0.01)
        for each in await run.waiting():
            assert await run.approve(each.id)
        async with Worker(runs, {"payer": build(pay_abroad)}):
            asked = await wait_for_question(run, 2)
            assert asked.call.name == "pay"
            assert await run.approve(asked.id)
            outcome = await run.outcome(timeout=WAIT_SECONDS)
    assert [call.output for call in outcome.calls] == ["paid 7 to NO93", "written Hi."]


NEEDED: Mapping[str, ApprovalNeeded] = {
    digest: ApprovalNeeded(call=ToolCall(id="a", name="pay", arguments={}), digest=digest) for digest in ("x", "y")
}
GIVEN = ApprovalGiven(call_id="a", approved=True)


@pytest.mark.parametrize(
    ("facts", "question"),
    [
        ([NEEDED["x"]], 1),
        ([NEEDED["x"], NEEDED["x"]], 1),  # the run was resumed for something else: an answer on its way still counts
        ([NEEDED["x"], NEEDED["y"]], 2),
        ([NEEDED["x"], NEEDED["y"], NEEDED["x"]], 3),
        ([NEEDED["x"], GIVEN, NEEDED["x"]], 2),
        ([NEEDED["x"], GIVEN, NEEDED["y"], GIVEN, NEEDED["x"]], 3),
    ],
)
def test_a_question_is_another_one_after_an_answer_or_a_change(facts: list[Fact], question: int) -> None:
    assert [each.question for each in find_waiting(facts).values()] == [question]
    nested = [NestedFact(path=("b",), event=fact) for fact in facts if not isinstance(fact, NestedFact)]
    assert [(each.id, each.question) for each in find_waiting(nested).values()] == [("b/a", question)]


@in_loop
async def test_an_answer_that_does_not_count_says_why(tmp_path: Path) -> None:
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        async with Worker(runs, {"payer": build_plain(pay)}):
            started = [await runs.start("payer", "Pay.") for _ in range(3)]
            asked = [await wait_for_question(run, 1) for run in started]
        answered, cancelled, late = started  # nobody drives them now
        results = [await answered.approve(asked[0].id), await answered.approve(asked[0].id, False)]
        await cancelled.cancel()
        results.append(await cancelled.approve(asked[1].id))
        await runs.write(lambda session: session.add_command(late.id, "deadline", "{}"))
        results.append(await late.approve(asked[2].id))
        async with Worker(runs, {"payer": build_plain(pay)}):
            for run in started:
                await run.outcome(timeout=WAIT_SECONDS)
        results += [await run.approve(each.id) for run, each in zip(started, asked, strict=True)]
    states = ["counts", "late", "cancelled", "ended", "late", "cancelled", "ended"]
    assert [result.state for result in results] == states
    assert [bool(result) for result in results] == [True, *[False] * 6]
