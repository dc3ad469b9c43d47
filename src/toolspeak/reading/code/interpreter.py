"""The interpreter of code: which tools code calls, with which arguments, and which results flow where.

Statements are followed, not executed: a call of a tool is emitted and stands for a `Ref` to its result; names stand for
what they were bound to; text joined with results is a `Concat`. Loops over items that are written out are unrolled.
A value that cannot be known from the text is `Unknown`, and a call that would need it is refused with the reason.
All that is computed is counted by a `Budget`, so that it stays linear in the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, assert_never

from toolspeak.reading.code import syntax
from toolspeak.reading.code.constants import (
    CHANGING_METHODS,
    CONSTANTS,
    GATHERING,
    MAX_QUOTED_CHARS,
    PASSING_ON,
    PRINTING,
    TOO_LARGE,
    Module,
    Scope,
    Unknown,
    Value,
    call_builtin,
    call_method,
    check_arguments,
    compute,
    format_value,
    gather,
    get_member,
    join_text,
    unroll,
)
from toolspeak.reading.code.syntax import Expression, Statement
from toolspeak.reading.cursor import ReadError
from toolspeak.reading.names import LIBRARIES, NAMESPACES, Names
from toolspeak.reading.source import Budget
from toolspeak.values.messages import Ref
from toolspeak.values.spec import ToolSpec

MAX_CALL_DEPTH = 8
"""How deeply functions that the code defines may call each other."""

NOT_WRITTEN_OUT = "it stands in a loop whose number of rounds is not written out"
UNKNOWN_ROUNDS = "a loop over something that is not written out"
DEPENDS = "it depends on something that only running the code would tell"

STEP_NAME = re.compile(r"\$(\d{1,6})")
BOUND_NAME = re.compile(r"^[^\S\n]*+(?:(?:const|let|var)\s++)?([A-Za-z_$][\w$]*+)\s*+(?:[-+*/%|&?]{1,2})?=(?!=)", re.M)
"""The name that a line of code binds, for code that cannot be read otherwise."""

EmitCall: TypeAlias = Callable[[ToolSpec, dict[str, Any]], str]
"""Emits a call of a tool with these arguments; returns the id of the call, or "" if it was not made."""

RefuseCall: TypeAlias = Callable[[str, str], None]
"""Refuses a call of the tool with this name, for this reason."""


class _FunctionReturn(Exception):
    """A function that the code defines has returned."""

    def __init__(self, value: Value) -> None:
        super().__init__(value)
        self.value: Value = value


class Interpreter:
    """Follows statements, and emits or refuses the calls that they make.

    Attributes:
        stopped: Whether the code has returned or raised: nothing after that runs.
    """

    def __init__(
        self,
        specs: dict[str, ToolSpec],
        names: Names,
        budget: Budget,
        emit_call: EmitCall,
        refuse_call: RefuseCall,
    ) -> None:
        self._specs = specs
        self._names = names
        self._budget = budget
        self._emit_call = emit_call
        self._refuse_call = refuse_call
        self._scope = Scope(budget)
        self._call_ids: list[str] = []
        self._depth = 0
        self.stopped = False

    # Statements

    def follow(self, statement: Statement) -> Value:
        """Follow one statement; return its value, which is the value of a function if the statement is its last."""
        if self.stopped:
            return None
        self._budget.count_statement()
        match statement:
            case syntax.ExprStatement(value=value):
                return self._evaluate(value)
            case syntax.Return(value=value):
                result = self._evaluate(value)
                if self._depth:
                    raise _FunctionReturn(result)
                self.stopped = True
                return result
            case syntax.Bind(target=target, value=value):
                self._bind(target, self._evaluate(value))
            case syntax.Define(name=name, closure=closure):
                self._scope.bind(name, closure)
            case syntax.Loop():
                self._follow_loop(statement)
            case syntax.UnboundedLoop(body=body):
                self._skip_uncertain(body, NOT_WRITTEN_OUT)
            case syntax.If(always=True, body=body) | syntax.Block(body=body):
                return self._follow_all(body)
            case syntax.If(body=body):
                self._skip_uncertain(body, "it stands under a condition")
            case syntax.Handlers(body=body):
                self._refuse_calls_in(body, DEPENDS)
                return Unknown(reason=DEPENDS)
            case syntax.Import(names=names):
                self._scope.bind_all({name: Module(name=name) for name in names if name not in NAMESPACES})
            case syntax.NoOp() | syntax.Jump():
                pass
            case _:
                assert_never(statement)
        return None

    def lose_track(self, raw: str) -> None:
        """Pass over code that could not be read: the names that it binds are not known any more."""
        for name in BOUND_NAME.findall(raw[:2000]):
            self._scope.bind(name, Unknown(reason=f"the name {name} is bound by code that is not supported"))

    def _follow_all(self, body: tuple[Statement, ...]) -> Value:
        result: Value = None
        for statement in body:
            result = self.follow(statement)
        return result

    def _follow_loop(self, loop: syntax.Loop) -> None:
        items = unroll(self._evaluate(loop.items))
        if items is None or any(isinstance(node, syntax.Jump) for node in self._walk(loop.body)):
            self._skip_uncertain(loop.body, NOT_WRITTEN_OUT)
            return
        for item in items:
            self._bind(loop.target, item)
            self._follow_all(loop.body)

    def _skip_uncertain(self, body: tuple[Statement, ...], reason: str) -> None:
        """Pass over code that may run or not: its calls are refused, and the names that it binds are not known."""
        self._refuse_calls_in(body, reason)
        for node in self._walk(body):
            if isinstance(node, syntax.Bind):
                self._bind(node.target, Unknown(reason=DEPENDS))

    def _refuse_calls_in(self, nodes: Iterable[syntax.Node], reason: str) -> None:
        """Refuse each tool that is called in these nodes, once."""
        tools: dict[str, None] = {}
        for node in self._walk(nodes):
            dotted = self._scope.get_dotted_name(node.callee) if isinstance(node, syntax.Invocation) else None
            if dotted and (tool := self._find_tool(dotted)):
                tools[tool] = None
        for tool in tools:
            self._refuse_call(tool, reason)

    def _walk(self, nodes: Iterable[syntax.Node]) -> Iterator[syntax.Node]:
        """Yield every node and all nodes inside it, and count them."""
        for node in syntax.walk(nodes):
            self._budget.count_steps()
            yield node

    # Names

    def _bind(self, target: Expression, value: Value) -> None:
        """Bind the names in a target, which may be a pattern; what cannot be bound is passed over."""
        match target:
            case syntax.Name(name=name):
                self._scope.bind(name, value)
            case syntax.ListLiteral(items=items):
                for index, each in enumerate(items):
                    if not isinstance(each, syntax.Spread):
                        self._bind(each, get_member(value, index, self._budget))
            case syntax.ObjectLiteral(items=pairs):
                for key, each in pairs:
                    if key is not None:
                        self._bind(each, get_member(value, key, self._budget))
            case syntax.Operation(left=left):
                self._bind(left, value)
            case syntax.Member(base=syntax.Name(name=name), key=key):
                self._scope.set_member(name, self._evaluate(key), value)
            case _:
                pass

    def _find_tool(self, dotted: str) -> str | None:
        """Return the tool that a dotted name means, or None."""
        first = dotted.split(".")[0]
        if self._scope.is_module(first):
            # After `import math`, a tool may still be meant: one that is named `math.gcd`.
            return dotted if "." in dotted and dotted in self._specs else None
        return self._names.resolve(dotted) or self._names.resolve(dotted.removesuffix(".call"))

    def _look_up(self, name: str) -> Value:
        """Return the value of a name; `$1` is the result of the first call."""
        if name in self._scope:
            return self._scope.get(name)
        if written := STEP_NAME.fullmatch(name):
            # A plan refers to its steps by number.
            step = int(written[1])
            if 1 <= step <= len(self._call_ids):
                return Ref(call=self._call_ids[step - 1])
        return Unknown(reason=f"the name {name[:MAX_QUOTED_CHARS]} is not bound to anything")

    # Expressions

    def _evaluate(self, node: Expression) -> Value:
        """Return the value of an expression, and emit the calls in it."""
        self._budget.count_steps()
        match node:
            case syntax.Constant(value=value):
                return value
            case syntax.Name(name=name):
                return self._look_up(name)
            case syntax.Member(base=base, key=key):
                return self._evaluate_member(node, base, key)
            case syntax.Invocation():
                return self._evaluate_invocation(node)
            case syntax.Template(parts=parts, python=python):
                return join_text([self._evaluate(part) for part in parts], self._budget, python=python)
            case syntax.Formatted(value=value, spec=spec):
                return format_value(self._evaluate(value), spec)
            case syntax.Operation(operator=operator, left=left, right=right):
                return compute(operator, self._evaluate(left), self._evaluate(right), self._budget)
            case syntax.Dynamic(always=always, maybe=maybe):
                for operand in always:
                    self._evaluate(operand)
                self._refuse_calls_in(maybe, DEPENDS)
                return Unknown(reason=DEPENDS)
            case syntax.ListLiteral(items=items):
                return self._evaluate_items(items)
            case syntax.ObjectLiteral(items=pairs):
                return self._evaluate_pairs(pairs)
            case syntax.Comprehension():
                return self._evaluate_comprehension(node)
            case syntax.Spread(value=value):
                return self._evaluate(value)
            case syntax.Closure():
                return node
            case syntax.Unsupported(reason=reason):
                return Unknown(reason=reason)
            case _:
                assert_never(node)

    def _evaluate_member(self, node: syntax.Member, base: Expression, key: Expression) -> Value:
        dotted = self._scope.get_dotted_name(node) if isinstance(base, syntax.Name) else None
        if dotted in CONSTANTS:
            return CONSTANTS[dotted]
        return get_member(self._evaluate(base), self._evaluate(key), self._budget)

    def _evaluate_pairs(self, pairs: tuple[tuple[str | None, Expression], ...]) -> dict[str, Value] | Unknown:
        result: dict[str, Value] = {}
        for key, node in pairs:
            value = self._evaluate(node)
            if key is not None:
                result[key] = value
            elif isinstance(value, dict):
                if not self._budget.can_build(len(result) + len(value)):
                    return Unknown(reason=TOO_LARGE)
                result |= value
            else:
                return value if isinstance(value, Unknown) else Unknown(reason="what is unpacked is not an object")
        return result

    def _evaluate_items(self, items: tuple[Expression, ...]) -> list[Value] | Unknown:
        result: list[Value] = []
        for item in items:
            value = self._evaluate(item)
            if not isinstance(item, syntax.Spread | syntax.Comprehension):
                result.append(value)
            elif isinstance(value, list):
                if not self._budget.can_build(len(result) + len(value)):
                    return Unknown(reason=TOO_LARGE)
                result += value
            else:
                return Unknown(reason="what is unpacked is not a list")
        return result

    def _evaluate_comprehension(self, node: syntax.Comprehension) -> Value:
        items = unroll(self._evaluate(node.items))
        if items is None:
            self._refuse_calls_in((node.item,), NOT_WRITTEN_OUT)
            return Unknown(reason=UNKNOWN_ROUNDS)
        results: list[Value] = []
        with self._scope.enter():
            for item in items:
                self._bind(node.target, item)
                results.append(self._evaluate(node.item))
        return results

    # Calls

    def _evaluate_invocation(self, node: syntax.Invocation) -> Value:
        """Call a tool, a function of a library, a method, or a function that the code defines."""
        dotted = self._scope.get_dotted_name(node.callee)
        if dotted is not None:
            if tool := self._find_tool(dotted):
                return self._call_tool(tool, node)
            return self._call_library(dotted, node)
        match node.callee:
            case syntax.Member(base=base, key=syntax.Constant(value=str(name))):
                return self._call_method(base, name, node)
            case callee:
                function = self._evaluate(callee)
        if isinstance(function, syntax.Closure):
            return self._call_closure(function, [self._evaluate(arg) for arg in node.args], node.keywords)
        if isinstance(function, Unknown):
            return function
        return Unknown(reason="it calls something that is not a function")

    def _call_tool(self, tool: str, node: syntax.Invocation) -> Value:
        spec = self._specs[tool]
        arguments = self._evaluate_arguments(spec, node)
        if isinstance(arguments, Unknown):
            self._refuse_call(tool, arguments.reason)
            return Unknown(reason=f"it needs the result of {tool}, which was not called")
        call_id = self._emit_call(spec, arguments)
        self._call_ids.append(call_id)
        return Ref(call=call_id) if call_id else Unknown(reason=f"it needs the result of {tool}, which was not called")

    def _evaluate_arguments(self, spec: ToolSpec, node: syntax.Invocation) -> dict[str, Value] | Unknown:
        """Return the arguments of a call by their names."""
        properties = list(spec.parameters.get("properties", {}))
        values = self._evaluate_items(node.args)
        if isinstance(values, Unknown):
            return values
        if len(values) == 1 and isinstance(only := values[0], dict) and _holds_all_arguments(spec, only):
            arguments = dict(only)
        elif len(values) > len(properties):
            return Unknown(reason=f"it has too many arguments: {len(values)}, and {spec.name} takes {len(properties)}")
        else:
            arguments = dict(zip(properties, values, strict=False))
        keywords = self._evaluate_pairs(node.keywords)
        if isinstance(keywords, Unknown):
            return keywords
        names = [key for key, _ in node.keywords if key is not None]
        if len(set(names)) < len(names):
            return Unknown(reason="an argument is given twice")
        if twice := arguments.keys() & keywords.keys():
            return Unknown(reason=f"{', '.join(sorted(twice))} is given twice")
        arguments |= keywords
        return check_arguments(arguments, self._budget) or arguments

    def _call_library(self, dotted: str, node: syntax.Invocation) -> Value:
        args = [self._evaluate(arg) for arg in node.args]
        if dotted in GATHERING:
            return gather(args, self._budget)
        if dotted in PASSING_ON and args:
            return args[0]
        keywords = self._evaluate_pairs(node.keywords)
        if dotted == "dict":
            return keywords
        if (result := call_builtin(dotted, args, keywords, self._budget)) is not None:
            return result
        if dotted in PRINTING:
            return None
        first = dotted.split(".")[0]
        known = first in LIBRARIES or self._scope.is_module(first)
        kind = "a function of a library" if known else "not a tool"
        return Unknown(reason=f"{dotted[:MAX_QUOTED_CHARS]} is {kind}")

    def _call_method(self, owner: Expression, name: str, node: syntax.Invocation) -> Value:
        base = self._evaluate(owner)
        closure = next((arg for arg in node.args if isinstance(arg, syntax.Closure)), None)
        if name == "then" and closure is not None:
            return self._call_closure(closure, [base])
        if name in ("then", "catch", "finally", "json", "toString"):
            return base
        if name in ("map", "forEach") and closure is not None:
            items = unroll(base)
            if items is not None:
                return [self._call_closure(closure, [item, index]) for index, item in enumerate(items)]
            self._refuse_calls_in(closure.body, NOT_WRITTEN_OUT)
            return Unknown(reason=UNKNOWN_ROUNDS)
        args = [self._evaluate(arg) for arg in node.args]
        if isinstance(owner, syntax.Name) and name in CHANGING_METHODS:
            self._scope.change(owner.name, name, args)
            return None
        return call_method(base, name, args, self._budget)

    def _call_closure(
        self, closure: syntax.Closure, args: list[Value], keywords: tuple[tuple[str | None, Expression], ...] = ()
    ) -> Value:
        """Follow the body of a function that the code defines; return its result."""
        if self._depth >= MAX_CALL_DEPTH:
            raise ReadError("the code calls itself", "Write the calls out, one per line.")
        named = self._evaluate_pairs(keywords)
        self._depth += 1
        try:
            with self._scope.enter():
                for parameter in closure.parameters[len(args) :]:
                    self._bind(parameter, Unknown(reason="a parameter is left to its default"))
                for parameter, arg in zip(closure.parameters, args, strict=False):
                    self._bind(parameter, arg)
                if isinstance(named, dict):
                    self._scope.bind_all(named)
                return self._follow_all(closure.body)
        except _FunctionReturn as returned:
            return returned.value
        finally:
            self._depth -= 1


def _holds_all_arguments(spec: ToolSpec, value: dict[str, Value]) -> bool:
    """Whether the only argument, an object, holds all arguments, or is itself the first of them."""
    properties: dict[str, Any] = spec.parameters.get("properties", {})
    kinds = [schema.get("type") for schema in properties.values()]
    return kinds[:1] != ["object"] or bool(value.keys() & properties.keys())
