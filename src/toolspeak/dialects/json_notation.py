"""JSON: calls as objects in tags, and the example of such a call in the prompt."""

import json
from collections.abc import Sequence
from typing import Any, cast

from toolspeak.codec import encode_argument
from toolspeak.dialects.notation import parameters_of
from toolspeak.messages import ToolCall
from toolspeak.reading.raw_tools import has_raw_form
from toolspeak.spec import Schema, ToolSpec


def format_example(specs: Sequence[ToolSpec]) -> str:
    """Write an example of a call with values: shown no values, small models copy the types as arguments."""
    if not specs:
        return _format_object("name", {"key": "value"})
    # A tool with a raw text is called in another way, so it is the example only where there is no other tool.
    spec = min(specs, key=lambda spec: (has_raw_form(spec), not spec.parameters.get("properties")))
    required = spec.parameters.get("required") or list(spec.parameters.get("properties", {}))[:1]
    arguments = {name: sample_value(sub) for name, sub in parameters_of(spec.parameters) if name in required}
    return _format_object(spec.name, arguments)


def sample_value(schema: Schema) -> Any:
    """Return a value that fits a schema and is plainly a sample."""
    for key in ("default", "const"):
        if schema.get(key) is not None:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return sample_value(options[0])
    match _first_type(schema.get("type")):
        case "integer" | "number":
            return schema.get("minimum", 3)
        case "boolean":
            return True
        case "array":
            return [sample_value(schema["items"])] if schema.get("items") else []
        case "object":
            required = schema.get("required", ())
            return {name: sample_value(sub) for name, sub in parameters_of(schema) if name in required}
        case "null":
            return None
        case _:
            return "some text"


def _first_type(type_: Any) -> Any:
    return cast("list[Any]", type_)[0] if isinstance(type_, list) else type_


def format_call(call: ToolCall) -> str:
    """Write one call on one line."""
    return _format_object(call.name, call.arguments)


def format_calls(calls: Sequence[ToolCall]) -> str:
    """Write the calls of one message, each in a tag."""
    return "\n".join(f"<tool_call>\n{format_call(call)}\n</tool_call>" for call in calls)


def _format_object(name: str, arguments: dict[str, Any]) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, default=encode_argument)
