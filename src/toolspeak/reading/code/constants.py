"""The values of expressions that are written out: texts joined, numbers computed, names looked up, built-ins applied.

Only what cannot be mistaken is computed. Everything else is `Unknown`, and a call that needs it is refused.

A few lines of code can mean a value of any size (`x = x + x`), and loops can mean any number of steps. So all of it is
counted by the `Budget` of the message. What that allows grows with the length of the code that was read, and with
nothing else: values, steps and the arguments of all calls stay linear in the text. A value that would be larger is
never built: it is `Unknown`.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, TypeAlias, TypeGuard

from toolspeak.reading.code.syntax import Closure, Constant, Expression, Member, Name
from toolspeak.reading.source import ITEMS_PER_STEP, Budget
from toolspeak.reading.values import MAX_DIGITS, MAX_VALUE_NESTING, is_writable_integer
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Concat, Ref

TOO_LARGE = "the value that it computes is too large"
TOO_LARGE_TOGETHER = "the arguments of all calls together are too large"


CONSTANTS = {
    **dict.fromkeys(("math.pi", "np.pi", "numpy.pi", "Math.PI"), math.pi),
    **dict.fromkeys(("math.e", "np.e", "numpy.e", "Math.E"), math.e),
    "math.tau": math.tau,
}
"""Numbers that libraries have a name for."""

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
}

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


def compute(sign: str, left: Value, right: Value, budget: Budget) -> Value:
    """Compute constant arithmetic, or join texts or lists with `+`."""
    for side in (left, right):
        if isinstance(side, Unknown):
            return side
    if sign == "+" and (isinstance(left, str | Concat) or isinstance(right, str | Concat)):
        return join_text([left, right], budget)
    if sign == "+" and isinstance(left, list) and isinstance(right, list):
        return [*left, *right] if budget.can_build(len(left) + len(right)) else Unknown(reason=TOO_LARGE)
    if not (_is_number(left) and _is_number(right)):
        return Unknown(reason="it computes with something that is not a written number")
    # Every number here can be written, so a product has at most twice the digits that can, and is measured afterwards.
    try:
        result = _compute_number(sign, left, right)
    except (ArithmeticError, ValueError):
        return Unknown(reason="the computation has no result")
    if isinstance(result, int):
        return result if is_writable_integer(result) else Unknown(reason="the computation is too large")
    # A power can be a complex number, and a float can be infinite.
    is_number = isinstance(result, float) and math.isfinite(result)
    return result if is_number or isinstance(result, Unknown) else Unknown(reason="the computation has no result")


def _is_number(value: Value) -> TypeGuard[int | float]:
    return type(value) in (int, float)


def _compute_number(sign: str, left: float, right: float) -> Value:
    if float in (type(left), type(right)) and sign in ("+", "-", "*", "/"):
        # As decimals, which is how they are written: 100 * 1e-6 is 0.0001, and 0.1 + 0.2 is 0.3.
        return float(_apply_operator(sign, Decimal(repr(left)), Decimal(repr(right))))
    return _apply_operator(sign, left, right)


def _apply_operator(sign: str, left: Any, right: Any) -> Any:
    """Apply an operator to two numbers of one sort: `int`, `float` or `Decimal`."""
    if sign in ("%", "//") and (left < 0 or right < 0):
        return Unknown(reason="languages differ in what that comes to")
    if sign != "**":
        return OPERATORS[sign](left, right)
    is_small = abs(left) <= 1_000_000 and abs(right) <= 16
    return left**right if is_small else Unknown(reason="the computation is too large")


CHANGING_METHODS = frozenset(
    "append push extend insert update pop remove clear setdefault sort reverse splice unshift".split()
)
"""Methods that change the object that they are called on."""


class Scope:
    """The names that code has bound, and what they stand for. `budget` bounds objects that are copied to be changed."""

    def __init__(self, budget: Budget) -> None:
        self._values: dict[str, Value] = {}
        self._budget = budget

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str) -> Value:
        """Return the value of a name; None if it is not bound."""
        return self._values.get(name)

    def is_module(self, name: str) -> bool:
        return isinstance(self._values.get(name), Module)

    def bind(self, name: str, value: Value) -> None:
        self._values[name] = value

    def bind_all(self, values: Mapping[str, Value]) -> None:
        self._values.update(values)

    @contextmanager
    def enter(self) -> Generator[None]:
        """Enter a scope inside this one: names that are bound there are forgotten when it is left."""
        self._budget.count_steps(1 + len(self._values) // ITEMS_PER_STEP)
        outer = dict(self._values)
        try:
            yield
        finally:
            self._values = outer

    def set_member(self, name: str, key: Value, value: Value) -> None:
        """Follow `name[key] = value`: the name stands for a new object."""
        base = self._values.get(name)
        if isinstance(base, dict) and not self._budget.can_build(len(base)):
            self._values[name] = Unknown(reason=TOO_LARGE)
        elif isinstance(base, dict) and isinstance(key, str):
            self._values[name] = {**base, key: value}
        elif name in self._values:
            self._values[name] = Unknown(reason=f"a part of {name} is changed")

    def change(self, name: str, method: str, args: list[Value]) -> None:
        """Follow `name.method(*args)`, where the method changes its object: the name stands for a new one."""
        base = self._values.get(name)
        size = sum(len(each) for each in (base, *args) if isinstance(each, dict | list))
        if name in self._values and not self._budget.can_build(size):
            self._values[name] = Unknown(reason=TOO_LARGE)
        elif method in ("append", "push") and isinstance(base, list) and len(args) == 1:
            self._values[name] = [*base, args[0]]
        elif method == "update" and isinstance(base, dict) and len(args) == 1 and isinstance(args[0], dict):
            self._values[name] = {**base, **args[0]}
        elif name in self._values:
            self._values[name] = Unknown(reason=f"{name} is changed by .{method}()")

    def get_dotted_name(self, node: Expression) -> str | None:
        """Return `a.b.c` as text, unless `a` is a name that the code has bound to a value."""
        keys: list[str] = []
        while isinstance(node, Member) and isinstance(node.key, Constant) and isinstance(node.key.value, str):
            keys.append(node.key.value)
            node = node.base
        if not isinstance(node, Name) or (node.name in self._values and not self.is_module(node.name)):
            return None
        return ".".join((node.name, *reversed(keys)))


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
    "strip": str.strip, "trim": str.strip, "upper": str.upper, "toUpperCase": str.upper, "lower": str.lower,
    "toLowerCase": str.lower,
}  # fmt: skip


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
