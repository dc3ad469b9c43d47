"""The arguments of a call in a program, as the JSON values that a tool takes.

A program runs in Python, whose values are more than those of JSON. What has a plain form in JSON gets it: a tuple is a
list, a date is its ISO text. What would be lost or changed on the way is refused with a `TypeError`, which is raised in
the program at the call.
"""

import math
from typing import Any, cast

from toolspeak.coercion import coerce_arguments
from toolspeak.execution.sandbox.monty_program import ProgramCall
from toolspeak.reading.values import MAX_VALUE_NESTING
from toolspeak.spec import ToolSpec

MAX_INTEGER_BITS = 14_000
"""Bits of an integer; Python writes no more than 4,300 digits."""


def name_arguments(spec: ToolSpec, call: ProgramCall) -> dict[str, Any]:
    """Return the arguments of a call by name, as JSON values in the form of the schema.

    Raises:
        TypeError: The call has too many arguments, two values for one parameter, or a value that JSON does not have.
    """
    names = list(spec.parameters["properties"])
    if len(call.args) > len(names):
        raise TypeError(f"{call.name}() takes {len(names)} arguments but {len(call.args)} were given")
    named = dict(zip(names, call.args, strict=False))
    if doubled := next((name for name in call.kwargs if name in named), None):
        raise TypeError(f"{call.name}() got multiple values for argument {doubled!r}")
    try:
        coerced = coerce_arguments(_to_json(named | call.kwargs), spec.parameters)
        return _to_json(coerced)  # a text that was read as numbers or lists must keep the rules too
    except (ValueError, RecursionError) as error:
        raise TypeError(f"{call.name}() cannot take these arguments: {error}") from error


def _to_json(value: Any, depth: int = 0) -> Any:
    if depth > MAX_VALUE_NESTING:
        raise ValueError(f"lists and dicts are nested more than {MAX_VALUE_NESTING} deep")
    if isinstance(value, dict):
        return _to_object(cast("dict[Any, Any]", value), depth)
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_json(each, depth + 1) for each in cast("list[Any]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no number of JSON")
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        raise ValueError("an integer has too many digits")
    if isinstance(value, bytes):
        return _to_text(value)
    plain = _convert(value)
    return _to_json(plain, depth) if isinstance(plain, dict | list) else plain


def _convert(value: Any) -> Any:
    from pydantic_core import to_jsonable_python  # imported with the first value that needs it

    return to_jsonable_python(value, fallback=str)


def _to_object(items: dict[Any, Any], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in items.items():
        name = key if isinstance(key, str) else next(iter(_convert({key: None})))
        if name in found:
            raise ValueError(f"two keys of a dict are {name!r} in JSON")
        found[name] = _to_json(value, depth + 1)
    return found


def _to_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ValueError("bytes that are not text in UTF-8; pass text, such as data.hex()") from None
