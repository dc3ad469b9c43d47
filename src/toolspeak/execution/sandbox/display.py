"""A value that came out of monty, as a Python shell shows it, with no more work than the shown text is worth.

`repr` would do a billion times more for a list that holds one list a thousand times, which holds another so: small in
there, and without end out here.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias, cast

DEEPEST = 40
"""Levels of a value that are shown."""

_BRACKETS: dict[type[Any], str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}", dict: "{}"}
_PLAIN: tuple[type[Any], ...] = (list, tuple, set, dict)

_Piece: TypeAlias = "str | Iterator[str]"
"""Some characters, or what will give them."""


def shown(value: Any, most: int) -> str:
    """The text of a value, cut after `most` characters."""
    text = "".join(islice(_characters(value, most, 0), most + 1))
    return text if len(text) <= most else f"{text[:most]}…"


def _characters(value: Any, most: int, depth: int) -> Iterator[str]:
    for piece in _pieces(value, most, depth):
        yield from piece


def _pieces(value: Any, most: int, depth: int) -> Iterator[_Piece]:
    if isinstance(value, str | bytes):
        yield repr(value[: most + 1])
    elif isinstance(attributes := getattr(value, "attributes", None), Mapping):  # of a class that the code made
        yield from _named(value.name, cast("Mapping[Any, Any]", attributes).items(), most, depth)
    elif isinstance(fields := getattr(value, "_fields", None), tuple):  # a tuple with names
        yield from _named(type(value).__name__, zip(cast("tuple[str, ...]", fields), value, strict=False), most, depth)
    elif isinstance(value, Collection):
        yield from _collection(cast("Collection[Any]", value), most, depth)
    else:
        yield repr(value)


def _named(name: str, items: Iterable[tuple[Any, Any]], most: int, depth: int) -> Iterator[_Piece]:
    yield f"{name}("
    yield from _listed(items, "=", most, depth)
    yield ")"


def _collection(value: Collection[Any], most: int, depth: int) -> Iterator[_Piece]:
    kind: type[Any] = type(value)
    name = "" if kind in _PLAIN else kind.__name__
    is_mapping = isinstance(value, Mapping)
    brackets = "{}" if is_mapping else _BRACKETS.get(kind, "[]")
    if not value and kind not in (list, tuple, dict):
        yield f"{kind.__name__}()"
        return
    yield f"{name}({brackets[0]}" if name else brackets[0]
    items = cast("Mapping[Any, Any]", value).items() if is_mapping else ((None, item) for item in value)
    yield from _listed(items, ": " if is_mapping else None, most, depth)
    alone = kind is tuple and len(value) == 1
    yield f"{',' if alone else ''}{brackets[1]}{')' if name else ''}"


def _listed(items: Iterable[tuple[Any, Any]], between: str | None, most: int, depth: int) -> Iterator[_Piece]:
    if depth >= DEEPEST:
        yield "…"
        return
    for place, (key, item) in enumerate(items):
        if place:
            yield ", "
        if between is not None:
            yield str(key) if between == "=" else _characters(key, most, depth + 1)
            yield between
        yield _characters(item, most, depth + 1)
