"""Arguments that refer to the results of earlier calls."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from toolspeak.messages import Concat, Json, Ref, ToolResult
from toolspeak.tools import output_text
from toolspeak.validation import shown


class BrokenReference(Exception):
    """A reference that leads nowhere; the message is for the model."""


def needs(arguments: Any) -> tuple[str, ...]:
    """The calls that arguments refer to, each once."""
    return tuple(dict.fromkeys(_calls(arguments)))


def _calls(value: Any) -> Iterator[str]:
    match value:
        case Ref(call=call):
            yield call
        case Concat(parts=parts):
            for part in parts:
                yield from _calls(part)
        case dict():
            for each in cast("dict[str, Any]", value).values():
                yield from _calls(each)
        case list():
            for each in cast("list[Any]", value):
                yield from _calls(each)
        case _:
            pass


def resolved(value: Any, results: Mapping[str, ToolResult]) -> Any:
    """Arguments, or a part of them, with what they refer to in its place."""
    match value:
        case Ref():
            return _followed(value, results)
        case Concat(parts=parts):
            return "".join(output_text(resolved(part, results)) for part in parts)
        case dict():
            return {key: resolved(each, results) for key, each in cast("dict[str, Any]", value).items()}
        case list():
            return [resolved(each, results) for each in cast("list[Any]", value)]
        case _:
            return value


def _followed(ref: Ref, results: Mapping[str, ToolResult]) -> Json:
    result = results.get(ref.call)
    if result is None:
        raise BrokenReference("it needs the result of a call that was not made")
    if result.error is not None:
        raise BrokenReference(f"it needs the result of another call, which failed: {result.error}")
    value: Any = result.output
    for step in ref.path:
        value = _step(value, step)
    return value


def _step(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        if step in fields:
            return fields[step]
        known = ", ".join(map(repr, fields)) or "none"
        raise BrokenReference(f"the result it needs has no {step!r}; it has: {shown(known)}")
    if isinstance(value, list | str) and isinstance(step, int):
        items = cast("list[Any]", value)
        if -len(items) <= step < len(items):
            return items[step]
        raise BrokenReference(f"the result it needs has {len(items)} items, so there is none at {step}")
    if isinstance(value, list | str) and step == "length":
        return len(cast("list[Any]", value))
    raise BrokenReference(f"the result it needs is {shown(value)}, which has no {step!r}")
