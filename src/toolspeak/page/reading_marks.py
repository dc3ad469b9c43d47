"""How the text of a turn was read: the raw text with marks, and what coercion changed of the arguments in it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolspeak import codec
from toolspeak.dialects import JSON, explain, read
from toolspeak.dialects.explanation_notes import describe_span
from toolspeak.events import CallMalformed, CallQuoted, CallReady, OwnFact, TurnEnded
from toolspeak.messages import ToolCall
from toolspeak.page.document import RunDocument
from toolspeak.page.facts import find_specs, unwrap_fact
from toolspeak.page.rows import OutlineRow
from toolspeak.spec import ToolSpec

MAX_MARKED_CHARS = 100_000
"""The most characters of a text that are shown with marks."""


def mark_turn(document: RunDocument, index: int) -> dict[str, Any]:
    """Return the raw text of a turn as spans, each with what it was read as, as JSON data.

    A span has `text`, `kind`, `notes` in words, and `repairs` with places in its text. A call that was copied from a
    result is `quoted`. `spans` is empty where the model wrote no text: its calls came through the API.
    """
    row = document.fold.rows[index]
    ended = find_end(document, row)
    if ended is None or ended.message.raw is None:
        return {"spans": [], "dialect": row.fields.get("dialect", "")}
    raw = ended.message.raw
    specs = list(find_specs(document, row.facts[0], row.path).values())
    text = raw.text[:MAX_MARKED_CHARS]
    explanation = explain(text, specs, finish=ended.finish)
    quoted = _list_quoted(document, row)
    places = {ready.call.id: place for place, ready in enumerate(explanation.content.calls)}
    spans: list[dict[str, Any]] = []
    for span in explanation.spans:
        data: dict[str, Any] = {"text": text[span.start : span.end], "kind": span.kind}
        data["notes"] = list(describe_span(span))
        if repairs := [each.at - span.start for each in span.repairs if each.at is not None]:
            data["repairs"] = sorted({place for place in repairs if 0 <= place <= span.end - span.start})
        if span.repairs and span.kind == "call":
            data["repaired"] = True
        if any(place < len(quoted) and quoted[place] for place in (places.get(call.id, 0) for call in span.calls)):
            data["quoted"] = True
        spans.append(data)
    return {"spans": spans, "dialect": raw.dialect, "rest": max(0, len(raw.text) - len(text))}


def find_end(document: RunDocument, row: OutlineRow) -> TurnEnded | None:
    """Return the fact with the message of a turn; None while it arrives."""
    facts = (unwrap_fact(document.facts[number].fact) for number in row.facts)
    return next((fact for fact in facts if isinstance(fact, TurnEnded)), None)


def _list_calls(document: RunDocument, turn: OutlineRow) -> list[OwnFact]:
    """Return the facts in which the calls of a turn became ready or were quoted."""
    found: list[OwnFact] = []
    for row in document.fold.rows[turn.index + 1 :]:
        if row.parent == turn.index and row.kind == "call":
            found += [unwrap_fact(document.facts[number].fact) for number in row.facts]
        elif row.parent is None and row.path == turn.path and row.kind == "turn":
            break
    return found


def _list_quoted(document: RunDocument, turn: OutlineRow) -> list[bool]:
    """Return for each call that was read in a turn whether it is a quotation."""
    facts = _list_calls(document, turn)
    quoted = {fact.call_id for fact in facts if isinstance(fact, CallQuoted)}
    return [fact.call.id in quoted for fact in facts if isinstance(fact, CallReady)]


def find_written_arguments(document: RunDocument, call: ToolCall, turn: OutlineRow) -> Any:
    """Return the arguments of a call as the model wrote them, before they were brought into the form of the schema.

    The text is read again with schemas that allow any value, so that nothing is changed. None if the call was not
    written in the text, or the text is then read otherwise.
    """
    ended = find_end(document, turn)
    if ended is None or ended.message.raw is None or len(ended.message.raw.text) > MAX_MARKED_CHARS:
        return None
    facts = _list_calls(document, turn)
    ids = [fact.call.id for fact in facts if isinstance(fact, CallReady)]
    if call.id not in ids or any(isinstance(fact, CallMalformed) for fact in facts):
        return None
    specs = _loosen(list(find_specs(document, turn.facts[0], turn.path).values()))
    content = read(ended.message.raw.text, specs, dialect=JSON, finish=ended.finish)
    place = ids.index(call.id)
    if len(content.calls) != len(ids) or content.calls[place].call.name != call.name:
        return None
    renamed = {ready.call.id: own for ready, own in zip(content.calls, ids, strict=True)}
    return _rename(codec.encode_argument(content.calls[place].call.arguments), renamed)


def _loosen(specs: Sequence[ToolSpec]) -> list[ToolSpec]:
    """Return tools whose parameters may have any value."""
    loose: list[ToolSpec] = []
    for spec in specs:
        names: dict[str, Any] = spec.parameters.get("properties", {})
        anything: dict[str, Any] = {}
        parameters = {**spec.parameters, "properties": dict.fromkeys(names, anything)}
        loose.append(replace(spec, parameters=parameters))
    return loose


def _rename(value: Any, ids: dict[str, str]) -> Any:
    """Return arguments in which references name calls by their ids in the run."""
    match value:
        case {"$call": str() as call_id, **rest}:
            return {"$call": ids.get(call_id, call_id), **rest}
        case dict():
            return {name: _rename(each, ids) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType]  # JSON
        case list():
            return [_rename(each, ids) for each in value]  # pyright: ignore[reportUnknownVariableType]  # JSON
        case _:
            return value
