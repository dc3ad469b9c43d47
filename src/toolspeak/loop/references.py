"""Arguments that refer to the results of earlier calls."""

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, cast

from toolspeak.tools import output_text
from toolspeak.values.messages import Concat, Json, Ref, ToolResult
from toolspeak.values.validation import format_value


class BrokenReference(Exception):
    """A reference to a value that does not exist; the message of the error is for the model."""


PLAIN_TYPES = frozenset({str, int, float, bool, NoneType})
"""Types of arguments that hold no reference."""


def find_references(arguments: dict[str, Any]) -> tuple[str, ...]:
    """Return the ids of the calls that `arguments` refer to, each once."""
    if PLAIN_TYPES.issuperset(map(type, arguments.values())):
        return ()
    return tuple(dict.fromkeys(_iter_references(arguments)))


def _iter_references(value: Any) -> Iterator[str]:
    match value:
        case Ref(call=call):
            yield call
        case Concat(parts=parts):
            for part in parts:
                yield from _iter_references(part)
        case dict():
            for each in cast("dict[str, Any]", value).values():
                yield from _iter_references(each)
        case list():
            for each in cast("list[Any]", value):
                yield from _iter_references(each)
        case _:
            pass


def resolve_references(value: Any, results: Mapping[str, ToolResult]) -> Any:
    """Return arguments, or a value in them, with each reference replaced by the value that it refers to.

    Raises:
        BrokenReference: A call has no result, has failed, or its result has no such part.
    """
    if type(value) is dict and PLAIN_TYPES.issuperset(map(type, cast("dict[str, Any]", value).values())):
        return cast("dict[str, Any]", value).copy()  # the arguments of most calls
    match value:
        case Ref():
            return _follow(value, results)
        case Concat(parts=parts):
            return "".join(output_text(resolve_references(part, results)) for part in parts)
        case dict():
            return {key: resolve_references(each, results) for key, each in cast("dict[str, Any]", value).items()}
        case list():
            return [resolve_references(each, results) for each in cast("list[Any]", value)]
        case _:
            return value


def _follow(ref: Ref, results: Mapping[str, ToolResult]) -> Json:
    result = results.get(ref.call)
    if result is None:
        raise BrokenReference("it needs the result of a call that was not made")
    if result.error is not None:
        raise BrokenReference(f"it needs the result of another call, which failed: {result.error}")
    value: Any = result.output
    for step in ref.path:
        value = _take_step(value, step)
    return value


def _take_step(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        if step in fields:
            return fields[step]
        known = ", ".join(map(repr, fields)) or "none"
        raise BrokenReference(f"the result it needs has no {step!r}; it has: {format_value(known)}")
    if isinstance(value, list | str) and isinstance(step, int):
        items = cast("list[Any]", value)
        if -len(items) <= step < len(items):
            return items[step]
        raise BrokenReference(f"the result it needs has no item {step}; the number of its items is {len(items)}")
    if isinstance(value, list | str) and step == "length":
        return len(cast("list[Any]", value))
    raise BrokenReference(f"the result it needs is {format_value(value)}, which has no {step!r}")
