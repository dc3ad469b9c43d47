"""Finds words in a run, in whatever the model wrote, tools returned and people asked."""

from collections.abc import Iterator
from typing import Any

from toolspeak import codec
from toolspeak.events import CallMalformed, CallReady, Compacted, RunEnded, RunStarted, ToolFinished, TurnEnded
from toolspeak.messages import Message, Result, Text, Thinking
from toolspeak.page.document import RunDocument
from toolspeak.page.facts import unwrap_fact
from toolspeak.page.rows import OutlineRow

MAX_FOUND_ROWS = 5000


def find_rows(document: RunDocument, words: str) -> list[int]:
    """Return the rows in whose texts these words occur, whatever their case, in the order of the rows."""
    folded = words.casefold()
    if not folded:
        return []
    found: list[int] = []
    for row in document.fold.rows[:]:
        if any(folded in text.casefold() for text in _list_texts(document, row)):
            found.append(row.index)
            if len(found) == MAX_FOUND_ROWS:
                break
    return found


def _list_texts(document: RunDocument, row: OutlineRow) -> Iterator[str]:
    yield row.fields.get("name", "")
    for number in row.facts:
        fact = unwrap_fact(document.facts[number].fact)
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
