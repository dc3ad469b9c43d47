"""Which facts forgive the deaths of workers: those that the next worker need not bring about again."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.durable.loops import in_loop
from toolspeak import Agent, tool
from toolspeak.durable import Runs, Worker
from toolspeak.durable.journal import JournalSession
from toolspeak.durable.records import MESSAGES_WITHOUT_BLAME, RunProgress
from toolspeak.testing import ScriptedModel, calls
from toolspeak.values.events import (
    ApprovalNeeded,
    CallReady,
    Fact,
    Interrupted,
    NestedFact,
    RunResumed,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.values.messages import Message, ToolCall, ToolResult

CALL = ToolCall(id="a", name="look", arguments={})
STARTED = TurnStarted(turn=1, model="m", dialect="native")
FINISHED = ToolFinished(result=ToolResult(call_id="a", output="seen"))
ENDED = TurnEnded(message=Message(role="assistant", parts=()), finish="tool_calls")


def nest(fact: Any, *path: str) -> NestedFact:
    return NestedFact(path=path, event=fact)


def follow(*facts: Fact, earlier: Sequence[Fact] = ()) -> list[bool]:
    progress = RunProgress(earlier)
    return [progress.add([fact]) for fact in facts]


def test_a_result_counts_after_its_message_only() -> None:
    early = (STARTED, CallReady(call=CALL), ToolStarted(call_id="a"), FINISHED)
    assert not any(follow(RunResumed(), *early))
    assert follow(*early, ENDED, FINISHED) == [False] * 4 + [True, True]
    assert RunProgress().add([*early, ENDED])
    assert follow(RunResumed(), FINISHED) == [False, True]


def test_a_result_of_an_inner_run_counts_if_no_message_around_it_is_open() -> None:
    inner = (nest(STARTED, "a"), nest(FINISHED, "a"), nest(ENDED, "a"), nest(FINISHED, "a"))
    assert follow(*inner) == [False, False, True, True]
    assert not any(follow(STARTED, *inner))
    assert follow(nest(STARTED, "a"), nest(FINISHED, "a", "b"), nest(FINISHED, "b"), FINISHED)[1:] == [
        False,
        True,
        True,
    ]


def test_a_message_does_not_count_if_a_worker_died_during_a_call() -> None:
    died = (STARTED, CallReady(call=CALL), ENDED, ToolStarted(call_id="a"))
    refused = replace(FINISHED, result=replace(FINISHED.result, ran=False))
    assert follow(RunResumed(), STARTED, ENDED, refused, earlier=died) == [False] * 4
    assert follow(RunResumed(), STARTED, ENDED, FINISHED, ENDED, earlier=died) == [False] * 3 + [True, True]
    assert follow(RunResumed(), STARTED, ENDED, earlier=(*died, RunResumed(), STARTED)) == [False] * 3
    assert follow(STARTED, ENDED, earlier=(*died, FINISHED)) == [False, True]


def test_a_result_beside_a_call_that_was_cut_off_does_not_count() -> None:
    other = ToolFinished(result=ToolResult(call_id="b", output="seen"))
    died = (STARTED, ENDED, ToolStarted(call_id="a"), ToolStarted(call_id="b"))
    assert follow(RunResumed(), other, STARTED, ENDED, other, earlier=died) == [False] * 5
    assert follow(RunResumed(), other, FINISHED, other, earlier=died) == [False, False, True, True]
    again = (*died, other, RunResumed(), STARTED, ENDED, ToolStarted(call_id="c"))
    assert follow(RunResumed(), FINISHED, STARTED, ENDED, other, earlier=again) == [False] * 5


def test_calls_that_were_cut_off_are_not_to_blame_for_ever() -> None:
    other = ToolFinished(result=ToolResult(call_id="b", output="seen"))
    died = (STARTED, ENDED, ToolStarted(call_id="a"))
    turn = (STARTED, ENDED, ToolStarted(call_id="b"), other)
    assert not any(follow(RunResumed(), *turn * (MESSAGES_WITHOUT_BLAME - 1), earlier=died))
    assert follow(*turn, earlier=(*died, RunResumed(), *turn * (MESSAGES_WITHOUT_BLAME - 1))) == [
        False,
        True,
        False,
        True,
    ]
    twice = (*died, RunResumed(), *turn * (MESSAGES_WITHOUT_BLAME - 1), ToolStarted(call_id="c"))
    assert not any(follow(RunResumed(), *turn, earlier=twice))


def test_asking_again_does_not_count() -> None:
    assert not any(follow(RunResumed(), nest(ApprovalNeeded(call=CALL), "a"), Interrupted(cause="cancelled")))


@in_loop
async def test_a_call_that_finishes_before_its_message_forgives_no_death(tmp_path: Path) -> None:
    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "seen"

    def let_a_worker_die(session: JournalSession) -> None:
        session.beat("mortal", 600_000)
        assert session.claim(run.id, 1, "mortal") is not None
        session.beat("mortal", 0)
        assert session.sweep().taken == ((run.id, 1),)

    agent = Agent(ScriptedModel([calls(("look", {}), lingers=600)]), [look])
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await runs.start("looker", "Look.")
        await runs.write(let_a_worker_die)
        async with Worker(runs, {"looker": agent}, grace=0):
            async for each in run.events():
                if isinstance(each.event, ToolFinished):
                    break
            assert (await run.row()).deaths == 1
            await run.cancel()
            await run.outcome(timeout=60)
