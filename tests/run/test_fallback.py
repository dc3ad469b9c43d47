"""A model that fails after its calls have begun: what ran is cancelled or kept, and the next model starts anew."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from toolspeak.errors import EndpointDown, UsageError
from toolspeak.events import CallReady, Limits, ToolFinished, TurnRestarted, TurnStarted
from toolspeak.messages import ToolResult
from toolspeak.models import Request
from toolspeak.pieces import CallPiece, Piece
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, breaks, calls, says
from toolspeak.tools import tool

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
