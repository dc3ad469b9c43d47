"""What values that are written out come to: text joined, numbers computed, texts formatted.

Only what cannot be mistaken is computed. Everything else is `Unknown`, and a call that needs it is refused.
"""

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, cast

from toolspeak._frozen import frozen
from toolspeak.messages import Concat, Ref
from toolspeak.reading.code.syntax import Closure

ROUNDS = 100
"""Rounds of a loop that are unrolled; one that is longer was hardly meant as calls."""

CONSTANTS = {
    **dict.fromkeys(("math.pi", "np.pi", "numpy.pi", "Math.PI"), math.pi),
    **dict.fromkeys(("math.e", "np.e", "numpy.e", "Math.E"), math.e),
    "math.tau": math.tau,
}
"""Numbers that libraries have a name for."""

SPEC = re.compile(r"[<>=^]?[+\- ]?0?\d{0,2},?(?:\.\d{1,2})?[deEfFgGsxX%]?")
"""Formats that are followed."""


@frozen
class Unknown:
    """A value that the text does not tell."""

    why: str


@frozen
class Module:
    """A library that the code imports."""

    name: str


def walked(value: Any) -> Iterator[Any]:
    """A value and all that is in it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, dict):
            waiting += cast("dict[str, Any]", each).values()
        elif isinstance(each, list):
            waiting += cast("list[Any]", each)


def unknown_in(value: Any) -> Unknown | None:
    """The first thing in a value that is not known, or that cannot be an argument."""
    for each in walked(value):
        if isinstance(each, Unknown):
            return each
        if isinstance(each, Closure | Module):
            return Unknown(why="a function is given as a value")
    return None


def holds_results(value: Any) -> bool:
    """Whether a value holds results of calls, which are not there yet."""
    return any(isinstance(each, Ref | Concat) for each in walked(value))


def joined(parts: list[Any], *, python: bool = True) -> Any:
    """Text from parts; a `Concat` if some are results. `python`: whether true is written `True`."""
    pieces: list[str | Ref] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Concat) else (part,):
            if isinstance(piece, Unknown):
                return piece
            if isinstance(piece, Ref):
                pieces.append(piece)
                continue
            if isinstance(piece, dict | list | Closure | Module):
                return Unknown(why="text is joined with something that is not text")
            text = piece if isinstance(piece, str) else str(piece) if python else json.dumps(piece)
            if pieces and isinstance(pieces[-1], str):
                pieces[-1] += text
            elif text:
                pieces.append(text)
    if any(isinstance(piece, Ref) for piece in pieces):
        return Concat(parts=tuple(pieces))
    return "".join(cast("list[str]", pieces))


def formatted(value: Any, spec: str) -> Any:
    """`{value:spec}`, for values that are written out."""
    if isinstance(value, Unknown):
        return value
    as_text = spec.startswith("!s")
    plain = spec.removeprefix("!s").removeprefix(":")
    written = isinstance(value, str | int | float)
    if not written or not (as_text or spec.startswith(":")) or not SPEC.fullmatch(plain):
        return Unknown(why="a text is formatted in a way that is not supported")
    try:
        return format(str(value) if as_text else value, plain)
    except (ValueError, TypeError):
        return Unknown(why="a text is formatted in a way that is not supported")


def operated(operator: str, left: Any, right: Any) -> Any:
    """Constant arithmetic, and text joined with `+`."""
    for side in (left, right):
        if isinstance(side, Unknown):
            return side
    if operator == "+" and (isinstance(left, str | Concat) or isinstance(right, str | Concat)):
        return joined([left, right])
    if operator == "+" and isinstance(left, list) and isinstance(right, list):
        return [*cast("list[Any]", left), *cast("list[Any]", right)]
    if not (_is_number(left) and _is_number(right)):
        return Unknown(why="it computes with something that is not a written number")
    try:
        return _computed(operator, left, right)
    except (ArithmeticError, ValueError):
        return Unknown(why="the computation has no result")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _computed(operator: str, left: Any, right: Any) -> Any:
    if float in (type(left), type(right)) and operator in ("+", "-", "*", "/"):
        # As decimals, which is how they are written: 100 * 1e-6 is 0.0001, and 0.1 + 0.2 is 0.3.
        return float(_exactly(operator, Decimal(repr(left)), Decimal(repr(right))))
    return _exactly(operator, left, right)


def _exactly(operator: str, left: Any, right: Any) -> Any:
    if operator in ("%", "//") and (left < 0 or right < 0):
        return Unknown(why="languages differ in what that comes to")
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case "//":
            return left // right
        case "%":
            return left % right
        case _ if abs(left) <= 1_000_000 and abs(right) <= 16:
            return left**right
        case _:
            return Unknown(why="the computation is too large")


def built_in(dotted: str, args: list[Any], keywords: Any) -> Any:
    """What a function that every program has gives, for values that are written out; None if it is another."""
    given = args[0] if args else None
    match dotted:
        case "str" | "String" | "json.dumps" | "JSON.stringify" if isinstance(given, Ref | Unknown):
            return given
        case "str" | "String" if len(args) == 1:
            return joined([given], python=dotted == "str")
        case "json.dumps" | "JSON.stringify" if args and not unknown_in(given) and not holds_results(given):
            return json.dumps(given, ensure_ascii=False)
        case "int" | "float" | "Number" | "parseInt" | "parseFloat" if isinstance(given, str | int | float):
            return _converted(dotted, given)
        case "range" if args and len(args) <= 3 and all(type(arg) is int for arg in args) and args[2:] != [0]:
            rounds = range(*args)
            return list(rounds) if len(rounds) <= ROUNDS else Unknown(why="the range is too long")
        case "enumerate" if isinstance(given, list):
            named = cast("dict[str, Any]", keywords).get("start", 0) if isinstance(keywords, dict) else 0
            start: Any = args[1] if len(args) > 1 else named
            items = enumerate(cast("list[Any]", given))
            return [[index + start, item] for index, item in items] if type(start) is int else None
        case "zip" if args and all(isinstance(arg, list) for arg in args):
            return [list(items) for items in zip(*cast("list[list[Any]]", args), strict=False)]
        case "reversed" if isinstance(given, list):
            return cast("list[Any]", given)[::-1]
        case _:
            return None


def _converted(kind: str, given: str | float) -> Any:
    try:
        return int(given) if kind in ("int", "parseInt") else float(given)
    except (ValueError, OverflowError):
        return Unknown(why=f"{given!r} is not a number")
