"""Shows a value that came out of monty as a Python shell does, with work in proportion to the shown text.

`repr` would do a billion times more work for a list that holds one list a thousand times, which holds another list a
thousand times, and so on: such a value is small in memory, and its `repr` endless.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias, cast

MAX_DEPTH = 40
"""How many levels of a nested value are shown."""

_BRACKETS: dict[type[Any], str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}", dict: "{}"}
_WITHOUT_NAME: tuple[type[Any], ...] = (list, tuple, set, dict)

_Piece: TypeAlias = "str | Iterator[str]"
"""Some characters, or an iterator over characters."""


def format_value(value: Any, max_chars: int) -> str:
    """Return the text of a value, cut after `max_chars` characters."""
    text = "".join(islice(_characters(value, max_chars, 0), max_chars + 1))
    return text if len(text) <= max_chars else f"{text[:max_chars]}…"


def _characters(value: Any, max_chars: int, depth: int) -> Iterator[str]:
    for piece in _value_pieces(value, max_chars, depth):
        yield from piece


def _value_pieces(value: Any, max_chars: int, depth: int) -> Iterator[_Piece]:
    if isinstance(value, str | bytes):
        yield repr(value[: max_chars + 1])
    elif isinstance(attributes := getattr(value, "attributes", None), Mapping):  # an instance of the code's own class
        yield from _named_pieces(value.name, cast("Mapping[Any, Any]", attributes).items(), max_chars, depth)
    elif isinstance(fields := getattr(value, "_fields", None), tuple):  # a named tuple
        names = cast("tuple[str, ...]", fields)
        yield from _named_pieces(type(value).__name__, zip(names, value, strict=False), max_chars, depth)
    elif isinstance(value, Collection):
        yield from _collection_pieces(cast("Collection[Any]", value), max_chars, depth)
    else:
        yield repr(value)


def _named_pieces(name: str, items: Iterable[tuple[Any, Any]], max_chars: int, depth: int) -> Iterator[_Piece]:
    yield f"{name}("
    yield from _item_pieces(items, "=", max_chars, depth)
    yield ")"


def _collection_pieces(value: Collection[Any], max_chars: int, depth: int) -> Iterator[_Piece]:
    kind: type[Any] = type(value)
    name = "" if kind in _WITHOUT_NAME else kind.__name__
    is_mapping = isinstance(value, Mapping)
    brackets = "{}" if is_mapping else _BRACKETS.get(kind, "[]")
    if not value and kind not in (list, tuple, dict):
        yield f"{kind.__name__}()"
        return
    yield f"{name}({brackets[0]}" if name else brackets[0]
    items = cast("Mapping[Any, Any]", value).items() if is_mapping else ((None, item) for item in value)
    yield from _item_pieces(items, ": " if is_mapping else None, max_chars, depth)
    is_single = kind is tuple and len(value) == 1
    yield f"{',' if is_single else ''}{brackets[1]}{')' if name else ''}"


def _item_pieces(
    items: Iterable[tuple[Any, Any]], separator: str | None, max_chars: int, depth: int
) -> Iterator[_Piece]:
    """Yield the items; `separator` stands between a key or name and its value, and is None where there are no keys."""
    if depth >= MAX_DEPTH:
        yield "…"
        return
    for place, (key, item) in enumerate(items):
        if place:
            yield ", "
        if separator is not None:
            yield str(key) if separator == "=" else _characters(key, max_chars, depth + 1)
            yield separator
        yield _characters(item, max_chars, depth + 1)
