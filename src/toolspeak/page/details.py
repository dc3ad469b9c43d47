"""The details of one row: what is behind the short texts of the outline. Asked for when somebody unfolds the row.

All texts are cut to `MAX_TEXT_CHARS`, with the number of characters that there are; the rest is asked for by name, as
`text` of a part. Texts are sent as they are: it is for the browser to treat them as text and nothing else.
"""

import json
from collections.abc import Iterator
from typing import Any

from toolspeak import codec
from toolspeak.coercion import coerce_arguments
from toolspeak.events import (
    ApprovalGiven,
    CallMalformed,
    CallQuoted,
    CallReady,
    Compacted,
    Fact,
    NestedFact,
    OwnFact,
    RunStarted,
    ToolFinished,
    TurnEnded,
)
from toolspeak.messages import Call, Media, Message, Opaque, Part, Result, Text, Thinking, ToolResult
from toolspeak.page.document import RunDocument
from toolspeak.page.rows import OutlineRow
from toolspeak.page.specs_at import find_specs
from toolspeak.spec import ToolSpec
from toolspeak.validation import find_problems, is_valid

MAX_TEXT_CHARS = 20_000
"""How much of a text is sent at first."""

MAX_CHANGES = 50
"""How many changes of arguments are listed."""


def describe_row(document: RunDocument, index: int) -> dict[str, Any]:
    """Return the details of a row as JSON data: a list of sections, in the order in which they are shown."""
    row = document.fold.rows[index]
    facts = [(number, unwrap_fact(document.facts[number].fact)) for number in row.facts]
    sections = list(_describe(document, row, facts))
    return {"i": index, "facts": row.facts, "sections": sections}


def unwrap_fact(fact: Fact) -> OwnFact:
    """Return a fact without the path that leads to its run."""
    return fact.event if isinstance(fact, NestedFact) else fact


def cut_text(text: str) -> dict[str, Any]:
    """Return the beginning of a text, with the number of characters that the whole has."""
    return {"text": text[:MAX_TEXT_CHARS], "chars": len(text)}


def _describe(document: RunDocument, row: OutlineRow, facts: list[tuple[int, OwnFact]]) -> Iterator[dict[str, Any]]:
    match row.kind:
        case "message":
            started = next((fact for _, fact in facts if isinstance(fact, RunStarted)), None)
            if started is not None:
                place: int = row.fields["place"]
                yield from _describe_parts(started.messages[place])
        case "turn":
            for _, fact in facts:
                if isinstance(fact, TurnEnded):
                    yield from _describe_turn(fact)
        case "call":
            yield from _describe_call(document, row, facts)
        case "note" | "end":
            for _, fact in facts:
                if isinstance(fact, Compacted) and fact.summary:
                    yield {"type": "text", "label": "Summary", **cut_text(fact.summary)}
            if row.fields.get("text"):
                full = next((getattr(fact, "detail", "") for _, fact in facts), "")
                yield {"type": "text", "label": "", **cut_text(full or row.fields["text"])}


def _describe_turn(fact: TurnEnded) -> Iterator[dict[str, Any]]:
    message = fact.message
    if message.raw is not None:
        yield from (each for each in _describe_parts(message) if each["type"] == "thinking")
        yield {"type": "raw", "label": "What the model wrote", "dialect": message.raw.dialect}
    else:
        yield from _describe_parts(message)


def _describe_parts(message: Message) -> Iterator[dict[str, Any]]:
    for place, part in enumerate(message.parts):
        yield {**_describe_part(part), "part": place}


def _describe_part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"type": "text", "label": "", **cut_text(text)}
        case Thinking(text=text):
            return {"type": "thinking", "label": "Reasoning", **cut_text(text)}
        case Call(call=call):
            arguments = codec.encode_argument(call.arguments)
            return {"type": "json", "label": f"Call of {call.name}", **cut_text(format_json(arguments))}
        case Result(call_id=call_id, content=content, is_error=is_error):
            text = "".join(each.text for each in content if isinstance(each, Text))
            label = f"{'Error' if is_error else 'Result'} of {call_id}"
            return {"type": "text", "label": label, **cut_text(text)}
        case Media(mime=mime):
            return describe_media(part, f"Attachment ({mime})")
        case Opaque(vendor=vendor, data=data):
            return {"type": "json", "label": f"Data of {vendor}", **cut_text(format_json(data))}


def describe_media(media: Media, label: str) -> dict[str, Any]:
    """Return what is shown of an attachment; its bytes have an address of their own."""
    size = None if media.data is None else len(media.data)
    return {"type": "media", "label": label, "mime": media.mime, "name": media.name, "url": media.url, "size": size}


def _describe_call(
    document: RunDocument, row: OutlineRow, facts: list[tuple[int, OwnFact]]
) -> Iterator[dict[str, Any]]:
    specs = find_specs(document, row.facts[0], row.path)
    for _number, fact in facts:
        match fact:
            case CallReady(call=call, repair=repair):
                yield from describe_arguments(call.arguments, specs.get(call.name))
                if repair != "none":
                    yield {"type": "remark", "tone": "warn", "text": f"Repaired while it was read: {repair}"}
            case CallMalformed(raw=raw, reason=reason, hint=hint):
                yield {"type": "remark", "tone": "bad", "text": f"Refused: {reason}"}
                if hint:
                    yield {"type": "text", "label": "Hint to the model", **cut_text(hint)}
                yield {"type": "text", "label": "What the model wrote", **cut_text(raw)}
            case CallQuoted(tool=tool):
                where = f"a result of {tool}" if tool else "an attachment"
                text = f"Quoted: these words stand in {where}, so the call does not run unless somebody approves it."
                yield {"type": "remark", "tone": "warn", "text": text}
            case ApprovalGiven(approved=approved, reason=reason, by=by):
                text = ("Approved" if approved else "Refused") + (f" by {by}" if by else "")
                text += f": {reason}" if reason else ""
                yield {"type": "remark", "tone": "good" if approved else "bad", "text": text}
            case ToolFinished(result=result):
                yield from _describe_result(result)
            case _:
                pass


def describe_arguments(arguments: dict[str, Any], spec: ToolSpec | None) -> Iterator[dict[str, Any]]:
    """Yield the arguments as the model wrote them, and what was changed of them before the function ran."""
    plain = codec.encode_argument(arguments)
    yield {"type": "json", "label": "Arguments", **cut_text(format_json(plain))}
    if spec is None:
        return
    schema = {"additionalProperties": False, **spec.parameters}
    if is_valid(arguments, schema, schema):
        return
    coerced = coerce_arguments(dict(arguments), schema)
    changes = list(find_changes(plain, codec.encode_argument(coerced)))
    if changes:
        yield {"type": "changes", "label": "Changed to fit the schema", "changes": changes[:MAX_CHANGES]}
    for _, problem in zip(range(8), find_problems(coerced, schema, schema), strict=False):
        yield {"type": "remark", "tone": "bad", "text": f"Does not fit the schema: {problem}"}


def find_changes(before: Any, after: Any, path: str = "") -> Iterator[dict[str, str]]:
    """Yield each place at which two JSON values differ, with both values."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = dict.fromkeys((*before, *after))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # JSON
        for name in names:  # pyright: ignore[reportUnknownVariableType]  # JSON
            place = f"{path}.{name}" if path else str(name)  # pyright: ignore[reportUnknownArgumentType]  # JSON
            if name not in after:
                yield {"path": place, "before": format_json(before[name]), "after": ""}
            elif name not in before:
                yield {"path": place, "before": "", "after": format_json(after[name])}
            else:
                yield from find_changes(before[name], after[name], place)
    elif before != after or type(before) is not type(after):  # pyright: ignore[reportUnknownArgumentType]  # JSON
        yield {"path": path, "before": format_json(before)[:400], "after": format_json(after)[:400]}


def _describe_result(result: ToolResult) -> Iterator[dict[str, Any]]:
    if result.error is not None:
        label = "Error" if result.ran else "Did not run"
        yield {"type": "error", "label": label, **cut_text(result.error)}
    elif isinstance(result.output, str):
        yield {"type": "text", "label": "Result", **cut_text(result.output)}
    elif result.output is not None or not result.media:
        yield {"type": "json", "label": "Result", **cut_text(format_json(result.output))}
    for place, media in enumerate(result.media):
        yield {**describe_media(media, f"Result ({media.mime})"), "part": place}


def format_json(value: Any) -> str:
    """Return a JSON value as text, with indentation."""
    return json.dumps(value, ensure_ascii=False, indent=2)
