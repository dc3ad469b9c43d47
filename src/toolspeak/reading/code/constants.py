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
from toolspeak.reading.code.budget import TOO_LARGE, TOO_LARGE_TOGETHER, Budget
from toolspeak.reading.code.syntax import Closure
from toolspeak.reading.values import MAX_VALUE_NESTING, is_writable_integer

CONSTANTS = {
    **dict.fromkeys(("math.pi", "np.pi", "numpy.pi", "Math.PI"), math.pi),
    **dict.fromkeys(("math.e", "np.e", "numpy.e", "Math.E"), math.e),
    "math.tau": math.tau,
}
"""Numbers that libraries have a name for."""

FORMAT_SPEC = re.compile(r"[<>=^]?[+\- ]?0?\d{0,2},?(?:\.\d{1,2})?[deEfFgGsxX%]?")
"""The format specifications that are applied."""

UNSUPPORTED_FORMAT = "a text is formatted in a way that is not supported"

MAX_QUOTED_CHARS = 100
"""Characters of a key or a name that a reason repeats."""


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
    """Yield a value and all values inside it. A list or dict that occurs several times is entered once."""
    waiting = [value]
    entered: set[int] = set()
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, dict | list):
            if id(each) in entered:
                continue
            entered.add(id(each))
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


def measure(value: Value, budget: Budget) -> int | Unknown:
    """Return the number of characters that a value has when it is written out; `Unknown` if it has too many.

    A list or dict that occurs several times counts each time, since it is written each time, but is measured once.
    """
    sizes: dict[int, tuple[int, int]] = {}  # by the identity of a list or dict: its characters and its nesting
    waiting = [value]
    while waiting:
        each = waiting[-1]
        if not isinstance(each, dict | list) or id(each) in sizes:
            waiting.pop()
            continue
        items = list(each.values()) if isinstance(each, dict) else each
        inner = [item for item in items if isinstance(item, dict | list) and id(item) not in sizes]
        if inner:
            waiting += inner
            continue
        waiting.pop()
        budget.count_steps(len(items))
        size = sum(len(key) + 4 for key in each) if isinstance(each, dict) else 0
        nesting = 0
        for item in items:
            item_size, item_nesting = sizes[id(item)] if isinstance(item, dict | list) else (_measure_scalar(item), 0)
            size += item_size + 2
            nesting = max(nesting, item_nesting)
        if size > budget.limit:
            return Unknown(reason=TOO_LARGE)
        if nesting >= MAX_VALUE_NESTING:
            return Unknown(reason="it is nested too deeply")
        sizes[id(each)] = size + 2, nesting + 1
    return sizes[id(value)][0] if isinstance(value, dict | list) else _measure_scalar(value)


def check_arguments(arguments: dict[str, Value], budget: Budget) -> Unknown | None:
    """Return why a call cannot have these arguments; None if it can, and then count them."""
    size = measure(arguments, budget)
    if isinstance(size, Unknown):
        return size
    if unknown := find_unknown(arguments):
        return unknown
    return None if budget.can_emit(size) else Unknown(reason=TOO_LARGE_TOGETHER)


def _measure_scalar(value: Value) -> int:
    """Return about how many characters a value has that is no list and no dict."""
    match value:
        case str():
            return len(value) + 2
        case bool():
            return 5
        case int():
            return value.bit_length() // 3 + 2
        case Ref(call=call, path=path):
            return len(call) + 22 + sum(len(key) + 4 if isinstance(key, str) else 8 for key in path)
        case Concat(parts=parts):
            return 14 + sum(_measure_scalar(part) + 2 for part in parts)
        case _:
            return 24


def join_text(parts: list[Value], budget: Budget, *, python: bool = True) -> Value:
    """Join parts to one text; to a `Concat` if some are results. `python`: whether true is written `True`."""
    pieces: list[str | Ref] = []
    run: list[str] = []  # texts that follow each other, which are one piece
    size = 0
    for part in parts:
        for piece in part.parts if isinstance(part, Concat) else (part,):
            if isinstance(piece, Unknown):
                return piece
            if isinstance(piece, Ref):
                if text := "".join(run):
                    pieces.append(text)
                    run = []
                pieces.append(piece)
                size += 1 + len(piece.path)
                continue
            if isinstance(piece, dict | list | Closure | Module):
                return Unknown(reason="text is joined with something that is not text")
            text = piece if isinstance(piece, str) else str(piece) if python else json.dumps(piece)
            size += len(text)
            if size > budget.limit:
                return Unknown(reason=TOO_LARGE)
            run.append(text)
    if not budget.can_build(size):
        return Unknown(reason=TOO_LARGE)
    text = "".join(run)
    if not pieces:
        return text
    return Concat(parts=(*pieces, text) if text else tuple(pieces))


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
    except (ValueError, TypeError, OverflowError):
        return Unknown(reason=UNSUPPORTED_FORMAT)


def quote(value: str | float) -> str:
    """Return a key or a value as a reason repeats it, cut if it is long."""
    return repr(value[:MAX_QUOTED_CHARS] if isinstance(value, str) else value)


def get_member(base: Value, key: Value, budget: Budget) -> Value:
    """Return `base[key]`."""
    if isinstance(base, Unknown):
        return base
    if isinstance(key, bool) or not isinstance(key, str | int):
        return Unknown(reason="a part is taken with something that is not written out")
    if isinstance(base, Ref):
        if not budget.can_build(len(base.path)):
            return Unknown(reason=TOO_LARGE)
        return Ref(call=base.call, path=(*base.path, key))
    if isinstance(base, dict) and isinstance(key, str) and key in base:
        return base[key]
    if isinstance(base, list | str) and isinstance(key, int) and -len(base) <= key < len(base):
        return base[key]
    return Unknown(reason=f"there is no {quote(key)} in it")


def compute(operator: str, left: Value, right: Value, budget: Budget) -> Value:
    """Compute constant arithmetic, or join texts or lists with `+`."""
    for side in (left, right):
        if isinstance(side, Unknown):
            return side
    if operator == "+" and (isinstance(left, str | Concat) or isinstance(right, str | Concat)):
        return join_text([left, right], budget)
    if operator == "+" and isinstance(left, list) and isinstance(right, list):
        return [*left, *right] if budget.can_build(len(left) + len(right)) else Unknown(reason=TOO_LARGE)
    if not (_is_number(left) and _is_number(right)):
        return Unknown(reason="it computes with something that is not a written number")
    # Every number here can be written, so a product has at most twice the digits that can, and is measured afterwards.
    try:
        result = _compute_number(operator, left, right)
    except (ArithmeticError, ValueError):
        return Unknown(reason="the computation has no result")
    if isinstance(result, int):
        return result if is_writable_integer(result) else Unknown(reason="the computation is too large")
    # A power can be a complex number, and a float can be infinite.
    is_number = isinstance(result, float) and math.isfinite(result)
    return result if is_number or isinstance(result, Unknown) else Unknown(reason="the computation has no result")


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
