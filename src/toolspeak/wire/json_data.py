"""Reads JSON whose shape is not known, and writes the arguments of calls as JSON.

A server may send any shape. So a value of the wrong type is read as an empty value, and never raises.
"""

import json
from typing import Any, cast

from toolspeak.values.codec import encode_argument
from toolspeak.values.messages import Concat, Extra, Ref

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
        stripped = text.strip()
        return parse_object(stripped) if stripped != text and stripped.startswith("{") else None
    return cast("dict[str, Any]", value) if type(value) is dict else None


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


# Encoders are built once: `json.dumps` builds one at each call with options.

dump_compact = json.JSONEncoder(separators=(",", ":")).encode
"""Return a value as JSON in ASCII, without spaces. An unpaired surrogate is kept, as an escape."""

encode_arguments = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=encode_argument).encode
"""Return arguments as JSON for a model to read: references are written as objects, letters are not escaped.

Unlike `codec.encode_argument` this leaves keys that begin with `$` unchanged: the text is never decoded again, and a
model must see its own call as it wrote it.
"""


def arguments_as_text(value: Any) -> str:
    """Return the arguments that a server sent as text: some servers send an object instead."""
    if isinstance(value, str):
        return value
    return "" if value is None else encode_arguments(value)


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


def get_vendor_data(extra: Extra | None, vendor: str) -> dict[str, Any]:
    """Return the data that one vendor has put on a part; empty if it is another vendor's, or there is none."""
    return as_object(extra.data) if extra is not None and extra.vendor == vendor else {}


def build_extra(vendor: str, data: dict[str, Any]) -> Extra | None:
    """Return the data of a vendor as it is kept on a part; None if there is none."""
    return Extra(vendor=vendor, data=data) if data else None
