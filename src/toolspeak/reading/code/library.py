"""Functions and methods that every program has, applied to values that are written out."""

import json
import math
import sys
from collections.abc import Callable

from toolspeak.messages import Ref
from toolspeak.reading.code.budget import TOO_LARGE, Budget
from toolspeak.reading.code.constants import (
    Unknown,
    Value,
    find_unknown,
    get_member,
    has_results,
    join_text,
    measure,
    quote,
)
from toolspeak.reading.values import MAX_DIGITS

MAX_ROUNDS = 100
"""Rounds of a loop that are unrolled. A model hardly means a longer loop as calls."""

MAX_RANGE_BOUND = 2**62
"""The largest number that a range begins or ends with: the length of a longer one is none that Python can tell."""

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


def unroll(value: Value) -> list[Value] | None:
    """Return the items that a loop over `value` goes through; None if they are not written out or too many."""
    if not isinstance(value, dict | list) or len(value) > MAX_ROUNDS:
        return None
    return list(value)


def gather(args: list[Value], budget: Budget) -> Value:
    """Return the arguments as one list, with the items of those that are lists."""
    gathered: list[Value] = []
    for arg in args:
        if isinstance(arg, list) and not budget.can_build(len(gathered) + len(arg)):
            return Unknown(reason=TOO_LARGE)
        gathered += arg if isinstance(arg, list) else [arg]
    return gathered


def call_builtin(dotted: str, args: list[Value], keywords: Value, budget: Budget) -> Value:
    """Return the result of a built-in function; None if the function is another."""
    first = args[0] if args else None
    match dotted:
        case "str" | "String" | "json.dumps" | "JSON.stringify" if isinstance(first, Ref | Unknown):
            return first
        case "str" | "String" if len(args) == 1:
            return join_text([first], budget, python=dotted == "str")
        case "json.dumps" | "JSON.stringify" if args and not find_unknown(first) and not has_results(first):
            size = measure(first, budget)
            if isinstance(size, Unknown):
                return size
            return json.dumps(first, ensure_ascii=False) if budget.can_build(size) else Unknown(reason=TOO_LARGE)
        case "int" | "float" | "Number" | "parseInt" | "parseFloat" if isinstance(first, str | int | float):
            return _convert(dotted, first)
        case "range":
            return _unroll_range(args)
        case "enumerate" if isinstance(first, list):
            named = keywords.get("start", 0) if isinstance(keywords, dict) else 0
            start = args[1] if len(args) > 1 else named
            if type(start) is not int or abs(start) > sys.maxsize:
                return None
            if not budget.can_build(3 * len(first)):
                return Unknown(reason=TOO_LARGE)
            return [[index, item] for index, item in enumerate(first, start)]
        case "zip":
            lists = [arg for arg in args if isinstance(arg, list)]
            if not args or len(lists) < len(args):
                return None
            if not budget.can_build((len(lists) + 1) * min(map(len, lists))):
                return Unknown(reason=TOO_LARGE)
            return [list(items) for items in zip(*lists, strict=False)]
        case "reversed" if isinstance(first, list):
            return first[::-1] if budget.can_build(len(first)) else Unknown(reason=TOO_LARGE)
        case _:
            return None


def _unroll_range(args: list[Value]) -> Value:
    bounds = [arg for arg in args if type(arg) is int and abs(arg) <= MAX_RANGE_BOUND]
    if len(bounds) < len(args) or not 1 <= len(bounds) <= 3 or bounds[2:] == [0]:
        return None
    rounds = range(*bounds)
    return list(rounds) if len(rounds) <= MAX_ROUNDS else Unknown(reason="the range is too long")


def _convert(kind: str, value: str | float) -> Value:
    try:
        if not isinstance(value, str) or len(value) <= MAX_DIGITS:
            number = int(value) if kind in ("int", "parseInt") else float(value)
            if isinstance(number, int) or math.isfinite(number):
                return number
    except (ValueError, OverflowError):
        pass
    return Unknown(reason=f"{quote(value)} is not a number")


def call_method(base: Value, name: str, args: list[Value], budget: Budget) -> Value:
    """Return the result of `base.name(*args)`."""
    if name == "get" and args:
        return get_member(base, args[0], budget)
    if isinstance(base, str | list | dict) and not budget.can_build(3 * len(base)):
        return Unknown(reason=TOO_LARGE)
    if isinstance(base, dict) and name in ("items", "keys", "values"):
        if name == "items":
            return [[key, value] for key, value in base.items()]
        return list(base) if name == "keys" else list(base.values())
    if isinstance(base, str) and name == "join" and args and isinstance(args[0], list):
        if not budget.can_build(2 * len(args[0])):
            return Unknown(reason=TOO_LARGE)
        pieces: list[Value] = []
        for item in args[0]:
            pieces += [base, item]
        return join_text(pieces[1:], budget)
    if isinstance(base, str) and name in TEXT_METHODS and not args:
        return TEXT_METHODS[name](base)
    return base if isinstance(base, Unknown) else Unknown(reason=f".{name}() is not supported")
