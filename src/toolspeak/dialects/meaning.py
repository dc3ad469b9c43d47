"""What code means: which tools it calls, with what, and which results flow where.

Statements are followed, not executed: a call of a tool is reported and stands for a `Ref` to its result; names stand
for what they were bound to; text joined with results is a `Concat`. Loops over what is written out are unrolled.
Whatever cannot be known from the text is `Unknown`, and a call that would need it is refused in words.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, cast

from toolspeak._noun import noun
from toolspeak.dialects.names import LIBRARIES, NAMESPACES, Names
from toolspeak.dialects.syntax import (
    Bind,
    Both,
    Closure,
    Comprehension,
    Define,
    Import,
    Invocation,
    Joined,
    Loop,
    Mapped,
    Name,
    Nothing,
    Operation,
    Part,
    Say,
    Spread,
    Statement,
    Unreadable,
    When,
)
from toolspeak.dialects.values import Bad
from toolspeak.messages import Concat, Ref
from toolspeak.spec import ToolSpec

STEPS = 2_000
"""Statements and items that are followed in one message: a loop over a long list is not unrolled for ever."""

PASSED_ON = frozenset(
    "asyncio.run asyncio.create_task asyncio.ensure_future asyncio.wait_for loop.run_until_complete "
    "Promise.resolve str String json.dumps JSON.stringify json.loads JSON.parse list tuple".split()
)
"""Functions whose result is what they are given."""

GATHERED = frozenset("asyncio.gather gather Promise.all Promise.allSettled Promise.any Promise.race".split())
PRINTED = frozenset("print console.log console.info console.error console.debug console.warn display".split())


@noun
class Unknown:
    """A value that the text does not tell."""

    why: str


@noun
class Module:
    name: str


Called = Callable[[ToolSpec, dict[str, Any]], str]
Refused = Callable[[str, str], None]


class Meaning:
    """Follows statements. `called` is told of each call and gives its id; `refused`, of each that cannot be made."""

    def __init__(self, specs: dict[str, ToolSpec], names: Names, called: Called, refused: Refused) -> None:
        self._specs = specs
        self._names = names
        self._called = called
        self._refused = refused
        self._scope: dict[str, Any] = {}
        self._numbered: list[str] = []
        self._steps = 0
        self._depth = 0

    def follow(self, statement: Statement) -> Any:
        """Follow one statement; what it gives is the value of the block if it is the last."""
        self._steps += 1
        if self._steps > STEPS:
            raise Bad("the code does too much", "Write the calls out, one per line.")
        match statement:
            case Say(value=value):
                return self._value(value)
            case Bind(target=target, value=value):
                self._bind(target, self._value(value))
            case Define(name=name, closure=closure):
                self._scope[name] = closure
            case Loop(target=target, items=items, body=body):
                self._loop(target, items, body)
            case When(always=always, body=body):
                if always:
                    return self._all(body)
                self._refuse_inside(body, "it stands under a condition")
            case Both(body=body):
                return self._all(body)
            case Import(names=names):
                self._scope.update({name: Module(name=name) for name in names if name not in NAMESPACES})
            case Nothing():
                pass
        return None

    def _all(self, body: tuple[Statement, ...]) -> Any:
        result: Any = None
        for statement in body:
            result = self.follow(statement)
        return result

    def _loop(self, target: Any, items: Any, body: tuple[Statement, ...]) -> None:
        values = self._value(items) if items is not None else None
        if not isinstance(values, list):
            self._refuse_inside(body, "it stands in a loop whose number of rounds is not written out")
            return
        for value in cast("list[Any]", values):
            self._bind(target, value)
            self._all(body)

    def _refuse_inside(self, body: tuple[Statement, ...], why: str) -> None:
        for name in dict.fromkeys(self._tools_in(body)):
            self._refused(name, why)

    def _tools_in(self, node: Any) -> list[str]:
        """The tools that are called somewhere in a piece of code."""
        found: list[str] = []
        if isinstance(node, Invocation):
            dotted = self._dotted(node.callee)
            if dotted and (tool := self._tool(dotted)):
                found.append(tool)
        if isinstance(node, tuple | list):
            for item in cast("list[Any]", node):
                found += self._tools_in(item)
        elif is_dataclass(node):
            for field in fields(node):
                found += self._tools_in(getattr(node, field.name))
        return found

    # Names

    def _bind(self, target: Any, value: Any) -> None:
        match target:
            case Name(name=name):
                self._scope[name] = value
            case list():
                for index, each in enumerate(cast("list[Any]", target)):
                    if not isinstance(each, Spread):
                        self._bind(each, self._part(value, index))
            case Mapped(items=items):
                for key, each in items:
                    if key is not None:
                        self._bind(each, self._part(value, key))
            case Operation(left=left):
                self._bind(left, value)
            case _:
                pass

    def _dotted(self, node: Any) -> str | None:
        """`a.b.c` as text, if `a` is not a name the code has bound to a value."""
        if isinstance(node, Name):
            bound = self._scope.get(node.name)
            return node.name if node.name not in self._scope or isinstance(bound, Module) else None
        if isinstance(node, Part) and isinstance(node.key, str):
            base = self._dotted(node.base)
            return f"{base}.{node.key}" if base else None
        return None

    def _tool(self, dotted: str) -> str | None:
        first = dotted.split(".")[0]
        if isinstance(self._scope.get(first), Module):
            return None
        return self._names.resolve(dotted) or self._names.resolve(dotted.removesuffix(".call"))

    # Values

    def _value(self, node: Any) -> Any:
        match node:
            case Name(name=name):
                return self._named(name)
            case Part(base=base, key=key):
                return self._part(self._value(base), key if isinstance(key, str | int) else self._value(key))
            case Invocation():
                return self._invocation(node)
            case Joined(parts=parts):
                return joined([self._value(part) for part in parts])
            case Operation(operator=operator, left=left, right=right):
                return operated(operator, self._value(left), self._value(right))
            case Mapped(items=items):
                return self._mapped(items)
            case list():
                return self._listed(cast("list[Any]", node))
            case Comprehension():
                return self._comprehension(node)
            case Unreadable(why=why):
                return Unknown(why=why)
            case Spread(value=value):
                return self._value(value)
            case _:
                return node

    def _named(self, name: str) -> Any:
        if name in self._scope:
            return self._scope[name]
        if name[:1] == "$" and name[1:].isdecimal():
            # A plan refers to its steps by number.
            step = int(name[1:])
            if 1 <= step <= len(self._numbered):
                return Ref(call=self._numbered[step - 1])
        return Unknown(why=f"the name {name} is not bound to anything")

    def _part(self, base: Any, key: Any) -> Any:
        if isinstance(base, Unknown):
            return base
        if isinstance(key, bool) or not isinstance(key, str | int):
            return Unknown(why="a part is taken with something that is not written out")
        if isinstance(base, Ref):
            return Ref(call=base.call, path=(*base.path, key))
        try:
            if isinstance(base, dict | list | str):
                return cast("Any", base)[key]
        except (KeyError, IndexError, TypeError):
            pass
        return Unknown(why=f"there is no {key!r} in it")

    def _mapped(self, items: tuple[tuple[str | None, Any], ...]) -> Any:
        result: dict[str, Any] = {}
        for key, node in items:
            value = self._value(node)
            if key is not None:
                result[key] = value
            elif isinstance(value, dict):
                result |= cast("dict[str, Any]", value)
            else:
                return (
                    value if isinstance(value, Unknown) else Unknown(why="something is unpacked that is not an object")
                )
        return result

    def _listed(self, items: list[Any]) -> Any:
        result: list[Any] = []
        for item in items:
            if isinstance(item, Spread | Comprehension):
                spread = self._value(item)
                if not isinstance(spread, list):
                    return Unknown(why="something is unpacked that is not a list")
                result += cast("list[Any]", spread)
            else:
                result.append(self._value(item))
        return result

    def _comprehension(self, node: Comprehension) -> Any:
        items = self._value(node.items)
        if not isinstance(items, list):
            self._refuse_inside(
                (Say(value=node.item),), "it stands in a loop whose number of rounds is not written out"
            )
            return Unknown(why="a loop over something that is not written out")
        results: list[Any] = []
        for item in cast("list[Any]", items):
            self._steps += 1
            if self._steps > STEPS:
                raise Bad("the code does too much", "Write the calls out, one per line.")
            self._bind(node.target, item)
            results.append(self._value(node.item))
        return results

    # Calls

    def _invocation(self, node: Invocation) -> Any:
        dotted = self._dotted(node.callee)
        if dotted is not None:
            if tool := self._tool(dotted):
                return self._call(tool, node)
            return self._library(dotted, node)
        if isinstance(node.callee, Part) and isinstance(node.callee.key, str):
            return self._method(self._value(node.callee.base), node.callee.key, node)
        callee = self._value(node.callee)
        if isinstance(callee, Closure):
            return self._apply(callee, [self._value(arg) for arg in node.args])
        return callee if isinstance(callee, Unknown) else Unknown(why="it calls something that is not a function")

    def _call(self, tool: str, node: Invocation) -> Any:
        spec = self._specs[tool]
        arguments = self._arguments(spec, node)
        if isinstance(arguments, Unknown):
            self._refused(tool, arguments.why)
            return Unknown(why=f"it needs the result of {tool}, which was not called")
        call_id = self._called(spec, arguments)
        self._numbered.append(call_id)
        return Ref(call=call_id) if call_id else Unknown(why=f"it needs the result of {tool}, which was not called")

    def _arguments(self, spec: ToolSpec, node: Invocation) -> dict[str, Any] | Unknown:
        properties = list(spec.parameters.get("properties", {}))
        values = self._listed(list(node.args))
        if isinstance(values, Unknown):
            return values
        if len(values) == 1 and isinstance(values[0], dict) and self._is_all(spec, values[0]):
            arguments = dict(cast("dict[str, Any]", values[0]))
        elif len(values) > len(properties):
            return Unknown(why=f"it has {len(values)} arguments, and {spec.name} takes {len(properties)}")
        else:
            arguments = dict(zip(properties, values, strict=False))
        keywords = self._mapped(node.keywords)
        if isinstance(keywords, Unknown):
            return keywords
        arguments |= keywords
        return unknown_in(arguments) or arguments

    def _is_all(self, spec: ToolSpec, value: dict[str, Any]) -> bool:
        """Whether one object holds all arguments, or is itself the first of them."""
        properties: dict[str, Any] = spec.parameters.get("properties", {})
        kinds = [sub.get("type") for sub in properties.values()]
        return kinds[:1] != ["object"] or bool(value.keys() & properties.keys())

    def _library(self, dotted: str, node: Invocation) -> Any:
        args = [self._value(arg.value if isinstance(arg, Spread) else arg) for arg in node.args]
        if dotted in GATHERED:
            flat: list[Any] = []
            for arg in args:
                flat += cast("list[Any]", arg) if isinstance(arg, list) else [arg]
            return flat
        if dotted in PASSED_ON and args:
            return args[0]
        if dotted == "dict":
            return self._mapped(node.keywords)
        if dotted == "range" and args and all(type(arg) is int for arg in args) and len(args) <= 3:
            return list(range(*args))[: STEPS + 1] if args[-1:] != [0] or len(args) < 3 else Unknown(why="a step of 0")
        if dotted == "enumerate" and args and isinstance(args[0], list):
            return [[index, item] for index, item in enumerate(cast("list[Any]", args[0]))]
        self._mapped(node.keywords)
        if dotted in PRINTED:
            return None
        first = dotted.split(".")[0]
        known = first in LIBRARIES or isinstance(self._scope.get(first), Module)
        return Unknown(why=f"{dotted} is {'a function of a library' if known else 'not a tool'}")

    def _method(self, base: Any, name: str, node: Invocation) -> Any:
        closure = next((arg for arg in node.args if isinstance(arg, Closure)), None)
        if name == "then" and closure is not None:
            return self._apply(closure, [base])
        if name in ("then", "catch", "finally", "json", "toString"):
            return base
        if name in ("map", "forEach") and closure is not None:
            if isinstance(base, list):
                return [self._apply(closure, [item, index]) for index, item in enumerate(cast("list[Any]", base))]
            self._refuse_inside(closure.body, "it stands in a loop whose number of rounds is not written out")
            return Unknown(why="a loop over something that is not written out")
        args = [self._value(arg) for arg in node.args]
        if name == "get" and args:
            return self._part(base, args[0])
        if isinstance(base, dict) and name in ("items", "keys", "values"):
            pairs = cast("dict[str, Any]", base)
            return [[key, value] for key, value in pairs.items()] if name == "items" else list(getattr(pairs, name)())
        if isinstance(base, str) and name == "join" and args and isinstance(args[0], list):
            pieces: list[Any] = []
            for item in cast("list[Any]", args[0]):
                pieces += [base, item]
            return joined(pieces[1:])
        return base if isinstance(base, Unknown) else Unknown(why=f".{name}() is not supported")

    def _apply(self, closure: Closure, args: list[Any]) -> Any:
        self._depth += 1
        if self._depth > 8:
            raise Bad("the code calls itself", "Write the calls out, one per line.")
        for parameter, arg in zip(closure.parameters, args, strict=False):
            self._bind(parameter, arg)
        result = self._all(closure.body)
        self._depth -= 1
        return result


def unknown_in(value: Any) -> Unknown | None:
    """The first thing in a value that is not known, or that cannot be an argument."""
    match value:
        case Unknown():
            return value
        case dict():
            return next(filter(None, map(unknown_in, cast("dict[str, Any]", value).values())), None)
        case list():
            return next(filter(None, map(unknown_in, cast("list[Any]", value))), None)
        case Closure() | Module():
            return Unknown(why="a function is given as a value")
        case _:
            return None


def joined(parts: list[Any]) -> Any:
    """Text from parts; a `Concat` if some are results."""
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
            text = piece if isinstance(piece, str) else str(piece)
            if pieces and isinstance(pieces[-1], str):
                pieces[-1] += text
            elif text:
                pieces.append(text)
    if any(isinstance(piece, Ref) for piece in pieces):
        return Concat(parts=tuple(pieces))
    return "".join(cast("list[str]", pieces))


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
        return _computed(operator, cast("float", left), cast("float", right))
    except (ArithmeticError, ValueError):
        return Unknown(why="the computation has no result")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _computed(operator: str, left: float, right: float) -> Any:
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
