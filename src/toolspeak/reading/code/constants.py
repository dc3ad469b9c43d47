"""The values of expressions that are written out: texts joined, numbers computed, texts formatted.

Only what cannot be mistaken is computed. Everything else is `Unknown`, and a call that needs it is refused.
"""

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TypeAlias, TypeGuard

from toolspeak._frozen import frozen
from toolspeak.messages import Concat, Ref
from toolspeak.reading.code.syntax import Closure

CONSTANTS = {
    **dict.fromkeys(("math.pi", "np.pi", "numpy.pi", "Math.PI"), math.pi),
    **dict.fromkeys(("math.e", "np.e", "numpy.e", "Math.E"), math.e),
    "math.tau": math.tau,
}
"""Numbers that libraries have a name for."""

FORMAT_SPEC = re.compile(r"[<>=^]?[+\- ]?0?\d{0,2},?(?:\.\d{1,2})?[deEfFgGsxX%]?")
"""The format specifications that are applied."""

UNSUPPORTED_FORMAT = "a text is formatted in a way that is not supported"


@frozen
class Unknown:
    """A value that the text does not tell, and the reason for it."""

    reason: str


@frozen
class Module:
    """A library that the code imports."""

    name: str


Value: TypeAlias = (
    "str | int | float | bool | list[Value] | dict[str, Value] | Ref | Concat | Unknown | Module | Closure | None"
)
"""The value of an expression: JSON, the result of a call that has not been made yet, a function, or `Unknown`."""


def walk_value(value: Value) -> Iterator[Value]:
    """Yield a value and all values inside it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def find_unknown(value: Value) -> Unknown | None:
    """Return the first part of a value that is not known or that cannot be an argument; None if all parts can."""
    for each in walk_value(value):
        if isinstance(each, Unknown):
            return each
        if isinstance(each, Closure | Module):
            return Unknown(reason="a function is given as a value")
    return None


def has_results(value: Value) -> bool:
    """Whether a value holds results of calls, which are not there yet."""
    return any(isinstance(each, Ref | Concat) for each in walk_value(value))


def join_text(parts: list[Value], *, python: bool = True) -> Value:
    """Join parts to one text; to a `Concat` if some are results. `python`: whether true is written `True`."""
    pieces: list[str | Ref] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Concat) else (part,):
            if isinstance(piece, Unknown):
                return piece
            if isinstance(piece, Ref):
                pieces.append(piece)
                continue
            if isinstance(piece, dict | list | Closure | Module):
                return Unknown(reason="text is joined with something that is not text")
            text = piece if isinstance(piece, str) else str(piece) if python else json.dumps(piece)
            if pieces and isinstance(last := pieces[-1], str):
                pieces[-1] = last + text
            elif text:
                pieces.append(text)
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "".join(texts) if len(texts) == len(pieces) else Concat(parts=tuple(pieces))


def format_value(value: Value, spec: str) -> Value:
    """Return the text of `{value:spec}`, for values that are written out."""
    if isinstance(value, Unknown):
        return value
    as_text = spec.startswith("!s")
    plain = spec.removeprefix("!s").removeprefix(":")
    if not isinstance(value, str | int | float) or not (as_text or spec.startswith(":")):
        return Unknown(reason=UNSUPPORTED_FORMAT)
    if not FORMAT_SPEC.fullmatch(plain):
        return Unknown(reason=UNSUPPORTED_FORMAT)
    try:
        return format(str(value) if as_text else value, plain)
    except (ValueError, TypeError):
        return Unknown(reason=UNSUPPORTED_FORMAT)


def get_member(base: Value, key: Value) -> Value:
    """Return `base[key]`."""
    if isinstance(base, Unknown):
        return base
    if isinstance(key, bool) or not isinstance(key, str | int):
        return Unknown(reason="a part is taken with something that is not written out")
    if isinstance(base, Ref):
        return Ref(call=base.call, path=(*base.path, key))
    if isinstance(base, dict) and isinstance(key, str) and key in base:
        return base[key]
    if isinstance(base, list | str) and isinstance(key, int) and -len(base) <= key < len(base):
        return base[key]
    return Unknown(reason=f"there is no {key!r} in it")


def compute(operator: str, left: Value, right: Value) -> Value:
    """Compute constant arithmetic, or join texts or lists with `+`."""
    for side in (left, right):
        if isinstance(side, Unknown):
            return side
    if operator == "+" and (isinstance(left, str | Concat) or isinstance(right, str | Concat)):
        return join_text([left, right])
    if operator == "+" and isinstance(left, list) and isinstance(right, list):
        return [*left, *right]
    if not (_is_number(left) and _is_number(right)):
        return Unknown(reason="it computes with something that is not a written number")
    try:
        return _compute_number(operator, left, right)
    except (ArithmeticError, ValueError):
        return Unknown(reason="the computation has no result")


def _is_number(value: Value) -> TypeGuard[int | float]:
    return type(value) in (int, float)


def _compute_number(operator: str, left: float, right: float) -> Value:
    if float in (type(left), type(right)) and operator in ("+", "-", "*", "/"):
        # As decimals, which is how they are written: 100 * 1e-6 is 0.0001, and 0.1 + 0.2 is 0.3.
        return float(_apply_operator(operator, Decimal(repr(left)), Decimal(repr(right))))
    return _apply_operator(operator, left, right)


def _apply_operator(operator: str, left: Any, right: Any) -> Any:
    """Apply an operator to two numbers of one sort: `int`, `float` or `Decimal`."""
    if operator in ("%", "//") and (left < 0 or right < 0):
        return Unknown(reason="languages differ in what that comes to")
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
            return Unknown(reason="the computation is too large")
