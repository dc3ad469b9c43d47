"""Keeps control tokens in messages from the server that would read them as such, and restores them in its answer.

Everything but system messages is broken: user messages, results, documents, and answers that are sent back. System
messages are the program's own. The rest of the package never sees the broken form: the request is broken when it is
written, and the pieces of the answer are restored before they are read. So the arguments of a call are the true text,
byte for byte, and files that a model edits stay whole.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from toolspeak.events import TextDelta, ThinkingDelta
from toolspeak.messages import Part, Text, Thinking
from toolspeak.pieces import Answer, ApiCall, CallPiece, Piece
from toolspeak.reading.control_tokens import BREAKER, TokenRestorer, break_tokens, restore_tokens

TRUSTED_ROLES = frozenset({"system", "developer"})
"""Roles of messages that the program itself writes."""

_ESCAPED_BREAKER = f"\\u{ord(BREAKER):04x}"


def break_in_messages(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages of a request body with the control tokens in them broken, except in system messages."""
    return [
        message if message.get("role") in TRUSTED_ROLES else _map_texts(message, break_tokens) for message in messages
    ]


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return JSON data with each text in it changed, keys included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {change(key): _map_texts(each, change) for key, each in items}
    if isinstance(value, list):
        return [_map_texts(each, change) for each in cast("list[Any]", value)]
    return value


class PieceRestorer:
    """Restores the control tokens in the pieces of one answer.

    The arguments of the API's own calls are held back until the `Answer`: they are JSON text, in which a server may
    write any character as an escape, so that only complete arguments can be restored.
    """

    def __init__(self) -> None:
        self._text = TokenRestorer()
        self._thinking = TokenRestorer()

    def feed(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Return the pieces with the tokens in them restored."""
        restored = [self._restore(piece) for piece in pieces]
        return [piece for piece in restored if not isinstance(piece, TextDelta | ThinkingDelta) or piece.text]

    def close(self) -> list[Piece]:
        """Return the rest of an answer that was cut, and so has no `Answer`."""
        thinking, text = self._thinking.close(), self._text.close()
        return [*([ThinkingDelta(text=thinking)] if thinking else []), *([TextDelta(text=text)] if text else [])]

    def _restore(self, piece: Piece) -> Piece:
        match piece:
            case TextDelta(text=text):
                return TextDelta(text=self._text.feed(text))
            case ThinkingDelta(text=text):
                return ThinkingDelta(text=self._thinking.feed(text))
            case CallPiece():
                return replace(piece, arguments="")
            case Answer(parts=parts):
                self._text, self._thinking = TokenRestorer(), TokenRestorer()  # a whole answer repeats the deltas
                return replace(piece, parts=_restore_parts(parts))


def _restore_parts(parts: Sequence[Part | ApiCall]) -> tuple[Part | ApiCall, ...]:
    """Restore the parts of a whole answer. All texts are read as one, as they are when they arrive in deltas."""
    restored = list(parts)
    for kind in (Text, Thinking):
        restorer = TokenRestorer()
        places = [place for place, part in enumerate(parts) if isinstance(part, kind)]
        for place in places:
            part = cast("Text | Thinking", parts[place])
            rest = restorer.close if place == places[-1] else str
            restored[place] = replace(part, text=restorer.feed(part.text) + rest())
    for place, part in enumerate(parts):
        if isinstance(part, ApiCall):
            restored[place] = replace(part, arguments=_restore_arguments(part.arguments))
    return tuple(restored)


def _restore_arguments(text: str) -> str:
    """Return the JSON text of arguments with the tokens in its strings restored."""
    if BREAKER not in text and _ESCAPED_BREAKER not in text:
        return text
    try:
        return json.dumps(_map_texts(json.loads(text), restore_tokens), ensure_ascii=False)
    except (ValueError, RecursionError):  # not quite JSON: it is repaired later
        return restore_tokens(text)
