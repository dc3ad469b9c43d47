"""JSON: calls as objects in tags, after a worked example. Tools are shown as TypeScript: small models copy schemas."""

import json
from collections.abc import Sequence
from typing import Any, cast

from toolspeak.codec import encode_argument
from toolspeak.dialects.notation import parameters_of
from toolspeak.messages import ToolCall
from toolspeak.spec import Schema, ToolSpec


def signatures(specs: Sequence[ToolSpec]) -> str:
    """The tools, one schema a line, in a JSON array."""
    return "[{}]".format(",\n".join(_compact(_described(spec)) for spec in specs))


def _described(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def example(specs: Sequence[ToolSpec]) -> str:
    """A call with values: shown the schema alone, small models copy the schema back."""
    if not specs:
        return call_text("name", {"key": "value"})
    spec = next((spec for spec in specs if spec.parameters.get("properties")), specs[0])
    required = spec.parameters.get("required") or list(spec.parameters.get("properties", {}))[:1]
    chosen = {name: sample(sub) for name, sub in parameters_of(spec.parameters) if name in required}
    return call_text(spec.name, chosen)


def sample(schema: Schema) -> Any:
    """A value such as a schema asks for, plainly a sample."""
    for key in ("default", "const"):
        if schema.get(key) is not None:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return sample(options[0])
    match _kind(schema.get("type")):
        case "integer" | "number":
            return schema.get("minimum", 3)
        case "boolean":
            return True
        case "array":
            return [sample(schema["items"])] if schema.get("items") else []
        case "object":
            wanted = schema.get("required", ())
            return {name: sample(sub) for name, sub in parameters_of(schema) if name in wanted}
        case "null":
            return None
        case _:
            return "some text"


def _kind(kind: Any) -> Any:
    return cast("list[Any]", kind)[0] if isinstance(kind, list) else kind


def call_text(name: str, arguments: dict[str, Any]) -> str:
    """One call as an object."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, default=encode_argument)


def invocation(call: ToolCall) -> str:
    """One call, on one line."""
    return call_text(call.name, call.arguments)


def calls(said: Sequence[ToolCall]) -> str:
    """Calls as the dialect speaks them, each in a tag."""
    return "\n".join(f"<tool_call>\n{call_text(call.name, call.arguments)}\n</tool_call>" for call in said)
