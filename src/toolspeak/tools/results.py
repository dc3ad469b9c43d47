"""Converts what a function returned to JSON, which later calls can refer to, and that to the text for the model.

A string stays unchanged; everything else becomes JSON by its type. A value without a JSON form gets a readable one. No
return value can raise an error here: a hostile `__repr__`, a cycle or an endless generator is a result like any other.
A part that occurs twice is written out twice, so a few lists within lists can be gigabytes of text (YAML's aliases make
them): the size of a result is computed before any of it is written.
"""

import json
import math
import sys
from collections import UserDict, UserList, deque
from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from dataclasses import fields, is_dataclass
from types import GeneratorType, MappingProxyType, NoneType, SimpleNamespace
from typing import Any, NamedTuple, cast

from toolspeak.values.messages import Json

MAX_GENERATOR_ITEMS = 10_000
"""Items taken from the generators in a result, which may have no end."""

MAX_GENERATOR_CHARS = 8_000_000
"""Characters taken from the generators in a result. Only items that are strings themselves are counted."""

MAX_GENERATOR_NODES = 1_000_000
"""Values taken from the generators in a result: rows of a hundred fields for all items."""

MAX_NODES = 5_000_000
"""Values in a result, each counted as often as it is written out."""

MAX_REPEATED_NODES = 200_000
"""The same for a result that is mostly repetition: written out, it has ten times the values that it holds."""

MAX_CHARS = 50_000_000
"""Characters in the texts and keys of a result, each counted as often as it is written out."""

MAX_INTEGER_BITS = 14_000
"""Bits of the largest integer that is written out; Python refuses more than 4,300 digits."""

MAX_DEPTH = 50
"""Levels of nesting in a result that pydantic cannot convert as a whole."""


MAPPINGS = (dict, UserDict, MappingProxyType)
COLLECTIONS = (list, tuple, set, frozenset, deque, UserList, KeysView, ValuesView, ItemsView)
PLAIN_TYPES = frozenset({str, int, float, bool, NoneType})


def output_value(result: Any) -> Json:
    """Return the return value of a tool as a JSON value."""
    kind = cast("type[Any]", type(result))
    if kind is str or kind is bool or result is None or (kind is int and result.bit_length() <= MAX_INTEGER_BITS):
        return result
    survey = _Survey()
    size = survey.measure(result)
    if survey.is_too_large(size):
        count, unit = (size.chars, "characters") if size.chars > MAX_CHARS else (size.nodes, "values")
        # Of an astronomical number only the magnitude is shown; Python refuses to write more than 4,300 digits.
        words = f"{count:,}" if count < 10**15 else f"more than 10^{count.bit_length() * 3 // 10 - 1}"
        return f"… (too large to show: {words} {unit})"
    try:
        if not survey.has_iterator:
            from pydantic_core import to_jsonable_python  # imported with the first result that needs it

            value = to_jsonable_python(result, bytes_mode="utf8", fallback=_fallback)
            json.dumps(value, allow_nan=False)  # NaN, or a number too large for Python to write, is not JSON
            return value
    except Exception:  # noqa: S110 (a cycle, bytes that are no text, a property that raises: each part on its own, then)
        pass
    return _SafeConverter().convert(result, depth=0, above=())


def watch_generator(value: Any, raised: list[Exception]) -> Any:
    """Return the value; if a generator function returned it, what its body raises is added to `raised`."""

    def watch() -> Iterator[Any]:
        try:
            yield from value
        except Exception as error:  # `output_value` makes a text of it, but this is how the call ended
            raised.append(error)
            raise

    return watch() if isinstance(value, GeneratorType) else value


def output_text(value: Json) -> str:
    """Return a JSON value as the text that a model is shown."""
    return value if isinstance(value, str) else _encode_json(value)


_encode_json = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would make an encoder each time


class Size(NamedTuple):
    """How much JSON a value is when it is written out.

    Attributes:
        nodes: The values in it.
        chars: The characters of the texts and keys in it.
    """

    nodes: int = 1
    chars: int = 0


class _Survey:
    """Measures a result before it is converted. A part that occurs many times is measured once.

    Attributes:
        has_iterator: Whether the result holds an iterator, which may have no end.
    """

    def __init__(self) -> None:
        self.has_iterator = False
        self._held = 1
        self._sizes: dict[int, Size] = {}

    def measure(self, result: Any) -> Size:
        """Return the size of a result. Most results repeat no part: what they hold is what is written out."""
        met: set[int] = set()
        kept: list[Any] = []  # fields may be made when they are asked for: no other object may get their `id`
        is_repeated = False
        chars = 0
        waiting = [result]
        while waiting:
            value = waiting.pop()
            kind = cast("type[Any]", type(value))
            if kind is str:
                chars += len(value)
            elif kind not in PLAIN_TYPES:
                if id(value) in met:
                    is_repeated = True
                    continue
                met.add(id(value))
                self.has_iterator = self.has_iterator or isinstance(value, Iterator)
                chars += _count_own_chars(value)
                children = _get_children_safely(value)
                if children:
                    kept.append(children)
                    self._held += len(children)
                    waiting += children
        return self._measure_repeated(result) if is_repeated else Size(self._held, chars)

    def _measure_repeated(self, result: Any) -> Size:
        # Without recursion, since a result may be nested deeply. A part is on the stack twice: the first time its own
        # parts are put above it, the second time they are measured.
        kept: list[Any] = []
        waiting: list[tuple[Any, list[Any] | None]] = [(result, None)]
        while waiting:
            value, children = waiting.pop()
            if children is not None:
                nodes, chars = 1, _count_own_chars(value)
                for child in children:
                    size = self._size_of(child)
                    nodes, chars = nodes + size.nodes, chars + size.chars
                self._sizes[id(value)] = Size(nodes, chars)
            elif id(value) not in self._sizes and type(value) not in PLAIN_TYPES:
                self._sizes[id(value)] = Size(1, _count_own_chars(value))  # a part that refers to itself ends here
                children = _get_children_safely(value)
                if children:
                    kept.append(children)
                    waiting.append((value, children))
                    waiting += [(child, None) for child in children]
        return self._size_of(result)

    def is_too_large(self, size: Size) -> bool:
        """Whether a result that was measured is too large to be written out."""
        is_repetition = size.nodes > MAX_REPEATED_NODES and size.nodes > 10 * self._held
        return is_repetition or size.nodes > MAX_NODES or size.chars > MAX_CHARS

    def _size_of(self, value: Any) -> Size:
        return Size(1, len(value)) if type(value) is str else self._sizes.get(id(value), Size())


def _count_own_chars(value: Any) -> int:
    """Count the characters of a text, or of the keys of a dict."""
    if isinstance(value, dict):
        return sum([len(key) for key in cast("dict[Any, Any]", value) if type(key) is str])
    return len(value) if isinstance(value, str | bytes | bytearray) else 0


def _get_children_safely(value: Any) -> list[Any]:
    try:
        return list(_get_children(value))
    except Exception:  # a part that cannot be looked at is shown as a whole
        return []


def _get_children(value: Any) -> Iterable[Any]:
    """Return the parts of a value that are written out with it."""
    if isinstance(value, MAPPINGS):
        return cast("dict[Any, Any]", value).values()
    if isinstance(value, COLLECTIONS):
        return cast("list[Any]", value)
    if isinstance(value, BaseException):
        return value.args
    if isinstance(value, SimpleNamespace):
        return vars(value).values()
    return _get_fields(value).values()


def _get_fields(value: Any) -> dict[str, Any]:
    models = sys.modules.get("pydantic.main")  # before pydantic was imported, no value is a model
    if models is not None and isinstance(value, models.BaseModel):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in fields(value)}
    return {}


def _fallback(value: Any) -> Any:
    if isinstance(value, deque):  # which pydantic knows since 2.14
        return list(cast("deque[Any]", value))
    return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else repr(value)


class _SafeConverter:
    """Converts each part of a result on its own: slower, but one bad part does not spoil the rest."""

    def __init__(self) -> None:
        self._items_left = MAX_GENERATOR_ITEMS
        self._chars_left = MAX_GENERATOR_CHARS
        self._nodes_left = MAX_GENERATOR_NODES

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
            size = len(cast("bytes", value))
            return f"<{size} byte{'s' * (size != 1)} of binary data>"
        if inside := _get_fields(value):
            return {name: self.convert(item, depth, above) for name, item in inside.items()}
        from pydantic_core import to_jsonable_python

        plain = to_jsonable_python(value, fallback=_fallback)
        return self.convert(plain, depth, above) if isinstance(plain, dict | list) else plain

    def _convert_items(self, items: Iterator[Any], depth: int, above: tuple[int, ...]) -> Iterator[Json]:
        try:
            for item in items:
                size = _Survey().measure(item)
                self._nodes_left -= size.nodes
                # An item may be repetition that is gigabytes when written out; a text is at most what it is.
                is_too_large = size.nodes > 1 and size.chars > self._chars_left
                if self._items_left == 0 or self._chars_left <= 0 or self._nodes_left < 0 or is_too_large:
                    yield f"… (cut after {MAX_GENERATOR_ITEMS - self._items_left} items)"
                    return
                self._items_left -= 1
                self._chars_left -= size.chars
                yield self.convert(item, depth, above)
        except Exception as error:
            yield f"… ({_format_safely(_fallback(error))})"


def _format_safely(value: Any) -> str:
    try:
        return value if isinstance(value, str) else repr(value)
    except Exception:
        return f"<{type(value).__name__}, which cannot be shown>"
