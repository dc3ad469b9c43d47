"""A tool as MCP lists it.

- The name, the description and the schema of the arguments are those of the `ToolSpec`, unchanged: a tool has no name
  and no schema of arguments that MCP would refuse.
- The effect becomes hints. MCP's own defaults are the careful ones, so `once` needs none.
- The output is typed where the return annotation says more than a text does. MCP wants an object, so everything else
  is wrapped in one, under the key `result`.
"""

from collections.abc import Mapping
from typing import Any, cast

from mcp import types

from toolspeak._frozen import frozen
from toolspeak.messages import Media
from toolspeak.spec import Schema, ToolSpec, map_subschemas, resolve_reference
from toolspeak.tools import Tool
from toolspeak.tools.types import read_return_schema

RESULT_KEY = "result"
"""The key under which an output that is no object is wrapped."""


@frozen
class ServedTool:
    """A tool that is served.

    Attributes:
        tool: The tool.
        listed: The tool as clients are told of it.
        is_wrapped: Whether the typed output is wrapped in an object, under `RESULT_KEY`.
    """

    tool: Tool[..., Any]
    listed: types.Tool
    is_wrapped: bool


def explain_refusal(tool: Tool[..., Any], deps: Any) -> str | None:
    """Return why a tool cannot be served; None if it can."""
    if tool.deps_type is not None and deps is None:
        return "it takes deps in its Context, and the server has none; give deps=… to ToolServer"
    if not _is_utf8(tool.spec.description) or not _is_utf8(tool.spec.parameters):
        return "its description or its schema holds half of a surrogate pair, which is no text"
    return None


def define_tool(tool: Tool[..., Any]) -> ServedTool:
    """Return a tool with its definition for clients."""
    spec = tool.spec
    output = build_output_schema(spec)
    is_wrapped = output is not None and output.get("type") != "object"
    if output is not None and is_wrapped:
        output = _wrap_schema(output)
    listed = types.Tool(
        name=spec.name,
        description=spec.description or None,
        input_schema=dict(spec.parameters),
        output_schema=None if output is None else dict(output),
        annotations=_build_hints(spec),
    )
    return ServedTool(tool=tool, listed=listed, is_wrapped=is_wrapped)


def build_output_schema(spec: ToolSpec) -> Schema | None:
    """Return the schema of the output, not wrapped; None if the output is not typed.

    It is not where nothing is known of it or where the text says it all (a `str`, None), where it may be media, which
    MCP sends beside it, and where the text may be cut (`max_output`).
    """
    schema = spec.returns
    if schema is None or spec.max_output is not None or not _is_utf8(schema):
        return None
    schema = resolve_reference(schema, schema)
    if not schema.keys() - {"description", "$defs"} or schema.get("type") in ("string", "null"):
        return None
    return None if _holds_media(schema) else schema


def _wrap_schema(schema: Schema) -> dict[str, Any]:
    defs = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    return {"type": "object", "properties": {RESULT_KEY: inner}, "required": [RESULT_KEY], **defs}


def _build_hints(spec: ToolSpec) -> types.ToolAnnotations:
    match spec.effect:
        case "read":
            return types.ToolAnnotations(read_only_hint=True)
        case "idempotent":
            return types.ToolAnnotations(read_only_hint=False, idempotent_hint=True)
        case "once":
            return types.ToolAnnotations(read_only_hint=False, destructive_hint=True if spec.approve else None)


def _holds_media(schema: Schema) -> bool:
    """Whether a schema, or one inside of it, is that of `Media`."""
    media = cast("Schema", read_return_schema(Media))
    keys = cast("Mapping[str, Any]", media["properties"]).keys()
    found: list[bool] = []

    def look(sub: Schema) -> Schema:
        found.append(_holds_media(sub))
        return sub

    if cast("Mapping[str, Any]", schema.get("properties", {})).keys() == keys:
        return True
    map_subschemas(schema, look)
    return any(found)


def _is_utf8(value: Any) -> bool:
    """Whether every text in a JSON value can be sent."""
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, Mapping):
        return all(_is_utf8(key) and _is_utf8(item) for key, item in cast("Mapping[Any, Any]", value).items())
    return all(map(_is_utf8, cast("list[Any]", value))) if isinstance(value, list | tuple) else True
