"""Whoever must agree is asked: after references are resolved, when all others have finished; yes, no, or why not."""

import asyncio
import threading
import time
from typing import Any

import pytest

from tests.cases import each_case
from toolspeak.execution import THREAD_POOL
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Context, Tool, tool
from toolspeak.values.errors import RunPaused, ToolError, UsageError
from toolspeak.values.events import ApprovalGiven, ApprovalNeeded
from toolspeak.values.limits import Limits
from toolspeak.values.messages import ToolCall

from .playing import FACES, SPOKEN, Clock, SkippedClock, check, play, until


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


@pytest.mark.parametrize("answer", [None, 1])
def test_an_approver_that_returns_no_answer_is_named(answer: Any):
    def ask(call: ToolCall) -> Any:
        return answer

    words = "^ask, the function of approve=, returned for pay: (None|1); the answer is True, False, a text that says"
    with pytest.raises(UsageError, match=words):
        Agent(ScriptedModel(SCRIPT), [pay, price], approve=ask).run("Go.")


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
    assert kept[-1].reason == ("error" if issubclass(raised, Exception) else "cancelled")
    assert "the approval failed" in kept[-1].detail
    again = Agent(ScriptedModel(SCRIPT), [pay, price]).resume(kept)
    assert again.text == "Done."


@pytest.mark.parametrize("sort", ["plain", "coroutine"])
def test_a_deadline_does_not_wait_for_an_answer(sort: str):
    let_go, clock, before = threading.Event(), SkippedClock(), THREAD_POOL.stuck

    def plain(call: ToolCall) -> bool:
        clock.skip(60)
        return let_go.wait(80)

    async def coroutine(call: ToolCall) -> bool:
        clock.skip(60)
        await asyncio.sleep(3600)
        return True

    approve = plain if sort == "plain" else coroutine
    agent = Agent(ScriptedModel(SCRIPT), [pay, price], approve=approve, limits=Limits(seconds=60))
    waited = Clock()
    outcome = check(clock.run(agent.arun("Go on.")), agent.toolbox)
    assert waited() < 40  # far less than the 80 seconds for which the approver hangs
    assert outcome.stop_reason == "limit"
    assert [each.result.ran for each in outcome.calls] == [False, True, False]
    let_go.set()
    until(lambda: THREAD_POOL.stuck <= before)


def test_a_denial_survives_a_conversation():
    chat = Agent(ScriptedModel([*SCRIPT, says("As I said.")]), [pay, price], approve=lambda _: "no").chat()
    check(chat.run("Pay."))
    assert chat.run("And?").text == "As I said."


# Who is asked, by the arguments and the run


def pay_out(amount: float, to: str = "Ada") -> str:
    """Pay."""
    return f"paid {amount} to {to}"


def is_large(call: ToolCall) -> bool:
    return call.arguments["amount"] > 100


async def is_large_for(call: ToolCall, context: Context[Any]) -> bool:
    return call.arguments["amount"] > context.deps


PAYS = [calls(("pay_out", {"amount": "50"}), ("pay_out", {"amount": 500})), says("Done.")]


@pytest.mark.parametrize("rule", [is_large, is_large_for])
@pytest.mark.parametrize("face", FACES)
def test_a_rule_of_a_tool_decides_by_the_arguments(rule: Any, face: str):
    asked: list[Any] = []

    def approve(call: ToolCall) -> bool:
        asked.append(call.arguments["amount"])
        return True

    agent = Agent(ScriptedModel(PAYS), [tool(approve=rule)(pay_out)], deps=100, approve=approve)
    outcome = play(agent, face)
    assert [each.output for each in outcome.calls] == ["paid 50.0 to Ada", "paid 500.0 to Ada"]
    assert asked == [500]
    answers = [fact for fact in outcome.facts if isinstance(fact, ApprovalGiven)]
    assert sorted(fact.by for fact in answers) == ["", "the tool's own rule"]


def test_a_run_pauses_only_for_the_calls_that_the_rule_names():
    agent = Agent(ScriptedModel(PAYS), [tool(approve=is_large)(pay_out)])
    with pytest.raises(RunPaused) as paused:
        agent.run("Go.")
    [waiting] = paused.value.calls
    assert waiting.arguments == {"amount": 500}
    outcome = agent.resume(paused.value.facts, approvals={waiting.id: True})
    assert [each.output for each in outcome.calls] == ["paid 50.0 to Ada", "paid 500.0 to Ada"]


def test_a_run_pauses_after_the_calls_that_run_already():
    has_started, is_asked = threading.Event(), threading.Event()

    def is_second(call: ToolCall) -> bool:
        if call.arguments["amount"] == 50:
            return False
        assert has_started.wait(30)
        is_asked.set()
        return True

    @tool(approve=is_second)
    def pay_slowly(amount: int) -> str:
        """Pay."""
        has_started.set()
        assert is_asked.wait(30)
        time.sleep(0.1)
        return f"paid {amount}"

    pays = calls(("pay_slowly", {"amount": 50}), ("pay_slowly", {"amount": 500}))
    agent = Agent(ScriptedModel([pays, says("Done.")]), [pay_slowly])
    with pytest.raises(RunPaused) as paused:
        agent.run("Go.")
    [waiting] = paused.value.calls
    outcome = agent.resume(paused.value.facts, approvals={waiting.id: True})
    assert [each.output for each in outcome.calls] == ["paid 50", "paid 500"]


def test_a_rule_knows_the_values_that_the_function_would_get():
    seen: list[Any] = []

    def note(call: ToolCall, context: Context[Any]) -> bool:
        seen.append((call.arguments, context.deps, context.call_id == call.id, context.turn))
        return False

    agent = Agent(ScriptedModel(PAYS), [tool(approve=note)(pay_out)], deps="deps")
    assert agent.run("Go.").text == "Done."
    assert seen == [({"amount": float(amount), "to": "Ada"}, "deps", True, 1) for amount in (50, 500)]


def test_a_run_without_its_agents_approver_pauses():
    agent = Agent(ScriptedModel(PAYS), [tool(approve=True)(pay_out)], approve=lambda call: True)
    with pytest.raises(RunPaused) as paused:
        agent.run("Go.", approve=None)
    with pytest.raises(RunPaused):
        agent.resume(paused.value.facts, approve=None)
    assert agent.resume(paused.value.facts).stop_reason == "answered"


def test_an_approver_may_take_the_context():
    def approve(call: ToolCall, context: Context[dict[str, float]]) -> bool | str:
        assert context.run_id
        return call.arguments["amount"] <= context.deps["limit"] or "too much"

    script = [calls(("pay_out", {"amount": 50}), ("pay_out", {"amount": 500})), says("Done.")]
    agent = Agent(ScriptedModel(script), [tool(approve=True)(pay_out)], approve=approve)
    paid, refused = agent.run("Go.", deps={"limit": 100}).calls
    assert paid.output == "paid 50.0 to Ada"
    assert "too much" in (refused.error or "")

    asks = ScriptedModel([calls(("ask", {"prompt": "Go."})), says("End.")])
    inner = Agent(ScriptedModel(script), [tool(approve=True)(pay_out)]).as_tool("ask")
    outer = Agent(asks, [inner], approve=approve, deps={"limit": 100})
    assert outer.run("Go.").calls[0].output == "Done."


@pytest.mark.parametrize("place", ["one agent", "an inner agent", "a handoff"])
def test_rules_approvers_and_tools_see_the_data_of_a_run(place: str):
    seen: list[Any] = []

    def note(call: ToolCall, context: Context[Any]) -> bool:
        seen.append(dict(context.data))
        return True

    @tool(approve=note)
    def pay_for(context: Context[Any]) -> str:
        """Pay."""
        seen.append(dict(context.data))
        return "paid"

    pays, done = calls(("pay_for", {})), says("Done.")
    agent = Agent(ScriptedModel([pays, pays, done] if place == "a handoff" else [pays, done]), [pay_for])
    if place == "an inner agent":
        agent = Agent(ScriptedModel([calls(("ask", {"prompt": "Go."})), done]), [agent.as_tool("ask")])
    elif place == "a handoff":
        agent = Agent(ScriptedModel([calls(("give", {}))]), [agent.as_handoff("give")])
    data = {"tenant": "acme"}
    assert agent.run("Go.", data=data, approve=note).text == "Done."
    assert seen == [data] * 3
    seen.clear()
    with pytest.raises(RunPaused) as paused:
        agent.run("Go.", data=data)
    facts = paused.value.facts
    assert agent.resume(facts, approvals={paused.value.calls[0].id: True}, data=data).text == "Done."
    assert seen == [data] * 2


@each_case(
    "rule, words", {"raises": (lambda call: 1 / 0, "division by zero"), "a text": (lambda call: "x", "returned 'x'")}
)
def test_a_rule_that_fails_ends_the_run(rule: Any, words: str):
    with pytest.raises((ZeroDivisionError, UsageError), match=words):
        Agent(ScriptedModel(PAYS), [tool(approve=rule)(pay_out)], approve=lambda call: True).run("Go.")


def test_a_call_with_wrong_arguments_asks_nobody():
    script = [calls(("pay_out", {"amount": "much"})), says("Done.")]
    agent = Agent(ScriptedModel(script), [tool(approve=is_large)(pay_out)])
    assert "amount" in (agent.run("Go.").calls[0].error or "")


def test_what_cannot_be_an_approval_is_refused():
    with pytest.raises(UsageError, match="approve is True, False or a function of a call, not 'yes'"):
        tool(approve="yes")(pay_out)  # type: ignore[arg-type]  # wrong on purpose
    assert Tool(Tool(pay_out, approve=is_large), name="other").approval_rule is is_large


def test_somebody_is_asked_when_the_calls_that_a_rule_let_run_have_ended():
    happened: list[str] = []

    @tool(approve=lambda call: int(str(call.arguments["n"])) > 1)
    def pay(n: int) -> str:
        """Pay."""
        time.sleep(0.05)
        happened.append(f"paid {n}")
        return f"paid {n}"

    def ask(call: ToolCall) -> bool:
        happened.append(f"asked about {call.arguments['n']}")
        return True

    script = [calls(("pay", {"n": 1}), ("pay", {"n": 2}), ("pay", {"n": 0})), says("Done.")]
    outcome = Agent(ScriptedModel(script), [pay], approve=ask).run("Go.")
    assert outcome.text == "Done."
    assert sorted(happened[:2]) == ["paid 0", "paid 1"]
    assert happened[2:] == ["asked about 2", "paid 2"]


def test_a_rule_can_refuse_a_call_in_words():
    def look_up(call: ToolCall) -> bool:
        raise ToolError(f"there is no invoice {call.arguments['n']}")

    @tool(approve=look_up)
    def pay(n: int) -> str:
        """Pay."""
        return "paid"

    outcome = Agent(ScriptedModel([calls(("pay", {"n": 77})), says("Sorry.")]), [pay]).run("Go.")
    assert outcome.text == "Sorry."
    assert "there is no invoice 77" in str(outcome.calls[0].error)


def test_an_approver_that_fails_is_logged(caplog: pytest.LogCaptureFixture):
    @tool(approve=True)
    def pay(n: int) -> str:
        """Pay."""
        return "paid"

    def ask(call: ToolCall) -> bool:
        raise KeyError("no such user")

    with pytest.raises(KeyError):
        Agent(ScriptedModel([calls(("pay", {"n": 1}))]), [pay], approve=ask).run("Go.")
    logged = [record for record in caplog.records if "the approval failed" in record.message]
    assert [(record.levelname, bool(record.exc_info)) for record in logged] == [("WARNING", True), ("WARNING", False)]
