"""JSON from strangers: read without trust in its shape, and arguments of calls written as JSON.

What a server sends may have any shape, so a value of the wrong type reads as an empty one and never as a crash.
"""

import json
from typing import Any, cast

from toolspeak.codec import encode_argument
from toolspeak.messages import Concat, Ref

_raw_decode = json.JSONDecoder().raw_decode


def parse_object(text: str) -> dict[str, Any] | None:
    """A JSON object, or None if the text is anything else."""
    try:
        value, end = _raw_decode(text)  # spares the two searches for white space that `json.loads` makes
        if end != len(text):
            value = json.loads(text)
    except (ValueError, RecursionError):
        return _parse_padded(text)
    return cast("dict[str, Any]", value) if type(value) is dict else None


def _parse_padded(text: str) -> dict[str, Any] | None:
    stripped = text.strip()
    return parse_object(stripped) if stripped != text and stripped.startswith("{") else None


def object_in(value: Any) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_in(value: Any) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_in(value: Any) -> str:
    """`value` if it is text, else an empty one."""
    return value if isinstance(value, str) else ""


def count_in(value: Any) -> int:
    """`value` if it counts something, else 0."""
    return int(value) if isinstance(value, int | float) and value > 0 and value < 1e18 else 0


def compact(value: Any) -> str:
    """`value` as JSON in ASCII without spaces; half a surrogate pair survives as an escape."""
    return json.dumps(value, separators=(",", ":"))


def arguments_text(value: Any) -> str:
    """Arguments as an API gave them, as text: some servers send an object where text belongs."""
    if isinstance(value, str):
        return value
    return "" if value is None else spelled_arguments(value)


def spelled_arguments(value: Any) -> str:
    """Arguments as JSON for a model's eyes: references written out, letters as they are.

    Unlike `codec.encode_argument` this leaves keys that begin with `$` as they are: nobody reads this back by tags, and
    a model must see its own call as it said it.
    """
    return _encoded_arguments(value)


# Made once: `json.dumps` makes an encoder each time that it is told how to write.
_encoded_arguments = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=encode_argument).encode


def plain_arguments(value: Any) -> Any:
    """Arguments as `spelled_arguments` spells them, as data."""
    try:
        return _plain(value)
    except RecursionError:  # nested deeper than Python calls may be, but not than JSON can be
        return json.loads(spelled_arguments(value))


def _plain(value: Any) -> Any:
    match value:
        case Ref() | Concat():
            return encode_argument(value)
        case dict():
            return {key: _plain(each) for key, each in cast("dict[str, Any]", value).items()}
        case list():
            return [_plain(each) for each in cast("list[Any]", value)]
        case _:
            return value
