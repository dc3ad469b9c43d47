"""A model that fails after its calls have begun: what ran is cancelled or kept, and the next model starts anew."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from toolspeak.models import DialectChoice, Request
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, breaks, calls, says
from toolspeak.tools import tool
from toolspeak.values.errors import EndpointDown, UsageError
from toolspeak.values.events import CallReady, ToolFinished, TurnRestarted, TurnStarted
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Media, ToolResult, user
from toolspeak.values.pieces import CallPiece, Piece

from .playing import check


class BreaksAfterCall:
    """A model that writes one call, waits for an event and breaks off."""

    name, dialect = "breaking", "native"

    def __init__(self, event: asyncio.Event) -> None:
        self._event = event

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        yield [CallPiece(index=0, id="c", name="look", arguments='{"city": "Wien"}')]
        yield [CallPiece(index=1, id="d", name="note")]  # the first call is complete
        await self._event.wait()
        raise EndpointDown("gone")


def note() -> str:
    "Note something."
    return "noted"


WORKING = [calls(("look", {"city": "Wien"})), says("Mild.")]


def test_a_call_that_runs_is_cancelled_and_its_late_result_is_not_taken():
    begun, seen = asyncio.Event(), list[str]()

    @tool(effect="read")
    async def look(city: str) -> str:
        "Look at a city."
        begun.set()
        if not seen:
            seen.append("first")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise
        return "mild"

    agent = Agent([BreaksAfterCall(begun), ScriptedModel(WORKING, name="b")], [look, note], limits=Limits(calls=1))
    outcome = asyncio.run(agent.arun("Go."))
    assert (outcome.text, seen) == ("Mild.", ["first", "cancelled"])
    assert [(made.output, made.error) for made in outcome.calls] == [("mild", None)]  # and it counts as one call
    ids = [fact.call.id for fact in outcome.facts if isinstance(fact, CallReady)]
    assert len(set(ids)) == len(ids) == 2
    check(outcome)


def test_a_result_that_was_there_is_used_again():
    finished, count = asyncio.Event(), list[str]()

    @tool(effect="read")
    async def look(city: str) -> str:
        "Look at a city."
        count.append(city)
        return "mild"

    def record(fact: Any) -> None:
        if isinstance(fact, ToolFinished):
            finished.set()

    agent = Agent([BreaksAfterCall(finished), ScriptedModel(WORKING, name="b")], [look, note])
    outcome = asyncio.run(agent.arun("Go.", record=record))
    assert (outcome.text, count) == ("Mild.", ["Wien"])
    assert outcome.calls[0].result == ToolResult(call_id=outcome.calls[0].call.id, output="mild")
    check(outcome)


def test_a_result_that_is_used_again_is_reported_before_the_next_turn():
    finished = asyncio.Event()

    @tool(effect="read")
    async def look(city: str) -> str:
        "Look at a city."
        return "mild"

    def record(fact: Any) -> None:
        if isinstance(fact, ToolFinished):
            finished.set()

    agent = Agent(
        [BreaksAfterCall(finished), ScriptedModel(WORKING, name="b")], [look, note], limits=Limits(calls=1, turns=2)
    )
    outcome = asyncio.run(agent.arun("Go.", record=record))
    assert outcome.text == "Mild."  # the call was counted once
    kinds = [fact.kind for fact in outcome.facts]
    again = kinds[kinds.index("turn_restarted") + 1 :]
    assert again[: again.index("turn_ended") + 2] == [
        "turn_started",
        "call_started",
        "call_ready",
        "tool_started",
        "tool_finished",
        "turn_ended",
        "turn_started",
    ]
    for cut in range(1, len(outcome.facts)):  # it is resumed from every fact
        assert agent.resume(outcome.facts[:cut]).text == "Mild."


def test_each_model_is_asked_in_its_own_dialect():
    first = ScriptedModel([WORKING[0], breaks(EndpointDown("gone"), text="Mi")], name="a", dialect="python")
    second = ScriptedModel(WORKING, name="b", dialect="json")

    def look(city: str) -> str:
        "Look at a city."
        return "mild"

    stream = Agent([first, second], [look], dialect="auto").stream("Go.")
    facts = list(stream)
    turns = [(fact.turn, fact.model, fact.dialect) for fact in facts if isinstance(fact, TurnStarted)]
    assert turns == [(1, "a", "python"), (2, "a", "python"), (2, "b", "json")]
    restarted = [fact for fact in facts if isinstance(fact, TurnRestarted)]
    assert restarted == [TurnRestarted(turn=2, failed="a", reason="gone", model="b")]
    assert stream.outcome.text == "Mild."
    assert "look(" in first.requests[-1].shown.messages[-2].text
    assert '"look"' in second.requests[-1].shown.messages[-2].text  # the same call, written anew


def test_an_empty_list_is_refused():
    with pytest.raises(UsageError, match="empty list"):
        Agent([])


# What is asked of a fallback before its first request


class Unsure(ScriptedModel):
    """A model whose server must be asked for its dialect, which takes until `answered`, or fails with `error`."""

    def __init__(self, script: Sequence[Any], answered: asyncio.Event, error: Exception | None = None) -> None:
        super().__init__(script, name="unsure")
        self._answered, self._error = answered, error
        self.asked = asyncio.Event()
        self.dialect_choice = DialectChoice(name="python", reason="a guess", is_guess=True)

    async def choose_dialect(self) -> DialectChoice:
        self.asked.set()
        await self._answered.wait()
        if self._error is not None:
            raise self._error
        return DialectChoice(name="json", reason="asked the server")


FIRST = {"down": [breaks(EndpointDown("gone"))] * 2, "lost": [says("")] * 2}
"""Why the first model does not answer: `lost` is one that writes nothing, so that the run escalates."""


@pytest.mark.parametrize("first", FIRST)
def test_a_fallback_is_asked_for_its_dialect_before_its_first_request(first: str):
    answered = asyncio.Event()
    answered.set()
    down = ScriptedModel(FIRST[first], name="a")
    unsure = Unsure([says("One."), says("Two.")], answered)
    outcome = asyncio.run(Agent([down, unsure], escalate="missing").arun("Go."))
    turns = [(fact.model, fact.dialect) for fact in outcome.facts if isinstance(fact, TurnStarted)]
    assert (outcome.text, turns[0], turns[-1]) == ("One.", ("a", "native"), ("unsure", "json"))
    check(outcome)
    if first == "lost":
        return
    named = asyncio.run(Agent([down, unsure], dialect="typescript").arun("Go."))
    assert [fact.dialect for fact in named.facts if isinstance(fact, TurnStarted)] == ["typescript", "typescript"]


@pytest.mark.parametrize("first", FIRST)
def test_a_run_can_be_cancelled_while_a_fallback_is_asked_for_its_dialect(first: str):
    async def cancel_while_asked() -> Any:
        unsure = Unsure([says("One.")], asyncio.Event())
        stream = Agent([ScriptedModel(FIRST[first]), unsure], escalate="missing").astream("Go.")

        async def cancel() -> None:
            await unsure.asked.wait()
            stream.cancel()

        cancelling = asyncio.create_task(cancel())
        async for _ in stream:
            pass
        await cancelling
        return stream.outcome, unsure.requests

    outcome, requests = asyncio.run(cancel_while_asked())
    assert (outcome.stop_reason, requests) == ("cancelled", [])
    check(outcome)


@pytest.mark.parametrize("first", FIRST)
def test_a_fallback_whose_dialect_cannot_be_asked_for_is_asked_in_the_dialect_that_is_known(first: str):
    answered = asyncio.Event()
    answered.set()
    unsure = Unsure([says("One.")], answered, EndpointDown("silent"))
    agent = Agent([ScriptedModel(FIRST[first], name="a"), unsure], escalate="missing")
    outcome = asyncio.run(agent.arun("Go."))
    turns = [(fact.model, fact.dialect) for fact in outcome.facts if isinstance(fact, TurnStarted)]
    assert (outcome.text, turns[0], turns[-1]) == ("One.", ("a", "native"), ("unsure", "native"))


class TextOnly(ScriptedModel):
    def explain_unsupported(self, media: Media) -> str | None:
        return f"takes no {media.mime}"


PICTURE = user("What is it?", Media(mime="image/png", data=b"x"))


def test_a_model_that_cannot_take_an_attachment_is_passed_over():
    down = ScriptedModel([breaks(EndpointDown("gone"))], name="a")
    text_only = TextOnly([says("I see nothing.")], name="b")
    outcome = Agent([down, text_only, ScriptedModel([says("A cat.")], name="c")]).run(PICTURE)
    assert (outcome.text, text_only.requests) == ("A cat.", [])
    assert [fact.model for fact in outcome.facts if isinstance(fact, TurnRestarted)] == ["c"]
    assert Agent([down, text_only]).run("What is it?").text == "I see nothing."


def test_if_no_model_is_left_the_error_says_why_each_did_not_answer():
    down = ScriptedModel([breaks(EndpointDown("gone"))], name="a")
    with pytest.raises(EndpointDown, match="none of 2 models answered:\n- a: gone\n- b: b takes no image/png"):
        Agent([down, TextOnly([], name="b")]).run(PICTURE)


def test_a_conversation_with_an_attachment_is_not_handed_to_a_model_that_cannot_take_it():
    expert = Agent(TextOnly([says(""), says("I see nothing.")], name="b"))
    desk = Agent(ScriptedModel([calls(("expert", {})), says("A cat.")]), [expert.as_handoff("expert", "Knows all.")])
    outcome = desk.run(PICTURE)
    assert (outcome.text, outcome.agent) == ("A cat.", "")
    assert outcome.calls[0].error == "UsageError: b takes no image/png"
