"""The grammar of an answer: calls of tools in the notation of a dialect, and prose before them.

Names, keys, types and choices are held to; what else a schema says is checked when the answer is read, as for every
answer. A tool with a raw text is called by a block with its name (`raw_notation.py`), so that its text needs no escapes
under a grammar either.
"""

from collections.abc import Callable, Mapping, Sequence

from toolspeak._frozen import frozen
from toolspeak.dialects import python_notation, typescript_notation
from toolspeak.dialects.grammar.expressions import (
    CharClass,
    Expression,
    Grammar,
    Repetition,
    RuleName,
    Terminal,
    in_order,
    one_of,
    optional,
)
from toolspeak.dialects.grammar.prose import build_prose
from toolspeak.dialects.grammar.values import TOKENS, ValueNotation, ValueRules
from toolspeak.dialects.notation import identifier, is_optional, literal, parameters_of
from toolspeak.events import ToolChoice
from toolspeak.reading.raw_tools import has_raw_form
from toolspeak.spec import ToolSpec

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
