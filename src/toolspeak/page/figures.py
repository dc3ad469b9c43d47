"""The figures and the words of one run, for a list of many: how it went, and what was said in it.

Both are made of the facts alone, so a run has the same figures wherever it is kept, and the list counts as the head of
the run does (`rows.py`).
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from toolspeak.page.document import RunDocument
from toolspeak.page.rows import OutlineRow, find_faults, preview_message
from toolspeak.values import codec
from toolspeak.values.events import (
    CallMalformed,
    CallReady,
    NestedFact,
    OwnFact,
    RunEnded,
    RunStarted,
    ToolFinished,
    TurnEnded,
)
from toolspeak.values.messages import Text

FIGURES_FORMAT = 2
"""To be raised when runs are measured in another way: those in an index are then measured again."""

MAX_TEXT_CHARS = 200_000
"""How much of what was said in a run is searched: enough for hours of work."""

MAX_PIECE_CHARS = 8_000
"""How much of one message, one call or one result is searched."""

MAX_TOOLS = 12

MAX_REPEATED = 5
"""How many calls that took effect more than once are named."""


def measure_run(document: RunDocument) -> dict[str, Any]:
    """Return the figures of a run as JSON data, by the names that the browser knows. What is zero is left out."""
    summary = document.fold.summary
    calls: Counter[str] = Counter()
    answer = ""
    for timed in document.facts:
        path, fact = (timed.fact.path, timed.fact.event) if isinstance(timed.fact, NestedFact) else ((), timed.fact)
        match fact:
            case CallReady(call=call):
                calls[call.name] += 1
            case TurnEnded(message=message) if not path:
                answer = preview_message(message) or answer
            case _:
                pass
    times = [timed.at for timed in document.facts if timed.at is not None]
    figures: dict[str, Any] = {
        name: summary.get(name)
        for name in (
            *("title", "status", "reason", "detail", "model", "dialect"),
            *("turns", "calls", "errors", "repairs", "refusals", "repeats", "input_tokens", "output_tokens", "cost"),
        )
    }
    figures |= {
        "repeated": _list_repeated(document.fold.rows),
        "tools": [[name, count] for name, count in calls.most_common(MAX_TOOLS)],
        "seconds": round(max(times) - min(times), 3) if times else None,
        "answer": answer,
    }
    if figures["reason"] == "answered":
        del figures["detail"]
    return {name: value for name, value in figures.items() if value}


def _list_repeated(rows: Sequence[OutlineRow]) -> list[tuple[str, str, int]]:
    """Return the calls that took effect more than once: the tool, the beginning of the arguments, how often."""
    again: Counter[int] = Counter(row.fields["repeat_of"] for row in rows if "repeat" in find_faults(row))
    first = [(rows[index].fields, count + 1) for index, count in again.most_common(MAX_REPEATED)]
    return [(fields["name"], fields.get("arguments", ""), times) for fields, times in first]


def collect_words(document: RunDocument) -> str:
    """Return what was said in a run: its prompt, its answers, calls, results and errors."""
    pieces: list[str] = []
    length = 0
    for timed in document.facts:
        fact = timed.fact.event if isinstance(timed.fact, NestedFact) else timed.fact
        for piece in _list_words(fact):
            pieces.append(piece[:MAX_PIECE_CHARS])
            length += len(pieces[-1])
            if length > MAX_TEXT_CHARS:
                return "\n".join(pieces)
    return "\n".join(pieces)


def _list_words(fact: OwnFact) -> Iterator[str]:
    match fact:
        case RunStarted(messages=messages):  # earlier messages of a conversation belong to earlier runs
            prompt = next((message for message in reversed(messages) if message.role == "user"), None)
            if prompt is not None:
                yield from (part.text for part in prompt.parts if isinstance(part, Text))
        case TurnEnded(message=message):
            yield message.text
        case CallReady(call=call):
            yield f"{call.name} {_dump(call.arguments)}"
        case CallMalformed(raw=raw, reason=reason):
            yield raw
            yield reason
        case ToolFinished(result=result):
            yield result.error if result.error is not None else _dump(result.output)
        case RunEnded(detail=detail):
            yield detail
        case _:
            pass


def _dump(value: Any) -> str:
    """Return a value as people would look for it: a text as it is, all else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(codec.encode_argument(value), ensure_ascii=False, sort_keys=True, default=str)
