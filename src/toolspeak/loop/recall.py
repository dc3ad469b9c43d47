"""`recall`: the tool by which a model reads what it is no longer shown of its conversation."""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from toolspeak.loop.big_results import Query, cut_piece, read_part
from toolspeak.loop.compaction import drop_system, list_results, list_rounds, read_result
from toolspeak.tools import output_text
from toolspeak.values.codec import encode_argument
from toolspeak.values.messages import Call, Media, Message, Result, Text
from toolspeak.values.spec import ToolSpec

RECALL = ToolSpec(
    name="recall",
    description=(
        "Return an earlier part of this conversation that is no longer shown, word for word: a round (round_3) or a "
        "result (result_17). Other text is looked for in earlier rounds."
    ),
    parameters={
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "round_N, result_N, or words to look for."},
            "start": {"type": "integer", "description": "The character to begin with.", "default": 0},
        },
        "required": ["handle"],
    },
    effect="read",
)
"""The tool as it is offered after a compaction. A tool of the user's that has its name takes its place."""

RECALL_PARTS = replace(
    RECALL,
    description=(
        "Return what is not shown of this conversation, word for word: a round (round_3), a result (result_17), or a "
        "part of it. Other text is looked for in earlier rounds."
    ),
    parameters={
        **RECALL.parameters,
        "properties": {
            **RECALL.parameters["properties"],
            "lines": {"type": "string", "description": "Lines of a text: 100-150."},
            "find": {"type": "string", "description": "Only lines or items that contain these words."},
            "path": {"type": "string", "description": "A place in JSON or a table: $.items[3].name, $[10:20]."},
            "where": {"type": "string", "description": "Only items like this: price > 10 and city = Oslo."},
            "head": {"type": "integer", "description": "Only so many items."},
            "count": {"type": "boolean", "description": "Only the number of items."},
        },
    },
)
"""The tool as it is offered once only a part of a result is shown. The function is the same."""

HANDLE = re.compile(r"""\s*["']?(round|result)_([0-9]{1,9})["']?\s*""", re.IGNORECASE)
"""The handle of a round or a result, as models write it: also in quotes, and with a capital."""

MAX_FOUND = 8
"""Rounds that a search lists, the newest ones."""

SNIPPET_CHARS = 80
"""Characters that a search shows of each round on both sides of what was found."""


def read_earlier(history: Sequence[Message], through: int, handle: str, query: Query, size: int) -> str:
    """Return a part of an earlier round or result, or the rounds that hold some words.

    Args:
        history: The whole conversation.
        through: The number of messages in which something is not shown, counted without system messages. Words are
            looked for in these.
        handle: The handle of a round or a result; anything else is looked for.
        query: Which part.
        size: The most characters of the part.

    Raises:
        ToolError: There is no such round or result, or no such part of it.
    """
    messages = drop_system(history)
    results, rounds = list_results(messages), list_rounds(messages)
    if named := HANDLE.fullmatch(handle):
        kind, place = named[1].lower(), int(named[2]) - 1
        if kind == "result" and 0 <= place < len(results):
            result = results[place]
            return read_part(read_result(result) if result.output is None else result.output, query, size)
        if kind == "round" and 0 <= place < len(rounds):
            return read_part(write_round(rounds[place], has_recall=True), query, size)
    found = _find(_join_lines(handle), list_rounds(messages[:through]))
    if found:
        return cut_piece("\n".join(found), query.start, size)
    known = f"round_1 to round_{len(rounds)}" + (f", result_1 to result_{len(results)}" if results else "")
    return f"Nothing is called {handle!r}, and no earlier round contains it. There are: {known}."


def _find(words: str, rounds: Sequence[tuple[Message, ...]]) -> list[str]:
    """List the newest rounds that contain the words, without regard to case and line breaks."""
    lines: list[str] = []
    for number in range(len(rounds), 0, -1):
        text = _join_lines(write_round(rounds[number - 1], has_recall=True))
        if snippet := _cut_snippet(text, words):
            lines.append(f"round_{number}: …{snippet}…")
        if len(lines) == MAX_FOUND:
            break
    return lines


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _cut_snippet(text: str, words: str) -> str:
    """Return the part of a text around some words; "" if the text does not contain them."""
    sought = words.casefold()
    found = text.casefold().find(sought) if sought else -1
    if found < 0:
        return ""
    ends = list(accumulate(len(char.casefold()) for char in text))  # a character may be folded into several
    start, end = bisect_right(ends, found), bisect_right(ends, found + len(sought) - 1)
    return text[max(start - SNIPPET_CHARS, 0) : end + 1 + SNIPPET_CHARS]


def write_round(messages: Sequence[Message], *, has_recall: bool) -> str:
    """Write messages as text: who said what, the calls and their results.

    Args:
        messages: The messages.
        has_recall: Whether calls of `recall` are calls of the tool of this module. They and their results are left out,
            since they are copies of other rounds.
    """
    names = {RECALL.name} if has_recall else set[str]()
    copies = {call.id for message in messages for call in message.calls if call.name in names}
    return "\n".join(line for message in messages for line in _write_message(message, copies))


def _write_message(message: Message, copies: Collection[str]) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text(text=text) if text.strip():
                yield f"{'note' if message.role == 'tool' else message.role}: {text}"
            case Call(call=call) if call.id not in copies:
                yield f"call: {call.name} {output_text(encode_argument(call.arguments))}"
            case Result(call_id=call_id) if call_id not in copies:
                yield f"result: {read_result(part)}"
            case Media(mime=mime):
                yield f"{message.role}: [{mime}]"
            case _:  # reasoning, and data of a vendor
                pass
