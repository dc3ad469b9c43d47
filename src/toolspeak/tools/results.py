"""From what a function returned to what references read (a JSON value) and what a model is shown (text).

A string stays; everything else becomes JSON by its type. What has no JSON form gets a readable one, and nothing a tool
returns can raise here: a hostile `__repr__`, a cycle or a list without end is a result like any other.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from toolspeak.messages import Json

ITEMS = 10_000
"""Items taken from the generators of a result, which may have no end."""

LETTERS = 8_000_000
"""Letters taken from the generators of a result, whose items may be large."""

LARGEST = 14_000
"""Bits of an integer beyond which Python refuses to write it out (over 4,000 digits)."""

DEEPEST = 50
"""Levels of a result that has to be taken apart by hand."""


def output_value(result: Any) -> Json:
    """What a tool returned, as a JSON value."""
    if result is None or type(result) in (str, bool):
        return result
    try:
        if not _endless(result):
            value = to_jsonable_python(result, bytes_mode="utf8", fallback=_fallback)
            json.dumps(value, allow_nan=False)  # not a number, or one too large for Python to write, is not JSON
            return value
    except Exception:  # noqa: S110 (a cycle, bytes that are no text, a property that raises: each piece on its own, then)
        pass
    return _Pieces().read(result, depth=0, above=())


def output_text(value: Json) -> str:
    """A JSON value as a model is shown it."""
    return value if isinstance(value, str) else _encoded(value)


_encoded = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would make an encoder each time


def _endless(result: Any) -> bool:
    """Whether there is something in a result that may have no end."""
    met: set[int] = set()
    waiting = [result]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Iterator):
            return True
        if not isinstance(value, str | int | float) and id(value) not in met:
            met.add(id(value))
            waiting += _inside(value)
    return False


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[Any, Any]", value).values()
    if isinstance(value, list | tuple | set | frozenset):
        return cast("list[Any]", value)
    return _fields(value).values()


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, BaseModel):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in fields(value)}
    return {}


def _fallback(value: Any) -> Any:
    return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else repr(value)


class _Pieces:
    """Slow and safe: each piece on its own, so that one bad piece does not spoil the rest."""

    def __init__(self) -> None:
        self._left = ITEMS
        self._letters = LETTERS

    def read(self, value: Any, depth: int, above: tuple[int, ...]) -> Json:
        if id(value) in above:
            return "… (refers to itself)"
        if depth > DEEPEST:
            return "… (nested too deeply)"
        try:
            return self._read(value, depth + 1, (*above, id(value)))
        except Exception:
            return _safe_text(value)

    def _read(self, value: Any, depth: int, above: tuple[int, ...]) -> Json:
        if isinstance(value, dict):
            pairs = list(cast("dict[Any, Any]", value).items())
            return {_safe_text(key): self.read(item, depth, above) for key, item in pairs}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.read(item, depth, above) for item in cast("list[Any]", value)]
        if isinstance(value, Iterator):
            return list(self._items(cast("Iterator[Any]", value), depth, above))
        if isinstance(value, int) and value.bit_length() > LARGEST:
            return f"<integer of about {math.floor(value.bit_length() * math.log10(2)) + 1} digits>"
        if isinstance(value, float) and not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        if isinstance(value, bytes | bytearray | memoryview):
            return f"<{len(cast('bytes', value))} bytes of binary data>"
        if inside := _fields(value):
            return {name: self.read(item, depth, above) for name, item in inside.items()}
        plain = to_jsonable_python(value, fallback=_fallback)
        return self.read(plain, depth, above) if isinstance(plain, dict | list) else plain

    def _items(self, items: Iterator[Any], depth: int, above: tuple[int, ...]) -> Iterator[Json]:
        try:
            for item in items:
                if self._left == 0 or self._letters <= 0:
                    yield f"… (cut after {ITEMS - self._left} items)"
                    return
                self._left -= 1
                if isinstance(item, str):
                    self._letters -= len(item)
                yield self.read(item, depth, above)
        except Exception as error:
            yield f"… ({_safe_text(_fallback(error))})"


def _safe_text(value: Any) -> str:
    try:
        return value if isinstance(value, str) else repr(value)
    except Exception:
        return f"<{type(value).__name__}, which cannot be shown>"
