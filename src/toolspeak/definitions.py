"""Tools read from their JSON definitions, in one of these forms.

OpenAI: `{"type": "function", "function": {"name": …, "description": …, "parameters": {…}}}`; Anthropic: `{"name": …,
"description": …, "input_schema": {…}}`; MCP: the same with `inputSchema`; plain: the same with `parameters`.
"""

from typing import Any, cast

from toolspeak.errors import UsageError
from toolspeak.spec import ToolSpec

SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
"""Keys under which a definition may have the schema of its parameters."""


def read_definition(data: Any, where: str = "") -> ToolSpec:
    """Read a tool from its definition. A definition without a schema is that of a tool without parameters.

    Args:
        data: The definition, as JSON data.
        where: Where the definition was found, for the error message.

    Raises:
        UsageError: The definition is no object, has no name, or has a schema that is no object.

    Examples:
        >>> read_definition({"name": "now", "description": "The time.", "input_schema": {"properties": None}}).name
        'now'
    """
    place = f"{where}: " if where else ""
    if not isinstance(data, dict):
        raise UsageError(f"{place}a tool is a JSON object with a name and a schema")
    given = cast("dict[str, Any]", data)
    function = given.get("function", given)
    if not isinstance(function, dict) or not isinstance(cast("dict[str, Any]", function).get("name"), str):
        raise UsageError(f"{place}a tool has no name")
    definition = cast("dict[str, Any]", function)
    name: str = definition["name"]
    schema = next((definition[key] for key in SCHEMA_KEYS if definition.get(key)), {"type": "object"})
    if not isinstance(schema, dict):
        raise UsageError(f"{place}the parameters of {name} are not a JSON schema")
    description = definition.get("description")
    return ToolSpec(
        name=name,
        description="" if description is None else str(description),
        parameters=cast("dict[str, Any]", schema),
    )
