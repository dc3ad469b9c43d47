"""A conversation that is handed over goes on with another agent, in the same run."""

import asyncio
from typing import Any

import pytest

from tests.models.server import Connection, Post, plays, serving
from toolspeak.models import connect
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, breaks, calls, says
from toolspeak.tools import Context, tool
from toolspeak.values.codec import dump_facts, load_facts
from toolspeak.values.errors import EndpointDown, RunPaused, UsageError
from toolspeak.values.events import HandedOver, NestedFact, TurnRestarted, TurnStarted, Usage
from toolspeak.values.limits import Limits

from .playing import FACES, SPOKEN, left, play, run_coroutine

DONE = "You paid twice."


def find_invoice(number: int) -> str:
    "Find an invoice."
    return f"invoice {number}"


@tool(approve=True)
def pay_back(number: int) -> str:
    "Pay an invoice back."
    return f"paid {number} back"


def build(last: Any = None, dialect: str = "native", **options: Any) -> Agent:
    """An agent at a desk, which hands over to billing, which finds an invoice and answers."""
    script = [says(""), calls(("find_invoice", {"number": 7})), last or says(DONE)]
    billing = Agent(ScriptedModel(script), [find_invoice], dialect=dialect, system="You know the invoices.", **options)
    handoff = billing.as_handoff("billing", "For questions about invoices.")
    return Agent(ScriptedModel([calls(("billing", {}))]), [handoff], system="You sit at the desk.")


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("dialect", SPOKEN)
def test_the_other_agent_goes_on_with_its_own_system_tools_and_dialect(dialect: str, face: str):
    outcome = play(build(dialect=dialect), face)
    assert (outcome.text, outcome.agent) == (DONE, "billing")
    assert [each.name for each in outcome.calls] == ["billing", "find_invoice"]
    assert outcome.messages[0].text == "You sit at the desk."
    (handed,) = [fact for fact in outcome.facts if isinstance(fact, HandedOver)]
    assert (handed.system, [spec.name for spec in handed.tools]) == ("You know the invoices.", ["find_invoice"])


def test_the_model_is_asked_with_the_system_prompt_of_its_agent():
    model = ScriptedModel([says(""), says(DONE)])
    billing = Agent(model, system=lambda context: f"You work for {context.deps}.")
    desk = Agent(ScriptedModel([calls(("billing", {}))]), [billing.as_handoff("billing")], system="Desk.")
    chat = desk.chat()
    chat.run("Why?", deps="Ann")
    assert [m.text for m in model.requests[0].shown.messages if m.role == "system"] == ["You work for Ann."]
    assert [m.text for m in chat.messages if m.role == "system"] == ["Desk."]


def test_who_answers_by_himself_has_no_name():
    assert play(Agent(ScriptedModel([says("Hello.")]))).agent == ""


def test_the_type_of_the_answer_stays_that_of_the_run():
    outcome = build(calls(("final_answer", {"answer": 7}))).run("Which?", output=int)
    assert (outcome.output, outcome.agent) == (7, "billing")


def test_a_second_handoff_in_one_turn_is_refused():
    one = Agent(ScriptedModel([says(""), says("One.")])).as_handoff("one")
    two = Agent(ScriptedModel([says(""), says("Two.")])).as_handoff("two")
    outcome = play(Agent(ScriptedModel([calls(("one", {}), ("two", {}))]), [one, two]))
    assert (outcome.text, outcome.agent) == ("One.", "one")
    assert "handed over to one already" in (outcome.calls[1].error or "")


def test_the_other_agent_has_models_of_its_own_to_fall_back_on():
    models = [
        ScriptedModel([says(""), breaks(EndpointDown("gone"), text="You")], name="b", dialect="json"),
        ScriptedModel([says(""), says(DONE)], name="c", dialect="python"),
    ]
    handoff = Agent(models, system="You know the invoices.").as_handoff("billing")
    desk = [ScriptedModel([breaks(EndpointDown("gone"))], name="x"), ScriptedModel([calls(("billing", {}))], name="a")]
    agent = Agent(desk, [handoff])
    outcome = play(agent)
    assert (outcome.text, outcome.agent) == (DONE, "billing")
    turns = [(fact.turn, fact.model, fact.dialect) for fact in outcome.facts if isinstance(fact, TurnStarted)]
    assert turns == [(1, "x", "native"), (1, "a", "native"), (2, "b", "json"), (2, "c", "python")]
    assert [fact.failed for fact in outcome.facts if isinstance(fact, TurnRestarted)] == ["x", "b"]
    assert "You know the invoices." in models[1].requests[0].shown.messages[0].text
    for cut in range(1, len(outcome.facts)):
        resumed = agent.resume(outcome.facts[:cut])
        assert (resumed.text, resumed.agent) == (DONE, "billing")


def test_a_limit_of_the_cost_holds_for_the_other_agent():
    def desk(price: float | None) -> Agent:
        spent = Usage(input_tokens=1, output_tokens=1)
        billing = Agent(ScriptedModel([says(""), says(DONE, usage=spent)], name="billing", price=price))
        script = [calls(("billing", {}), usage=spent), says("I cannot.", usage=spent)]
        return Agent(ScriptedModel(script, price=1.0), [billing.as_handoff("billing")], limits=Limits(cost=100))

    outcome = desk(10.0).run("Why?")
    assert (outcome.text, outcome.cost) == (DONE, 22.0)
    with pytest.raises(UsageError, match="the price of billing is unknown"):
        desk(None).run("Why?")


def test_from_hand_to_hand():
    third = Agent(ScriptedModel([says(""), says(""), says("Third.")])).as_handoff("third")
    second = Agent(ScriptedModel([says(""), calls(("third", {}))]), [third]).as_handoff("second")
    outcome = play(Agent(ScriptedModel([calls(("second", {}))]), [second]))
    assert (outcome.text, outcome.agent) == ("Third.", "third")


def test_cut_anywhere_it_goes_on_with_the_agent_that_spoke():
    agent = build()
    facts = load_facts(dump_facts(play(agent).facts))
    for cut in range(1, len(facts) + 1):
        outcome = agent.resume(facts[:cut])
        assert (outcome.text, outcome.agent) == (DONE, "billing"), cut
    with pytest.raises(UsageError, match="has no handoff of that name"):
        Agent(ScriptedModel([])).resume(facts[:-1])


def test_a_system_function_is_not_called_again_when_a_run_is_resumed():
    written: list[str] = []

    def write(context: Context[Any]) -> str:
        written.append(context.run_id)
        return "Billing."

    script = [says(""), calls(("pay_back", {"number": 7})), says(DONE)]
    billing = Agent(ScriptedModel(script), [pay_back], system=write)
    desk = Agent(ScriptedModel([calls(("billing", {}))]), [billing.as_handoff("billing")])
    with pytest.raises(RunPaused) as paused:
        desk.run("Go.")
    outcome = desk.resume(paused.value.facts, approvals={paused.value.calls[0].id: True})
    assert (outcome.text, outcome.calls[-1].output) == (DONE, "paid 7 back")
    assert len(written) == 1


def test_inside_an_agent_that_is_a_tool():
    model = ScriptedModel([calls(("help", {"prompt": "Why?"})), says("So it is.")])
    outcome = play(Agent(model, [build().as_tool("help", "Helps.")]))
    assert outcome.calls[0].output == DONE
    assert outcome.agent == ""
    assert any(isinstance(fact, NestedFact) and isinstance(fact.event, HandedOver) for fact in outcome.facts)


def test_over_http():
    scripts = {"desk": [calls(("billing", {}))], "billing": [says(""), says(DONE)]}

    async def answer(post: Post, connection: Connection) -> None:
        await plays(scripts[post.body["model"]])(post, connection)

    with serving() as server:
        server.plays(answer)
        models = {name: connect(name, at=server.url, key="none") for name in scripts}
        billing = Agent(models["billing"], system="You know the invoices.")
        outcome = play(Agent(models["desk"], [billing.as_handoff("billing", "For invoices.")]))
        assert [post.body["model"] for post in server.posts] == ["desk", "billing"]
    assert (outcome.text, outcome.agent) == (DONE, "billing")


def test_cancelled_at_every_step_of_the_event_loop():
    async def cancelled_after(steps: int) -> bool:
        task = asyncio.create_task(build().arun("Go."))
        for _ in range(steps):
            await asyncio.sleep(0)
        if task.done():
            return False
        task.cancel()
        await asyncio.wait([task])
        assert left() == []
        return True

    steps = 1
    while steps < 400 and run_coroutine(cancelled_after(steps)):
        steps += 1
    assert steps > 10
