"""Functions and methods that every program has, applied to values that are written out."""

import json
from collections.abc import Callable

from toolspeak.messages import Ref
from toolspeak.reading.code.constants import Unknown, Value, find_unknown, get_member, has_results, join_text

MAX_ROUNDS = 100
"""Rounds of a loop that are unrolled. A model hardly means a longer loop as calls."""

PASSING_ON = frozenset(
    "asyncio.run asyncio.create_task asyncio.ensure_future asyncio.wait_for loop.run_until_complete Promise.resolve "
    "json.loads JSON.parse list tuple".split()
)
"""Functions whose result is their first argument."""

GATHERING = frozenset("asyncio.gather gather Promise.all Promise.allSettled Promise.any Promise.race".split())
"""Functions whose result is the list of their arguments."""

PRINTING = frozenset("print console.log console.info console.error console.debug console.warn display".split())

TEXT_METHODS: dict[str, Callable[[str], str]] = {
    "strip": str.strip,
    "trim": str.strip,
    "upper": str.upper,
    "toUpperCase": str.upper,
    "lower": str.lower,
    "toLowerCase": str.lower,
}


def call_builtin(dotted: str, args: list[Value], keywords: Value) -> Value:
    """Return the result of a built-in function; None if the function is another."""
    first = args[0] if args else None
    match dotted:
        case "str" | "String" | "json.dumps" | "JSON.stringify" if isinstance(first, Ref | Unknown):
            return first
        case "str" | "String" if len(args) == 1:
            return join_text([first], python=dotted == "str")
        case "json.dumps" | "JSON.stringify" if args and not find_unknown(first) and not has_results(first):
            return json.dumps(first, ensure_ascii=False)
        case "int" | "float" | "Number" | "parseInt" | "parseFloat" if isinstance(first, str | int | float):
            return _convert(dotted, first)
        case "range":
            return _unroll_range(args)
        case "enumerate" if isinstance(first, list):
            named = keywords.get("start", 0) if isinstance(keywords, dict) else 0
            start = args[1] if len(args) > 1 else named
            if type(start) is not int:
                return None
            return [[index, item] for index, item in enumerate(first, start)]
        case "zip":
            lists = [arg for arg in args if isinstance(arg, list)]
            if not args or len(lists) < len(args):
                return None
            return [list(items) for items in zip(*lists, strict=False)]
        case "reversed" if isinstance(first, list):
            return first[::-1]
        case _:
            return None


def _unroll_range(args: list[Value]) -> Value:
    bounds = [arg for arg in args if type(arg) is int]
    if len(bounds) < len(args) or not 1 <= len(bounds) <= 3 or bounds[2:] == [0]:
        return None
    rounds = range(*bounds)
    return list(rounds) if len(rounds) <= MAX_ROUNDS else Unknown(reason="the range is too long")


def _convert(kind: str, value: str | float) -> Value:
    try:
        return int(value) if kind in ("int", "parseInt") else float(value)
    except (ValueError, OverflowError):
        return Unknown(reason=f"{value!r} is not a number")


def call_method(base: Value, name: str, args: list[Value]) -> Value:
    """Return the result of `base.name(*args)`."""
    if name == "get" and args:
        return get_member(base, args[0])
    if isinstance(base, dict) and name in ("items", "keys", "values"):
        if name == "items":
            return [[key, value] for key, value in base.items()]
        return list(base) if name == "keys" else list(base.values())
    if isinstance(base, str) and name == "join" and args and isinstance(args[0], list):
        pieces: list[Value] = []
        for item in args[0]:
            pieces += [base, item]
        return join_text(pieces[1:])
    if isinstance(base, str) and name in TEXT_METHODS and not args:
        return TEXT_METHODS[name](base)
    return base if isinstance(base, Unknown) else Unknown(reason=f".{name}() is not supported")
