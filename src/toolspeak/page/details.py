"""The details of one row: what is behind the short texts of the outline. Asked for when somebody unfolds the row.

Details are sections, in the order in which they are shown. Of a long text the beginning is sent, with the number of
characters that there are; the rest is asked for in pieces. Texts are sent as they are: it is for the browser to treat
them as text and nothing else.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Literal, TypeAlias, cast

from toolspeak import codec
from toolspeak._frozen import frozen
from toolspeak.coercion import coerce_arguments
from toolspeak.dialects.explanation_notes import REPAIRS
from toolspeak.errors import UsageError
from toolspeak.events import (
    ApprovalGiven,
    CallMalformed,
    CallQuoted,
    CallReady,
    Compacted,
    OwnFact,
    RunStarted,
    ToolFinished,
    TurnEnded,
    TurnRestarted,
)
from toolspeak.messages import Call, Media, Message, Opaque, Part, Result, Text, Thinking, ToolCall, ToolResult
from toolspeak.page.document import RunDocument
from toolspeak.page.facts import find_specs, unwrap_fact
from toolspeak.page.reading_marks import find_written_arguments, mark_turn
from toolspeak.page.rows import OutlineRow
from toolspeak.spec import ToolSpec
from toolspeak.validation import find_problems, is_valid

MAX_TEXT_CHARS = 20_000
"""How much of a text is sent at first."""

PIECE_CHARS = 200_000
"""How much more of it is sent at once."""

MAX_CHANGES = 50
MAX_CHANGE_CHARS = 400
MAX_PROBLEMS = 8

SectionType: TypeAlias = Literal["text", "thinking", "json", "error", "remark", "changes", "media", "raw", "figures"]

Tone: TypeAlias = Literal["good", "warn", "bad"]


@frozen
class DetailSection:
    """A part of the details of a row.

    Attributes:
        type: How it is shown.
        label: Its heading; "" for none.
        text: Its text, whole.
        tone: Of a remark: whether it is good or bad news.
        media: An attachment.
        data: What else is shown, as JSON data.
    """

    type: SectionType
    label: str = ""
    text: str = ""
    tone: Tone | None = None
    media: Media | None = None
    data: Mapping[str, Any] | None = None

    def encode(self) -> dict[str, Any]:
        """Return the section as JSON data, with the beginning of its text."""
        fields: dict[str, Any] = {"type": self.type, "label": self.label, **(self.data or {})}
        if self.text:
            fields |= {"text": self.text[:MAX_TEXT_CHARS], "chars": len(self.text)}
        if self.tone is not None:
            fields["tone"] = self.tone
        if (media := self.media) is not None:
            size = None if media.data is None else len(media.data)
            fields |= {"mime": media.mime, "name": media.name, "url": media.url, "size": size}
        return fields


def describe_row(document: RunDocument, index: int) -> dict[str, Any]:
    """Return the details of a row as JSON data."""
    sections = [section.encode() for section in list_sections(document, index)]
    return {"i": index, "facts": document.fold.rows[index].facts, "sections": sections}


def read_piece(document: RunDocument, index: int, section: int, start: int) -> dict[str, Any]:
    """Return a further piece of the text of a section, as JSON data.

    Raises:
        UsageError: There is no such section.
    """
    text = _find_section(document, index, section).text
    return {"text": text[start : start + PIECE_CHARS], "chars": len(text)}


def find_media(document: RunDocument, index: int, section: int) -> Media:
    """Return the attachment of a section.

    Raises:
        UsageError: There is none.
    """
    media = _find_section(document, index, section).media
    if media is None or media.data is None:
        raise UsageError("there is no attachment here")
    return media


def _find_section(document: RunDocument, index: int, section: int) -> DetailSection:
    found = next(islice(list_sections(document, index), section, None), None)
    if found is None:
        raise UsageError("there is no such part of the row")
    return found


def list_sections(document: RunDocument, index: int) -> Iterator[DetailSection]:
    """Yield the details of a row."""
    row = document.fold.rows[index]
    facts = [unwrap_fact(document.facts[number].fact) for number in row.facts]
    match row.kind:
        case "message":
            started = next((fact for fact in facts if isinstance(fact, RunStarted)), None)
            if started is not None:
                place: int = row.fields["place"]
                yield from _describe_parts(started.messages[place])
        case "turn":
            for fact in facts:
                if isinstance(fact, TurnEnded):
                    yield from _describe_turn(document, row, fact)
        case "call":
            yield from _describe_call(document, row, facts)
        case "note" | "end":
            for fact in facts:
                yield from _describe_note(fact, row)


# Turns and messages


def _describe_turn(document: RunDocument, row: OutlineRow, fact: TurnEnded) -> Iterator[DetailSection]:
    parts = list(_describe_parts(fact.message))
    if fact.message.raw is not None:
        yield from (each for each in parts if each.type == "thinking")
        marked = mark_turn(document, row.index)
        yield DetailSection(type="raw", label="What the model wrote", data=marked)
    else:
        yield from parts
        if fact.message.calls:
            yield DetailSection(type="remark", text="Its calls came through the API of the endpoint, not as text.")
    usage = fact.usage
    figures = {
        "Tokens read": usage.input_tokens,
        "of them cached": usage.cached_tokens,
        "Tokens written": usage.output_tokens,
        "Ended with": fact.finish,
    }
    shown = [[name, str(value)] for name, value in figures.items() if value]
    yield DetailSection(type="figures", data={"figures": shown})


def _describe_parts(message: Message) -> Iterator[DetailSection]:
    for part in message.parts:
        if not isinstance(part, Call) or message.role != "assistant" or message.raw is None:
            yield _describe_part(part)


def _describe_part(part: Part) -> DetailSection:
    match part:
        case Text(text=text):
            return DetailSection(type="text", text=text)
        case Thinking(text=text):
            return DetailSection(type="thinking", label="Reasoning", text=text)
        case Call(call=call):
            arguments = codec.encode_argument(call.arguments)
            return DetailSection(type="json", label=f"Call of {call.name}", text=format_json(arguments))
        case Result(call_id=call_id, content=content, is_error=is_error):
            text = "".join(each.text for each in content if isinstance(each, Text))
            return DetailSection(type="text", label=f"{'Error' if is_error else 'Result'} of {call_id}", text=text)
        case Media():
            return DetailSection(type="media", label="Attachment", media=part)
        case Opaque(vendor=vendor, data=data):
            return DetailSection(type="json", label=f"Data of {vendor}", text=format_json(data))


# Calls


def _describe_call(document: RunDocument, row: OutlineRow, facts: list[OwnFact]) -> Iterator[DetailSection]:
    specs = find_specs(document, row.facts[0], row.path)
    for fact in facts:
        match fact:
            case CallReady(call=call, repair=repair):
                turn = None if row.parent is None else document.fold.rows[row.parent]
                written = None if turn is None else find_written_arguments(document, call, turn)
                yield from describe_arguments(call, specs.get(call.name), written)
                if repair != "none":
                    yield DetailSection(type="remark", tone="warn", text=f"Repaired: {REPAIRS[repair]}.")
            case CallMalformed(raw=raw, reason=reason, hint=hint):
                yield DetailSection(type="remark", tone="bad", text=f"Refused: {reason}")
                if hint:
                    yield DetailSection(type="text", label="Hint to the model", text=hint)
                yield DetailSection(type="json", label="What the model wrote", text=raw)
            case CallQuoted(tool=tool):
                where = f"a result of {tool}" if tool else "an attachment"
                text = f"Quoted: these words stand in {where}, so the call does not run unless somebody approves it."
                yield DetailSection(type="remark", tone="warn", text=text)
            case ApprovalGiven(approved=approved, reason=reason, by=by):
                text = ("Approved" if approved else "Refused") + (f" by {by}" if by else "")
                text += f": {reason}" if reason else "."
                yield DetailSection(type="remark", tone="good" if approved else "bad", text=text)
            case ToolFinished(result=result):
                yield from _describe_result(result)
            case _:
                pass


def describe_arguments(call: ToolCall, spec: ToolSpec | None, written: Any = None) -> Iterator[DetailSection]:
    """Yield the arguments of a call, and what was changed of them to fit the schema.

    Args:
        call: The call.
        spec: Its tool.
        written: The arguments as the model wrote them, if they are known and may differ.
    """
    plain = codec.encode_argument(call.arguments)
    yield DetailSection(type="json", label="Arguments", text=format_json(plain))
    final: Any = plain
    problems: list[str] = []
    if spec is not None:
        schema = {"additionalProperties": False, **spec.parameters}
        if not is_valid(call.arguments, schema, schema):
            coerced = coerce_arguments(dict(call.arguments), schema)
            final = codec.encode_argument(coerced)
            problems = list(islice(find_problems(coerced, schema, schema), MAX_PROBLEMS))
    changes = list(islice(find_changes(plain if written is None else written, final), MAX_CHANGES))
    if changes:
        yield DetailSection(type="changes", label="Changed to fit the schema", data={"changes": changes})
    for problem in problems:
        yield DetailSection(type="remark", tone="bad", text=f"Does not fit the schema: {problem}")


def find_changes(before: Any, after: Any, path: str = "") -> Iterator[dict[str, str]]:
    """Yield each place at which two JSON values differ, with both values."""
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        for name in dict.fromkeys((*old, *new)):
            place = f"{path}.{name}" if path else name
            if name in old and name in new:
                yield from find_changes(old[name], new[name], place)
            else:
                old_text = _format_start(old[name]) if name in old else ""
                new_text = _format_start(new[name]) if name in new else ""
                yield {"path": place, "before": old_text, "after": new_text}
    elif type(before) is not type(after) or before != after:  # pyright: ignore[reportUnknownArgumentType]  # JSON
        yield {"path": path, "before": _format_start(before), "after": _format_start(after)}


def _format_start(value: Any) -> str:
    return format_json(value)[:MAX_CHANGE_CHARS]


def _describe_result(result: ToolResult) -> Iterator[DetailSection]:
    if result.error is not None:
        yield DetailSection(type="error", label="Error" if result.ran else "Did not run", text=result.error)
    elif isinstance(result.output, str):
        yield DetailSection(type="text", label="Result", text=result.output)
    elif result.output is not None or not result.media:
        yield DetailSection(type="json", label="Result", text=format_json(result.output))
    for media in result.media:
        yield DetailSection(type="media", label="Result", media=media)


# Notes


def _describe_note(fact: OwnFact, row: OutlineRow) -> Iterator[DetailSection]:
    match fact:
        case Compacted(summary=summary, failure=failure):
            if failure:
                yield DetailSection(type="remark", tone="warn", text=f"The summary is only a list: {failure}")
            yield DetailSection(type="text", label="Summary", text=summary)
        case TurnRestarted(reason=reason):
            yield DetailSection(type="error", label="Why it failed", text=reason)
        case _:
            text: str = getattr(fact, "detail", "") or row.fields.get("text", "")
            if text:
                yield DetailSection(type="text", text=text)


def format_json(value: Any) -> str:
    """Return a JSON value as text, with indentation."""
    return json.dumps(value, ensure_ascii=False, indent=2)
