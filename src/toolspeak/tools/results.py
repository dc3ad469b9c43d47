"""Converts what a function returned to JSON, which later calls can refer to, and that to the text for the model.

A string stays unchanged; everything else becomes JSON by its type. A value without a JSON form gets a readable one. No
return value can raise an error here: a hostile `__repr__`, a cycle or an endless generator is a result like any other.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from toolspeak.messages import Json

MAX_GENERATOR_ITEMS = 10_000
"""Items taken from the generators in a result, which may have no end."""

MAX_GENERATOR_CHARS = 8_000_000
"""Characters taken from the generators in a result. Only items that are strings themselves are counted."""

MAX_INTEGER_BITS = 14_000
"""Bits of the largest integer that is written out; Python refuses more than 4,300 digits."""

MAX_DEPTH = 50
"""Levels of nesting in a result that pydantic cannot convert as a whole."""


def output_value(result: Any) -> Json:
    """Return the return value of a tool as a JSON value."""
    if result is None or type(result) in (str, bool):
        return result
    try:
        if not _has_iterator(result):
            value = to_jsonable_python(result, bytes_mode="utf8", fallback=_fallback)
            json.dumps(value, allow_nan=False)  # NaN, or a number too large for Python to write, is not JSON
            return value
    except Exception:  # noqa: S110 (a cycle, bytes that are no text, a property that raises: each part on its own, then)
        pass
    return _SafeConverter().convert(result, depth=0, above=())


def output_text(value: Json) -> str:
    """Return a JSON value as the text that a model is shown."""
    return value if isinstance(value, str) else _encode_json(value)


_encode_json = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would make an encoder each time


def _has_iterator(result: Any) -> bool:
    """Whether a result holds an iterator, which may have no end."""
    met: set[int] = set()
    waiting = [result]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Iterator):
            return True
        if not isinstance(value, str | int | float) and id(value) not in met:
            met.add(id(value))
            waiting += _get_children(value)
    return False


def _get_children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[Any, Any]", value).values()
    if isinstance(value, list | tuple | set | frozenset):
        return cast("list[Any]", value)
    return _get_fields(value).values()


def _get_fields(value: Any) -> dict[str, Any]:
    if isinstance(value, BaseModel):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in fields(value)}
    return {}


def _fallback(value: Any) -> Any:
    return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else repr(value)


class _SafeConverter:
    """Converts each part of a result on its own: slower, but one bad part does not spoil the rest."""

    def __init__(self) -> None:
        self._items_left = MAX_GENERATOR_ITEMS
        self._chars_left = MAX_GENERATOR_CHARS

    def convert(self, value: Any, depth: int, above: tuple[int, ...]) -> Json:
        if id(value) in above:
            return "… (refers to itself)"
        if depth > MAX_DEPTH:
            return "… (nested too deeply)"
        try:
            return self._convert(value, depth + 1, (*above, id(value)))
        except Exception:
            return _format_safely(value)

    def _convert(self, value: Any, depth: int, above: tuple[int, ...]) -> Json:
        if isinstance(value, dict):
            pairs = list(cast("dict[Any, Any]", value).items())
            return {_format_safely(key): self.convert(item, depth, above) for key, item in pairs}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.convert(item, depth, above) for item in cast("list[Any]", value)]
        if isinstance(value, Iterator):
            return list(self._convert_items(cast("Iterator[Any]", value), depth, above))
        if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
            return f"<integer of about {math.floor(value.bit_length() * math.log10(2)) + 1} digits>"
        if isinstance(value, float) and not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        if isinstance(value, bytes | bytearray | memoryview):
            return f"<{len(cast('bytes', value))} bytes of binary data>"
        if inside := _get_fields(value):
            return {name: self.convert(item, depth, above) for name, item in inside.items()}
        plain = to_jsonable_python(value, fallback=_fallback)
        return self.convert(plain, depth, above) if isinstance(plain, dict | list) else plain

    def _convert_items(self, items: Iterator[Any], depth: int, above: tuple[int, ...]) -> Iterator[Json]:
        try:
            for item in items:
                if self._items_left == 0 or self._chars_left <= 0:
                    yield f"… (cut after {MAX_GENERATOR_ITEMS - self._items_left} items)"
                    return
                self._items_left -= 1
                if isinstance(item, str):
                    self._chars_left -= len(item)
                yield self.convert(item, depth, above)
        except Exception as error:
            yield f"… ({_format_safely(_fallback(error))})"


def _format_safely(value: Any) -> str:
    try:
        return value if isinstance(value, str) else repr(value)
    except Exception:
        return f"<{type(value).__name__}, which cannot be shown>"
