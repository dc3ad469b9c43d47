"""Where a new run goes on: the facts of another run up to some point, with or without an edit there.

A run is the fold of its facts, so a run can go on from each of them. What was under way at that point has not happened
in the new run: a message that was arriving is asked for again, and a call without a result runs again.

- After an edited message at the start of the run, nothing else of the run is kept.
- After an edited answer of the model, the new run reads the edited text as if the model had just written it.
- After an edited result, the turn of its call is kept whole. Calls that refer to the result run again.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from functools import reduce as fold
from typing import Any

from toolspeak._frozen import frozen
from toolspeak.errors import UsageError
from toolspeak.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallReady,
    Fact,
    Interrupted,
    NestedFact,
    RunEnded,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.loop import initial_state, reduce
from toolspeak.loop.references import find_references
from toolspeak.messages import Message, Text, ToolResult
from toolspeak.models import Model, Request
from toolspeak.page.document import RunDocument
from toolspeak.page.rows import OutlineRow
from toolspeak.pieces import Answer, Piece


@frozen
class Continuation:
    """What a new run begins with.

    Attributes:
        facts: The facts of the other run that the new run begins with, the start of the run among them.
        times: Their times, in seconds since the first.
        answer: What the model is taken to write first; None if the model is asked.
    """

    facts: tuple[Fact, ...]
    times: tuple[float | None, ...]
    answer: str | None = None


def describe_edit(document: RunDocument, row: OutlineRow) -> dict[str, Any]:
    """Return what can be edited of a row, as JSON data: `what` it is ("" for nothing), its `text`, and `is_error`."""
    nothing: dict[str, Any] = {"what": "", "text": "", "is_error": False}
    if row.path:
        return nothing
    match row.kind:
        case "message":
            return {**nothing, "what": "message", "text": _find_message(document, row).text}
        case "turn":
            ended = next((fact for fact in _list_facts(document, row) if isinstance(fact, TurnEnded)), None)
            if ended is None:
                return nothing
            text = ended.message.text if ended.message.raw is None else ended.message.raw.text
            return {**nothing, "what": "answer", "text": text}
        case "call":
            finished = next((fact for fact in _list_facts(document, row) if isinstance(fact, ToolFinished)), None)
            if finished is None:
                return nothing
            result = finished.result
            text = result.error if result.error is not None else _write_output(result.output)
            return {"what": "result", "text": text, "is_error": result.error is not None}
        case _:
            return nothing


def go_on_from_fact(document: RunDocument, number: int) -> Continuation:
    """Return what a run begins with that goes on from a fact, without an edit.

    Raises:
        UsageError: The run has its answer there, or there is no such fact.
    """
    if not 0 <= number < len(document.facts):
        raise UsageError("the run has no such fact")
    kept = document.facts[: number + 1]
    while kept and isinstance(kept[-1].fact, RunEnded | Interrupted):
        last = kept.pop().fact
        if isinstance(last, RunEnded) and last.reason == "answered":
            raise UsageError("the model has answered here; write what you say next, or go on from an earlier fact")
    return _drop_unfinished([timed.fact for timed in kept], [timed.at for timed in kept])


def go_on_from_edit(document: RunDocument, row: OutlineRow, text: str, *, is_error: bool = False) -> Continuation:
    """Return what a run begins with that goes on from an edited message, answer or result.

    Raises:
        UsageError: The row cannot be edited, or the text is no JSON where the result was JSON.
    """
    facts = [timed.fact for timed in document.facts]
    times = [timed.at for timed in document.facts]
    match describe_edit(document, row)["what"]:
        case "message":
            number = row.facts[0]
            started = facts[number]
            if not isinstance(started, RunStarted):
                raise UsageError("this message cannot be edited")
            messages = _edit_message(started.messages, row.fields["place"], text)
            return Continuation(facts=(replace(started, messages=messages),), times=(times[number],))
        case "answer":
            return replace(_drop_unfinished(facts[: row.facts[0]], times[: row.facts[0]]), answer=text)
        case "result":
            return _edit_result(facts, times, row, text, is_error=is_error)
        case _:
            raise UsageError("this cannot be edited; go on from it, or edit a message, an answer or a result")


def list_history(document: RunDocument, number: int) -> tuple[Message, ...]:
    """Return the conversation of a run after a fact, to which something can be said.

    Raises:
        UsageError: The run is in the middle of something there.
    """
    facts = [timed.fact for timed in document.facts[: number + 1]]
    started = next((fact for fact in facts if isinstance(fact, RunStarted)), None)
    if started is None:
        raise UsageError("the record does not hold the beginning of this run")
    state = fold(reduce, facts, initial_state(started.tools))
    if state.turn.is_open or any(each.result is None for each in state.turn.calls.values()):
        raise UsageError("the run is in the middle of a turn here; go on from the end of a turn")
    return state.history


class EditedAnswerModel:
    """A model whose first answer is given, as if the model had written it; then the model itself is asked."""

    def __init__(self, model: Model, answer: str) -> None:
        self._model = model
        self._answer: str | None = answer

    def __getattr__(self, name: str) -> Any:
        """Return what the model has beside the members that every model has: its price, for example."""
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def dialect(self) -> str:
        return self._model.dialect

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Answer with the given text once, and as the model does from then on."""
        text, self._answer = self._answer, None
        if text is not None:
            yield [TextDelta(text=text)]
            yield [Answer(parts=(Text(text=text),), finish="stop", usage=None)]
            return
        async for pieces in self._model.ask(request):
            yield pieces


def _list_facts(document: RunDocument, row: OutlineRow) -> list[Fact]:
    return [document.facts[number].fact for number in row.facts]


def _find_message(document: RunDocument, row: OutlineRow) -> Message:
    started = document.facts[row.facts[0]].fact
    if not isinstance(started, RunStarted):
        raise UsageError("this message cannot be edited")
    place: int = row.fields["place"]
    return started.messages[place]


def _edit_message(messages: tuple[Message, ...], place: int, text: str) -> tuple[Message, ...]:
    """Return messages with another text at a place. Those after it are answers to the old text, and are dropped."""
    old = messages[place]
    others = tuple(part for part in old.parts if not isinstance(part, Text))
    edited = replace(old, parts=(Text(text=text), *others), raw=None)
    before, after = messages[:place], messages[place + 1 :]
    return (*before, edited, *after) if old.role == "system" else (*before, edited)


def _edit_result(
    facts: list[Fact], times: list[float | None], row: OutlineRow, text: str, *, is_error: bool
) -> Continuation:
    number = next(number for number in row.facts if isinstance(facts[number], ToolFinished))
    old = facts[number]
    assert isinstance(old, ToolFinished)  # noqa: S101 (found as one)
    call_id = old.result.call_id
    if is_error:
        result = ToolResult(call_id=call_id, error=text)
    else:
        result = ToolResult(call_id=call_id, output=_read_output(old.result, text), media=old.result.media)
    ends = (place for place in range(number, len(facts)) if isinstance(facts[place], TurnStarted | RunEnded))
    end = next(ends, len(facts))
    kept = [*facts[:number], replace(old, result=result), *facts[number + 1 : end]]
    again = _find_dependents(kept, call_id)
    pairs = [
        (fact, at) for fact, at in zip(kept, times[:end], strict=True) if not _is_work_of(fact, again)
    ]  # fmt: skip
    return _drop_unfinished([fact for fact, _ in pairs], [at for _, at in pairs])


def _find_dependents(facts: Sequence[Fact], call_id: str) -> set[str]:
    """Return the ids of the calls whose arguments need the result of a call, directly or through other calls."""
    found = {call_id}
    for fact in facts:
        if isinstance(fact, CallReady) and found.intersection(find_references(fact.call.arguments)):
            found.add(fact.call.id)
    return found - {call_id}


def _is_work_of(fact: Fact, call_ids: set[str]) -> bool:
    """Whether a fact is about running one of these calls."""
    match fact:
        case ToolStarted(call_id=call_id) | ApprovalGiven(call_id=call_id):
            return call_id in call_ids
        case ApprovalNeeded(call=call):
            return call.id in call_ids
        case ToolFinished(result=result):
            return result.call_id in call_ids
        case NestedFact(path=path):
            return path[0] in call_ids
        case _:
            return False


def _drop_unfinished(facts: Sequence[Fact], times: Sequence[float | None]) -> Continuation:
    """Return facts without a message that was arriving, and without the work of calls that have no result."""
    starts = [place for place, fact in enumerate(facts) if isinstance(fact, TurnStarted)]
    end = len(facts)
    if starts and not any(isinstance(fact, TurnEnded) for fact in facts[starts[-1] :]):
        end = starts[-1]
    finished = {fact.result.call_id for fact in facts[:end] if isinstance(fact, ToolFinished)}
    called = {fact.call.id for fact in facts[:end] if isinstance(fact, CallReady)}
    kept = [
        (fact, at)
        for fact, at in zip(facts[:end], times[:end], strict=True)
        if not _is_work_of(fact, called - finished) and not isinstance(fact, RunEnded | Interrupted)
    ]
    if not any(isinstance(fact, RunStarted) for fact, _ in kept):
        raise UsageError("the record does not hold the beginning of this run")
    return Continuation(facts=tuple(fact for fact, _ in kept), times=tuple(at for _, at in kept))


def _write_output(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)


def _read_output(old: ToolResult, text: str) -> Any:
    """Return an edited result: a text where it was a text, else JSON."""
    if isinstance(old.output, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if old.error is not None:
            return text
        raise UsageError(f"the result is JSON, and this is not: {error}") from None
