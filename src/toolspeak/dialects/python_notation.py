"""Python: tools as `def` stubs with docstrings, calls with keyword arguments."""

from collections.abc import Sequence
from typing import Any, cast

from toolspeak.dialects.notation import (
    calls_referred_to,
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

FENCE = "python"
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def signatures(specs: Sequence[ToolSpec]) -> str:
    """The tools, one stub each."""
    return "\n\n".join(_stub(spec) for spec in specs)


def _stub(spec: ToolSpec) -> str:
    types = "".join(f"{name} = {_type(schema)}\n" for name, schema in spec.parameters.get("$defs", {}).items())
    parameters = ", ".join(_parameter(spec.parameters, name, sub) for name, sub in parameters_of(spec.parameters))
    parameters = f"*, {parameters}" if parameters else ""  # told that only keywords will do, models write keywords
    returns = f" -> {_type(spec.returns)}" if spec.returns and spec.returns.get("properties") else ""
    head = f"{types}def {identifier(spec.name)}({parameters}){returns}:"
    notes = [(name, note(sub)) for name, sub in parameters_of(spec.parameters)]
    documented = [f"    {name}: {text}" for name, text in notes if text]
    about = spec.description.strip().replace('"""', "'''")
    body = [f'  """{about}'] if about else ['  """']
    if documented:
        body += ["  Args:", *documented, '  """']
    else:
        body[0] += '"""'
    return "\n".join([head, *("\n  ".join(line.split("\n")) for line in body)])


def _parameter(schema: Schema, name: str, sub: Schema) -> str:
    optional = is_optional(schema, name)
    text = f"{name}: {_type(without_null(sub) if optional and sub.get('default') is None else sub)}"
    if not optional:
        return text
    return f"{text} = {value(sub['default'])}" if sub.get("default") is not None else f"{text} = None"


def _type(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "Any"
    said = cast("dict[str, Any]", schema)
    if "$ref" in said:
        return definition_name(said["$ref"])
    if "const" in said:
        return f"Literal[{value(said['const'])}]"
    if "enum" in said:
        return f"Literal[{', '.join(map(value, said['enum']))}]"
    if options := said.get("anyOf") or said.get("oneOf") or said.get("allOf"):
        return " | ".join(dict.fromkeys(map(_type, options)))
    kind = said.get("type")
    if isinstance(kind, list):
        return " | ".join(_type({**said, "type": each}) for each in cast("list[str]", kind))
    if kind == "array":
        if "prefixItems" in said:
            return f"tuple[{', '.join(map(_type, said['prefixItems']))}]"
        return f"list[{_type(said['items'])}]" if said.get("items") else "list"
    if kind == "object" or "properties" in said:
        return _object(said)
    return PLAIN.get(str(kind), "Any")


def _object(schema: dict[str, Any]) -> str:
    """An object in place, key by key, as a dict would be written."""
    if not schema.get("properties"):
        rest = schema.get("additionalProperties")
        return f"dict[str, {_type(rest)}]" if isinstance(rest, dict) and rest else "dict"
    keys: list[str] = []
    for name, sub in parameters_of(schema):
        optional = is_optional(schema, name)
        about = note(sub)
        default = f" = {value(sub['default'])}" if sub.get("default") is not None else ""
        said = _type(without_null(sub) if optional else sub)
        keys.append(f"{literal(name)}{'?' if optional else ''}: {said}{default}{f' ({about})' if about else ''}")
    return f"{{{', '.join(keys)}}}"


# Calls


def calls(said: Sequence[ToolCall]) -> str:
    """Calls as the dialect speaks them, in a block."""
    referred = {ref for call in said for ref in calls_referred_to(call.arguments)}
    lines = [f"{call.id} = {invocation(call)}" if call.id in referred else invocation(call) for call in said]
    return f"```{FENCE}\n" + "\n".join(lines) + "\n```"


def invocation(call: ToolCall) -> str:
    """One call, on one line. Keys that cannot be keywords are unpacked."""
    plain = {key: item for key, item in call.arguments.items() if key.isidentifier()}
    rest = {key: item for key, item in call.arguments.items() if key not in plain}
    arguments = [f"{key}={value(item)}" for key, item in plain.items()]
    return f"{identifier(call.name)}({', '.join(arguments + ([f'**{value(rest)}'] if rest else []))})"


def value(said: Any) -> str:
    """A value, in one line. Refs are paths on the name of a call, joined text is a sum."""
    match said:
        case True | False | None:
            return str(said)
        case Ref(call=call, path=path):
            return call + "".join(f"[{literal(step)}]" for step in path)
        case Concat(parts=parts):
            pieces = [value(part) for part in parts]
            return " + ".join(pieces if len(pieces) > 1 else ['""', *pieces])
        case dict():
            pairs = cast("dict[str, Any]", said).items()
            return f"{{{', '.join(f'{literal(key)}: {value(item)}' for key, item in pairs)}}}"
        case list():
            return f"[{', '.join(map(value, cast('list[Any]', said)))}]"
        case _:
            return literal(said)
