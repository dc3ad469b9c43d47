"""Constraints that a server can hold an answer to when a call is forced: a JSON schema, or a grammar in GBNF.

A grammar fixes the form of the call and the names of tools and keys. Whether values fit is checked when the answer is
read, as for every answer.
"""

import json
from collections.abc import Sequence
from typing import Any

from toolspeak.dialects.dialect import Constraint
from toolspeak.dialects.notation import identifier, parameters_of
from toolspeak.events import ToolChoice
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

PYTHON_RULES = JSON_RULES.replace('"true" | "false" | "null"', '"True" | "False" | "None"')


def forced_tools(specs: Sequence[ToolSpec], choice: ToolChoice) -> list[ToolSpec]:
    """Return the tools that a forced call may be of; empty if the choice forces no call."""
    if choice.mode == "required":
        return list(specs)
    return [spec for spec in specs if spec.name in choice.names] if choice.mode == "named" else []


def constrain_json(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Constraint:
    """Constrain an answer to calls as JSON objects."""
    return Constraint(
        json_schema=_json_schema(specs, choice, parallel=parallel),
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
    heads = {
        rule: f'{json.dumps({"name": spec.name}, ensure_ascii=False)[:-1]}, "arguments": '
        for rule, spec in _name_rules(tools)
    }
    rules = [f'{rule} ::= {_terminal(head)} object "}}"' for rule, head in heads.items()]
    before, after = _terminal("<tool_call>\n"), _terminal("\n</tool_call>")
    calls = [f"{before} {rule} {after}" for rule, _ in _name_rules(tools)]
    return _grammar(
        calls, rules, choice, parallel=parallel, between=_terminal("\n"), around=("", ""), values=JSON_RULES
    )


def _code_grammar(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool, python: bool) -> str:
    """Return the grammar of calls in a block of code."""
    tools = forced_tools(specs, choice)
    rules: list[str] = []
    for rule, spec in _name_rules(tools):
        keys = [_terminal(f"{name}=" if python else f"{name}: ") for name, _ in parameters_of(spec.parameters)]
        pair = f"({' | '.join(keys)}) value" if keys else ""
        pairs = f'({pair} (", " {pair})*)?' if keys else ""
        opened, closed = ("(", ")") if python else ("({", "})")
        rules.append(f"{rule} ::= {_terminal(identifier(spec.name) + opened)} {pairs} {_terminal(closed)}")
    fence = ("```python\n" if python else "```typescript\n", "\n```")
    values = PYTHON_RULES if python else JSON_RULES
    calls = [rule for rule, _ in _name_rules(tools)]
    return _grammar(calls, rules, choice, parallel=parallel, between=_terminal("\n"), around=fence, values=values)


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
