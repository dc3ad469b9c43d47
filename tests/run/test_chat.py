"""A conversation takes every option that a run takes, in all four ways to run."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from toolspeak.models import Request
from toolspeak.run import Chat, Outcome
from toolspeak.testing import ScriptedModel, ScriptedReply, breaks, calls, says
from toolspeak.tools import Context, tool
from toolspeak.values import codec
from toolspeak.values.errors import ModelError, ProviderError, RunPaused, UsageError
from toolspeak.values.events import Fact
from toolspeak.values.limits import Limits
from toolspeak.values.messages import user

from .playing import FACES, Agent, check, start


def owner(context: Context[str]) -> str:
    "The name of the owner."
    return context.deps


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
def test_a_run_that_failed_is_dropped_and_can_be_asked_again(face: str):
    failure = breaks(ProviderError("out of order"))
    replies = iter([failure, calls(("owner", {})), failure, says("Two.")])
    script: list[Any] = [says("One."), *[lambda _: next(replies)] * 3]
    chat = Agent(ScriptedModel(script), [owner], system="Count.", deps="Ann").chat()
    start(chat, face, "Next.")
    kept = chat.messages
    with pytest.raises(ModelError):
        start(chat, face, "And now?")
    assert (chat.messages, chat.dropped) == (kept, (user("And now?"),))
    with pytest.raises(ModelError):  # after a call
        start(chat, face, "And now?")
    assert (chat.messages, [message.role for message in chat.dropped]) == (kept, ["user", "assistant", "tool"])
    assert start(chat, face, "And now?").text == "Two."
    assert [message.text for message in chat.messages] == ["Count.", "Next.", "One.", "And now?", "Two."]
    assert chat.dropped == ()


def test_the_first_run_of_a_conversation_may_fail():
    chat = Agent(ScriptedModel([breaks(ProviderError("out of order"))]), system="Count.").chat()
    with pytest.raises(ModelError):
        chat.run("Next.")
    assert (chat.messages, chat.dropped) == ((), (user("Next."),))


def test_a_run_that_stopped_at_a_limit_is_kept():
    chat = Agent(ScriptedModel([calls(("owner", {}))]), [owner], deps="Ann", limits=Limits(turns=1)).chat()
    assert chat.run("Whose is it?").stop_reason == "limit"
    assert [message.role for message in chat.messages][:3] == ["user", "assistant", "tool"]
    assert chat.dropped == ()


@tool(approve=True)
def launch() -> str:
    "Launch it."
    return "flying"


LAUNCH = [says("Hello."), calls(("launch", {})), says("It flies."), says("To Oslo.")]


def pause(chat: Chat[Any]) -> RunPaused:
    with pytest.raises(RunPaused) as paused:
        chat.run("Launch it.")
    return paused.value


def resume(runnable: Any, face: str, paused: RunPaused, approved: bool | str = True) -> Outcome[Any]:
    approvals = {call.id: approved for call in paused.calls}
    return start(runnable, face, paused.facts, resumes=True, approvals=approvals)


@pytest.mark.parametrize("face", FACES)
def test_a_paused_run_is_resumed_in_its_conversation(face: str):
    chat = Agent(ScriptedModel(LAUNCH), [launch], system="Be brief.").chat()
    chat.run("Hello.")
    before = chat.messages
    paused = pause(chat)
    assert (chat.messages, chat.dropped) == (before, ())
    assert resume(chat, face, paused).text == "It flies."
    roles = ["system", "user", "assistant", "user", "assistant", "tool", "assistant"]
    assert [message.role for message in chat.messages] == roles
    assert check(chat.run("Where to?")).text == "To Oslo."
    assert chat.messages[: len(before)] == before


def test_a_run_may_be_resumed_in_a_conversation_of_another_process():
    agent = Agent(ScriptedModel(LAUNCH), [launch])
    chat = agent.chat()
    chat.run("Hello.")
    paused = pause(chat)
    other = agent.chat()  # nothing but the facts was saved
    assert resume(other, "run", paused, "not today").calls[0].error == "not run: the user did not allow it: not today"
    assert [message.text for message in other.messages if message.role == "user"] == ["Hello.", "Launch it."]


def test_only_the_next_run_of_a_conversation_is_resumed():
    def answer(request: Request) -> ScriptedReply:
        wants_launch = request.shown.messages[-1].text == "Launch it."
        return calls(("launch", {})) if wants_launch else says("Well.")

    chat = Agent(ScriptedModel([answer] * 9), [launch]).chat()
    paused = pause(chat)
    chat.run("Never mind.")
    before = chat.messages
    with pytest.raises(UsageError, match="not the next one of this conversation"):
        resume(chat, "run", paused)
    assert chat.messages == before
    again = pause(chat)
    resume(chat, "run", again)
    with pytest.raises(UsageError, match="not the next one of this conversation"):  # it was resumed already
        resume(chat, "run", again)


def test_a_run_that_failed_is_resumed_in_its_conversation():
    script: list[Any] = [breaks(ModelError("overloaded"))]
    chat = Agent(ScriptedModel([lambda request: script.pop() if script else says("Here.")])).chat()
    with pytest.raises(ModelError) as failed:
        chat.run("Hello?")
    assert (chat.messages, len(chat.dropped)) == ((), 1)
    assert failed.value.outcome is not None
    assert chat.resume(failed.value.outcome.facts).text == "Here."
    assert ([message.text for message in chat.messages], chat.dropped) == (["Hello?", "Here."], ())


@pytest.mark.parametrize("face", FACES)
def test_an_unknown_option_is_a_type_error(face: str):
    agent = Agent(ScriptedModel([]))
    for runnable in (agent, agent.chat()):
        with pytest.raises(
            TypeError, match="unexpected keyword argument 'limit'; known are: output, output_optional, messages"
        ):
            start(runnable, face, "Go.", limit=3)
    with pytest.raises(
        TypeError, match="unexpected keyword argument 'limit'; known are: output, output_optional, approvals"
    ):
        resume_with(agent, limit=3)


def resume_with(agent: Agent, **options: Any) -> None:
    agent.resume([], **options)


def test_two_conversations_do_not_share_messages():
    agent = Agent(ScriptedModel([says("One."), says("Two.")]))
    first, second = agent.chat(), agent.chat()
    assert asyncio.run(first.arun("Go.")).text == second.run("Go.").text == "One."
    check(first.run("Go."))
    assert len(first.messages) == 4
    assert len(second.messages) == 2


def test_a_second_run_while_one_is_going_on_is_refused():
    async def at_once(chat: Chat) -> list[Any]:
        return await asyncio.gather(chat.arun("Hello."), chat.arun("Again."), return_exceptions=True)

    chat = Agent(ScriptedModel([says("One."), says("Two.")])).chat()
    answered, refused = asyncio.run(at_once(chat))
    assert answered.text == "One."
    with pytest.raises(UsageError, match="another run of this conversation is in progress"):
        raise refused
    assert [message.text for message in chat.messages] == ["Hello.", "One."]
    assert chat.run("And now?").text == "Two."


def test_a_run_that_was_left_lets_the_next_one_begin():
    replies = [ScriptedReply(text="Too late.", after=60), says("One.")]
    chat = Agent(ScriptedModel([lambda request: replies.pop(0)])).chat()
    with chat.stream("Hello.") as events:
        next(events)
        with pytest.raises(UsageError, match="close its stream"):
            chat.run("Again.")
    assert chat.run("Again.").text == "One."


def test_a_run_that_was_started_before_the_one_before_it_ended_is_refused():
    chat = Agent(ScriptedModel([says("One."), says("Two.")])).chat()
    first, second = chat.stream("Hello."), chat.stream("Again.")
    list(first)
    with pytest.raises(UsageError, match="the conversation has gone on since this run was started"):
        list(second)
    assert len(chat.messages) == 2


def test_a_paused_run_does_not_keep_the_conversation_busy():
    @tool(approve=True)
    def send() -> str:
        "Send it."
        return "sent"

    chat = Agent(ScriptedModel([calls(("send", {})), says("Done.")]), [send]).chat()
    with pytest.raises(RunPaused) as paused:
        chat.run("Send.")
    assert chat.resume(paused.value.facts, approvals={paused.value.calls[0].id: True}).text == "Done."


def answer_at_length(request: Request) -> ScriptedReply:
    wants_summary = request.shown.messages[-1].text.startswith("Summarize")
    return says("They talk about tea.") if wants_summary else says("Tea is a drink. " * 20)


def count_summaries(model: ScriptedModel) -> int:
    return sum(request.shown.messages[-1].text.startswith("Summarize") for request in model.requests)


def test_a_saved_conversation_keeps_its_summary():
    model = ScriptedModel([answer_at_length] * 80)
    agent = Agent(model, system="Be kind.", limits=Limits(context=2000))
    saved: str | None = None
    for number in range(40):  # 40 requests to a web server, each of which loads the conversation
        chat = Chat.load(agent, saved)
        chat.run(f"Question {number}: " + "why is tea good? " * 5)
        saved = chat.save()
    assert len(chat.messages) == 81
    assert count_summaries(model) == 4  # the messages alone make it 28


@pytest.mark.parametrize("keep", ["text", "bytes", "file"])
def test_a_conversation_is_saved_and_loaded(keep: str, tmp_path: Path):
    agent = Agent(ScriptedModel([answer_at_length] * 40), system="Be kind.", limits=Limits(context=2000))
    chat = agent.chat()
    for _ in range(15):
        chat.run("Why is tea good? " * 5)
    path = tmp_path / "chats" / "ada.jsonl"
    text = chat.save(path if keep == "file" else None)
    loaded = Chat.load(agent, {"text": text, "bytes": text.encode(), "file": path}[keep])
    assert chat.compacted is not None
    assert (loaded.messages, loaded.compacted, loaded.save()) == (chat.messages, chat.compacted, text)
    assert not path.parent.exists() or [each.name for each in path.parent.iterdir()] == ["ada.jsonl"]


def test_a_loaded_conversation_keeps_its_dialect():
    model = ScriptedModel([says("One."), says("Two.")], dialect="python")
    chat = Agent(model).chat()
    chat.run("Next.")
    other = Agent(ScriptedModel([says("One."), says("Two.")], dialect="json"))
    assert next(iter(Chat.load(other, chat.save()).run("Next.").facts)).dialect == "python"  # type: ignore[union-attr]  # the first fact is RunStarted
    assert next(iter(other.chat(chat.messages).run("Next.").facts)).dialect == "json"  # type: ignore[union-attr]  # the first fact is RunStarted


def test_an_empty_conversation_and_saved_messages_are_loaded():
    agent = Agent(ScriptedModel([says("One.")]))
    for saved in (None, "", b"", agent.chat().save()):
        assert Chat.load(agent, saved).run("Next.").text == "One."
    messages = (user("Before."),)
    assert Chat.load(agent, codec.dump_messages(messages)).messages == messages


def test_a_paused_run_is_resumed_in_a_loaded_conversation():
    agent = Agent(ScriptedModel(LAUNCH), [launch])
    chat = agent.chat()
    chat.run("Hello.")
    paused = pause(chat)
    loaded = Chat.load(agent, chat.save())
    assert resume(loaded, "run", paused).text == "It flies."
    assert Chat.load(agent, loaded.save()).run("Where to?").text == "To Oslo."


def test_what_is_no_saved_conversation_is_refused_with_words(tmp_path: Path):
    agent = Agent(ScriptedModel([answer_at_length] * 40), limits=Limits(context=2000))
    chat = agent.chat()
    for _ in range(15):
        chat.run("Why is tea good? " * 5)
    lines = chat.save().splitlines(keepends=True)
    newer = json.dumps({**json.loads(lines[-1]), "v": 99})
    for saved, reason in (
        ("chat.jsonl", r"'chat\.jsonl' is no saved conversation; to read a file, give Path\(…\)"),
        (tmp_path / "none.jsonl", "cannot read the conversation .*none.jsonl: No such file"),
        (b"\xff", "not UTF-8"),
        ("".join(lines)[:-9], f"line {len(lines)}: not JSON"),
        ("".join(lines[:4]), r"it drops \d+ of them, and only 2 are given"),
        (newer, "line 1: saved in format 99 by a newer toolspeak"),
        (codec.dump_facts(chat.run("Go.").facts), r"line 1: this is a fact of a run \(run_started\)"),
    ):
        with pytest.raises(UsageError, match=reason):
            Chat.load(agent, saved)
    path: Any = "chat.jsonl"
    with pytest.raises(UsageError, match=r"write Path\('chat\.jsonl'\)"):
        chat.save(path)


def test_a_conversation_is_shown_with_its_agent_and_its_length():
    chat = Agent(ScriptedModel([says("Hello.")]), tools=[owner], deps="Ada").chat()
    chat.run("Hello?")
    assert repr(chat) == "Chat(Agent(scripted, native, tools: owner), messages: 2)"
