"""Tools read from their JSON definitions, in one of these forms.

OpenAI: `{"type": "function", "function": {"name": …, "description": …, "parameters": {…}}}`; Anthropic: `{"name": …,
"description": …, "input_schema": {…}}`; MCP: the same with `inputSchema`; plain: the same with `parameters`.

A tool that takes one raw text names the parameter for it in `raw`, or is a custom tool of OpenAI, which has no schema:
`{"type": "custom", "name": …}` or `{"type": "custom", "custom": {"name": …}}`.
"""

from typing import Any, cast

from toolspeak.errors import UsageError
from toolspeak.spec import ToolSpec

SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
"""Keys under which a definition may have the schema of its parameters."""

CUSTOM_PARAMETER = "input"
"""The parameter of a custom tool. The calls of OpenAI's API have their text under the same name."""

CUSTOM_SCHEMA = {"type": "object", "properties": {CUSTOM_PARAMETER: {"type": "string"}}, "required": [CUSTOM_PARAMETER]}


def read_definition(data: Any, where: str = "") -> ToolSpec:
    """Read a tool from its definition. A definition without a schema is that of a tool without parameters.

    Args:
        data: The definition, as JSON data.
        where: Where the definition was found, for the error message.

    Raises:
        UsageError: The definition is no object, has no name, has a schema that is no object, or names in `raw` what
            cannot take a raw text.

    Examples:
        >>> read_definition({"name": "now", "description": "The time.", "input_schema": {"properties": None}}).name
        'now'
    """
    place = f"{where}: " if where else ""
    if not isinstance(data, dict):
        raise UsageError(f"{place}a tool is a JSON object with a name and a schema")
    given = cast("dict[str, Any]", data)
    # Anthropic's own tools may have this type as well; they always have a schema.
    is_custom = given.get("type") == "custom" and _find_schema(given) is None
    function = given.get("custom" if is_custom else "function", given)
    if not isinstance(function, dict) or not isinstance(cast("dict[str, Any]", function).get("name"), str):
        raise UsageError(f"{place}a tool has no name")
    definition = cast("dict[str, Any]", function)
    name: str = definition["name"]
    schema = CUSTOM_SCHEMA if is_custom else _find_schema(definition) or {"type": "object"}
    if not isinstance(schema, dict):
        raise UsageError(f"{place}the parameters of {name} are not a JSON schema")
    raw = CUSTOM_PARAMETER if is_custom else definition.get("raw")
    if raw is not None and not isinstance(raw, str):
        raise UsageError(f"{place}raw of {name} is the name of a parameter, as a text")
    description = definition.get("description")
    try:
        return ToolSpec(
            name=name,
            description="" if description is None else str(description),
            parameters=cast("dict[str, Any]", schema),
            raw=raw,
        )
    except ValueError as error:
        raise UsageError(f"{place}{error}") from None


def _find_schema(definition: dict[str, Any]) -> Any:
    return next((definition[key] for key in SCHEMA_KEYS if definition.get(key)), None)
