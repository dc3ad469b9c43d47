"""What a server can hold an answer to when a call is forced: a JSON schema, or a grammar in GBNF.

A grammar says the form of the call and the names of tools and keys; whether values fit is checked when they are read,
as it always is.
"""

import json
from collections.abc import Sequence
from typing import Any

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


def chosen(specs: Sequence[ToolSpec], choice: ToolChoice) -> list[ToolSpec]:
    """The tools that a forced call may be of; empty if none is forced."""
    if choice.mode == "required":
        return list(specs)
    return [spec for spec in specs if spec.name in choice.names] if choice.mode == "named" else []


def json_schema(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Schema:
    """The whole answer as JSON: one call, or a list of calls."""
    options = [_call_schema(spec) for spec in chosen(specs, choice)]
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


def json_grammar(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> str:
    """Calls in tags."""
    tools = chosen(specs, choice)
    heads = {
        rule: f'{json.dumps({"name": spec.name}, ensure_ascii=False)[:-1]}, "arguments": '
        for rule, spec in _ruled(tools)
    }
    rules = [f'{rule} ::= {_said(head)} object "}}"' for rule, head in heads.items()]
    before, after = _said("<tool_call>\n"), _said("\n</tool_call>")
    calls = [f"{before} {rule} {after}" for rule in _rule_names(tools)]
    return _grammar(calls, rules, choice, parallel=parallel, between=_said("\n"), around=("", ""), values=JSON_RULES)


def code_grammar(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool, python: bool) -> str:
    """Calls in a block of code."""
    tools = chosen(specs, choice)
    rules: list[str] = []
    for rule, spec in _ruled(tools):
        keys = [_said(f"{name}=" if python else f"{name}: ") for name, _ in parameters_of(spec.parameters)]
        pair = f"({' | '.join(keys)}) value" if keys else ""
        pairs = f'({pair} (", " {pair})*)?' if keys else ""
        opened, closed = ("(", ")") if python else ("({", "})")
        rules.append(f"{rule} ::= {_said(identifier(spec.name) + opened)} {pairs} {_said(closed)}")
    fence = ("```python\n" if python else "```typescript\n", "\n```")
    values = PYTHON_RULES if python else JSON_RULES
    names = _rule_names(tools)
    return _grammar(names, rules, choice, parallel=parallel, between=_said("\n"), around=fence, values=values)


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
    any_call = " | ".join(calls)
    if choice.mode == "named" and parallel:
        body = f" {between} ".join(f"({call})" for call in calls)
    else:
        body = f"({any_call}) ({between} ({any_call}))*" if parallel else f"({any_call})"
    opened, closed = (_said(each) if each else "" for each in around)
    return "\n".join([f"root ::= {opened} {body} {closed}".rstrip(), *rules, values])


def _ruled(tools: list[ToolSpec]) -> list[tuple[str, ToolSpec]]:
    return list(zip(_rule_names(tools), tools, strict=True))


def _rule_names(tools: list[ToolSpec]) -> list[str]:
    return [f"call-{number}" for number in range(1, len(tools) + 1)]


def _said(text: str) -> str:
    """A text as GBNF writes it."""
    return json.dumps(text, ensure_ascii=False)
