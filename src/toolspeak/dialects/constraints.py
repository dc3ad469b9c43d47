"""Constraints that a server can hold an answer to when a call is forced: a JSON schema, or a grammar in GBNF.

No JSON schema describes a block with a raw text: where one of the forced tools has a raw text, there is only a grammar,
and a server that honours schemas alone is asked in words.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from toolspeak.dialects.dialect import Constraint
from toolspeak.events import ToolChoice
from toolspeak.reading.raw_tools import has_raw_form
from toolspeak.spec import Schema, ToolSpec


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
        grammar=_format_grammar("json", specs, choice, parallel=parallel),
    )


def _constrain_code(notation: str, specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Constraint:
    return Constraint(grammar=_format_grammar(notation, specs, choice, parallel=parallel))


constrain_typescript = partial(_constrain_code, "typescript")
constrain_python = partial(_constrain_code, "python")


def _format_grammar(notation: str, specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> str:
    tools = forced_tools(specs, choice)
    from toolspeak.dialects.grammar import NOTATIONS, build_grammar, format_gbnf  # with the first forced call

    return format_gbnf(build_grammar(NOTATIONS[notation], tools, choice, parallel=parallel))


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
