"""A conversation takes every option that a run takes, in all four ways to run."""

import asyncio
from typing import Any

import pytest

from toolspeak.events import Fact, Limits
from toolspeak.messages import user
from toolspeak.run import Chat, Outcome
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Context

from .playing import FACES, Agent, awaited, check


def owner(context: Context[str]) -> str:
    "The name of the owner."
    return context.deps


def start(chat: Chat, face: str, prompt: str | None, **options: Any) -> Outcome[Any]:
    async def take_all() -> Outcome[Any]:
        async with chat.astream(prompt, **options) as events:
            async for _ in events:
                pass
        return events.outcome

    match face:
        case "run":
            return chat.run(prompt, **options)
        case "arun":
            return awaited(chat.arun(prompt, **options))
        case "stream":
            with chat.stream(prompt, **options) as events:
                list(events)
            return events.outcome
        case _:
            return awaited(take_all())


@pytest.mark.parametrize("face", FACES)
def test_each_run_goes_on_from_the_one_before(face: str):
    chat = Agent(ScriptedModel([says("One."), says("Two."), says("Three.")]), system="Count.").chat()
    assert [start(chat, face, "Next.").text for _ in range(3)] == ["One.", "Two.", "Three."]
    assert [message.role for message in chat.messages] == ["system", *["user", "assistant"] * 3]


@pytest.mark.parametrize("face", FACES)
def test_all_options_of_a_run_hold(face: str):
    script = [calls(("owner", {})), says("It is Ann's."), calls(("owner", {})), calls(("owner", {}))]
    chat = Agent(ScriptedModel(script), [owner], deps="nobody").chat()
    facts: list[Fact] = []
    outcome = start(chat, face, "Whose is it?", deps="Ann", record=facts.append, tool_choice="owner")
    assert outcome.calls[0].output == "Ann"
    assert tuple(facts) == outcome.facts
    assert start(chat, face, "And now?", limits=Limits(turns=1)).stop_reason == "limit"


@pytest.mark.parametrize("face", FACES)
def test_messages_come_after_those_of_the_conversation(face: str):
    chat = Agent(ScriptedModel([says("One."), says("Two.")])).chat([user("Before."), user("Count.")])
    start(chat, face, None)
    start(chat, face, None, messages=[user("Go on.")])
    assert [message.text for message in chat.messages] == ["Before.", "Count.", "One.", "Go on.", "Two."]


@pytest.mark.parametrize("face", FACES)
def test_an_unknown_option_is_a_type_error(face: str):
    agent = Agent(ScriptedModel([]))
    for runnable in (agent, agent.chat()):
        with pytest.raises(
            TypeError, match="unexpected keyword argument 'limit'; known are: output, output_optional, messages"
        ):
            start(runnable, face, "Go.", limit=3)
    with pytest.raises(
        TypeError, match="unexpected keyword argument 'limits'; known are: output, output_optional, approvals"
    ):
        agent.resume([], limits=Limits())


def test_two_conversations_do_not_share_messages():
    agent = Agent(ScriptedModel([says("One."), says("Two.")]))
    first, second = agent.chat(), agent.chat()
    assert asyncio.run(first.arun("Go.")).text == second.run("Go.").text == "One."
    check(first.run("Go."))
    assert len(first.messages) == 4
    assert len(second.messages) == 2
