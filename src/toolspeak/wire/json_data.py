"""Reads JSON whose shape is not known, and writes the arguments of calls as JSON.

A server may send any shape. So a value of the wrong type is read as an empty value, and never raises.
"""

import json
from typing import Any, Literal, cast

from toolspeak.values.codec import encode_argument
from toolspeak.values.events import TextDelta, ThinkingDelta
from toolspeak.values.messages import Concat, Ref
from toolspeak.values.pieces import CallPiece, Piece

# `PieceBuffer`: joins neighbouring pieces of one read from the network, so that they are handed on as one.


class PieceBuffer:
    """Collects pieces, and joins neighbours of the same kind."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._kind: Literal["text", "thinking", "call", ""] = ""  # of the piece that is being joined
        self._texts: list[str] = []
        self._call = (0, "", "")

    def add_text(self, text: str) -> None:
        """Add text of the answer."""
        if self._kind != "text":
            self._flush()
            self._kind = "text"
        self._texts.append(text)

    def add_thinking(self, text: str) -> None:
        """Add reasoning."""
        if self._kind != "thinking":
            self._flush()
            self._kind = "thinking"
        self._texts.append(text)

    def add_call(self, index: int, call_id: str, name: str, arguments: str) -> None:
        """Add a piece of a call. Only its first piece has the id and the name."""
        if self._kind != "call" or self._call[0] != index or call_id or name:
            self._flush()
            self._kind = "call"
            self._call = (index, call_id, name)
        self._texts.append(arguments)

    def take(self) -> list[Piece]:
        """Return the pieces that were added since the last call."""
        self._flush()
        pieces, self._pieces = self._pieces, []
        return pieces

    def _flush(self) -> None:
        if not self._kind:
            return
        text = "".join(self._texts)
        self._texts.clear()
        if self._kind == "text":
            self._pieces.append(TextDelta(text=text))
        elif self._kind == "thinking":
            self._pieces.append(ThinkingDelta(text=text))
        else:
            index, call_id, name = self._call
            self._pieces.append(CallPiece(index=index, id=call_id, name=name, arguments=text))
        self._kind = ""


_raw_decode = json.JSONDecoder().raw_decode

_NUMBERS = (int, float)


def parse_json(text: str) -> Any:
    """Return the JSON value in a text without white space around it. Raises `ValueError` or `RecursionError`."""
    value, end = _raw_decode(text)  # saves the two searches for white space of `json.loads`
    return value if end == len(text) else json.loads(text)


def parse_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in `text`, or None if the text is anything else."""
    try:
        value = parse_json(text)
    except (ValueError, RecursionError):
        return _parse_padded(text)
    return cast("dict[str, Any]", value) if type(value) is dict else None


def _parse_padded(text: str) -> dict[str, Any] | None:
    stripped = text.strip()
    return parse_object(stripped) if stripped != text and stripped.startswith("{") else None


def as_object(value: Any) -> dict[str, Any]:
    """Return `value` if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] (JSON; a cast is a call)


def as_list(value: Any) -> list[Any]:
    """Return `value` if it is a list, else an empty list."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] (see as_object)


def as_text(value: Any) -> str:
    """Return `value` if it is text, else an empty text."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int:
    """Return `value` if it is a positive number, else 0."""
    return int(value) if isinstance(value, _NUMBERS) and 0 < value < 1e18 else 0


def dump_compact(value: Any) -> str:
    """Return `value` as JSON in ASCII, without spaces. An unpaired surrogate is kept, as an escape."""
    return _dump_compact(value)


def arguments_as_text(value: Any) -> str:
    """Return the arguments that a server sent as text: some servers send an object instead."""
    if isinstance(value, str):
        return value
    return "" if value is None else encode_arguments(value)


def encode_arguments(value: Any) -> str:
    """Return arguments as JSON for a model to read: references are written as objects, letters are not escaped.

    Unlike `codec.encode_argument` this leaves keys that begin with `$` unchanged: the text is never decoded again, and
    a model must see its own call as it wrote it.
    """
    return _encode_arguments(value)


# Built once: `json.dumps` builds an encoder at each call with options.
_dump_compact = json.JSONEncoder(separators=(",", ":")).encode
_encode_arguments = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=encode_argument).encode


def encode_references(value: Any) -> Any:
    """Return arguments as plain JSON data, with the same content as `encode_arguments`."""
    try:
        return _encode_references(value)
    except RecursionError:  # nested deeper than Python's call stack allows, which JSON may be
        return json.loads(encode_arguments(value))


def _encode_references(value: Any) -> Any:
    match value:
        case Ref() | Concat():
            return encode_argument(value)
        case dict():
            return {key: _encode_references(each) for key, each in cast("dict[str, Any]", value).items()}
        case list():
            return [_encode_references(each) for each in cast("list[Any]", value)]
        case _:
            return value
