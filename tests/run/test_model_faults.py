"""Whatever a model says or fails to say, nothing is lost, nothing hangs, and the run comes to a clear end."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from tests.cases import RUNS_ALL
from toolspeak.loop.words import EMPTY_MESSAGE
from toolspeak.models import Request
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, ScriptedReply, breaks, calls, says
from toolspeak.tools import tool
from toolspeak.values.errors import ModelError, ProviderError, RateLimited, StreamInterrupted, UsageError
from toolspeak.values.events import TextDelta, ThinkingDelta
from toolspeak.values.messages import Text
from toolspeak.values.pieces import Answer, ApiCall, CallPiece, Piece

from .playing import FACES, SPOKEN, Clock, Piecewise, check, collect_notes, play

MADE: list[str] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    MADE.clear()


def note(text: str) -> str:
    "Note something."
    MADE.append(text)
    return f"noted {text[:20]}"


@tool(effect="read")
async def look(text: str = "here") -> str:
    "Look something up."
    MADE.append(text)
    return f"seen {text[:20]}"


TOOLS = [note, look]


def speaking(*spoken: tuple[str, str, str], finish: Any = None) -> ScriptedReply:
    """Calls as an API may give them: id, name, arguments."""
    made = [
        ApiCall(index=index, id=call_id, name=name, arguments=arguments)
        for index, (call_id, name, arguments) in enumerate(spoken)
    ]
    return ScriptedReply(calls=tuple(made), finish=finish)


# Calls

X = '{"text": "x"}'
Y = '{"text": "y"}'

HUGE_TEXT = "x" * (5_000_000 if RUNS_ALL else 500_000)

SPEECHES: dict[str, tuple[list[ScriptedReply], list[str]]] = {
    "the same id twice": ([speaking(("a", "note", X), ("a", "note", Y))], ["x", "y"]),
    "no ids": ([speaking(("", "note", X), ("", "note", Y))], ["x", "y"]),
    "an id of 10 KB": ([speaking(("i" * 10_000, "note", X))], ["x"]),
    "an id used again": ([speaking(("a", "note", X)), speaking(("a", "note", Y))], ["x", "y"]),
    "our own sort of id": ([speaking(("call_2_api_1", "note", X)), speaking(("", "note", Y))], ["x", "y"]),
    "a wrong case": ([speaking(("a", "Note", X))], ["x"]),
    "an unknown tool": ([speaking(("a", "notes_of_mine", X), ("b", "note", Y))], ["y"]),
    "no name": ([speaking(("a", "", X), ("b", "note", Y))], ["y"]),
    "stop, with calls": ([speaking(("a", "note", X), finish="stop")], ["x"]),
    "tool_calls, with none": ([ScriptedReply(text="Well.", finish="tool_calls")], []),
    "arguments that are cut": ([speaking(("a", "note", '{"text": "x'), ("b", "note", Y))], ["y"]),
    "arguments that are empty": ([speaking(("a", "note", ""), ("b", "look", ""))], ["here"]),
    "arguments that are null": ([speaking(("a", "note", "null"), ("b", "look", "null"))], ["here"]),
    "arguments that are a list": ([speaking(("a", "note", "[1, 2]"), ("b", "note", Y))], ["y"]),
    "arguments encoded twice": ([speaking(("a", "note", json.dumps(X)))], ["x"]),
    "arguments with a number that is none": ([speaking(("a", "note", '{"text": NaN}'), ("b", "note", Y))], ["y"]),
    "arguments with a key twice": ([speaking(("a", "note", '{"text": "y", "text": "x"}'))], ["x"]),
    "arguments 10,000 deep": (
        [speaking(("a", "note", '{"text": ' + "[" * 10_000 + "]" * 10_000 + "}"), ("b", "note", Y))],
        ["y"],
    ),
    "arguments 300 deep": (
        [speaking(("a", "note", '{"text": ' + "[" * 300 + "]" * 300 + "}"), ("b", "note", Y))],
        ["y"],
    ),
    "huge arguments": ([speaking(("a", "note", json.dumps({"text": HUGE_TEXT})))], [HUGE_TEXT]),
    "arguments with half a letter": ([speaking(("a", "note", '{"text": "\\ud83d"}'))], ["\ud83d"]),
    "a key that is not there": ([speaking(("a", "note", '{"text": "x", "loud": true}'), ("b", "note", Y))], ["y"]),
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("speech", SPEECHES)
def test_calls_of_every_sort(speech: str, face: str):
    script, made = SPEECHES[speech]
    clock = Clock()
    outcome = play(Agent(ScriptedModel([*script, says("Done.")]), TOOLS), face)
    assert clock() < 60
    assert outcome.text == ("Well." if speech == "tool_calls, with none" else "Done.")
    assert outcome.stop_reason == "answered"
    assert sorted(MADE) == sorted(made)  # they run at the same time
    assert sum(each.result.ran for each in outcome.calls) == len(made)


def test_a_bad_call_is_told_what_was_wrong():
    outcome = play(Agent(ScriptedModel([speaking(("a", "nte", X), ("b", "note", "{")), says("Done.")]), TOOLS))
    assert "there is no tool 'nte'. Did you mean note?" in collect_notes(outcome)
    assert "complete JSON object" in collect_notes(outcome)


def test_calls_that_arrive_interleaved_are_answered_in_their_order():
    parts = (
        ApiCall(index=0, id="a", name="look", arguments=X),
        ApiCall(index=1, id="b", name="look", arguments=Y),
    )
    model = Piecewise(
        [
            [CallPiece(index=0, id="a", name="look"), CallPiece(index=1, id="b", name="look")],
            [CallPiece(index=1, arguments=Y)],
            [CallPiece(index=0, arguments=X), Answer(parts=parts, finish="tool_calls")],
        ],
        [[Answer(parts=(Text(text="Done."),), finish="stop")]],
    )
    for one_at_a_time in (False, True):
        MADE.clear()
        outcome = play(Agent(model, TOOLS, parallel_tool_calls=not one_at_a_time))
        assert [part.call_id for part in outcome.messages[2].parts] == ["a", "b"]
        assert (["y"] if one_at_a_time else ["y", "x"]) == MADE


@pytest.mark.parametrize("text", ["</think>", "</think>\n\n", "I see.</think>"])
def test_calls_of_the_api_behind_a_lone_closing_tag_are_made(text: str):
    script = [ScriptedReply(text=text, calls=calls(("note", {"text": "x"})).calls), says("Done.")]
    for face in FACES:
        MADE.clear()
        outcome = play(Agent(ScriptedModel(script), TOOLS), face)
        assert (outcome.text, MADE) == ("Done.", ["x"])


def test_reads_that_turn_out_to_be_reasoning_do_not_count():
    model = ScriptedModel(
        [says('I may\n```python\nlook("a")\n```\nhere.\n</think>\n\n```python\nnote("b")\n```'), says("Done.")], chunk=3
    )
    for face in FACES:
        MADE.clear()
        outcome = play(Agent(model, TOOLS, dialect="python"), face)
        assert [each.arguments for each in outcome.calls] == [{"text": "b"}]
        assert outcome.text == "Done."


# Ends


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize(("finish", "why"), [("length", "cut off"), ("refused", "refused"), ("error", "broke off")])
def test_a_message_that_ends_badly_starts_nothing(finish: Any, why: str, dialect: str, face: str):
    once = calls(("note", {"text": "x"}), ("note", {"text": "y"}), text="So:", finish=finish)
    outcome = play(Agent(ScriptedModel([once, says("Never.")]), [note], dialect=dialect), face)
    assert outcome.stop_reason == finish
    assert outcome.text == "So:"
    assert len(outcome.calls) == 2
    assert all(why in (each.error or "") and not each.result.ran for each in outcome.calls)
    assert MADE == []


@pytest.mark.parametrize("face", FACES)
def test_a_call_that_is_cut_by_the_limit_of_tokens_is_never_made(face: str):
    script = [speaking(("a", "look", X), ("b", "note", '{"text": "delete every'), finish="length")]
    outcome = play(Agent(ScriptedModel(script), TOOLS), face)
    assert outcome.stop_reason == "length"
    assert "delete every" not in MADE
    assert "not complete" in collect_notes(outcome)


CUT = {
    "json": '<tool_call>\n{"name": "note", "arguments": {"text": "x"}}\n</tool_call>\n<tool_call>\n{"name": "note", "argum',
    "typescript": '```typescript\nnote({text: "x"});\nnote({text: "delete ev',
    "python": '```python\nnote("x")\nnote("delete ev',
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("dialect", CUT)
def test_nor_is_one_in_a_text(dialect: str, face: str):
    script = [says(CUT[dialect], finish="length"), says("Never.")]
    outcome = play(Agent(ScriptedModel(script, chunk=4), TOOLS, dialect=dialect), face)
    assert (outcome.stop_reason, MADE) == ("length", [])
    assert [each.arguments for each in outcome.calls] == [{"text": "x"}]
    assert "cut off" in collect_notes(outcome)


@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize(
    "empty", [says(""), says(" \n"), says("", thinking="Hm.")], ids=["nothing", "space", "reasoning"]
)
def test_an_empty_message_is_asked_for_once_more(dialect: str, empty: ScriptedReply):
    first = calls(("note", {"text": "x"}), text="First:")

    def answer(request: Request) -> ScriptedReply:
        return says("Noted.") if EMPTY_MESSAGE in request.shown.messages[-1].text else empty

    outcome = play(Agent(ScriptedModel([first, answer, answer]), TOOLS, dialect=dialect))
    assert (outcome.text, outcome.stop_reason, MADE) == ("Noted.", "answered", ["x"])
    outcome = play(Agent(ScriptedModel([first, empty, empty]), TOOLS, dialect=dialect))
    assert (outcome.text.strip(), outcome.stop_reason) == ("", "empty")
    assert outcome.detail == "the model sent neither text nor a call, and was asked twice"
    asked = [message for message in outcome.messages if message.text == EMPTY_MESSAGE]
    assert len(asked) == 1


# Errors


ERRORS = [RateLimited("slow down"), ProviderError("no"), StreamInterrupted("cut")]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_model_that_breaks_off_leaves_what_there_was(error: ModelError, dialect: str, face: str):
    script = [calls(("note", {"text": "x"})), breaks(error, text="It was about to")]
    with pytest.raises(type(error)) as raised:
        play(Agent(ScriptedModel(script, chunk=4), TOOLS, dialect=dialect), face)
    outcome = raised.value.outcome
    assert (outcome.stop_reason, outcome.detail) == ("error", str(error))
    assert outcome.text == "It was about to"
    assert [each.output for each in outcome.calls] == ["noted x"]
    again = Agent(ScriptedModel([says(""), says(""), says("Here I am.")]), TOOLS, dialect=dialect)
    assert play(again, face, messages=outcome.messages).text == "Here I am."


@pytest.mark.parametrize("face", FACES)
def test_a_model_that_fails_before_a_word(face: str):
    with pytest.raises(ProviderError) as raised:
        play(Agent(ScriptedModel([breaks(ProviderError("no"))]), TOOLS), face)
    assert [message.role for message in raised.value.outcome.messages] == ["user"]


@pytest.mark.parametrize("face", FACES)
def test_a_model_that_breaks_off_inside_a_call(face: str):
    script = [breaks(StreamInterrupted("cut"), text='```python\nlook("a")\nnote("b')]
    with pytest.raises(StreamInterrupted) as raised:
        play(Agent(ScriptedModel(script, chunk=5), TOOLS, dialect="python"), face)
    outcome = raised.value.outcome
    assert "b" not in MADE
    assert outcome.messages[1].raw.text.startswith("```python")


class Odd:
    """A model that does not do as a model should."""

    name, dialect = "odd", "native"

    def __init__(self, fault: str) -> None:
        self.fault = fault

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        yield [TextDelta(text="Well, ")]
        if self.fault == "raises":
            raise ZeroDivisionError("oops")
        if self.fault == "is cancelled":
            raise asyncio.CancelledError
        if self.fault == "says no end":
            yield [ThinkingDelta(text="hm")]
        if self.fault == "goes on after the end":
            yield [Answer(parts=(Text(text="Well, yes."),), finish="stop"), TextDelta(text="and more")]
            yield [TextDelta(text="and more")]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("fault", ["raises", "is cancelled", "says no end", "says nothing more"])
def test_a_model_that_misbehaves_is_an_error_of_the_model(fault: str, face: str):
    clock = Clock()
    with pytest.raises(ModelError, match="odd") as raised:
        play(Agent(Odd(fault), TOOLS), face)
    assert clock() < 15
    assert raised.value.outcome.text == "Well, "


@pytest.mark.parametrize("face", FACES)
def test_what_is_said_after_the_end_does_not_count(face: str):
    outcome = play(Agent(Odd("goes on after the end"), TOOLS), face)
    assert (outcome.text, outcome.stop_reason) == ("Well, yes.", "answered")


def test_a_script_that_is_too_short_is_told():
    with pytest.raises(UsageError, match="the script has 1 line,") as raised:
        Agent(ScriptedModel([calls(("note", {"text": "x"}))]), TOOLS).run("Go.")
    check(raised.value.outcome)
