"""Agents that are tools of agents: one tree of runs, with one account of tokens, one deadline, one set of facts."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.models.server import Connection, Post, plays, serving
from toolspeak.models import connect
from toolspeak.run import Agent, Outcome
from toolspeak.testing import ScriptedModel, breaks, calls, replay, says
from toolspeak.tools import Context, tool
from toolspeak.values.codec import dump_facts, load_facts
from toolspeak.values.errors import EndpointDown, ReplayMiss, RunPaused, UsageError
from toolspeak.values.events import (
    ApprovalGiven,
    Fact,
    NestedDelta,
    NestedFact,
    RunEnded,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnRestarted,
    Usage,
)
from toolspeak.values.limits import Limits
from toolspeak.values.messages import ToolCall

from .playing import FACES, cancel_after, check, left, play, run_coroutine, whole
from .test_cancelling import CancelledAt

DONE = "Everything is done."


async def act(what: str) -> str:
    "Do."
    await asyncio.sleep(0)
    return f"done {what}"


@tool(approve=True)
def ask(what: str) -> str:
    "Do it if allowed; in a thread."
    return f"asked {what}"


def nest(depth: int, *tools: Any, script: Sequence[Any] = (), **options: Any) -> Agent:
    """An agent with `depth` agents below it, one in the other; the innermost has the tools and the script."""
    agent = Agent(ScriptedModel(script or [calls(("act", {"what": "it"})), says("Inside.")], chunk=4), tools or [act])
    for level in range(depth):
        name = f"level_{level}"
        model = ScriptedModel([calls((name, {"prompt": f"Go to {level}."})), says(DONE)], chunk=4)
        agent = Agent(model, [agent.as_tool(name, "Goes deeper.")], **(options if level == depth - 1 else {}))
    return agent


def nested(facts: Sequence[Fact]) -> list[NestedFact]:
    return [fact for fact in facts if isinstance(fact, NestedFact)]


def used(facts: Sequence[Fact]) -> Usage:
    own = [fact.event if isinstance(fact, NestedFact) else fact for fact in facts]
    return sum((fact.usage for fact in own if isinstance(fact, TurnEnded)), Usage())


# The tool


def test_the_argument_is_the_prompt_and_the_answer_is_the_result():
    expert = Agent(ScriptedModel([says("About 709,000.")]))
    made = expert.as_tool("expert", "Knows cities.")
    assert made.spec.description == "Knows cities."
    assert list(made.spec.parameters["properties"]) == ["prompt"]
    outcome = play(Agent(ScriptedModel([calls(("expert", {"prompt": "Oslo?"})), says("Large.")]), [made]))
    assert [(each.arguments, each.output) for each in outcome.calls] == [({"prompt": "Oslo?"}, "About 709,000.")]
    started = nested(outcome.facts)[0].event
    assert isinstance(started, RunStarted)
    assert [message.text for message in started.messages] == ["Oslo?"]


@dataclass
class City:
    name: str
    people: int


def test_a_typed_answer_is_the_result_as_json():
    expert = Agent(ScriptedModel([calls(("final_answer", {"name": "Oslo", "people": 9}))]), output=City)
    made = expert.as_tool("expert", "Knows cities.")
    assert made.spec.returns is not None
    outcome = play(Agent(ScriptedModel([calls(("expert", {"prompt": "Oslo?"})), says("Large.")]), [made]))
    assert outcome.calls[0].output == {"name": "Oslo", "people": 9}


def test_a_function_gives_the_tool_its_parameters_and_writes_the_prompt():
    def write(topic: str, words: int = 50) -> str:
        "Write about a topic."
        return f"Write {words} words about {topic}."

    async def write_later(topic: str, context: Context[str]) -> str:
        "Write about a topic."
        return f"Write about {topic} for {context.deps}."

    for function, prompt in ((write, "Write 50 words about rain."), (write_later, "Write about rain for Ann.")):
        model = ScriptedModel([says("Drops.")])
        made = Agent(model).as_tool("writer", "Writes.", prompt=function)
        assert "topic" in made.spec.parameters["properties"]
        assert "context" not in made.spec.parameters["properties"]
        outcome = play(Agent(ScriptedModel([calls(("writer", {"topic": "rain"})), says("So.")]), [made]), deps="Ann")
        assert outcome.calls[0].output == "Drops."
        assert [message.text for message in model.requests[0].shown.messages] == [prompt]


def test_called_from_python_it_runs_the_agent():
    made = Agent(ScriptedModel([says("Inside.")])).as_tool("inner", "Answers.")
    assert run_coroutine(made("Go.")) == "Inside."


def test_it_has_the_deps_of_the_outer_run():
    def whose(context: Context[str]) -> str:
        "Whose it is."
        return context.deps

    inner = Agent(ScriptedModel([calls(("whose", {})), lambda request: says("Found.")]), [whose])
    model = ScriptedModel([calls(("inner", {"prompt": "Go."})), says(DONE)])
    outcome = play(Agent(model, [inner.as_tool("inner", "Finds.")]), deps="Ann")
    results = [fact.event.result.output for fact in nested(outcome.facts) if isinstance(fact.event, ToolFinished)]
    assert results == ["Ann"]


def test_a_wrong_prompt_function_is_refused():
    with pytest.raises(UsageError, match="has no type hint"):
        Agent(ScriptedModel([])).as_tool("inner", "Answers.", prompt=lambda topic: topic)


# Events, tokens and limits


@pytest.mark.parametrize("face", FACES)
def test_events_are_told_with_their_path_and_tokens_are_added_up(face: str):
    outcome = play(nest(3), face)
    assert outcome.text == DONE
    assert {len(fact.path) for fact in nested(outcome.facts)} == {1, 2, 3}
    assert outcome.usage == used(outcome.facts)
    turns = [fact for fact in outcome.facts if isinstance(fact, TurnEnded)]
    assert outcome.usage.output_tokens > sum(turn.usage.output_tokens for turn in turns)
    assert [fact.kind for fact in nested(outcome.facts)] == ["nested_fact"] * len(nested(outcome.facts))


def test_events_of_an_inner_run_come_in_their_order():
    with nest(2).stream("Go.") as stream:
        events = [event for event in stream if isinstance(event, NestedDelta | NestedFact) and len(event.path) == 2]
    kinds = [event.event.kind for event in events]
    assert kinds[0] == "run_started"
    assert kinds[-1] == "run_ended"
    texts = "".join(event.event.text for event in events if isinstance(event.event, TextDelta))
    assert texts == "Inside."
    assert kinds.index("text_delta") > kinds.index("tool_finished")
    assert kinds[-2] == "turn_ended"


def test_agents_that_ask_agents_have_a_depth():
    outcome = play(nest(4))
    assert outcome.text == DONE
    assert max(len(fact.path) for fact in nested(outcome.facts)) == 3
    errors = [fact.event.result.error for fact in nested(outcome.facts) if isinstance(fact.event, ToolFinished)]
    assert sum("agents ask agents too deeply here (Limits.depth)" in (error or "") for error in errors) == 1
    assert "too deeply" in (play(nest(1, limits=Limits(depth=0))).calls[0].error or "")
    assert play(nest(4, limits=Limits(depth=None))).text == DONE


def test_an_inner_run_uses_no_more_tokens_than_the_outer_one_has_left():
    script = [calls(("act", {"what": str(number)})) for number in range(9)]
    outcome = play(nest(1, act, script=script, limits=Limits(tokens=20)))
    assert outcome.stop_reason == "limit"
    assert "gave no answer (limit: the run may use" in (outcome.calls[0].error or "")


def test_the_cost_of_inner_runs_is_added_up_and_limited():
    spent = Usage(input_tokens=1, output_tokens=1)

    def outer(price: float | None, limit: float | None = None) -> Agent:
        script = [calls(("act", {"what": "it"}), usage=spent), says("Inside.", usage=spent)]
        inner = Agent(ScriptedModel(script, name="inner", price=price), [act])
        script = [calls(("inner", {"prompt": "Go."}), usage=spent), says(DONE, usage=spent)]
        return Agent(ScriptedModel(script, price=1.0), [inner.as_tool("inner")], limits=Limits(cost=limit))

    assert play(outer(10.0)).cost == 44.0
    assert play(outer(None)).cost is None
    outcome = play(outer(10.0, limit=22))
    assert (outcome.stop_reason, outcome.cost) == ("limit", 22.0)
    assert "gave no answer (limit: the run may cost $20, and has cost $20)" in (outcome.calls[0].error or "")
    with pytest.raises(UsageError, match="the price of inner is unknown"):
        outer(None, limit=22).run("Go.")


@pytest.mark.parametrize("face", FACES)
def test_an_inner_run_falls_back_on_its_own_models(face: str):
    models = [
        ScriptedModel([breaks(EndpointDown("gone"), text="In")], name="a"),
        ScriptedModel([says("Inside.")], name="b"),
    ]
    script = [calls(("inner", {"prompt": "Go."})), says(DONE)]
    agent = Agent(ScriptedModel(script), [Agent(models).as_tool("inner")])
    outcome = play(agent, face)
    assert (outcome.text, outcome.calls[0].output) == (DONE, "Inside.")
    restarted = [fact.event for fact in nested(outcome.facts) if isinstance(fact.event, TurnRestarted)]
    assert restarted == [TurnRestarted(turn=1, failed="a", reason="gone", model="b")]
    facts = load_facts(dump_facts(outcome.facts))
    assert facts == outcome.facts
    for cut in range(1, len(facts)):
        assert agent.resume(facts[:cut]).text == DONE


def test_an_inner_run_that_fails_is_told_to_the_outer_model():
    outcome = play(nest(1, script=[calls(("act", {"what": "same"}))] * 5))
    assert outcome.text == DONE
    assert "level_0 gave no answer (loop: the model made the same call" in (outcome.calls[0].error or "")


def test_the_deadline_of_the_outer_run_ends_the_inner_ones():
    async def hang() -> None:
        "Hangs."
        await asyncio.sleep(30)

    outcome = play(nest(3, hang, script=[calls(("hang", {}))], limits=Limits(seconds=0.3)))
    assert outcome.stop_reason == "limit"
    assert " s, and the time is over" in outcome.detail


# Over HTTP


@pytest.mark.parametrize("face", FACES)
def test_a_tree_of_agents_over_http(face: str):
    scripts = {
        "chief": [calls(("research", {"prompt": "Oslo?"}), ("research", {"prompt": "Rome?"})), says("Compared.")],
        "researcher": [calls(("look_up", {"prompt": "How large?"})), says("Found.")],
        "librarian": [calls(("act", {"what": "search"})), says("Large.")],
    }

    async def answer(post: Post, connection: Connection) -> None:
        await plays(scripts[post.body["model"]])(post, connection)

    with serving() as server:
        server.plays(*[answer] * 10)
        names = {name: connect(name, at=server.url, key="none") for name in scripts}
        librarian = Agent(names["librarian"], [act])
        researcher = Agent(names["researcher"], [librarian.as_tool("look_up", "Look something up.")])
        chief = Agent(names["chief"], [researcher.as_tool("research", "Research a city.")])
        outcome = play(chief, face)
    assert outcome.text == "Compared."
    assert [each.output for each in outcome.calls] == ["Found.", "Found."]
    assert len({fact.path[0] for fact in nested(outcome.facts)}) == 2
    turns = sum(
        isinstance(fact, TurnEnded) or getattr(getattr(fact, "event", 0), "kind", "") == "turn_ended"
        for fact in outcome.facts
    )
    assert turns == 10
    assert outcome.usage == used(outcome.facts)


# Approval


def test_the_approver_of_the_outer_agent_is_asked():
    asked: list[ToolCall] = []

    def approve(call: ToolCall) -> bool:
        asked.append(call)
        return True

    outcome = play(nest(2, ask, script=[calls(("ask", {"what": "it"})), says("Inside.")], approve=approve))
    assert outcome.text == DONE
    assert [(call.name, call.id.count("/")) for call in asked] == [("ask", 2)]


@pytest.mark.parametrize("answer", [True, "not today"])
def test_without_an_approver_the_whole_tree_pauses_and_goes_on(answer: bool | str):
    agent = nest(2, ask, script=[calls(("ask", {"what": "it"})), says("Inside.")])
    with pytest.raises(RunPaused, match="waits for somebody to allow ask") as paused:
        agent.run("Go.")
    (call,) = paused.value.calls
    assert call.id.count("/") == 2
    facts = load_facts(dump_facts(paused.value.facts))
    with pytest.raises(RunPaused) as again:
        agent.resume(facts)
    assert [each.id for each in again.value.calls] == [call.id]
    outcome = agent.resume(again.value.facts, approvals={call.id: answer})
    assert outcome.text == DONE
    results = [each.event.result for each in nested(outcome.facts) if isinstance(each.event, ToolFinished)]
    assert results[0].output == ("asked it" if answer is True else "Inside.")
    given = [each.event for each in nested(outcome.facts) if isinstance(each.event, ApprovalGiven)]
    assert [each.reason for each in given] == ["" if answer is True else answer]
    starts = [each for each in nested(outcome.facts) if isinstance(each.event, RunStarted)]
    assert len(starts) == 2, "no inner run began anew"
    with pytest.raises(UsageError, match="no call 'x' waits for an approval; waiting: none"):
        agent.resume(outcome.facts, approvals={"x": True})


def test_a_call_beside_a_paused_one_ends_first():
    inner = Agent(ScriptedModel([calls(("ask", {"what": "it"})), says("Inside.")]), [ask])
    model = ScriptedModel([calls(("inner", {"prompt": "Go."}), ("act", {"what": "b"})), says(DONE)])
    agent = Agent(model, [inner.as_tool("inner", "Asks."), act])
    with pytest.raises(RunPaused) as paused:
        agent.run("Go.")
    assert [fact.result.output for fact in paused.value.facts if isinstance(fact, ToolFinished)] == ["done b"]
    outcome = agent.resume(paused.value.facts, approvals={paused.value.calls[0].id: True})
    assert [each.output for each in outcome.calls] == ["Inside.", "done b"]


# Resuming


def test_a_run_that_was_cut_anywhere_goes_on_inside_and_repeats_nothing():
    done: list[str] = []

    def once(what: str) -> str:
        "Does something that must not be repeated."
        done.append(what)
        return f"done {what}"

    agent = nest(2, once, script=[calls(("once", {"what": "it"})), says("Inside.")])
    facts = load_facts(dump_facts(play(agent).facts))
    assert done == ["it"]
    for cut in range(1, len(facts) + 1):
        done.clear()
        before = facts[:cut]
        started = any(
            isinstance(fact, NestedFact) and len(fact.path) == 2 and isinstance(fact.event, ToolStarted)
            for fact in before
        )
        outcome = agent.resume(before)
        assert outcome.text == DONE, cut
        assert done == ([] if started else ["it"]), cut
        assert outcome.usage == used(outcome.facts)


# Cancelling


def test_cancelled_at_every_point_at_which_it_waits():
    async def cancelled_at(k: int) -> bool:
        work = CancelledAt(nest(3).arun("Go.", record=facts.append), k)

        async def run() -> None:
            await work

        task = asyncio.create_task(run())
        await asyncio.wait([task])
        assert left() == []
        if not task.cancelled():
            task.result()
        return task.cancelled()

    k = 1
    while True:
        facts: list[Fact] = []
        if not run_coroutine(cancelled_at(k)):
            break
        finished_whole(facts, nest(3))
        k += 1
    assert k > 8, "it should have waited more often"


def test_cancelled_at_every_step_of_the_event_loop():
    facts: list[Fact] = []

    steps = 1
    while True:
        facts.clear()
        if not run_coroutine(cancel_after(steps, nest(3).arun("Go.", record=facts.append))):
            break
        if facts:
            finished_whole(facts, nest(3))
        steps += 1
    assert steps > 40


def finished_whole(facts: list[Fact], resuming: Agent) -> None:
    """They end the run, every call of the outer run has its result, and the run goes on from them to the same end."""
    whole(facts)
    assert isinstance(facts[-1], RunEnded)
    if facts[-1].reason != "answered":
        assert facts[-1].reason == "cancelled"
        again: Outcome[Any] = resuming.resume(load_facts(dump_facts(facts)))
        assert (again.text, again.stop_reason) == (DONE, "answered")


def test_an_inner_run_with_a_tool_in_a_thread_is_cancelled_from_another_thread():
    let_go, began = threading.Event(), threading.Event()

    def hang() -> None:
        "Hangs."
        began.set()
        let_go.wait(20)

    with nest(2, hang, script=[calls(("hang", {}))]).stream("Go.") as stream:

        def cancel() -> None:
            assert began.wait(20)
            stream.cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        for _ in stream:
            pass
        canceller.join()
        assert stream.outcome.stop_reason == "cancelled"
    let_go.set()


# Errors of the program


def fail_to_decide(call: ToolCall) -> bool:
    raise LookupError(f"nobody can be asked about {call.name}")


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("depth", [1, 2])
def test_a_usage_error_in_an_inner_run_ends_all_runs(face: str, depth: int):
    with pytest.raises(UsageError, match="the script has 1 line, and a further one was asked for") as caught:
        play(nest(depth, script=[calls(("act", {"what": "it"}))]), face)
    outcome = caught.value.outcome
    assert outcome is not None
    assert (outcome.stop_reason, outcome.text) == ("error", "")
    assert outcome.detail.startswith(f"level_{depth - 1} failed: ")
    check(outcome)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("where", ["outer", "inner"])
def test_an_exception_of_the_approver_of_an_inner_run_ends_all_runs(where: str, depth: int):
    script = [calls(("ask", {"what": "it"})), says("Inside.")]
    if where == "outer":
        agent = nest(depth, ask, script=script, approve=fail_to_decide)
    else:
        inner = Agent(ScriptedModel(script), [ask], approve=fail_to_decide)
        model = ScriptedModel([calls(("inner", {"prompt": "Go."})), says("green")])
        agent = Agent(model, [inner.as_tool("inner", "Works.")])
    facts: list[Fact] = []
    with pytest.raises(LookupError, match="nobody can be asked about ask"):
        agent.run("Go.", record=facts.append)
    ended = facts[-1]
    assert isinstance(ended, RunEnded)
    assert (ended.reason, "nobody can be asked about ask" in ended.detail) == ("error", True)
    whole(tuple(facts))


def test_a_call_that_was_not_recorded_ends_the_run_from_inside_an_inner_run():
    recorded = Agent(ScriptedModel([calls(("act", {"what": "it"})), says("Inside.")]), [act]).run("Go.")
    played = replay(recorded.facts)
    model = ScriptedModel([calls(("act", {"what": "something else"})), says("Inside.")])
    inner = Agent(model, played.tools).as_tool("inner", "Works.")
    outer = Agent(ScriptedModel([calls(("inner", {"prompt": "Go."})), says("green")]), [inner])
    with pytest.raises(ReplayMiss, match="act was not called with these arguments"):
        outer.run("Go.")
