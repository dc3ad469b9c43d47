"""Rules for values, from their schemas: types, choices, keys. Bounds and patterns are left to the check of arguments.

The keys of an object are in the order of its schema, so that a grammar can tell which are missing. An object without
known keys may have any.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from toolspeak._frozen import frozen
from toolspeak.dialects.grammar.expressions import (
    NOTHING,
    CharClass,
    Expression,
    Repetition,
    RuleName,
    Terminal,
    in_order,
    one_of,
    optional,
    separated,
)
from toolspeak.dialects.notation import is_optional, parameters_of
from toolspeak.spec import Schema, resolve_reference

MAX_COUNTED_ITEMS = 20
"""Items of an array up to which their number is a part of the grammar: each costs a server time."""

STRING = RuleName(name="string")
INTEGER = RuleName(name="integer")
NUMBER = RuleName(name="number")
VALUE = RuleName(name="value")
COMMA = RuleName(name="comma")
COLON = RuleName(name="colon")

_ESCAPE = in_order(
    "\\", one_of(CharClass(written='["\\\\/bfnrt]'), in_order("u", *[CharClass(written="[0-9a-fA-F]")] * 4))
)
_DIGITS = Repetition(item=CharClass(written="[0-9]"), least=1)
_INTEGER = in_order(
    optional("-"), one_of("0", in_order(CharClass(written="[1-9]"), Repetition(item=CharClass(written="[0-9]"))))
)
_EXPONENT = in_order(CharClass(written="[eE]"), optional(CharClass(written="[+-]")), _DIGITS)

TOKENS: dict[str, Expression] = {
    "string": in_order('"', Repetition(item=one_of(CharClass(written='[^"\\\\\\x00-\\x1f]'), _ESCAPE)), '"'),
    "integer": _INTEGER,
    "number": in_order(_INTEGER, optional(in_order(".", _DIGITS)), optional(_EXPONENT)),
    "comma": in_order(",", optional(" ")),
    "colon": in_order(":", optional(" ")),
}
"""The tokens of values in every notation. All strings are those of JSON."""


@frozen
class ValueNotation:
    """How values are written.

    Attributes:
        format_value: Writes a value.
        format_key: Writes the key of an object.
    """

    format_value: Callable[[Any], str]
    format_key: Callable[[str], str]


class ValueRules:
    """Makes rules for the values of one schema after the other, and collects them.

    Attributes:
        rules: The rules so far, by their names.
    """

    def __init__(self, notation: ValueNotation) -> None:
        self._notation = notation
        self._references: dict[tuple[int, str], RuleName] = {}
        true, false, null = map(notation.format_value, (True, False, None))
        pair = in_order(STRING, COLON, VALUE)
        self.rules: dict[str, Expression] = {
            "value": one_of(RuleName(name="object"), RuleName(name="array"), STRING, NUMBER, true, false, null),
            "object": in_order("{", separated(pair, COMMA), "}"),
            "array": in_order("[", separated(VALUE, COMMA), "]"),
        }

    def define(self, kind: str, expression: Expression) -> RuleName:
        """Add a rule, and return its name: `kind` with a number."""
        name = f"{kind}-{len(self.rules)}"
        self.rules[name] = expression
        return RuleName(name=name)

    def build_value(self, schema: Any, root: Schema) -> Expression:
        """Return the expression for the values of a schema.

        Args:
            schema: The schema.
            root: The schema with the definitions that it may refer to.
        """
        if not isinstance(schema, dict):
            return VALUE
        given = cast("dict[str, Any]", schema)
        write = self._notation.format_value
        if "$ref" in given:
            return self._build_reference(given, root)
        if "const" in given:
            return Terminal(text=write(given["const"]))
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
        key = (id(root), str(schema["$ref"]))
        if key not in self._references:
            resolved = resolve_reference(schema, root)
            if "$ref" in resolved:  # definitions that refer to each other in a circle
                return VALUE
            name = self._references[key] = self.define("type", NOTHING)
            self.rules[name.name] = self.build_value(resolved, root)
        return self._references[key]

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
                return Terminal(text=write(None))
            case "array" if "prefixItems" not in schema:
                item = self.build_value(schema.get("items"), root)
                least, most = (_read_count(schema.get(key)) for key in ("minItems", "maxItems"))
                return in_order("[", separated(item, COMMA, least=least or 0, most=most), "]")
            case "array":
                return RuleName(name="array")
            case "object":
                return self.build_object(schema, root)
            case _:
                return VALUE

    def build_object(self, schema: Schema, root: Schema) -> Expression:
        """Return the expression for an object: its known keys in their order, or any keys if none are known."""
        if schema.get("properties"):
            write_key = self._notation.format_key
            members = [
                (in_order(write_key(name), COLON, self.build_value(sub, root)), is_optional(schema, name))
                for name, sub in parameters_of(schema)
            ]
            return in_order("{", self.build_members(members, COMMA), "}")
        rest: Any = schema.get("additionalProperties")
        if rest is False:
            return Terminal(text="{}")
        pair = in_order(STRING, COLON, self.build_value(rest, root))
        return in_order("{", separated(pair, COMMA), "}")

    def build_members(self, members: Sequence[tuple[Expression, bool]], separator: Expression | str) -> Expression:
        """Return members in their order with a separator between, of which some may be left out.

        Args:
            members: Each member, and whether it may be left out.
            separator: What stands between two members.
        """
        following: Expression = NOTHING  # the members behind the present one, each after a separator
        beginnings: list[Expression] = []  # each member that may be the first, with all behind it
        may_be_empty = True
        for expression, may_be_left_out in reversed(members):
            member = self.define("member", expression)
            beginnings.insert(0, in_order(member, following))
            if not may_be_left_out:
                beginnings, may_be_empty = beginnings[:1], False
            rest = in_order(separator, member)
            following = self.define("rest", in_order(optional(rest) if may_be_left_out else rest, following))
        if not beginnings:
            return NOTHING
        return optional(one_of(*beginnings)) if may_be_empty else one_of(*beginnings)


def _read_count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNTED_ITEMS
    return value if is_count else None
