"""Constraints that a server can hold an answer to when a call is forced: a JSON schema, or a grammar in GBNF.

A grammar fixes the form of the call and the names of tools and keys. Whether values fit is checked when the answer is
read, as for every answer.

A tool with a raw text is called by a block with its name (`raw_notation.py`), so that its text needs no escapes under a
grammar either. No JSON schema describes such a block: where one of the forced tools has a raw text, there is only a
grammar, and a server that honours schemas alone is asked in words.
"""

import json
from collections.abc import Sequence
from typing import Any

from toolspeak.dialects.dialect import Constraint
from toolspeak.dialects.notation import identifier, parameters_of
from toolspeak.events import ToolChoice
from toolspeak.reading.raw_calls import has_raw_form
from toolspeak.spec import Schema, ToolSpec

JSON_RULES = r"""
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" space (pair ("," space pair)*)? "}"
pair ::= string ":" space value
array ::= "[" space (value ("," space value)*)? "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
space ::= " "?
""".strip()

RAW_FENCES = ("```", "````", "``````")
"""Fences among which a model may choose, so that its text may hold a shorter one."""

PYTHON_RULES = JSON_RULES.replace('"true" | "false" | "null"', '"True" | "False" | "None"')


def forced_tools(specs: Sequence[ToolSpec], choice: ToolChoice) -> list[ToolSpec]:
    """Return the tools that a forced call may be of; empty if the choice forces no call."""
    if choice.mode == "required":
        return list(specs)
    return [spec for spec in specs if spec.name in choice.names] if choice.mode == "named" else []


def constrain_json(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Constraint:
    """Constrain an answer to calls as JSON objects."""
    has_raw = any(map(has_raw_form, forced_tools(specs, choice)))
    return Constraint(
        json_schema=None if has_raw else _json_schema(specs, choice, parallel=parallel),
        grammar=_json_grammar(specs, choice, parallel=parallel),
    )


def constrain_typescript(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Constraint:
    """Constrain an answer to calls in a block of TypeScript."""
    return Constraint(grammar=_code_grammar(specs, choice, parallel=parallel, python=False))


def constrain_python(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Constraint:
    """Constrain an answer to calls in a block of Python."""
    return Constraint(grammar=_code_grammar(specs, choice, parallel=parallel, python=True))


def _json_schema(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Schema:
    """Return the schema of one call, or of a list of calls."""
    options = [_call_schema(spec) for spec in forced_tools(specs, choice)]
    call: dict[str, Any] = options[0] if len(options) == 1 else {"anyOf": options}
    least = len(choice.names) if choice.mode == "named" else 1
    return {"type": "array", "items": call, "minItems": least} if parallel else call


def _call_schema(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"const": spec.name}, "arguments": spec.parameters},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _json_grammar(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> str:
    """Return the grammar of calls as JSON in tags."""
    tools = forced_tools(specs, choice)
    before, after = _terminal("<tool_call>\n"), _terminal("\n</tool_call>")
    rules: list[str] = []
    calls: list[str] = []
    for rule, spec in _name_rules(tools):
        head = f'{json.dumps({"name": spec.name}, ensure_ascii=False)[:-1]}, "arguments": '
        is_raw = has_raw_form(spec)
        rules.append(_raw_rule(rule, spec) if is_raw else f'{rule} ::= {_terminal(head)} object "}}"')
        calls.append(rule if is_raw else f"{before} {rule} {after}")
    values = _with_raw_lines(JSON_RULES, tools)
    return _grammar(calls, rules, choice, parallel=parallel, between=_terminal("\n"), around=("", ""), values=values)


def _code_grammar(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool, python: bool) -> str:
    """Return the grammar of calls in a block of code. Beside raw texts, each call is in a block of its own."""
    tools = forced_tools(specs, choice)
    has_raw = any(map(has_raw_form, tools))
    fence = ("```python\n" if python else "```typescript\n", "\n```")
    before, after = map(_terminal, fence)
    rules: list[str] = []
    calls: list[str] = []
    for rule, spec in _name_rules(tools):
        is_raw = has_raw_form(spec)
        rules.append(_raw_rule(rule, spec) if is_raw else _code_rule(rule, spec, python=python))
        calls.append(rule if is_raw or not has_raw else f"{before} {rule} {after}")
    around = ("", "") if has_raw else fence
    values = _with_raw_lines(PYTHON_RULES if python else JSON_RULES, tools)
    return _grammar(calls, rules, choice, parallel=parallel, between=_terminal("\n"), around=around, values=values)


def _code_rule(rule: str, spec: ToolSpec, *, python: bool) -> str:
    keys = [_terminal(f"{name}=" if python else f"{name}: ") for name, _ in parameters_of(spec.parameters)]
    pair = f"({' | '.join(keys)}) value" if keys else ""
    pairs = f'({pair} (", " {pair})*)?' if keys else ""
    opened, closed = ("(", ")") if python else ("({", "})")
    return f"{rule} ::= {_terminal(identifier(spec.name) + opened)} {pairs} {_terminal(closed)}"


def _raw_rule(rule: str, spec: ToolSpec) -> str:
    """Return the rule for a block with a raw text, in any of the fences."""
    newline = _terminal("\n")
    blocks = [
        f"{_terminal(f'{fence}{spec.name}')} {newline} (raw-{len(fence)} {newline})* {_terminal(fence)}"
        for fence in RAW_FENCES
    ]
    return f"{rule} ::= {' | '.join(blocks)}"


def _with_raw_lines(rules: str, tools: list[ToolSpec]) -> str:
    """Add the rules for a line of raw text within each of the fences, if a tool needs them: no line is the fence."""
    lines = [
        f'raw-{len(fence)} ::= "`"{{0,{len(fence) - 1}}} ([^`\\n] [^\\n]*)? | "`"{{{len(fence)},}} [^`\\n] [^\\n]*'
        for fence in RAW_FENCES
    ]
    return "\n".join([rules, *lines]) if any(map(has_raw_form, tools)) else rules


def _grammar(
    calls: list[str],
    rules: list[str],
    choice: ToolChoice,
    *,
    parallel: bool,
    between: str,
    around: tuple[str, str],
    values: str,
) -> str:
    """Return the whole grammar.

    Args:
        calls: The expression for a call of each tool.
        rules: The rules that these expressions refer to.
        choice: Which tools must be called.
        parallel: Whether several calls are allowed.
        between: The expression that separates two calls.
        around: The texts before the first call and after the last.
        values: The rules for values.
    """
    any_call = " | ".join(calls)
    if choice.mode == "named" and parallel:
        body = f" {between} ".join(f"({call})" for call in calls)
    else:
        body = f"({any_call}) ({between} ({any_call}))*" if parallel else f"({any_call})"
    opened, closed = (_terminal(each) if each else "" for each in around)
    return "\n".join([f"root ::= {opened} {body} {closed}".rstrip(), *rules, values])


def _name_rules(tools: list[ToolSpec]) -> list[tuple[str, ToolSpec]]:
    """Return each tool with the name of its rule."""
    return [(f"call-{number}", spec) for number, spec in enumerate(tools, 1)]


def _terminal(text: str) -> str:
    """Return a text as a terminal of GBNF."""
    return json.dumps(text, ensure_ascii=False)
