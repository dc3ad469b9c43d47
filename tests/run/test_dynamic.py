"""Parts of an agent that are known only when a run begins: the system prompt and the tools; and the type of answers."""

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolspeak.run import Agent
from toolspeak.testing import FakeClock, ScriptedModel, ScriptedReply, calls, says
from toolspeak.tools import Context, Toolbox, tool
from toolspeak.values.codec import dump_facts, load_facts
from toolspeak.values.errors import RunPaused, UsageError
from toolspeak.values.events import RunStarted
from toolspeak.values.limits import Limits
from toolspeak.values.messages import ToolCall, system, user

from .playing import FACES, collect_notes, left, play, run_coroutine


@dataclass
class City:
    name: str


def find(name: str) -> str:
    "Find a city."
    return name.title()


@tool(approve=True)
def delete(name: str) -> str:
    "Delete a city."
    return f"{name} is gone"


def system_texts(messages: Any) -> list[str]:
    return [message.text for message in messages if message.role == "system"]


# The type of answers


@pytest.mark.parametrize("face", FACES)
def test_the_type_of_answers_stands_on_the_agent(face: str):
    model = ScriptedModel([calls(("find", {"name": "oslo"})), calls(("final_answer", {"name": "Oslo"}))])
    agent = Agent(model, [find], output=City)
    assert play(agent, face).output == City("Oslo")
    assert agent.resume(play(agent, face).facts[:3]).output == City("Oslo")


def test_a_run_may_ask_for_another_type():
    agent = Agent(ScriptedModel([calls(("final_answer", {"answer": 7}))]), output=City)
    assert agent.run("How many?", output=int).output == 7


def test_a_type_that_cannot_be_an_answer_is_refused_when_the_agent_is_made():
    with pytest.raises(UsageError, match="cannot be an answer"):
        Agent(ScriptedModel([]), output=threading.Lock)


# The system prompt


def plain(context: Context[str]) -> str:
    return f"You work for {context.deps}."


async def later(context: Context[str]) -> str:
    await asyncio.sleep(0)
    return f"You work for {context.deps}."


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("function", [plain, later])
def test_a_function_writes_the_system_prompt_of_each_run(function: Any, face: str):
    agent = Agent(ScriptedModel([says("Yes.")]), system=function)
    for name in ("Ann", "Bo"):
        outcome = play(agent, face, deps=name)
        assert system_texts(outcome.messages) == [f"You work for {name}."]
        started = outcome.facts[0]
        assert isinstance(started, RunStarted)
        assert system_texts(started.messages) == [f"You work for {name}."]


def test_it_replaces_the_system_prompt_of_the_conversation():
    texts = iter(["It is noon.", "It is one.", None])
    model = ScriptedModel([says("Yes.")] * 3)
    chat = Agent(model, system=lambda context: next(texts)).chat()
    assert system_texts(chat.run("So?").messages) == ["It is noon."]
    assert system_texts(chat.run("And now?").messages) == ["It is one."]
    assert system_texts(chat.run("And now?").messages) == []
    agent = Agent(ScriptedModel([says("Yes.")]), system="Mine.")
    assert system_texts(agent.run("So?", messages=[system("Yours."), user("Hello.")]).messages) == ["Yours."]


def test_a_resumed_run_keeps_the_system_prompt_that_it_began_with():
    written: list[str] = []

    def write(context: Context[Any]) -> str:
        written.append(context.run_id)
        return f"Prompt {len(written)}."

    agent = Agent(ScriptedModel([calls(("delete", {"name": "Oslo"})), says("Gone.")]), [delete], system=write)
    with pytest.raises(RunPaused) as paused:
        agent.run("Delete Oslo.")
    facts = load_facts(dump_facts(paused.value.facts))
    outcome = agent.resume(facts, approvals={paused.value.calls[0].id: True})
    assert system_texts(outcome.messages) == ["Prompt 1."]
    assert written == [facts[0].run_id]


def test_what_the_function_raises_goes_to_the_caller_and_nothing_is_recorded():
    def fail(context: Context[Any]) -> str:
        raise LookupError("no such user")

    facts: list[Any] = []
    with pytest.raises(LookupError, match="no such user"):
        Agent(ScriptedModel([says("Yes.")]), system=fail).run("So?", record=facts.append)
    assert facts == []
    with pytest.raises(UsageError, match="the system function returned 5; it must return a text"):
        Agent(ScriptedModel([says("Yes.")]), system=lambda context: 5).run("So?")


def test_a_run_can_be_cancelled_while_its_system_prompt_is_written():
    async def hang(context: Context[Any]) -> str:
        await asyncio.sleep(30)
        return ""

    async def main() -> None:
        task = asyncio.create_task(Agent(ScriptedModel([says("Yes.")]), system=hang).arun("So?"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert left() == []

    run_coroutine(main())


# The tools


def only_safe(context: Context[str], tools: Toolbox) -> list[Any]:
    return [each for each in tools if context.deps == "admin" or not each.spec.approve]


async def only_safe_later(context: Context[str], tools: Toolbox) -> list[Any]:
    await asyncio.sleep(0)
    return only_safe(context, tools)


@pytest.mark.parametrize("choose", [only_safe, only_safe_later])
def test_a_function_chooses_the_tools_of_each_run(choose: Any):
    model = ScriptedModel([calls(("delete", {"name": "Oslo"})), says("Done.")])
    agent = Agent(model, [find, delete], dialect="json", choose_tools=choose, approve=lambda call: True)
    guest, admin = agent.run("Go.", deps="guest"), agent.run("Go.", deps="admin")
    assert [spec.name for spec in guest.facts[0].tools] == ["find"]
    assert [spec.name for spec in admin.facts[0].tools] == ["find", "delete"]
    assert "delete" in collect_notes(guest)
    assert guest.calls == ()
    assert admin.calls[0].output == "Oslo is gone"


def test_it_may_return_tools_that_the_agent_does_not_have():
    model = ScriptedModel([calls(("find", {"name": "oslo"})), says("Done.")])
    assert Agent(model, choose_tools=lambda context, tools: [find]).run("Go.").calls[0].output == "Oslo"


def test_the_choice_of_a_tool_is_checked_against_the_chosen_ones():
    agent = Agent(ScriptedModel([]), [find, delete], choose_tools=only_safe, tool_choice="delete")
    with pytest.raises(UsageError, match="there is no tool 'delete'"):
        agent.run("Go.", deps="guest")


def test_functions_that_cannot_be_called_are_refused():
    with pytest.raises(UsageError, match="choose_tools is called with the Context of the run and the agent's tools"):
        Agent(ScriptedModel([]), choose_tools=lambda context: [])
    with pytest.raises(UsageError, match="choose_tools is a function"):
        Agent(ScriptedModel([]), choose_tools=[find])


# Facts of an earlier release


def test_facts_of_an_earlier_release_resume():
    facts = load_facts((Path(__file__).parent / "facts" / "release_0_1_0.jsonl").read_text())
    model = ScriptedModel([calls(("find", {"name": "oslo"}), ("delete", {"name": "Oslo"})), says("Gone.")])
    agent = Agent(model, [find, delete], system=lambda context: "Another prompt.")
    waiting = next(fact.call.id for fact in facts if fact.kind == "approval_needed")
    outcome = agent.resume(facts, approvals={waiting: True})
    assert (outcome.text, [each.output for each in outcome.calls]) == ("Gone.", ["Oslo", "Oslo is gone"])
    assert system_texts(outcome.messages) == ["Be brief."]
    assert outcome.agent == ""


# The time that these functions take


@pytest.mark.parametrize("is_async", [True, False])
def test_the_time_of_a_system_function_counts(is_async: bool):
    done = threading.Event()

    async def write_later(context: Context[Any]) -> str:
        await asyncio.sleep(3600)
        return "Be brief."

    def write(context: Context[Any]) -> str:
        done.wait()
        return "Be brief."

    model = ScriptedModel([says("Hello.")])
    agent = Agent(model, [find], system=write_later if is_async else write, limits=Limits(seconds=0.05))
    outcome = play(agent)
    done.set()
    assert (outcome.stop_reason, model.requests) == ("limit", [])
    assert outcome.detail == "the run may take 0.05 s, and the time is over"


def test_what_a_system_function_leaves_of_the_time_is_for_the_rest_of_the_run():
    async def write(context: Context[Any]) -> str:
        await asyncio.sleep(40)
        return "Be brief."

    clock = FakeClock()
    agent = Agent(ScriptedModel([ScriptedReply(text="Hello.", after=30)]), system=write, limits=Limits(seconds=60))
    assert clock.run(agent.arun("Go.")).stop_reason == "limit"
    assert clock.seconds == pytest.approx(60, abs=1)
    assert clock.run(agent.arun("Go.", limits=Limits(seconds=80))).text == "Hello."


def test_the_time_in_which_tools_are_chosen_counts():
    async def choose(context: Context[Any], tools: Toolbox) -> Toolbox:
        await asyncio.sleep(3600)
        return tools

    agent = Agent(ScriptedModel([says("Hello.")]), [find], choose_tools=choose, tool_choice="find")
    outcome = FakeClock().run(agent.arun("Go.", limits=Limits(seconds=60)))
    assert outcome.stop_reason == "limit"
    resumed = FakeClock().run(agent.aresume(outcome.facts[:1]))
    assert (resumed.stop_reason, resumed.messages) == ("limit", outcome.messages)


def test_a_run_that_was_late_before_its_system_prompt_was_known_is_not_resumed():
    seconds = [3600.0]

    async def write(context: Context[Any]) -> str:
        await asyncio.sleep(seconds[0])
        return "Delete nothing."

    async def choose(context: Context[Any], tools: Toolbox) -> Toolbox:
        await asyncio.sleep(seconds[0])
        return tools

    limits = Limits(seconds=60)
    model = ScriptedModel([calls(("find", {"name": "oslo"})), says("Hello.")])
    writing = Agent(model, [find], system=write, tool_choice="find", limits=limits)
    for agent in (writing, Agent(model, [find], choose_tools=choose, limits=limits)):
        seconds[0] = 3600
        outcome = FakeClock().run(agent.arun("Go."))
        assert outcome.stop_reason == "limit"
        seconds[0] = 0
        with pytest.raises(UsageError, match=r"before its system prompt and tools were known .* run the prompt again"):
            agent.resume(outcome.facts)
        assert agent.resume(agent.run("Go.").facts[:-1]).text == "Hello."
    assert model.requests


def test_a_late_run_keeps_the_choice_of_its_tools():
    async def write(context: Context[Any]) -> str:
        await asyncio.sleep(3600)
        return "Be brief."

    agent = Agent(ScriptedModel([]), [find], system=write, tool_choice="find")
    outcome = FakeClock().run(agent.arun("Go.", limits=Limits(seconds=60)))
    assert isinstance(outcome.facts[0], RunStarted)
    assert outcome.facts[0].choice.names == ("find",)


def test_the_time_in_which_another_agent_is_restored_counts():
    seconds = [0.0]

    async def choose(context: Context[Any], tools: Toolbox) -> Toolbox:
        await asyncio.sleep(seconds[0])
        return tools

    guide = Agent(ScriptedModel([says(""), says("Oslo.")]), [find], choose_tools=choose).as_handoff("guide")
    agent = Agent(ScriptedModel([calls(("guide", {}))]), [guide], limits=Limits(seconds=60))
    facts = agent.run("Go.").facts
    assert agent.resume(facts[:-2]).text == "Oslo."
    seconds[0] = 3600
    clock = FakeClock()
    resumed = clock.run(agent.aresume(facts[:-2]))
    assert clock.seconds == pytest.approx(60, abs=1)
    assert (resumed.stop_reason, resumed.agent) == ("limit", "guide")
    seconds[0] = 0
    assert agent.resume(resumed.facts).text == "Oslo."


def test_a_timeout_of_the_function_itself_is_its_own_error():
    async def write(context: Context[Any]) -> str:
        raise TimeoutError("the prompt server is silent")

    with pytest.raises(TimeoutError, match="the prompt server is silent"):
        Agent(ScriptedModel([]), system=write, limits=Limits(seconds=60)).run("Go.")


# Another agent for a while


def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}."


GREETS = [calls(("greet", {"name": "Ada"})), says("Done.")]


def test_an_agent_is_replaced_in_part():
    agent = Agent(ScriptedModel([says("first")]), [greet], system="Be short.", limits=Limits(turns=3))
    other = agent.replace(model=ScriptedModel(GREETS), limits=Limits(turns=2))
    assert agent.run("Go.").text == "first"
    outcome = other.run("Go.")
    assert (outcome.text, outcome.calls[0].output) == ("Done.", "Hello, Ada.")
    assert outcome.messages[0].text == "Be short."
    assert (agent.limits.turns, other.limits.turns) == (3, 2)
    with pytest.raises(TypeError, match="banana"):
        agent.replace(banana=1)  # type: ignore[call-arg]  # wrong on purpose


def test_an_agent_is_overridden_for_a_while():
    agent = Agent("openai:gpt-5.1", [greet])
    other = ScriptedModel(GREETS)
    chat, outer = agent.chat(), ScriptedModel([calls(("ask", {"prompt": "Go."})), says("It said so.")])
    with agent.override(model=other):
        assert agent.run("Go.").calls[0].output == "Hello, Ada."
        assert asyncio.run(agent.arun("Go.")).text == "Done."
        assert chat.run("Go.").text == "Done."
        assert Agent(outer, [agent.as_tool("ask")]).run("Go.").calls[0].output == "Done."
        with agent.override(model=ScriptedModel([says("inner")])):
            assert agent.run("Go.").text == "inner"
        assert agent.run("Go.").text == "Done."
    assert agent.model.name == "openai:gpt-5.1"
    assert agent.prepare("Go.", {}) is not None


def test_a_run_has_a_model_of_its_own():
    agent = Agent(ScriptedModel([says("the agent's")]))
    assert agent.run("Go.", model=ScriptedModel([says("the run's")])).text == "the run's"
    assert agent.run("Go.").text == "the agent's"
    stream = agent.stream("Go.", model=ScriptedModel([says("streamed")]))
    assert list(stream)
    assert stream.outcome.text == "streamed"


def test_a_run_has_an_approver_of_its_own():
    pay = tool(approve=True)(greet)
    agent = Agent(ScriptedModel(GREETS), [pay])
    asked: list[str] = []

    def approve(call: ToolCall) -> bool:
        asked.append(call.name)
        return True

    assert agent.run("Go.", approve=approve).calls[0].output == "Hello, Ada."
    assert asked == ["greet"]
    with pytest.raises(RunPaused) as paused:
        agent.run("Go.")
    assert agent.resume(paused.value.facts, approve=approve).text == "Done."
    with pytest.raises(UsageError, match="approve"):
        agent.run("Go.", approve=True)  # type: ignore[arg-type]  # wrong on purpose
