"""TypeScript: tools as signatures with doc comments, calls with one object in a block of code."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from toolspeak.dialects.notation import (
    default_of,
    definition_name,
    identifier,
    literal,
    note,
    parameters_of,
    plain_name,
    referenced_calls,
    without_null,
    write_tools,
)
from toolspeak.values.messages import Concat, Ref, ToolCall
from toolspeak.values.spec import Schema, ToolSpec
from toolspeak.values.work_budget import WorkBudget

FENCE = "typescript"
TYPES = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "null": "null"}
KEY = re.compile(r"[A-Za-z_$][\w$]*")


def format_tools(specs: Sequence[ToolSpec]) -> str:
    """Write the tools, one signature each."""
    return "\n".join(write_tools(specs, _format_signature))


def _format_signature(spec: ToolSpec, budget: WorkBudget) -> str:
    types = format_definitions(spec.parameters.get("$defs", {}), budget)
    about = _format_comment(spec.description)
    head = f"{types}{about}\n{identifier(spec.name)}(" if about else f"{types}{identifier(spec.name)}("
    fields = _format_fields(spec.parameters, budget)
    returns = f": {format_type(spec.returns, budget)}" if spec.returns and spec.returns.get("properties") else ""
    return f"{head}{{\n{fields}}}){returns}" if fields else f"{head}){returns}"


def format_definitions(definitions: Mapping[str, Any], budget: WorkBudget) -> str:
    """Write the definitions of a schema, each as a type on a line of its own."""
    return "".join(f"type {plain_name(name)} = {format_type(each, budget)}\n" for name, each in definitions.items())


def _format_comment(text: str) -> str:
    lines = [line.strip() for line in text.strip().replace("*/", "* /").splitlines()]
    return "/** {} */".format("\n * ".join(lines)) if text.strip() else ""


def _format_fields(schema: Schema, budget: WorkBudget, indent: str = "  ") -> str:
    lines: list[str] = []
    for name, sub, optional in parameters_of(schema):
        about = note(sub)
        default = default_of(sub)
        type_ = format_type(without_null(sub) if optional else sub, budget, indent)
        field = f"{format_key(name)}{'?' if optional else ''}: {type_}"
        lines.append(
            f"{indent}{field}{f' = {default}' if default is not None else ''};{f' // {about}' if about else ''}\n"
        )
    return "".join(lines)


def format_key(name: str) -> str:
    """Write the key of an object, in quotes unless it is an identifier."""
    return name if KEY.fullmatch(name) else literal(name)


def format_type(schema: Any, budget: WorkBudget, indent: str = "") -> str:
    """Write a schema as a type. Raises `TooManySteps` if that takes more work than the budget has left."""
    budget.spend()
    if not isinstance(schema, dict):
        return "any"
    given = cast("dict[str, Any]", schema)
    if "$ref" in given:
        return definition_name(given["$ref"])
    if "const" in given:
        return literal(given["const"])
    if "enum" in given:
        return " | ".join(map(literal, given["enum"]))
    if options := given.get("anyOf") or given.get("oneOf"):
        return " | ".join(dict.fromkeys(format_type(option, budget, indent) for option in options))
    if given.get("allOf"):
        return " & ".join(format_type(part, budget, indent) for part in given["allOf"])
    kind = given.get("type")
    if isinstance(kind, list):
        return " | ".join(_format_kind(each, given, budget, indent) for each in cast("list[str]", kind))
    return _format_kind("object" if "properties" in given and kind != "array" else kind, given, budget, indent)


def _format_kind(kind: Any, schema: dict[str, Any], budget: WorkBudget, indent: str) -> str:
    """Write one of the types that a schema allows."""
    if kind == "array":
        return _format_array(schema, budget, indent)
    if kind == "object":
        return _format_object(schema, budget, indent)
    return TYPES.get(str(kind), "any")


def _format_array(schema: dict[str, Any], budget: WorkBudget, indent: str) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(format_type(item, budget, indent) for item in schema['prefixItems'])}]"
    item = format_type(schema.get("items"), budget, indent)
    return f"({item})[]" if " | " in item or " & " in item else f"{item}[]"


def _format_object(schema: dict[str, Any], budget: WorkBudget, indent: str) -> str:
    if schema.get("properties"):
        return f"{{\n{_format_fields(schema, budget, indent + '  ')}{indent}}}"
    rest = schema.get("additionalProperties")
    return f"Record<string, {format_type(rest, budget, indent)}>" if isinstance(rest, dict) and rest else "object"


# Calls


def format_calls(calls: Sequence[ToolCall]) -> str:
    """Write the calls of one message in a block. A call that another refers to is bound to its id."""
    bound = {ref for call in calls for ref in referenced_calls(call.arguments)}
    lines = [f"const {call.id} = {format_call(call)}" if call.id in bound else format_call(call) for call in calls]
    return f"```{FENCE}\n" + "\n".join(f"{line};" for line in lines) + "\n```"


def format_call(call: ToolCall) -> str:
    """Write one call on one line."""
    return f"{identifier(call.name)}({format_value(call.arguments) if call.arguments else ''})"


def format_value(value: Any) -> str:
    """Write a value on one line. A `Ref` is a path on the id of a call, a `Concat` is a template."""
    match value:
        case Ref(call=call, path=path):
            return call + "".join(f".{step}" if _is_identifier(step) else f"[{literal(step)}]" for step in path)
        case Concat(parts=parts):
            pieces = [f"${{{format_value(part)}}}" if isinstance(part, Ref) else _escape(part) for part in parts]
            return f"`{''.join(pieces)}`"
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return f"{{{', '.join(f'{format_key(key)}: {format_value(item)}' for key, item in pairs)}}}"
        case list():
            return f"[{', '.join(map(format_value, cast('list[Any]', value)))}]"
        case _:
            return literal(value)


def _is_identifier(step: str | int) -> bool:
    return isinstance(step, str) and KEY.fullmatch(step) is not None


def _escape(text: str) -> str:
    """Escape a text for a template."""
    escaped = literal(text)[1:-1].replace('\\"', '"')
    return escaped.replace("`", "\\`").replace("$", "\\$")
