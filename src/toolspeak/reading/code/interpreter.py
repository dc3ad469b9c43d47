"""What code means: which tools it calls, with what, and which results flow where.

Statements are followed, not executed: a call of a tool is reported and stands for a `Ref` to its result; names stand
for what they were bound to; text joined with results is a `Concat`. Loops over what is written out are unrolled.
Whatever cannot be known from the text is `Unknown`, and a call that would need it is refused in words.
"""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias, cast

from toolspeak.messages import Ref
from toolspeak.reading.code.constants import (
    CONSTANTS,
    ROUNDS,
    Module,
    Unknown,
    built_in,
    formatted,
    joined,
    operated,
    unknown_in,
)
from toolspeak.reading.code.syntax import (
    Bind,
    Block,
    Closure,
    Comprehension,
    Define,
    Doubtful,
    ExprStatement,
    Formatted,
    If,
    Import,
    Invocation,
    Joined,
    Jump,
    Loop,
    Mapped,
    Member,
    Name,
    Nothing,
    Operation,
    Return,
    Spread,
    Statement,
    Unreadable,
)
from toolspeak.reading.names import LIBRARIES, NAMESPACES, Names
from toolspeak.reading.strings import ReadError
from toolspeak.spec import ToolSpec

STEPS = 2_000
"""Statements that are followed in one message."""

CALLS_DEEP = 8
"""How deeply functions of the code's own may call each other."""

NOT_WRITTEN_OUT = "it stands in a loop whose number of rounds is not written out"
DEPENDS = "it depends on something that only running the code would tell"

BOUND = re.compile(r"^\s*(?:const|let|var)?\s*([A-Za-z_$][\w$]*)\s*(?:[-+*/%|&?]{1,2})?=(?!=)", re.M)
"""What a line of code binds, if it cannot be read otherwise."""

PASSED_ON = frozenset(
    "asyncio.run asyncio.create_task asyncio.ensure_future asyncio.wait_for loop.run_until_complete Promise.resolve "
    "json.loads JSON.parse list tuple".split()
)
"""Functions whose result is what they are given."""

GATHERED = frozenset("asyncio.gather gather Promise.all Promise.allSettled Promise.any Promise.race".split())
PRINTED = frozenset("print console.log console.info console.error console.debug console.warn display".split())
CHANGING = frozenset("append push extend insert update pop remove clear setdefault sort reverse splice unshift".split())
"""Methods that change what they are called on."""

Called: TypeAlias = Callable[[ToolSpec, dict[str, Any]], str]
Refused: TypeAlias = Callable[[str, str], None]


class _Given(Exception):
    """A function of the code's own has returned."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class Interpreter:
    """Follows statements. `called` is told of each call and gives its id; `refused`, of each that cannot be made.

    Attributes:
        stopped: Whether the code has returned or raised: nothing after that runs.
    """

    def __init__(self, specs: dict[str, ToolSpec], names: Names, called: Called, refused: Refused) -> None:
        self._specs = specs
        self._names = names
        self._called = called
        self._refused = refused
        self._scope: dict[str, Any] = {}
        self._numbered: list[str] = []
        self._steps = 0
        self._depth = 0
        self.stopped = False

    def follow(self, statement: Statement) -> Any:
        """Follow one statement; what it gives is the value of the block if it is the last."""
        if self.stopped:
            return None
        self._steps += 1
        if self._steps > STEPS:
            raise ReadError("the code does too much", "Write the calls out, one per line.")
        match statement:
            case ExprStatement(value=value):
                return self._value(value)
            case Return(value=value):
                given = self._value(value)
                if self._depth:
                    raise _Given(given)
                self.stopped = True
                return given
            case Bind(target=target, value=value):
                self._bind(target, self._value(value))
            case Define(name=name, closure=closure):
                self._scope[name] = closure
            case Loop(target=target, items=items, body=body):
                self._loop(target, items, body)
            case If(always=always, body=body):
                if always:
                    return self._all(body)
                self._not_sure(body, "it stands under a condition")
            case Block(body=body):
                return self._all(body)
            case Import(names=names):
                self._scope.update({name: Module(name=name) for name in names if name not in NAMESPACES})
            case Nothing() | Jump():
                pass
        return None

    def lose_track(self, raw: str) -> None:
        """A piece of code could not be read: what it binds is not known any more."""
        for name in BOUND.findall(raw[:2000]):
            self._scope[name] = Unknown(why=f"the name {name} is bound by code that is not supported")

    def _all(self, body: tuple[Statement, ...]) -> Any:
        result: Any = None
        for statement in body:
            result = self.follow(statement)
        return result

    def _loop(self, target: Any, items: Any, body: tuple[Statement, ...]) -> None:
        values = self._rounds(self._value(items)) if items is not None else None
        if values is None or any(isinstance(node, Jump) for node in _walked(body)):
            self._not_sure(body, NOT_WRITTEN_OUT)
            return
        for value in values:
            self._bind(target, value)
            self._all(body)

    def _rounds(self, items: Any) -> list[Any] | None:
        """What a loop goes over, if that is written out and not too long."""
        if isinstance(items, dict):
            items = list(cast("dict[str, Any]", items))
        if not isinstance(items, list) or len(cast("list[Any]", items)) > ROUNDS:
            return None
        return cast("list[Any]", items)

    def _not_sure(self, body: tuple[Statement, ...], why: str) -> None:
        """Code of which it is not known whether it runs: its calls are refused, and what it binds is not known."""
        self._refuse_inside(body, why)
        for node in _walked(body):
            if isinstance(node, Bind):
                self._bind(node.target, Unknown(why=DEPENDS))

    def _refuse_inside(self, code: Any, why: str) -> None:
        tools: dict[str, None] = {}
        for node in _walked(code):
            dotted = self._dotted(node.callee) if isinstance(node, Invocation) else None
            if dotted and (tool := self._tool(dotted)):
                tools[tool] = None
        for tool in tools:
            self._refused(tool, why)

    # Names

    @contextmanager
    def _inner_scope(self) -> Generator[None]:
        outer = dict(self._scope)
        try:
            yield
        finally:
            self._scope = outer

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
            case Member(base=Name(name=name), key=key):
                self._set_part(name, key if isinstance(key, str | int) else self._value(key), value)
            case _:
                pass

    def _set_part(self, name: str, key: Any, value: Any) -> None:
        """`name[key] = value`: the name stands for something new."""
        base = self._scope.get(name)
        if isinstance(base, dict) and isinstance(key, str):
            self._scope[name] = {**cast("dict[str, Any]", base), key: value}
        elif name in self._scope:
            self._scope[name] = Unknown(why=f"a part of {name} is changed")

    def _changed(self, name: str, method: str, args: list[Any]) -> None:
        """`name.append(…)` and its like: the name stands for something new."""
        base = self._scope.get(name)
        if method in ("append", "push") and isinstance(base, list) and len(args) == 1:
            self._scope[name] = [*cast("list[Any]", base), args[0]]
        elif method == "update" and isinstance(base, dict) and len(args) == 1 and isinstance(args[0], dict):
            self._scope[name] = {**cast("dict[str, Any]", base), **cast("dict[str, Any]", args[0])}
        elif name in self._scope:
            self._scope[name] = Unknown(why=f"{name} is changed by .{method}()")

    def _dotted(self, node: Any) -> str | None:
        """`a.b.c` as text, if `a` is not a name the code has bound to a value."""
        if isinstance(node, Name):
            bound = self._scope.get(node.name)
            return node.name if node.name not in self._scope or isinstance(bound, Module) else None
        if isinstance(node, Member) and isinstance(node.key, str):
            base = self._dotted(node.base)
            return f"{base}.{node.key}" if base else None
        return None

    def _tool(self, dotted: str) -> str | None:
        first = dotted.split(".")[0]
        if isinstance(self._scope.get(first), Module):
            # After `import math`, a tool may still be meant: one that is named `math.gcd`.
            return dotted if "." in dotted and dotted in self._specs else None
        return self._names.resolve(dotted) or self._names.resolve(dotted.removesuffix(".call"))

    # Values

    def _value(self, node: Any) -> Any:
        match node:
            case Name(name=name):
                return self._named(name)
            case Member() if (constant := CONSTANTS.get(self._dotted(node) or "")) is not None:
                return constant
            case Member(base=base, key=key):
                return self._part(self._value(base), key if isinstance(key, str | int) else self._value(key))
            case Invocation():
                return self._invocation(node)
            case Joined(parts=parts, python=python):
                return joined([self._value(part) for part in parts], python=python)
            case Formatted(value=value, spec=spec):
                return formatted(self._value(value), spec)
            case Operation(operator=operator, left=left, right=right):
                return operated(operator, self._value(left), self._value(right))
            case Doubtful(sure=sure, unsure=unsure):
                for part in sure:
                    self._value(part)
                self._refuse_inside(unsure, DEPENDS)
                return Unknown(why=DEPENDS)
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
                return value if isinstance(value, Unknown) else Unknown(why="what is unpacked is not an object")
        return result

    def _listed(self, items: list[Any]) -> Any:
        result: list[Any] = []
        for item in items:
            if isinstance(item, Spread | Comprehension):
                spread = self._value(item)
                if not isinstance(spread, list):
                    return Unknown(why="what is unpacked is not a list")
                result += cast("list[Any]", spread)
            else:
                result.append(self._value(item))
        return result

    def _comprehension(self, node: Comprehension) -> Any:
        items = self._rounds(self._value(node.items))
        if items is None:
            self._refuse_inside(node.item, NOT_WRITTEN_OUT)
            return Unknown(why="a loop over something that is not written out")
        results: list[Any] = []
        with self._inner_scope():
            for item in items:
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
        if isinstance(node.callee, Member) and isinstance(node.callee.key, str):
            return self._method(node.callee.base, node.callee.key, node)
        callee = self._value(node.callee)
        if isinstance(callee, Closure):
            return self._apply(callee, [self._value(arg) for arg in node.args], node.keywords)
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
        names = [key for key, _ in node.keywords if key is not None]
        if len(set(names)) < len(names):
            return Unknown(why="an argument is given twice")
        if twice := arguments.keys() & keywords.keys():
            return Unknown(why=f"{', '.join(sorted(twice))} is given twice")
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
        keywords = self._mapped(node.keywords)
        if dotted == "dict":
            return keywords
        if (found := built_in(dotted, args, keywords)) is not None:
            return found
        if dotted in PRINTED:
            return None
        first = dotted.split(".")[0]
        known = first in LIBRARIES or isinstance(self._scope.get(first), Module)
        return Unknown(why=f"{dotted} is {'a function of a library' if known else 'not a tool'}")

    def _method(self, on: Any, name: str, node: Invocation) -> Any:
        base = self._value(on)
        closure = next((arg for arg in node.args if isinstance(arg, Closure)), None)
        if name == "then" and closure is not None:
            return self._apply(closure, [base])
        if name in ("then", "catch", "finally", "json", "toString"):
            return base
        if name in ("map", "forEach") and closure is not None:
            rounds = self._rounds(base)
            if rounds is not None:
                return [self._apply(closure, [item, index]) for index, item in enumerate(rounds)]
            self._refuse_inside(closure.body, NOT_WRITTEN_OUT)
            return Unknown(why="a loop over something that is not written out")
        args = [self._value(arg) for arg in node.args]
        if isinstance(on, Name) and name in CHANGING:
            return self._changed(on.name, name, args)
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
        if (
            isinstance(base, str)
            and name in ("strip", "trim", "upper", "lower", "toUpperCase", "toLowerCase")
            and not args
        ):
            return {"trim": base.strip, "toUpperCase": base.upper, "toLowerCase": base.lower}.get(
                name, getattr(base, name, base.strip)
            )()
        return base if isinstance(base, Unknown) else Unknown(why=f".{name}() is not supported")

    def _apply(self, closure: Closure, args: list[Any], keywords: tuple[tuple[str | None, Any], ...] = ()) -> Any:
        """Follow a function of the code's own."""
        if self._depth >= CALLS_DEEP:
            raise ReadError("the code calls itself", "Write the calls out, one per line.")
        named = self._mapped(keywords)
        self._depth += 1
        try:
            with self._inner_scope():
                for parameter in closure.parameters[len(args) :]:
                    self._bind(parameter, Unknown(why="a parameter is left to its default"))
                for parameter, arg in zip(closure.parameters, args, strict=False):
                    self._bind(parameter, arg)
                if isinstance(named, dict):
                    self._scope |= cast("dict[str, Any]", named)
                return self._all(closure.body)
        except _Given as given:
            return given.value
        finally:
            self._depth -= 1


def _walked(code: Any) -> Iterator[Any]:
    """A piece of code and all that is in it."""
    waiting = [code]
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, tuple | list):
            waiting += reversed(cast("list[Any]", each))
        elif is_dataclass(each):
            waiting += [getattr(each, field.name) for field in reversed(fields(each))]
