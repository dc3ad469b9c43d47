"""Calls that refer to each other, what a run hands to its tools, and conversations that go on."""

from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from toolspeak.models import Sampling, connect
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Context
from toolspeak.tools.discovery import import_file
from toolspeak.values.codec import dump_facts
from toolspeak.values.errors import UsageError
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Media, Message, user

from .playing import FACES, SPOKEN, check, collect_notes, play


def get_weather(city: str) -> dict[str, Any]:
    "The weather."
    if city == "Atlantis":
        raise ValueError("no such city")
    return {"city": city, "temp": 20, "days": [{"low": 5}, {"low": 7}]}


def convert(celsius: float) -> float:
    "Celsius to Fahrenheit."
    return celsius * 9 / 5 + 32


def tell(text: str) -> str:
    "Tell somebody."
    return f"told: {text}"


TOOLS = [get_weather, convert, tell]

REFERENCES: dict[str, tuple[str, list[Any]]] = {
    "a field": ('w = get_weather("Oslo")\nconvert(w["temp"])', [68.0]),
    "a path": ('w = get_weather("Oslo")\nconvert(w["days"][1]["low"])', [44.6]),
    "the last": ('w = get_weather("Oslo")\nconvert(w["days"][-1]["low"])', [44.6]),
    "in a text": (
        "w = get_weather(\"Oslo\")\ntell(f\"It is {w['temp']} in {w['city']}.\")",
        ["told: It is 20 in Oslo."],
    ),
    "inside": ('convert(get_weather("Oslo")["temp"])', [68.0]),
    "a chain": ('w = get_weather("Oslo")\nf = convert(w["temp"])\ntell("F: " + str(f))', [68.0, "told: F: 68.0"]),
}


@pytest.mark.parametrize("case", REFERENCES)
def test_a_call_may_refer_to_the_result_of_another(case: str):
    code, outputs = REFERENCES[case]
    model = ScriptedModel([says(f"```python\n{code}\n```"), says("Done.")], chunk=5)
    for face in FACES:
        outcome = play(Agent(model, TOOLS, dialect="python"), face)
        assert [each.output for each in outcome.calls][1:] == outputs
        assert outcome.calls[1].arguments.keys() <= {"celsius", "text"}
        assert not any("Ref" in repr(each.arguments) for each in outcome.calls)


BROKEN = {
    "its call failed": ('w = get_weather("Atlantis")\nconvert(w["temp"])', "which failed: ValueError: no such city"),
    "no such field": ('w = get_weather("Oslo")\nconvert(w["wind"])', "has no 'wind'; it has: "),
    "no such item": (
        'w = get_weather("Oslo")\nconvert(w["days"][7]["low"])',
        "has no item 7; the number of its items is 2",
    ),
    "not an object": ('w = get_weather("Oslo")\nconvert(w["temp"]["x"])', "which has no 'x'"),
    "of a wrong type": ('w = get_weather("Oslo")\nconvert(w["city"])', "celsius"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_reference_that_leads_nowhere_is_told(case: str):
    code, told = BROKEN[case]
    model = ScriptedModel([says(f"```python\n{code}\n```"), says("Done.")], on_tool_error="tell")
    outcome = play(Agent(model, TOOLS, dialect="python"))
    assert told in collect_notes(outcome)
    assert not outcome.calls[1].result.ran
    assert outcome.text == "Done."


def test_what_does_not_depend_on_each_other_runs_together():
    code = 'a = get_weather("Oslo")\nb = get_weather("Rome")\nconvert(b["temp"])\nconvert(a["temp"])'
    model = ScriptedModel([says(f"```python\n{code}\n```"), says("Done.")])
    outcome = play(Agent(model, TOOLS, dialect="python"))
    kinds = [fact.kind for fact in outcome.facts if fact.kind.startswith("tool_")]
    assert kinds[:2] == ["tool_started", "tool_started"]
    assert len(outcome.calls) == 4


# Context


@pytest.mark.parametrize("dialect", SPOKEN)
def test_a_tool_gets_what_the_run_was_given(dialect: str):
    seen: list[Context[Any]] = []

    def who(context: Context[dict[str, str]], greeting: str) -> str:
        "Who asks."
        seen.append(context)
        return f"{greeting}, {context.deps['name']}"

    async def who_later(greeting: str, *, context: Context[dict[str, str]]) -> str:
        "Who asks."
        return who(context, greeting)

    script = [calls(("who", {"greeting": "Hi"}), ("who_later", {"greeting": "Ho"})), says("Done.")]
    agent = Agent(ScriptedModel(script), [who, who_later], dialect=dialect, deps={"name": "Ann"})
    for face in FACES:
        seen.clear()
        outcome = play(agent, face)
        assert [each.output for each in outcome.calls] == ["Hi, Ann", "Ho, Ann"]
        assert {each.run_id for each in seen} == {outcome.facts[0].run_id}
        assert {each.call_id for each in seen} == {each.call.id for each in outcome.calls}
        assert {each.turn for each in seen} == {1}
    assert [each.output for each in play(agent, deps={"name": "Bob"}).calls] == ["Hi, Bob", "Ho, Bob"]
    assert "context" not in str([spec.parameters for spec in agent.toolbox.specs])


def test_a_tool_sees_the_context_variables_of_the_caller():
    who = ContextVar("who", default="nobody")

    def ask() -> str:
        "Who asks, in a thread."
        return who.get()

    async def ask_later() -> str:
        "Who asks, in the event loop."
        return who.get()

    who.set("Ann")
    for face in FACES:
        outcome = play(
            Agent(ScriptedModel([calls(("ask", {}), ("ask_later", {})), says("Done.")]), [ask, ask_later]), face
        )
        assert [each.output for each in outcome.calls] == ["Ann", "Ann"]


# Conversations


@pytest.mark.parametrize("dialect", SPOKEN)
def test_a_conversation_goes_on(dialect: str):
    script = [calls(("convert", {"celsius": 0})), says("32."), calls(("convert", {"celsius": 100})), says("212.")]
    agent = Agent(ScriptedModel(script), TOOLS, dialect=dialect, system="Be brief.")
    first = play(agent)
    second = play(agent, prompt="And 100?", messages=first.messages)
    assert second.text == "212."
    assert second.messages[: len(first.messages)] == first.messages
    assert [message.role for message in second.messages].count("system") == 1
    assert len(second.calls) == 1

    chat = agent.chat()
    assert chat.run("0?").text == "32."
    stream = chat.stream("100?")
    assert [event.kind for event in stream][-1] == "run_ended"
    check(stream.outcome)
    assert chat.messages == stream.outcome.messages
    assert [message.role for message in chat.messages].count("user") == 2


def test_a_conversation_may_change_its_dialect():
    script = [calls(("convert", {"celsius": 0})), says("32."), calls(("convert", {"celsius": 100})), says("212.")]
    messages: tuple[Message, ...] = ()
    for spoken in SPOKEN:
        outcome = play(Agent(ScriptedModel(script[:2]), TOOLS, dialect=spoken))
        for other in SPOKEN:
            again = play(Agent(ScriptedModel(script), TOOLS, dialect=other), messages=outcome.messages)
            assert again.text == "212."
            messages = again.messages
    assert len(messages) == 8


# What is wrong with a call of ours


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda model: Agent(model, tools=convert), "write tools="),
        (lambda model: Agent(model, [convert], tool_choice="convrt"), "did you mean convert"),
        (lambda model: Agent(model, tool_choice="required"), "there are no tools"),
        (lambda model: Agent(model).run(), "nothing is asked"),
        (lambda model: Agent(model).run(messages=play(Agent(model)).messages), "nothing is asked"),
        (lambda model: Agent(model, [convert]).run("Go.", tool_choice=["nothing"]), "no tool 'nothing'"),
        (
            lambda model: Agent(model, [convert]).run("Go.", tool_choice="any"),
            "tool_choice is 'auto', 'none', 'required'",
        ),
        (lambda model: list(Agent(model).stream("Go.", output=object())), "cannot be an answer"),
        (lambda model: Agent(model).stream("Go.").outcome, "no outcome yet"),
        (lambda _: Agent(5), "model is a name, such as 'openai:gpt-5.1', or a model object, not 5"),
        (lambda _: Agent(ScriptedModel), "model is a name, .* not the class ScriptedModel"),
        (
            lambda model: Agent(model, system=lambda: "Be brief."),
            "system is called with the Context of the run: too many",
        ),
        (
            lambda model: Agent(model, system=5),
            "system must be a string, or a function of the Context returning one, not 5",
        ),
        (lambda model: Agent(model, sampling={"temperature": 0}), r"sampling is Sampling\(.*, not {'temperature': 0}"),
        (lambda model: Agent(model, sampling=Sampling(temperature="0")), r"Sampling\(temperature='0'\): a number"),
        (lambda model: Agent(model, sampling=Sampling(max_tokens=0.5)), "max_tokens=0.5.: a whole number"),
        (lambda model: Agent(model, sampling=Sampling(stop="END")), "stop='END'.: a tuple of texts"),
        (lambda model: Agent(model, sampling=Sampling(stop=(1,))), "a tuple of texts"),
        (lambda model: Agent(model, sampling=Sampling(extra=[])), "a dict of further fields"),
        (lambda model: Agent(model, limits={"turns": 3}), r"limits are Limits\("),
        (lambda model: Agent(model, limits=Limits(context=16e2)), r"Limits\(context=1600.0\): .* a whole number"),
        (lambda model: Agent(model, limits=Limits(calls=2.0)), r"Limits\(calls=2.0\): .* a whole number"),
        (lambda model: Agent(model, tools=5), "tools is a list of functions, or a module, file or folder, not 5"),
        (lambda model: Agent(model, tools=[5]), "a tool is made from a function, not from int"),
        (lambda model: Agent(model, tools=[Agent(model)]), r"not from Agent; give its as_tool\(NAME\)"),
        (lambda model: Agent(model).resume(dump_facts(play(Agent(model)).facts)), "load them first: codec.load_facts"),
        (lambda model: Agent(model).resume(play(Agent(model))), "such as outcome.facts, not from Outcome"),
        (
            lambda model: Agent(model).resume(play(Agent(model)).facts, approvals=[True]),
            "approvals is a dict of answers by the ids of calls",
        ),
        (lambda model: Agent(model, tool_choice=5), "tool_choice is 'auto', 'none', 'required', or names of tools"),
        (lambda model: Agent(model, dialect=5), "dialect is a name, such as 'python', or a dialect object, not 5"),
        (lambda model: Agent(model, tool_timeout="10"), "tool_timeout is a number of seconds above 0"),
        (lambda model: Agent(model, tool_timeout=0), "tool_timeout is a number of seconds above 0"),
        (lambda model: Agent(model, approve=True), "approve is a function that is called with a call, not True"),
        (lambda model: Agent(model, settings={}), r"settings are those of toolspeak.settings.load"),
        (lambda model: Agent(model).run("Go.", record=[]), "record is a function that is called with each fact"),
        (lambda model: Agent(model).run("Go.", messages="Hi."), "messages is a list of messages, not 'Hi.'"),
        (lambda model: Agent(model).run("Go.", messages=user("Hi.")), "messages is a list of messages"),
        (lambda model: Agent(model).run(5), "a prompt must be a string or a message, not int"),
        (lambda _: user(Media(mime="image/png", data=b"x")), "takes a string, not Media"),
        (
            lambda _: connect("x", at="http://127.0.0.1:9/v1", headers=["a"]),
            "headers must be a dict of strings, not list",
        ),
        (lambda _: connect("x", at="http://127.0.0.1:9/v1", headers={"a": 5}), "the header 'a' is of type int"),
        (lambda _: connect("x", at="http://127.0.0.1:9/v1", key=5), "key must be a string, not int"),
        (lambda _: connect(5), "a model name must be a string, not int"),
    ],
)
def test_what_is_wrong_is_told(wrong: Any, told: str):
    with pytest.raises(UsageError, match=told):
        wrong(ScriptedModel([says("Hello.")]))


def test_a_stream_can_be_gone_through_once():
    stream = Agent(ScriptedModel([says("Hello.")])).stream("Go.")
    assert [event.kind for event in stream][-1] == "run_ended"
    assert list(stream) == []
    assert stream.outcome.text == "Hello."


def test_a_message_of_the_users_own():
    outcome = play(Agent(ScriptedModel([says("Hello.")])), prompt=user("Hi."))
    assert outcome.messages[0] == user("Hi.")


@pytest.mark.parametrize("as_place", [str, Path, import_file])
def test_a_place_without_tools_is_refused(tmp_path: Path, as_place: Callable[[Path], Any]):
    (tmp_path / "plain.py").write_text("def now() -> str:\n    return 'noon'\n")
    with pytest.raises(UsageError, match=r"has no function that can be a tool. Skipped: now \(it has no docstring"):
        Agent(ScriptedModel([]), tools=as_place(tmp_path / "plain.py"))
