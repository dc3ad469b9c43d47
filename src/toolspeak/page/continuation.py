"""Where a new run goes on: the facts of another run up to some point, with or without an edit there.

A run is the fold of its facts, so a run can go on from each of them: it is resumed from facts, not from messages. What
was under way at that point has not happened in the new run: a message that was arriving is asked for again, and a call
without a result runs again.

- After an edited message at the start of the run, nothing else of the run is kept.
- After an edited answer of the model, the new run reads the edited text and calls as if the model had just written
  them, so reading, repair and approval are those of every run.
- After an edited result, the turn of its call is kept whole. Calls that refer to the result run again.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce as fold
from typing import Any

from toolspeak.loop import initial_state, reduce
from toolspeak.loop.references import find_references
from toolspeak.page.document import PageFact, RunDocument
from toolspeak.page.rows import OutlineRow
from toolspeak.values import codec
from toolspeak.values.errors import UsageError
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallReady,
    Fact,
    Interrupted,
    NestedFact,
    RunEnded,
    RunStarted,
    ToolFinished,
    ToolStarted,
    ToolSuspended,
    TurnEnded,
    TurnStarted,
    WaitOver,
)
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message, Raw, Text, ToolCall, ToolResult, split_text
from toolspeak.values.origin import find_weakest

POINTS = {
    "run_started": "the start of the run",
    "turn_started": "the request to the model",
    "turn_ended": "the model's answer",
    "call_started": "the start of the call",
    "call_ready": "the complete call",
    "call_quoted": "the check for quotations",
    "approval_needed": "the request for approval",
    "approval_given": "the decision",
    "tool_started": "the start of its function",
    "tool_finished": "its result",
    "run_ended": "the end",
}
"""How the facts are named after which a run can continue."""


@frozen
class EditedAnswer:
    """What a model is taken to write: a text, and calls beside it, each with its arguments as JSON."""

    text: str
    calls: tuple[tuple[str, str], ...] = ()


@frozen
class Continuation:
    """What a new run begins with.

    Attributes:
        facts: The facts of the other run that the new run begins with, the start of the run among them.
        answer: What the model is taken to write first; None if the model is asked.
    """

    facts: tuple[PageFact, ...]
    answer: EditedAnswer | None = None


def describe_edit(document: RunDocument, row: OutlineRow) -> dict[str, Any]:
    """Return what can be edited of a row, as JSON data.

    `what` it is ("" for nothing), its `text`, whether that `is_error`, the `calls` of an answer that made them through
    an API, and the `points` after which a run can go on: numbers of facts with words for them.
    """
    kinds = ((number, document.facts[number].fact) for number in row.facts)
    own = [(number, fact.event if row.path and isinstance(fact, NestedFact) else fact) for number, fact in kinds]
    points = [
        [number, POINTS.get(fact.kind, fact.kind.replace("_", " "))]
        for number, fact in own
        if not isinstance(fact, NestedFact)
    ]
    return {"text": "", "is_error": False, **_describe_editable(document, row), "points": points}


def _describe_editable(document: RunDocument, row: OutlineRow) -> dict[str, Any]:
    for number in [] if row.path else row.facts:
        match row.kind, document.facts[number].fact:
            case "message", RunStarted(messages=messages):
                place: int = row.fields["place"]
                return {"what": "message", "text": messages[place].text}
            case "turn", TurnEnded(message=Message(raw=Raw(text=text))):
                return {"what": "answer", "text": text}
            case "turn", TurnEnded(message=message):
                calls = [{"name": call.name, "arguments": _format_arguments(call)} for call in message.calls]
                return {"what": "answer", "text": message.text, "calls": calls}
            case "call", ToolFinished(result=ToolResult(error=str(error))):
                return {"what": "result", "text": error, "is_error": True}
            case "call", ToolFinished(result=ToolResult(output=output)):
                text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)
                return {"what": "result", "text": text}
            case _:
                pass
    return {"what": ""}


def _format_arguments(call: ToolCall) -> str:
    return json.dumps(codec.encode_argument(call.arguments), ensure_ascii=False, indent=2)


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
            raise UsageError("the model has already answered here; reply, or continue from an earlier point")
    return _drop_unfinished(kept)


def go_on_from_edit(
    document: RunDocument,
    row: OutlineRow,
    text: str,
    *,
    calls: Sequence[tuple[str, str]] = (),
    is_error: bool = False,
) -> Continuation:
    """Return what a run begins with that goes on from an edited message, answer or result.

    `calls` are those of an edited answer, beside its text: the names of tools, with arguments as JSON.

    Raises:
        UsageError: The row cannot be edited, the text is no JSON where the result was JSON, or the arguments of a call
            are no JSON object.
    """
    match describe_edit(document, row)["what"]:
        case "message":
            started, at = document.facts[row.facts[0]]
            if not isinstance(started, RunStarted):
                raise UsageError("this message can't be edited")
            messages = _edit_message(started.messages, row.fields["place"], text)
            return Continuation(facts=(PageFact(replace(started, messages=messages), at),))
        case "answer":
            for number, (name, arguments) in enumerate(calls, 1):
                _check_call(number, name, arguments)
            answer = EditedAnswer(text=text, calls=tuple(calls))
            return replace(_drop_unfinished(document.facts[: row.facts[0]]), answer=answer)
        case "result":
            return _edit_result(document.facts, row, text, is_error=is_error)
        case _:
            raise UsageError("this can't be edited; continue from it, or edit a message, an answer or a result")


def _check_call(number: int, name: str, arguments: str) -> None:
    """Raise `UsageError` if an edited call has no name, or arguments that are no JSON object."""
    if not name.strip():
        raise UsageError(f"call {number} names no tool")
    try:
        is_object = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the arguments of call {number}, {name}, are not JSON: {error}") from None
    if not is_object:
        raise UsageError(f"the arguments of call {number}, {name}, are not a JSON object, such as {{}}")


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
        raise UsageError("the run is in the middle of a turn here; continue from the end of a turn")
    return state.history


def _edit_message(messages: tuple[Message, ...], place: int, text: str) -> tuple[Message, ...]:
    """Return messages with another text at a place. Those after it are answers to the old text, and are dropped."""
    old = messages[place]
    others = tuple(part for part in old.parts if not isinstance(part, Text))
    # What is not the user's may still stand in the text, and only the text was edited.
    texts = [part for part in old.parts if isinstance(part, Text)]
    weakest = find_weakest(stretch.origin for part in texts for stretch in split_text(part, old.role))
    edited = replace(old, parts=(Text(text=text, origin=weakest if weakest.is_foreign else None), *others), raw=None)
    return (*messages[:place], edited, *(messages[place + 1 :] if old.role == "system" else ()))


def _edit_result(facts: Sequence[PageFact], row: OutlineRow, text: str, *, is_error: bool) -> Continuation:
    number = next(number for number in row.facts if isinstance(facts[number].fact, ToolFinished))
    old = facts[number].fact
    assert isinstance(old, ToolFinished)  # noqa: S101 (found as one)
    call_id = old.result.call_id
    if is_error:
        result = ToolResult(call_id=call_id, error=text)
    else:
        result = ToolResult(call_id=call_id, output=_read_output(old.result, text), media=old.result.media)
    ends = (place for place in range(number, len(facts)) if isinstance(facts[place].fact, TurnStarted | RunEnded))
    edited = PageFact(replace(old, result=result), facts[number].at)
    kept = [*facts[:number], edited, *facts[number + 1 : next(ends, len(facts))]]
    again = {call_id}  # and the calls whose arguments need the result, directly or through other calls
    for timed in kept:
        if isinstance(timed.fact, CallReady) and again.intersection(find_references(timed.fact.call.arguments)):
            again.add(timed.fact.call.id)
    return _drop_unfinished([timed for timed in kept if not _is_work_of(timed.fact, again - {call_id})])


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


def _drop_unfinished(facts: Sequence[PageFact]) -> Continuation:
    """Return facts without a message that was arriving, and without the work of calls that have no result."""
    starts = [place for place, timed in enumerate(facts) if isinstance(timed.fact, TurnStarted)]
    if starts and not any(isinstance(timed.fact, TurnEnded) for timed in facts[starts[-1] :]):
        facts = facts[: starts[-1]]
    called = {timed.fact.call.id for timed in facts if isinstance(timed.fact, CallReady)}
    finished = {timed.fact.result.call_id for timed in facts if isinstance(timed.fact, ToolFinished)}
    kept = tuple(
        timed
        for timed in facts
        if not _is_work_of(timed.fact, called - finished) and not isinstance(timed.fact, RunEnded | Interrupted)
    )
    if not any(isinstance(timed.fact, RunStarted) for timed in kept):
        raise UsageError("the record does not hold the beginning of this run")
    return Continuation(facts=kept)


def _is_work_of(fact: Fact, call_ids: set[str]) -> bool:
    """Whether a fact is about running one of these calls."""
    match fact:
        case (
            ToolStarted(call_id=call_id)
            | ToolSuspended(call_id=call_id)
            | WaitOver(call_id=call_id)
            | ApprovalGiven(call_id=call_id)
        ):
            return call_id in call_ids
        case ApprovalNeeded(call=call):
            return call.id in call_ids
        case ToolFinished(result=result):
            return result.call_id in call_ids
        case NestedFact(path=path):
            return path[0] in call_ids
        case _:
            return False
