"""The grammar of an answer that must be calls, in GBNF: calls of tools in the notation of a dialect.

GBNF is the notation of llama.cpp. Names, keys, types and choices are held to; bounds and patterns are left to the check
of arguments, as for every answer. The keys of an object are in the order of its schema, so that a grammar can tell
which are missing; an object without known keys may have any. A tool with a raw text is called by a block with its name
(`json_notation.py`), so that its text needs no escapes under a grammar either.

There are grammars for forced calls only: where a call is free, a grammar would forbid calls that refer to results of
others. To restrict values further by their schemas, change `ValueRules`; the calls of a dialect are in `NOTATIONS`.

A grammar grows with the schemas and not with their nesting: what is written more than once, such as an item and the
items after it, is a rule of its own, and a definition is one rule, whatever refers to it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from toolspeak.dialects import python_notation, typescript_notation
from toolspeak.dialects.notation import identifier, literal, parameters_of, write_tools
from toolspeak.reading.names import has_raw_form
from toolspeak.values.events import ToolChoice
from toolspeak.values.frozen import frozen
from toolspeak.values.spec import Schema, ToolSpec, find_definition, is_definition, normalize_schema, resolve_reference
from toolspeak.values.work_budget import WorkBudget


@frozen
class Expression:
    """An expression as GBNF writes it. `is_single`: whether it needs no parentheses beside others."""

    written: str
    is_single: bool = False


NOTHING = Expression(written='""')


def terminal(text: str) -> Expression:
    """Return the expression for a text, as it is."""
    return Expression(written=json.dumps(text, ensure_ascii=False), is_single=True)


def single(written: str) -> Expression:
    r"""Return the expression for a class of characters, such as `[^"\\]`, or for what a rule describes, by its name."""
    return Expression(written=written, is_single=True)


def in_order(*parts: Expression | str) -> Expression:
    """Return the parts one after the other; without any, the empty text. A text stands for its terminal."""
    wrapped = [terminal(part) if isinstance(part, str) else part for part in parts if part != NOTHING]
    if len(wrapped) < 2:
        return wrapped[0] if wrapped else NOTHING
    return Expression(written=" ".join(map(_group, wrapped)))


def one_of(*options: Expression | str) -> Expression:
    """Return the choice among the options, each of them once. A text stands for its terminal."""
    wrapped = dict.fromkeys(terminal(each) if isinstance(each, str) else each for each in options)
    return (
        next(iter(wrapped)) if len(wrapped) == 1 else Expression(written=" | ".join(each.written for each in wrapped))
    )


def repeat(item: Expression | str, least: int = 0, most: int | None = None) -> Expression:
    """Return an expression that is repeated, `most` times at most; None for any number."""
    short: dict[tuple[int, int | None], str] = {(0, 1): "?", (0, None): "*", (1, None): "+"}
    count = short.get((least, most)) or f"{{{least},{'' if most is None else most}}}"
    return Expression(written=f"{_group(in_order(item))}{count}")


def optional(item: Expression | str) -> Expression:
    """Return an expression that may be left out."""
    return repeat(item, most=1)


def separated(item: Expression, separator: Expression | str, *, least: int = 0, most: int | None = None) -> Expression:
    """Return an expression that is repeated with a separator between."""
    if most is not None and most < 1:
        return NOTHING
    rest = repeat(in_order(separator, item), max(0, least - 1), None if most is None else max(most, least) - 1)
    whole = in_order(item, rest)
    return whole if least else optional(whole)


def _group(expression: Expression) -> str:
    return expression.written if expression.is_single else f"({expression.written})"


MAX_COUNTED_ITEMS = 20
"""Items of an array up to which their number is a part of the grammar: each costs a server time."""

MAX_REPEATED_CHARS = 80
"""Characters of an expression that is written twice. A longer one gets a rule: nested ones would double each time."""

STRING = single("string")
INTEGER = single("integer")
NUMBER = single("number")
VALUE = single("value")
COMMA = single("comma")
COLON = single("colon")

_ESCAPE = in_order("\\", one_of(single('["\\\\/bfnrt]'), in_order("u", *[single("[0-9a-fA-F]")] * 4)))
_DIGITS = repeat(single("[0-9]"), least=1)
_INTEGER = in_order(optional("-"), one_of("0", in_order(single("[1-9]"), repeat(single("[0-9]")))))
_EXPONENT = in_order(single("[eE]"), optional(single("[+-]")), _DIGITS)

TOKENS: dict[str, Expression] = {
    "string": in_order('"', repeat(one_of(single('[^"\\\\\\x00-\\x1f]'), _ESCAPE)), '"'),
    "integer": _INTEGER,
    "number": in_order(_INTEGER, optional(in_order(".", _DIGITS)), optional(_EXPONENT)),
    "comma": in_order(",", optional(" ")),
    "colon": in_order(":", optional(" ")),
}
"""The tokens of values in every notation. All strings are those of JSON."""


class ValueRules:
    """Makes rules for the values of one schema after the other, and collects them.

    Attributes:
        rules: The rules so far, by their names.
        budget: The steps that all schemas may take together.
    """

    def __init__(self, notation: "CallNotation") -> None:
        self._notation = notation
        self.budget = WorkBudget()
        self._references: dict[int, Expression] = {}  # by the id of the definition
        true, false, null = map(notation.format_value, (True, False, None))
        pair = in_order(STRING, COLON, VALUE)
        self.rules: dict[str, Expression] = {
            "value": one_of(single("object"), single("array"), STRING, NUMBER, true, false, null),
            "object": in_order("{", separated(pair, COMMA), "}"),
            "array": in_order("[", separated(VALUE, COMMA), "]"),
        }

    def define(self, kind: str, expression: Expression) -> Expression:
        """Add a rule, and return its name: `kind` with a number."""
        name = f"{kind}-{len(self.rules)}"
        self.rules[name] = expression
        return single(name)

    def build_value(self, schema: Any, root: Schema) -> Expression:
        """Return the expression for the values of a schema.

        Args:
            schema: The schema.
            root: The schema with the definitions that it may refer to.
        """
        self.budget.spend()
        if not isinstance(schema, dict):
            return VALUE
        given = cast("dict[str, Any]", schema)
        write = self._notation.format_value
        if "$ref" in given:
            return self._build_reference(given, root)
        if "const" in given:
            return terminal(write(given["const"]))
        if isinstance(given.get("enum"), list) and given["enum"]:
            return one_of(*map(write, given["enum"]))
        if options := given.get("anyOf") or given.get("oneOf"):
            return one_of(*(self.build_value(option, root) for option in options))
        kind = given.get("type")
        if given.get("allOf") or not kind:
            return VALUE
        kinds = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
        return one_of(*(self._build_type(each, given, root) for each in kinds))

    def _build_reference(self, schema: dict[str, Any], root: Schema) -> Expression:
        """Return the rule of a definition, which may contain itself."""
        reference = schema["$ref"]
        definition = find_definition(reference, root)
        if definition is None:
            return VALUE
        key = id(definition)
        if key not in self._references:
            resolved = resolve_reference(schema, root)
            if "$ref" in resolved:  # definitions that refer to each other in a circle
                return VALUE
            name = self._references[key] = self.define("type", NOTHING)
            self.rules[name.written] = self.build_value(
                resolved if is_definition(reference) else normalize_schema(resolved), root
            )
        return self._references[key]

    def _share(self, expression: Expression) -> Expression:
        """Return an expression to be written more than once: itself if it is short, or the name of a rule for it."""
        is_short = len(expression.written) <= MAX_REPEATED_CHARS
        return expression if expression.is_single or is_short else self.define("item", expression)

    def _build_type(self, kind: Any, schema: Schema, root: Schema) -> Expression:
        write = self._notation.format_value
        match kind:
            case "string":
                return STRING
            case "integer":
                return INTEGER
            case "number":
                return NUMBER
            case "boolean":
                return one_of(write(True), write(False))
            case "null":
                return terminal(write(None))
            case "array" if "prefixItems" not in schema:
                item = self._share(self.build_value(schema.get("items"), root))
                least, most = (_read_count(schema.get(key)) for key in ("minItems", "maxItems"))
                return in_order("[", separated(item, COMMA, least=least or 0, most=most), "]")
            case "array":
                return single("array")
            case "object":
                return self.build_object(schema, root)
            case _:
                return VALUE

    def build_object(self, schema: Schema, root: Schema) -> Expression:
        """Return the expression for an object: its known keys in their order, or any keys if none are known."""
        if schema.get("properties"):
            write_key = self._notation.format_key
            members = [
                (in_order(write_key(name), COLON, self.build_value(sub, root)), optional)
                for name, sub, optional in parameters_of(schema)
            ]
            return in_order("{", self.build_members(members, COMMA), "}")
        rest: Any = schema.get("additionalProperties")
        if rest is False:
            return terminal("{}")
        pair = self._share(in_order(STRING, COLON, self.build_value(rest, root)))
        return in_order("{", separated(pair, COMMA), "}")

    def build_members(self, members: Sequence[tuple[Expression, bool]], separator: Expression | str) -> Expression:
        """Return members in their order with a separator between, of which some may be left out.

        Args:
            members: Each member, and whether it may be left out.
            separator: What stands between two members.
        """
        following: Expression = NOTHING  # the members behind the present one, each after a separator
        beginnings: list[Expression] = []  # each member that may be the first, with all behind it; the last one first
        may_be_empty = True
        for expression, may_be_left_out in reversed(members):
            member = self.define("member", expression)
            beginnings.append(in_order(member, following))
            if not may_be_left_out:
                beginnings, may_be_empty = beginnings[-1:], False
            rest = in_order(separator, member)
            following = self.define("rest", in_order(optional(rest) if may_be_left_out else rest, following))
        if not beginnings:
            return NOTHING
        beginnings.reverse()
        return optional(one_of(*beginnings)) if may_be_empty else one_of(*beginnings)


def _read_count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNTED_ITEMS
    return value if is_count else None


RAW_FENCES = ("```", "````", "``````")
"""Fences among which a model may choose, so that its text may hold a shorter one."""


@frozen
class CallNotation:
    """How the calls of a dialect are written.

    Attributes:
        format_value: Writes a value.
        format_key: Writes the key of an object.
        build_call: Builds the expression for a call of a tool.
        opener: The text before the first call, or before each one.
        closer: The text after the last call, or after each one.
        is_each_wrapped: Whether `opener` and `closer` are around each call, not around all of them.
    """

    format_value: Callable[[Any], str] = literal
    format_key: Callable[[str], str] = literal
    build_call: Callable[[ToolSpec, ValueRules], Expression]
    opener: str
    closer: str = "\n```"
    is_each_wrapped: bool = False


def _build_json_call(spec: ToolSpec, rules: ValueRules) -> Expression:
    arguments = rules.build_object({"additionalProperties": False, **spec.parameters}, spec.parameters)
    return in_order(f'{{"name": {literal(spec.name)}, "arguments": ', arguments, "}")


def _build_typescript_call(spec: ToolSpec, rules: ValueRules) -> Expression:
    arguments = rules.build_object({"additionalProperties": False, **spec.parameters}, spec.parameters)
    may_be_left_out = not spec.parameters.get("required")
    return in_order(
        f"{identifier(spec.name)}(", optional(arguments) if may_be_left_out else arguments, ")", optional(";")
    )


def _build_python_call(spec: ToolSpec, rules: ValueRules) -> Expression:
    """Return a call with keywords. Keys that cannot be keywords are unpacked from an object, at the end."""
    schema = spec.parameters
    given = list(parameters_of(schema))
    members = [
        (in_order(f"{name}=", rules.build_value(sub, schema)), optional)
        for name, sub, optional in given
        if name.isidentifier()
    ]
    if others := {name: sub for name, sub, _ in given if not name.isidentifier()}:
        required = [name for name, _, optional in given if name in others and not optional]
        unpacked = rules.build_object({"properties": others, "required": required}, schema)
        members.append((in_order("**", unpacked), not required))
    return in_order(f"{identifier(spec.name)}(", rules.build_members(members, ", "), ")")


NOTATIONS: Mapping[str, CallNotation] = {
    "json": CallNotation(
        build_call=_build_json_call, opener="<tool_call>\n", closer="\n</tool_call>", is_each_wrapped=True
    ),
    "typescript": CallNotation(
        format_key=typescript_notation.format_key, build_call=_build_typescript_call, opener="```typescript\n"
    ),
    "python": CallNotation(
        format_value=python_notation.format_value, build_call=_build_python_call, opener="```python\n"
    ),
}
"""The notations of the text dialects, by their names."""


def write_grammar(dialect: str, tools: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> str:
    """Return the grammar of an answer: one rule a line, `root` first.

    Args:
        dialect: The name of the dialect in which calls are written.
        tools: The tools that may be called.
        choice: Which must be called: `named` needs one call of each of the tools, in their order, if several calls are
            allowed.
        parallel: Whether several calls are allowed.

    Raises:
        UsageError: The schema of a tool takes too much work. The message names the tool.
    """
    notation = NOTATIONS[dialect]
    rules = ValueRules(notation)
    raw_names = {spec.name for spec in tools if has_raw_form(spec)}
    is_each_wrapped = notation.is_each_wrapped or bool(raw_names)

    def define_call(spec: ToolSpec, budget: WorkBudget) -> Expression:
        rules.budget = budget
        call = _build_raw_call(spec.name) if spec.name in raw_names else notation.build_call(spec, rules)
        if is_each_wrapped and spec.name not in raw_names:
            call = in_order(notation.opener, call, notation.closer)
        return rules.define("call", call)

    calls = write_tools(tools, define_call)
    tokens = TOKENS | (_build_raw_lines() if raw_names else {})
    answer = _build_calls(calls, choice, parallel=parallel)
    if not is_each_wrapped:
        answer = in_order(notation.opener, answer, notation.closer)
    written = {"root": answer, **rules.rules, **tokens}
    return "\n".join(f"{name} ::= {rule.written}" for name, rule in written.items())


def _build_calls(calls: Sequence[Expression], choice: ToolChoice, *, parallel: bool) -> Expression:
    if choice.mode == "named" and parallel:
        return in_order(*[part for call in calls for part in ("\n", call)][1:])
    any_call = one_of(*calls)
    return in_order(any_call, repeat(in_order("\n", any_call))) if parallel else any_call


def _build_raw_call(name: str) -> Expression:
    """Return the expression for a block with a raw text, in any of the fences."""
    return one_of(*(in_order(f"{fence}{name}\n", repeat(single(f"raw-{len(fence)}")), fence) for fence in RAW_FENCES))


def _build_raw_lines() -> dict[str, Expression]:
    """Return the rules for a line of raw text within each of the fences: no line is the fence."""
    begun = in_order(single("[^`\\n]"), repeat(single("[^\\n]")))
    return {
        f"raw-{len(fence)}": in_order(
            one_of(
                in_order(repeat("`", most=len(fence) - 1), optional(begun)),
                in_order(repeat("`", least=len(fence)), begun),
            ),
            "\n",
        )
        for fence in RAW_FENCES
    }
