"""What is behind the short texts of the outline: the details of a row, what the model was shown, and words in a run.

- Details are sections, in the order in which they are shown (`list_sections`). Of a long text the beginning is sent,
  with the number of characters that there are; the rest is asked for in pieces. Texts are sent as they are: it is for
  the browser to treat them as text and nothing else.
- The raw text of a turn is marked with how it was read (`_mark_turn`). What coercion changed of the arguments is found
  by reading the text again with schemas that allow any value: the readers coerce while they read, and facts hold the
  result only.
- What the model was shown in a turn is built again from the facts before it (`render_turn`), so it needs no storage,
  and can be rendered in any dialect. The report of a gateway holds it word for word, so there it is taken from that.
- `find_rows` finds words in whatever the model wrote, tools returned and people asked.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce as fold
from itertools import islice
from typing import Any, Literal, TypeAlias, cast

from toolspeak.dialects import DIALECTS, JSON, Shown, dialect, explain, read
from toolspeak.dialects.explanation_notes import REPAIRS, describe_span
from toolspeak.loop import AskModel, decide, initial_state, reduce, words
from toolspeak.page.document import RunDocument
from toolspeak.page.rows import OutlineRow, Path
from toolspeak.run.turn_request import render_request
from toolspeak.values import codec
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.errors import UsageError
from toolspeak.values.escaping import reveal
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallQuoted,
    CallReady,
    Compacted,
    Fact,
    Guided,
    HandedOver,
    NestedFact,
    OwnFact,
    RunEnded,
    RunStarted,
    ToolFinished,
    ToolSuspended,
    TurnEnded,
    TurnRestarted,
    WaitOver,
)
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import (
    Call,
    Media,
    Message,
    Opaque,
    Part,
    Raw,
    Result,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from toolspeak.values.spec import ToolSpec
from toolspeak.values.validation import find_problems, is_valid

MAX_TEXT_CHARS = 20_000
"""How much of a text is sent at first."""

PIECE_CHARS = 200_000
"""How much more of it is sent at once."""

MAX_CHANGES = 50
MAX_CHANGE_CHARS = 400
MAX_PROBLEMS = 8

MAX_MARKED_CHARS = 100_000
"""The most characters of a text that are shown with marks."""

MAX_SHOWN_CHARS = 100_000
"""How much of one message of a request is sent."""

LAST_MESSAGES = 12
"""How many messages of a request are sent at first, beside the system prompt."""

MAX_FOUND_ROWS = 5000

DRAWN_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
"""Attachments that are drawn. All others are saved as files, or only named."""

SectionType: TypeAlias = Literal[
    "text", "thinking", "json", "code", "log", "error", "remark", "changes", "media", "raw", "figures"
]


@frozen
class DetailSection:
    """A part of the details of a row."""

    type: SectionType  # how it is shown
    label: str = ""  # its heading
    text: str = ""  # whole
    tone: Literal["good", "warn", "bad"] | None = None  # of a remark
    media: Media | None = None
    data: Mapping[str, Any] | None = None  # what else is shown, as JSON data

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
    """Return a further piece of the text of a section, as JSON data; raise `UsageError` if there is no such section."""
    text = _find_section(document, index, section).text
    return {"text": text[start : start + PIECE_CHARS], "chars": len(text)}


def find_media(document: RunDocument, index: int, section: int) -> Media:
    """Return the attachment of a section; raise `UsageError` if there is none."""
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
    facts = _list_row_facts(document, row)
    match row.kind:
        case "message":
            for fact in facts:
                if isinstance(fact, RunStarted):
                    place: int = row.fields["place"]
                    yield from _describe_parts(fact.messages[place])
        case "turn":
            for fact in facts:
                if isinstance(fact, TurnEnded):
                    yield from _describe_turn(document, row, fact)
        case "call":
            yield from _describe_call(document, row, facts)
        case "note" | "end":
            for fact in facts:
                yield from _describe_note(fact, row)


def _describe_turn(document: RunDocument, row: OutlineRow, fact: TurnEnded) -> Iterator[DetailSection]:
    parts = list(_describe_parts(fact.message))
    if (raw := fact.message.raw) is not None:
        yield from (each for each in parts if each.type == "thinking")
        yield DetailSection(type="raw", label="What the model wrote", data=_mark_turn(document, row, fact, raw))
    else:
        yield from parts
        if fact.message.calls:
            yield DetailSection(type="remark", text="The model made its calls through the API, not in its text.")
    usage = fact.usage
    figures = {
        "Input tokens": usage.input_tokens,
        "Cached input tokens": usage.cached_tokens,
        "Output tokens": usage.output_tokens,
        "Finish reason": fact.finish,
    }
    shown = [[name, str(value)] for name, value in figures.items() if value]
    yield DetailSection(type="figures", data={"figures": shown})


def _describe_parts(message: Message) -> Iterator[DetailSection]:
    for part in message.parts:
        if not isinstance(part, Call) or message.role != "assistant" or message.raw is None:
            yield from _describe_part(part)


def _describe_part(part: Part) -> Iterator[DetailSection]:
    match part:
        case Text(text=text):
            yield DetailSection(type="text", text=text)
        case Thinking(text=text):
            yield DetailSection(type="thinking", label="Reasoning", text=text)
        case Call(call=call):
            yield from _format_arguments(f"Call to {call.name}", call)
        case Result(call_id=call_id, content=content, is_error=is_error):
            text = "".join(each.text for each in content if isinstance(each, Text))
            yield DetailSection(type="log", label=f"{'Error' if is_error else 'Result'} of {call_id}", text=text)
        case Media():
            yield DetailSection(type="media", label="Attachment", media=part)
        case Opaque(vendor=vendor, data=data):
            yield DetailSection(type="json", label=f"Data from {vendor}", text=_format_json(data))


def _format_arguments(label: str, call: ToolCall) -> Iterator[DetailSection]:
    """Yield the arguments of a call as JSON. One text alone that has several lines is shown as it is: a program."""
    only = next(iter(call.arguments.values())) if len(call.arguments) == 1 else None
    if isinstance(only, str) and "\n" in only.strip():
        name = next(iter(call.arguments))
        yield DetailSection(type="code", label=label if label != "Arguments" else name, text=reveal(only))
    else:
        text = _format_json(codec.encode_argument(call.arguments))
        yield DetailSection(type="json", label=label, text=reveal(text))  # somebody may approve them


def _describe_call(document: RunDocument, row: OutlineRow, facts: list[OwnFact]) -> Iterator[DetailSection]:
    specs = _find_specs(document, row.facts[0], row.path)
    for fact in facts:
        match fact:
            case CallReady(call=call, repair=repair):
                turn = None if row.parent is None else document.fold.rows[row.parent]
                written = None if turn is None else _find_written_arguments(document, call, turn)
                yield from _describe_arguments(call, specs.get(call.name), written)
                if repair != "none":
                    yield DetailSection(type="remark", tone="warn", text=f"Repaired: {REPAIRS[repair]}.")
            case CallMalformed(raw=raw, reason=reason, hint=hint):
                yield DetailSection(type="remark", tone="bad", text=f"Unreadable: {reason}")
                if hint:
                    yield DetailSection(type="text", label="Hint to the model", text=hint)
                yield DetailSection(type="json", label="What the model wrote", text=raw)
            case CallQuoted():
                where = words.name_quoted_place(fact)
                text = f"Quoted: this text is copied from {where}, so the call runs only if somebody approves it."
                yield DetailSection(type="remark", tone="warn", text=text)
            case ApprovalNeeded(doubts=doubts):
                for each in doubts:
                    yield DetailSection(type="remark", tone="warn", text=f"In doubt: {each.summary}.")
            case ApprovalGiven(approved=approved, reason=reason, by=by):
                text = ("Approved" if approved else "Refused") + (f" by {by}" if by else "")
                text += f": {reason}" if reason else "."
                yield DetailSection(type="remark", tone="good" if approved else "bad", text=text)
            case ToolSuspended(summary=summary):
                yield DetailSection(type="remark", text=f"It {summary}.")
            case WaitOver(summary=summary):
                yield DetailSection(type="remark", text=f"Resumed: {summary}.")
            case ToolFinished(result=result):
                if "repeat_of" in row.fields:
                    yield _describe_repeat(document, row.fields["repeat_of"])
                yield from _describe_result(result)
            case _:
                pass


def _describe_repeat(document: RunDocument, index: int) -> DetailSection:
    parent = document.fold.rows[index].parent
    turn = None if parent is None else document.fold.rows[parent]
    where = f" in turn {turn.fields['turn']}" if turn is not None and turn.kind == "turn" else ""
    text = f"Repeated: the same call with the same arguments already took effect{where}."
    return DetailSection(type="remark", tone="warn", text=text)


def _describe_arguments(call: ToolCall, spec: ToolSpec | None, written: Any) -> Iterator[DetailSection]:
    """Yield the arguments of a call, and what was changed of them to fit the schema.

    `written` are the arguments as the model wrote them, if they are known and may differ.
    """
    plain = codec.encode_argument(call.arguments)
    yield from _format_arguments("Arguments", call)
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
        yield DetailSection(type="changes", label="How arguments were coerced", data={"changes": changes})
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
                texts = [_format_start(each[name]) if name in each else "" for each in (old, new)]
                yield {"path": place, "before": texts[0], "after": texts[1]}
    elif type(before) is not type(after) or before != after:  # pyright: ignore[reportUnknownArgumentType]  # JSON
        yield {"path": path, "before": _format_start(before), "after": _format_start(after)}


def _format_start(value: Any) -> str:
    return _format_json(value)[:MAX_CHANGE_CHARS]


def _describe_result(result: ToolResult) -> Iterator[DetailSection]:
    if result.error is not None:
        yield DetailSection(type="error", label="Error" if result.ran else "Did not run", text=result.error)
    elif isinstance(result.output, str):
        yield DetailSection(type="log", label="Result", text=result.output)
    elif result.output is not None or not result.media:
        yield DetailSection(type="json", label="Result", text=_format_json(result.output))
    for media in result.media:
        yield DetailSection(type="media", label="Result", media=media)


def _describe_note(fact: OwnFact, row: OutlineRow) -> Iterator[DetailSection]:
    match fact:
        case Compacted(summary=summary, failure=failure):
            if failure:
                yield DetailSection(type="remark", tone="warn", text=f"The summary is only a list: {failure}")
            yield DetailSection(type="text", label="Summary", text=summary)
        case Guided(note=note):
            yield DetailSection(type="text", text=row.fields["text"])
            if note is not None:
                yield DetailSection(type="text", label="Note to the model", text=note.text)
        case TurnRestarted(reason=reason):
            yield DetailSection(type="error", label="Reason", text=reason)
        case _:
            text: str = getattr(fact, "detail", "") or row.fields.get("text", "")
            if text:
                yield DetailSection(type="text", text=text)


def _format_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _list_row_facts(document: RunDocument, row: OutlineRow) -> list[OwnFact]:
    """Return the facts of a row, without the paths that lead to their run."""
    return [_split_fact(document.facts[number].fact)[1] for number in row.facts]


def _split_fact(fact: Fact) -> tuple[Path, OwnFact]:
    """Return the ids of the calls that lead to the run of a fact, and the fact as that run has it."""
    return (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)


def _find_specs(document: RunDocument, number: int, path: Path) -> dict[str, ToolSpec]:
    """Return the tools by name that a run offered when it came to the fact of this number."""
    for place in reversed(document.tool_facts):
        own_path, event = _split_fact(document.facts[place].fact)
        if place <= number and isinstance(event, RunStarted | HandedOver) and own_path == path:
            return {spec.name: spec for spec in event.tools}
    return {}


def _mark_turn(document: RunDocument, row: OutlineRow, ended: TurnEnded, raw: Raw) -> dict[str, Any]:
    """Return the raw text of a turn as spans, each with what it was read as, as JSON data.

    A span has `text`, `kind`, `notes` in words, and `repairs` with places in its text. A call that was copied from a
    result is `quoted`.
    """
    specs = list(_find_specs(document, row.facts[0], row.path).values())
    text = raw.text[:MAX_MARKED_CHARS]
    explanation = explain(text, specs, finish=ended.finish)
    facts = _list_calls(document, row)
    quoted_ids = {fact.call_id for fact in facts if isinstance(fact, CallQuoted)}
    quoted = [fact.call.id in quoted_ids for fact in facts if isinstance(fact, CallReady)]
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
    return next((fact for fact in _list_row_facts(document, row) if isinstance(fact, TurnEnded)), None)


def _list_calls(document: RunDocument, turn: OutlineRow) -> list[OwnFact]:
    """Return the facts in which the calls of a turn became ready or were quoted."""
    found: list[OwnFact] = []
    for row in document.fold.rows[turn.index + 1 :]:
        if row.parent == turn.index and row.kind == "call":
            found += _list_row_facts(document, row)
        elif row.parent is None and row.path == turn.path and row.kind == "turn":
            break
    return found


def _find_written_arguments(document: RunDocument, call: ToolCall, turn: OutlineRow) -> Any:
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
    specs = [_loosen(spec) for spec in _find_specs(document, turn.facts[0], turn.path).values()]
    content = read(ended.message.raw.text, specs, dialect=JSON, finish=ended.finish)
    place = ids.index(call.id)
    if len(content.calls) != len(ids) or content.calls[place].call.name != call.name:
        return None
    renamed = {ready.call.id: own for ready, own in zip(content.calls, ids, strict=True)}
    return _rename(codec.encode_argument(content.calls[place].call.arguments), renamed)


def _loosen(spec: ToolSpec) -> ToolSpec:
    """Return a tool whose parameters may have any value."""
    properties: dict[str, Any] = {name: {} for name in spec.parameters.get("properties", {})}
    return replace(spec, parameters={**spec.parameters, "properties": properties})


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


def render_turn(document: RunDocument, index: int, dialect_name: str = "", first: int | None = None) -> dict[str, Any]:
    """Return what the model was shown in a turn, as JSON data.

    The dialect is that of the turn unless it is given. `first` is the first message that is sent, beside the system
    prompt; the last few are if it is left out. Raises `UsageError` if the row is no turn, or the facts before it do not
    hold the beginning of the run.
    """
    row = document.fold.rows[index]
    if row.kind != "turn":
        raise UsageError("only a turn has a request")
    used = row.fields.get("dialect", "")
    name = dialect_name or used
    known = document.shown.get(row.fields["turn"]) if name == used and not row.path else None
    shown = known or _render(document, row, name)
    return {"used": used, "dialect": name, "dialects": list(DIALECTS), **_encode_shown(shown, first)}


def _render(document: RunDocument, row: OutlineRow, name: str) -> Shown:
    """Build the request of a turn again, from the facts before it."""
    facts: list[Fact] = []  # of the run of the turn: its inner runs stay nested
    for timed in document.facts[: row.facts[0]]:
        path, event = _split_fact(timed.fact)
        if path[: len(row.path)] == row.path:
            inner = path[len(row.path) :]
            facts.append(NestedFact(path=inner, event=event) if inner else event)
    started = next((fact for fact in facts if isinstance(fact, RunStarted)), None)
    if started is None:
        raise UsageError("the record does not hold the beginning of this run")
    state = fold(reduce, facts, initial_state(started.tools))
    action = next((each for each in decide(state) if isinstance(each, AskModel)), AskModel(turn=row.fields["turn"]))
    return render_request(state, dialect(name), action)


def _encode_shown(shown: Shown, first: int | None) -> dict[str, Any]:
    """Return what a model is shown as JSON data: each message as the text that is sent, and the tools of the API.

    A long conversation is not sent whole: `messages` are those that are, with their places.
    """
    tools = [
        {"name": spec.name, "description": spec.description, "parameters": spec.parameters} for spec in shown.tools
    ]
    count = len(shown.messages)
    start = max(0, count - LAST_MESSAGES if first is None else first)
    places = [place for place, each in enumerate(shown.messages) if place >= start or each.role == "system"]
    messages = [{"place": place, **_encode_message(shown.messages[place])} for place in places]
    data: dict[str, Any] = {"messages": messages, "count": count, "first": start}
    if tools:
        data |= {"tools": _format_json(tools)[:MAX_SHOWN_CHARS], "tool_count": len(tools)}
    if shown.constraint is not None and shown.constraint.grammar:
        data["grammar"] = shown.constraint.grammar[:MAX_SHOWN_CHARS]
    return data


def _encode_message(message: Message) -> dict[str, Any]:
    text = "\n".join(filter(None, (_format_part(part) for part in message.parts)))
    return {"role": message.role, "text": text[:MAX_SHOWN_CHARS], "chars": len(text)}


def _format_part(part: Part) -> str:
    match part:
        case Text(text=text) | Thinking(text=text):
            return text
        case Call(call=call):
            return f"{call.name} {_format_json(codec.encode_argument(call.arguments))}"
        case Result(content=content):
            return "\n".join(filter(None, map(_format_part, content)))
        case Media(mime=mime, name=name):
            return f"[{name or 'attachment'}: {mime}]"
        case Opaque(vendor=vendor):
            return f"[data of {vendor}]"


def find_rows(document: RunDocument, words: str) -> list[int]:
    """Return the rows in whose texts these words occur, whatever their case, in the order of the rows."""
    folded = words.casefold()
    if not folded:
        return []
    rows = document.fold.rows[:]  # a copy: this runs in a thread
    found = (row.index for row in rows if any(folded in text.casefold() for text in _list_texts(document, row)))
    return list(islice(found, MAX_FOUND_ROWS))


def _list_texts(document: RunDocument, row: OutlineRow) -> Iterator[str]:
    yield row.fields.get("name", "")
    for fact in _list_row_facts(document, row):
        match fact:
            case RunStarted(messages=messages):
                if row.kind == "message":
                    place: int = row.fields["place"]
                    yield from _list_message_texts(messages[place])
            case TurnEnded(message=message):
                yield from _list_message_texts(message)
            case CallReady(call=call):
                yield from _list_strings(codec.encode_argument(call.arguments))
            case CallMalformed(raw=raw, reason=reason):
                yield from (raw, reason)
            case ToolFinished(result=result):
                yield result.error or ""
                yield from _list_strings(result.output)
            case Compacted(summary=summary):
                yield summary
            case RunEnded(detail=detail):
                yield detail
            case _:
                yield row.fields.get("text", "")


def _list_message_texts(message: Message) -> Iterator[str]:
    if message.raw is not None:
        yield message.raw.text
    for part in message.parts:
        match part:
            case Text(text=text) | Thinking(text=text):
                yield text
            case Result(content=content):
                yield from (each.text for each in content if isinstance(each, Text))
            case _:
                pass


def _list_strings(value: Any) -> Iterator[str]:
    """Yield the keys and plain values of JSON data as texts."""
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            stack.extend(each)  # pyright: ignore[reportUnknownArgumentType]  # JSON
            stack.extend(each.values())  # pyright: ignore[reportUnknownArgumentType]  # JSON
        elif isinstance(each, list):
            stack.extend(each)  # pyright: ignore[reportUnknownArgumentType]  # JSON
        elif each is not None:
            yield str(each)
