"""The grammar of an answer: calls of tools in the notation of a dialect, and prose before them.

Names, keys, types and choices are held to; what else a schema says is checked when the answer is read, as for every
answer. A tool with a raw text is called by a block with its name (`raw_notation.py`), so that its text needs no escapes
under a grammar either.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from toolspeak.dialects import python_notation, typescript_notation
from toolspeak.dialects.notation import identifier, is_optional, literal, parameters_of
from toolspeak.reading.names import has_raw_form
from toolspeak.values.events import ToolChoice
from toolspeak.values.frozen import frozen
from toolspeak.values.spec import Schema, ToolSpec, resolve_reference

# What a grammar consists of, independent of the notation in which a server takes it.
#
# Two rules let the same description work for parsers that try every split of a text and for lexers that take the
# longest token, without going back:
#
# - A rule among the `tokens` of a grammar is a token: it refers to no rules that are not tokens themselves.
# - No token is a beginning of a text that another token, allowed at the same place, needs whole.


@frozen
class Terminal:
    """A text, as it is."""

    text: str


@frozen
class CharClass:
    r"""One character of a class, which is written alike in GBNF and in regular expressions, such as `[^"\\]`."""

    written: str


@frozen
class RuleName:
    """What the rule of that name describes."""

    name: str


@frozen
class InOrder:
    """All parts, one after the other; without any, the empty text."""

    parts: tuple["Expression", ...]


@frozen
class OneOf:
    """One of the options."""

    options: tuple["Expression", ...]


@frozen
class Repetition:
    """An expression, repeated.

    Attributes:
        item: What is repeated.
        least: The fewest repetitions.
        most: The most repetitions; None for any number.
    """

    item: "Expression"
    least: int = 0
    most: int | None = None


Expression: TypeAlias = Terminal | CharClass | RuleName | InOrder | OneOf | Repetition

NOTHING = InOrder(parts=())


@frozen
class Grammar:
    """The rules of an answer, by their names: words of `a-z`, digits and hyphens. The answer is the rule `root`.

    Attributes:
        rules: The expression of each rule.
        tokens: The names of the rules that are tokens.
    """

    rules: Mapping[str, Expression]
    tokens: frozenset[str]


def in_order(*parts: Expression | str) -> Expression:
    """Return the parts one after the other. A text stands for its terminal."""
    wrapped = tuple(Terminal(text=part) if isinstance(part, str) else part for part in parts if part != NOTHING)
    return wrapped[0] if len(wrapped) == 1 else InOrder(parts=wrapped)


def one_of(*options: Expression | str) -> Expression:
    """Return the choice among the options, each of them once. A text stands for its terminal."""
    wrapped = dict.fromkeys(Terminal(text=each) if isinstance(each, str) else each for each in options)
    return next(iter(wrapped)) if len(wrapped) == 1 else OneOf(options=tuple(wrapped))


def optional(item: Expression | str) -> Expression:
    """Return an expression that may be left out."""
    return Repetition(item=in_order(item), most=1)


def separated(item: Expression, separator: Expression | str, *, least: int = 0, most: int | None = None) -> Expression:
    """Return an expression that is repeated with a separator between."""
    if most is not None and most < 1:
        return NOTHING
    rest = Repetition(
        item=in_order(separator, item), least=max(0, least - 1), most=None if most is None else max(most, least) - 1
    )
    whole = in_order(item, rest)
    return whole if least else optional(whole)


def format_count(repetition: Repetition) -> str:
    """Write how often something is repeated, as GBNF and regular expressions have it."""
    least, most = repetition.least, repetition.most
    short: dict[tuple[int, int | None], str] = {(0, 1): "?", (0, None): "*", (1, None): "+"}
    return short.get((least, most)) or f"{{{least},{'' if most is None else most}}}"


# Lark, as llguidance reads it: tokens have names in capitals and are regular, rules have names in small letters.
#
# llama.cpp takes a faulty grammar of this kind without a word and then holds the answer to nothing, so each construct
# here is one that the tests have validated.


MARK = "%llguidance {}\n"
"""The first line of a grammar for llama.cpp, by which it knows that the grammar is not GBNF."""


def format_lark(grammar: Grammar) -> str:
    """Write a grammar, one rule a line, `start` first."""
    others = [name for name in grammar.rules if name != "root"]
    lines = [f"start: {_format_rule(grammar.rules['root'], grammar)}"]
    for name in others:
        rule = grammar.rules[name]
        body = f"/{_format_regex(rule, grammar)}/" if name in grammar.tokens else _format_rule(rule, grammar)
        lines.append(f"{_format_name(name, grammar)}: {body}")
    return MARK + "\n".join(lines)


def _format_name(name: str, grammar: Grammar) -> str:
    plain = name.replace("-", "_")
    return plain.upper() if name in grammar.tokens else plain


def _format_rule(expression: Expression, grammar: Grammar) -> str:
    match expression:
        case Terminal(text=text):
            return json.dumps(text, ensure_ascii=False)
        case CharClass(written=written):
            return f"/{written.replace('/', '[/]')}/"
        case RuleName(name=name):
            return _format_name(name, grammar)
        case InOrder(parts=parts):
            return " ".join(_format_group(part, grammar) for part in parts) or '""'
        case OneOf(options=options):
            return " | ".join(_format_rule(option, grammar) for option in options)
        case Repetition(item=item):
            return f"{_format_group(item, grammar)}{format_count(expression)}"


def _format_group(expression: Expression, grammar: Grammar) -> str:
    is_single = isinstance(expression, Terminal | CharClass | RuleName)
    written = _format_rule(expression, grammar)
    return written if is_single else f"({written})"


def _format_regex(expression: Expression, grammar: Grammar) -> str:
    match expression:
        case Terminal(text=text):
            return "".join({"\n": r"\n", "/": r"\/"}.get(each, re.escape(each)) for each in text)
        case CharClass(written=written):
            return written.replace("/", r"\/")
        case RuleName(name=name):
            return f"({_format_regex(grammar.rules[name], grammar)})"
        case InOrder(parts=parts):
            return "".join(f"({_format_regex(part, grammar)})" for part in parts)
        case OneOf(options=options):
            return "|".join(_format_regex(option, grammar) for option in options)
        case Repetition(item=item):
            return f"({_format_regex(item, grammar)}){format_count(expression)}"


# Rules for values, from their schemas: types, choices, keys. Bounds and patterns are left to the check of arguments.
#
# The keys of an object are in the order of its schema, so that a grammar can tell which are missing. An object without
# known keys may have any.


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


# Prose: any text that does not begin a call, for answers in which calls are allowed and not demanded.
#
# A call begins with an opener such as "```python" and a line break. Prose may hold backticks and angle brackets, code
# in backticks, and blocks in other languages; what begins like an opener must differ from it somewhere.


TEXT = RuleName(name="prose-text")
TICKS = RuleName(name="prose-ticks")
FENCE = RuleName(name="prose-fence")
ANGLE = RuleName(name="prose-angle")


@frozen
class Prose:
    """The rule of prose, and its tokens. The token `prose-end` is what may stand at the end of an answer besides."""

    rule: Expression
    tokens: dict[str, Expression]


def build_prose(openers: Sequence[str]) -> Prose:
    """Return what prose is where calls begin with these openers, each of which begins with "```" or "<"."""
    fences = [opener for opener in openers if opener.startswith("```")]
    angles = [opener for opener in openers if opener.startswith("<")]
    starts = ("`" if fences else "") + ("<" if angles else "")
    tokens: dict[str, Expression] = {"prose-text": Repetition(item=_exclude(starts), least=1)}
    marked: list[Expression] = []
    ends: list[str] = []
    behind_ticks: list[Expression] = [TEXT]
    if angles:
        tokens["prose-angle"] = _diverge(angles, "<", starts)
        marked.append(in_order(ANGLE, optional(TEXT)))
        behind_ticks.append(in_order(ANGLE, optional(TEXT)))
        ends.append("<")
    if fences:
        tokens |= {"prose-ticks": one_of("`", "``"), "prose-fence": _diverge(fences, "```", starts)}
        marked += [in_order(TICKS, one_of(*behind_ticks)), in_order(FENCE, optional(TEXT))]
        ends += ["`", "``", "```"]
    rule = in_order(optional(TEXT), Repetition(item=one_of(*marked)))
    return Prose(rule=rule, tokens=tokens | {"prose-end": one_of(*ends)})


def _diverge(openers: Sequence[str], begin: str, starts: str) -> Expression:
    """Return texts that begin as an opener does, with at least `begin`, up to the first character that differs."""
    beginnings = {opener[:length] for opener in openers for length in range(len(begin), len(opener))}
    return one_of(
        *(
            in_order(beginning, _exclude(starts + "".join(_find_next(beginning, openers))))
            for beginning in sorted(beginnings)
        )
    )


def _find_next(beginning: str, openers: Sequence[str]) -> list[str]:
    return sorted({each[len(beginning)] for each in openers if each.startswith(beginning) and each != beginning})


def _exclude(chars: str) -> CharClass:
    """Return the class of all other characters."""
    written = (each if re.fullmatch(r"[A-Za-z0-9_]", each) else f"\\x{ord(each):02x}" for each in dict.fromkeys(chars))
    return CharClass(written=f"[^{''.join(written)}]")


# GBNF: the notation of grammars in llama.cpp.


def format_gbnf(grammar: Grammar) -> str:
    """Write a grammar, one rule a line, `root` first."""
    others = [name for name in grammar.rules if name != "root"]
    return "\n".join(f"{name} ::= {_format(grammar.rules[name])}" for name in ("root", *others))


def _format(expression: Expression) -> str:
    match expression:
        case Terminal(text=text):
            return json.dumps(text, ensure_ascii=False)
        case CharClass(written=written):
            return written
        case RuleName(name=name):
            return name
        case InOrder(parts=parts):
            return " ".join(map(_format_part, parts)) or '""'
        case OneOf(options=options):
            return " | ".join(map(_format, options))
        case Repetition():
            return f"{_format_part(expression.item)}{format_count(expression)}"


def _format_part(expression: Expression) -> str:
    is_single = isinstance(expression, Terminal | CharClass | RuleName)
    return _format(expression) if is_single else f"({_format(expression)})"


RAW_FENCES = ("```", "````", "``````")
"""Fences among which a model may choose, so that its text may hold a shorter one."""


@frozen
class CallNotation:
    """How the calls of a dialect are written.

    Attributes:
        values: How values are written.
        build_call: Builds the expression for a call of a tool.
        opener: The text before the first call, or before each one.
        closer: The text after the last call, or after each one.
        is_each_wrapped: Whether `opener` and `closer` are around each call, not around all of them.
    """

    values: ValueNotation
    build_call: Callable[[ToolSpec, ValueRules], Expression]
    opener: str
    closer: str
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
    keywords = [(name, sub) for name, sub in parameters_of(schema) if name.isidentifier()]
    others = {name: sub for name, sub in parameters_of(schema) if not name.isidentifier()}
    members = [
        (in_order(f"{name}=", rules.build_value(sub, schema)), is_optional(schema, name)) for name, sub in keywords
    ]
    if others:
        required = [name for name in others if not is_optional(schema, name)]
        unpacked = rules.build_object({"properties": others, "required": required}, schema)
        members.append((in_order("**", unpacked), not required))
    return in_order(f"{identifier(spec.name)}(", rules.build_members(members, ", "), ")")


NOTATIONS: Mapping[str, CallNotation] = {
    "json": CallNotation(
        values=ValueNotation(format_value=literal, format_key=literal),
        build_call=_build_json_call,
        opener="<tool_call>\n",
        closer="\n</tool_call>",
        is_each_wrapped=True,
    ),
    "typescript": CallNotation(
        values=ValueNotation(format_value=literal, format_key=typescript_notation.format_key),
        build_call=_build_typescript_call,
        opener="```typescript\n",
        closer="\n```",
    ),
    "python": CallNotation(
        values=ValueNotation(format_value=python_notation.format_value, format_key=literal),
        build_call=_build_python_call,
        opener="```python\n",
        closer="\n```",
    ),
}
"""The notations of the text dialects, by their names."""


def build_grammar(notation: CallNotation, tools: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Grammar:
    """Return the grammar of an answer.

    Args:
        notation: How calls are written.
        tools: The tools that may be called.
        choice: Which must be called: `auto` allows prose, alone or before calls; `named` needs one call of each of the
            tools, in their order, if several calls are allowed.
        parallel: Whether several calls are allowed.
    """
    rules = ValueRules(notation.values)
    has_raw = any(map(has_raw_form, tools))
    is_each_wrapped = notation.is_each_wrapped or has_raw
    calls: list[Expression] = []
    for spec in tools:
        call = _build_raw_call(spec) if has_raw_form(spec) else notation.build_call(spec, rules)
        if is_each_wrapped and not has_raw_form(spec):
            call = in_order(notation.opener, call, notation.closer)
        calls.append(rules.define("call", call))
    tokens = dict(TOKENS) | (_build_raw_lines() if has_raw else {})
    answer = _build_calls(calls, choice, parallel=parallel)
    if not is_each_wrapped:
        answer = in_order(notation.opener, answer, notation.closer)
    if choice.mode == "auto":
        prose = build_prose([notation.opener, *(f"```{spec.name}\n" for spec in tools if has_raw_form(spec))])
        tokens |= prose.tokens
        rules.rules["prose"] = prose.rule
        answer = in_order(RuleName(name="prose"), one_of(answer, optional(RuleName(name="prose-end"))))
    return Grammar(rules={"root": answer, **rules.rules, **tokens}, tokens=frozenset(tokens))


def _build_calls(calls: Sequence[Expression], choice: ToolChoice, *, parallel: bool) -> Expression:
    if choice.mode == "named" and parallel:
        return in_order(*[part for call in calls for part in ("\n", call)][1:])
    any_call = one_of(*calls)
    return in_order(any_call, Repetition(item=in_order("\n", any_call))) if parallel else any_call


def _build_raw_call(spec: ToolSpec) -> Expression:
    """Return the expression for a block with a raw text, in any of the fences."""
    return one_of(
        *(
            in_order(f"{fence}{spec.name}\n", Repetition(item=RuleName(name=f"raw-{len(fence)}")), fence)
            for fence in RAW_FENCES
        )
    )


def _build_raw_lines() -> dict[str, Expression]:
    """Return the tokens for a line of raw text within each of the fences: no line is the fence."""
    tick, rest = Terminal(text="`"), Repetition(item=CharClass(written="[^\\n]"))
    begun = in_order(CharClass(written="[^`\\n]"), rest)
    return {
        f"raw-{len(fence)}": in_order(
            one_of(
                in_order(Repetition(item=tick, most=len(fence) - 1), optional(begun)),
                in_order(Repetition(item=tick, least=len(fence)), begun),
            ),
            "\n",
        )
        for fence in RAW_FENCES
    }
