"""Whoever must agree is asked: after references are resolved, when all others have finished; yes, no, or why not."""

import asyncio
import threading
import time
from typing import Any

import pytest

from toolspeak.execution import THREAD_POOL
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import tool
from toolspeak.values.errors import RunPaused
from toolspeak.values.events import ApprovalGiven, ApprovalNeeded
from toolspeak.values.limits import Limits
from toolspeak.values.messages import ToolCall

from .playing import FACES, SPOKEN, Clock, check, play, until


@tool(approve=True)
def pay(who: str, amount: int = 1) -> str:
    "Pay somebody."
    return f"paid {who} {amount}"


def price(what: str) -> int:
    "What something costs."
    time.sleep(0.02)
    return len(what)


SCRIPT = [calls(("pay", {"who": "Ann"}), ("price", {"what": "tea"}), ("pay", {"who": "Bob"})), says("Done.")]


async def later(answer: Any) -> Any:
    await asyncio.sleep(0.01)
    return answer


ANSWERS: dict[str, tuple[Any, str | None]] = {
    "yes": (lambda call: True, None),
    "no": (lambda call: False, "not run: the user did not allow it"),
    "why not": (lambda call: "too dear", "not run: the user did not allow it: too dear"),
    "nothing": (lambda call: None, "not run: the user did not allow it"),
    "a coroutine": (lambda call: later(True), None),
    "a coroutine that says why not": (lambda call: later("no!"), "not run: the user did not allow it: no!"),
}


@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("answer", ANSWERS)
def test_yes_no_or_why_not(answer: str, dialect: str):
    approve, error = ANSWERS[answer]
    for face in FACES:
        outcome = play(Agent(ScriptedModel(SCRIPT), [pay, price], dialect=dialect, approve=approve), face)
        assert outcome.text == "Done."
        assert [each.error for each in outcome.calls] == [error, None, error]
        assert [each.result.ran for each in outcome.calls] == [error is None, True, error is None]
        given = [fact.approved for fact in outcome.facts if isinstance(fact, ApprovalGiven)]
        assert given == [error is None] * 2


def test_an_async_approver_is_asked_one_call_after_the_other():
    asked: list[str] = []

    async def approve(call: ToolCall) -> bool:
        asked.append(f"+{call.arguments['who']}")
        await asyncio.sleep(0.01)
        asked.append(f"-{call.arguments['who']}")
        return call.arguments["who"] == "Bob"

    outcome = play(Agent(ScriptedModel(SCRIPT), [pay, price], approve=approve))
    assert asked == ["+Ann", "-Ann", "+Bob", "-Bob"]
    assert [each.result.ran for each in outcome.calls] == [False, True, True]


def test_it_is_asked_when_the_others_have_finished_and_with_real_values():
    text = '```python\np = price("coffee")\npay("Ann", amount=p)\n```'
    outcome = play(
        Agent(ScriptedModel([says(text), says("Done.")]), [pay, price], dialect="python", approve=lambda _: True)
    )
    kinds = [fact.kind for fact in outcome.facts]
    assert kinds.index("tool_finished") < kinds.index("approval_needed")
    [asked] = [fact.call for fact in outcome.facts if isinstance(fact, ApprovalNeeded)]
    assert asked.arguments == {"who": "Ann", "amount": 6}
    assert outcome.calls[1].output == "paid Ann 6"


def test_nobody_is_asked_about_a_call_that_cannot_be_made():
    text = '```python\np = price("coffee")\npay("Ann", amount=p["sum"])\n```'
    outcome = play(Agent(ScriptedModel([says(text), says("Done.")]), [pay, price], dialect="python"))
    assert "has no 'sum'" in (outcome.calls[1].error or "")
    assert not any(isinstance(fact, ApprovalNeeded) for fact in outcome.facts)


def test_without_anybody_to_ask_the_run_pauses():
    for face in FACES:
        with pytest.raises(RunPaused, match="allow pay, pay") as paused:
            play(Agent(ScriptedModel(SCRIPT), [pay, price]), face)
        assert [call.arguments for call in paused.value.calls] == [{"who": "Ann"}, {"who": "Bob"}]
        assert paused.value.facts[-1].kind == "approval_needed"


def test_a_call_that_was_refused_is_not_demanded_again():
    script = [calls(("pay", {"who": "Ann"})), says("Then not.")]
    outcome = play(Agent(ScriptedModel(script), [pay], tool_choice="pay", approve=lambda _: False))
    assert (outcome.text, outcome.stop_reason) == ("Then not.", "answered")


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("sort", ["plain", "coroutine"])
@pytest.mark.parametrize(
    "error",
    [ValueError("no"), SystemExit(3), StopIteration(), KeyboardInterrupt()],
    ids=lambda error: type(error).__name__,
)
def test_an_approver_that_fails_ends_the_run_with_its_error(error: BaseException, sort: str, face: str):
    def plain(call: ToolCall) -> bool:
        raise error

    async def coroutine(call: ToolCall) -> bool:
        raise error

    kept: list[Any] = []
    raised = RuntimeError if isinstance(error, StopIteration) else type(error)
    agent = Agent(ScriptedModel(SCRIPT), [pay, price], approve=plain if sort == "plain" else coroutine)
    with pytest.raises(raised):
        play(agent, face, record=kept.append)
    assert kept[-1].reason == "cancelled"
    assert "the approval failed" in kept[-1].detail
    again = Agent(ScriptedModel(SCRIPT), [pay, price]).resume(kept)
    assert again.text == "Done."


@pytest.mark.parametrize("sort", ["plain", "coroutine"])
def test_a_deadline_does_not_wait_for_an_answer(sort: str):
    let_go = threading.Event()

    def plain(call: ToolCall) -> bool:
        return let_go.wait(20)

    async def coroutine(call: ToolCall) -> bool:
        await asyncio.sleep(20)
        return True

    approve = plain if sort == "plain" else coroutine
    clock = Clock()
    outcome = play(Agent(ScriptedModel(SCRIPT), [pay, price], approve=approve, limits=Limits(seconds=0.15)))
    assert clock() < 10  # far less than the 20 seconds for which the approver hangs
    assert outcome.stop_reason == "limit"
    assert [each.result.ran for each in outcome.calls] == [False, True, False]
    let_go.set()
    until(lambda: THREAD_POOL.stuck == 0)


def test_a_denial_survives_a_conversation():
    chat = Agent(ScriptedModel([*SCRIPT, says("As I said.")]), [pay, price], approve=lambda _: "no").chat()
    check(chat.run("Pay."))
    assert chat.run("And?").text == "As I said."
