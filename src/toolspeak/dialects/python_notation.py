"""Python: tools as `def` stubs with docstrings, calls with keyword arguments in a block of code."""

from collections.abc import Sequence
from typing import Any, cast

from toolspeak.dialects.notation import (
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

FENCE = "python"
TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def format_tools(specs: Sequence[ToolSpec]) -> str:
    """Write the tools, one stub each."""
    return "\n\n".join(write_tools(specs, _format_stub))


def _format_stub(spec: ToolSpec, budget: WorkBudget) -> str:
    schema = spec.parameters
    defined = schema.get("$defs", {}).items()
    types = "".join(f"{plain_name(name)} = {_format_type(sub, budget)}\n" for name, sub in defined)
    given = list(parameters_of(schema))
    parameters = ", ".join(_format_parameter(name, sub, optional, budget) for name, sub, optional in given)
    parameters = f"*, {parameters}" if parameters else ""  # shown that only keywords are allowed, models write keywords
    returns = f" -> {_format_type(spec.returns, budget)}" if spec.returns and spec.returns.get("properties") else ""
    head = f"{types}def {identifier(spec.name)}({parameters}){returns}:"
    notes = [(name, note(sub)) for name, sub, _ in given]
    documented = [f"    {plain_name(name)}: {_keep_open(text)}" for name, text in notes if text]
    about = _keep_open(spec.description.strip())
    body = [f'  """{about}'] if about else ['  """']
    if documented:
        body += ["  Args:", *documented, '  """']
    else:
        body[0] += '"""'
    return "\n".join([head, *("\n  ".join(text.splitlines()) for text in body)])


def _keep_open(text: str) -> str:
    """Return a text that does not end the docstring that it stands in."""
    return text.replace('"""', "'''")


def _format_parameter(name: str, sub: Schema, optional: bool, budget: WorkBudget) -> str:
    shown = without_null(sub) if optional and sub.get("default") is None else sub
    text = f"{plain_name(name)}: {_format_type(shown, budget)}"
    if not optional:
        return text
    return f"{text} = {format_value(sub['default'])}" if sub.get("default") is not None else f"{text} = None"


def _format_type(schema: Any, budget: WorkBudget) -> str:
    budget.spend()
    if not isinstance(schema, dict):
        return "Any"
    given = cast("dict[str, Any]", schema)
    if "$ref" in given:
        return definition_name(given["$ref"])
    if "const" in given:
        return f"Literal[{format_value(given['const'])}]"
    if "enum" in given:
        return f"Literal[{', '.join(map(format_value, given['enum']))}]"
    if options := given.get("anyOf") or given.get("oneOf") or given.get("allOf"):
        return " | ".join(dict.fromkeys(_format_type(option, budget) for option in options))
    kind = given.get("type")
    if isinstance(kind, list):
        return " | ".join(_format_kind(each, given, budget) for each in cast("list[str]", kind))
    return _format_kind("object" if "properties" in given and kind != "array" else kind, given, budget)


def _format_kind(kind: Any, schema: dict[str, Any], budget: WorkBudget) -> str:
    """Write one of the types that a schema allows."""
    if kind == "array":
        if "prefixItems" in schema:
            return f"tuple[{', '.join(_format_type(item, budget) for item in schema['prefixItems'])}]"
        return f"list[{_format_type(schema['items'], budget)}]" if schema.get("items") else "list"
    if kind == "object":
        return _format_object(schema, budget)
    return TYPES.get(str(kind), "Any")


def _format_object(schema: dict[str, Any], budget: WorkBudget) -> str:
    """Write an object type key by key, like a dict."""
    if not schema.get("properties"):
        rest = schema.get("additionalProperties")
        return f"dict[str, {_format_type(rest, budget)}]" if isinstance(rest, dict) and rest else "dict"
    keys: list[str] = []
    for name, sub, optional in parameters_of(schema):
        about = note(sub)
        default = f" = {format_value(sub['default'])}" if sub.get("default") is not None else ""
        type_ = _format_type(without_null(sub) if optional else sub, budget)
        keys.append(f"{literal(name)}{'?' if optional else ''}: {type_}{default}{f' ({about})' if about else ''}")
    return f"{{{', '.join(keys)}}}"


# Calls


def format_calls(calls: Sequence[ToolCall]) -> str:
    """Write the calls of one message in a block. A call that another refers to is bound to its id."""
    bound = {ref for call in calls for ref in referenced_calls(call.arguments)}
    lines = [f"{call.id} = {format_call(call)}" if call.id in bound else format_call(call) for call in calls]
    return f"```{FENCE}\n" + "\n".join(lines) + "\n```"


def format_call(call: ToolCall) -> str:
    """Write one call on one line. Keys that cannot be keywords are unpacked from a dict."""
    plain = {key: item for key, item in call.arguments.items() if key.isidentifier()}
    rest = {key: item for key, item in call.arguments.items() if key not in plain}
    arguments = [f"{key}={format_value(item)}" for key, item in plain.items()]
    return f"{identifier(call.name)}({', '.join(arguments + ([f'**{format_value(rest)}'] if rest else []))})"


def format_value(value: Any) -> str:
    """Write a value on one line. A `Ref` is a path on the id of a call, a `Concat` is a sum."""
    match value:
        case True | False | None:
            return str(value)
        case Ref(call=call, path=path):
            return call + "".join(f"[{literal(step)}]" for step in path)
        case Concat(parts=parts):
            pieces = [format_value(part) for part in parts]
            return " + ".join(pieces if len(pieces) > 1 else ['""', *pieces])
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return f"{{{', '.join(f'{literal(key)}: {format_value(item)}' for key, item in pairs)}}}"
        case list():
            return f"[{', '.join(map(format_value, cast('list[Any]', value)))}]"
        case _:
            return literal(value)
