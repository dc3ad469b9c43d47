"""TypeScript: tools as signatures with doc comments, calls with one object."""

import re
from collections.abc import Sequence
from typing import Any, cast

from toolspeak.dialects.notation import (
    calls_referred_to,
    default_of,
    definition_name,
    identifier,
    is_optional,
    literal,
    note,
    parameters_of,
    without_null,
)
from toolspeak.messages import Concat, Ref, ToolCall
from toolspeak.spec import Schema, ToolSpec

FENCE = "typescript"
PLAIN = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "null": "null"}
KEY = re.compile(r"[A-Za-z_$][\w$]*")


def signatures(specs: Sequence[ToolSpec]) -> str:
    """The tools, one signature each."""
    return "\n".join(_signature(spec) for spec in specs)


def _signature(spec: ToolSpec) -> str:
    types = "".join(f"type {name} = {_type(schema)}\n" for name, schema in spec.parameters.get("$defs", {}).items())
    about = _comment(spec.description)
    head = f"{types}{about}\n{identifier(spec.name)}(" if about else f"{types}{identifier(spec.name)}("
    fields = _fields(spec.parameters)
    returns = f": {_type(spec.returns)}" if spec.returns and spec.returns.get("properties") else ""
    return f"{head}{{\n{fields}}}){returns}" if fields else f"{head}){returns}"


def _comment(text: str) -> str:
    lines = [line.strip() for line in text.strip().replace("*/", "* /").split("\n")]
    return "/** {} */".format("\n * ".join(lines)) if text.strip() else ""


def _fields(schema: Schema, indent: str = "  ") -> str:
    lines: list[str] = []
    for name, sub in parameters_of(schema):
        optional = is_optional(schema, name)
        about = note(sub)
        default = default_of(sub)
        field = f"{_key(name)}{'?' if optional else ''}: {_type(without_null(sub) if optional else sub, indent)}"
        lines.append(
            f"{indent}{field}{f' = {default}' if default is not None else ''};{f' // {about}' if about else ''}\n"
        )
    return "".join(lines)


def _key(name: str) -> str:
    return name if KEY.fullmatch(name) else literal(name)


def _type(schema: Any, indent: str = "") -> str:
    if not isinstance(schema, dict):
        return "any"
    said = cast("dict[str, Any]", schema)
    if "$ref" in said:
        return definition_name(said["$ref"])
    if "const" in said:
        return literal(said["const"])
    if "enum" in said:
        return " | ".join(map(literal, said["enum"]))
    if options := said.get("anyOf") or said.get("oneOf"):
        return " | ".join(dict.fromkeys(_type(option, indent) for option in options))
    if said.get("allOf"):
        return " & ".join(_type(part, indent) for part in said["allOf"])
    kind = said.get("type")
    if isinstance(kind, list):
        return " | ".join(_type({**said, "type": each}, indent) for each in cast("list[str]", kind))
    if kind == "array":
        return _array(said, indent)
    if kind == "object" or "properties" in said:
        return _object(said, indent)
    return PLAIN.get(str(kind), "any")


def _array(schema: dict[str, Any], indent: str) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(_type(item, indent) for item in schema['prefixItems'])}]"
    item = _type(schema.get("items"), indent)
    return f"({item})[]" if " | " in item or " & " in item else f"{item}[]"


def _object(schema: dict[str, Any], indent: str) -> str:
    if schema.get("properties"):
        return f"{{\n{_fields(schema, indent + '  ')}{indent}}}"
    rest = schema.get("additionalProperties")
    return f"Record<string, {_type(rest, indent)}>" if isinstance(rest, dict) and rest else "object"


# Calls


def calls(said: Sequence[ToolCall]) -> str:
    """Calls as the dialect speaks them, in a block."""
    referred = {ref for call in said for ref in calls_referred_to(call.arguments)}
    lines = [f"const {call.id} = {invocation(call)}" if call.id in referred else invocation(call) for call in said]
    return f"```{FENCE}\n" + "\n".join(f"{line};" for line in lines) + "\n```"


def invocation(call: ToolCall) -> str:
    """One call, on one line."""
    return f"{identifier(call.name)}({value(call.arguments) if call.arguments else ''})"


def value(said: Any) -> str:
    """A value, in one line. Refs are paths on the name of a call, joined text is a template."""
    match said:
        case Ref(call=call, path=path):
            return call + "".join(f".{step}" if _is_key(step) else f"[{literal(step)}]" for step in path)
        case Concat(parts=parts):
            pieces = [f"${{{value(part)}}}" if isinstance(part, Ref) else _in_template(part) for part in parts]
            return f"`{''.join(pieces)}`"
        case dict():
            pairs = cast("dict[str, Any]", said).items()
            return f"{{{', '.join(f'{_key(key)}: {value(item)}' for key, item in pairs)}}}"
        case list():
            return f"[{', '.join(map(value, cast('list[Any]', said)))}]"
        case _:
            return literal(said)


def _is_key(step: str | int) -> bool:
    return isinstance(step, str) and KEY.fullmatch(step) is not None


def _in_template(text: str) -> str:
    escaped = literal(text)[1:-1].replace('\\"', '"')
    return escaped.replace("`", "\\`").replace("$", "\\$")
