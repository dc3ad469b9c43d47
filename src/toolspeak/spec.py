"""What the rest of the system knows of a tool: `ToolSpec`, and the strict variant of a parameter schema."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, cast

from toolspeak._frozen import frozen

Effect: TypeAlias = Literal["read", "idempotent", "once"]
"""`read` changes nothing; `idempotent` may be repeated; `once` must not be repeated (the careful default)."""

Schema: TypeAlias = Mapping[str, Any]
"""A JSON schema. Schemas are shared and never changed in place."""


@frozen
class ToolSpec:
    """A tool, without the function behind it.

    Attributes:
        name: What the model calls it.
        description: What it does, in the words of its docstring.
        parameters: JSON schema of the arguments, always an object with `additionalProperties: false`.
        returns: JSON schema of the result, where the function says it.
        effect: What a call changes; decides what may start early, be retried or be repeated.
        approve: Whether somebody must agree before it runs.
        sequential: Whether it must run alone.
        timeout: Seconds after which a call is given up.
        max_output: Characters of the result that a model is shown.
    """

    name: str
    description: str
    parameters: Schema
    returns: Schema | None = None
    effect: Effect = "once"
    approve: bool = False
    sequential: bool = False
    timeout: float | None = None
    max_output: int | None = None


SUBSCHEMAS = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames", "unevaluatedProperties"})
"""Keywords that hold a schema (or a boolean)."""

SUBSCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
"""Keywords that hold a list of schemas."""

SUBSCHEMA_MAPS = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})
"""Keywords that hold schemas by name."""


def map_subschemas(schema: Schema, change: Callable[[Schema], Any]) -> dict[str, Any]:
    """Apply `change` to each schema directly inside `schema`, and to nothing that is data.

    A property named `title` or a default that looks like a schema is data and stays as it is.
    """

    def changed(sub: Any) -> Any:
        return change(cast("Schema", sub)) if isinstance(sub, Mapping) else sub  # `true` and `false` are schemas too

    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key in SUBSCHEMA_MAPS and isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            result[key] = {name: changed(sub) for name, sub in named.items()}
        elif key in SUBSCHEMA_LISTS and isinstance(value, list):
            result[key] = [changed(sub) for sub in cast("list[Any]", value)]
        elif key in SUBSCHEMAS:
            result[key] = changed(value)
        else:
            result[key] = value
    return result


def strict_schema(schema: Schema) -> dict[str, Any]:
    """The strict variant: every property is required, and those that were optional may be null.

    Endpoints that decode under a grammar ask for it. A null is taken back to the default when the call is validated.
    An object whose keys are free (`dict[str, int]`) cannot be said strictly and is left as it is.
    """
    result = map_subschemas(schema, strict_schema)
    properties: dict[str, Any] | None = result.get("properties")
    if properties is None:
        return result
    required: list[str] = result.get("required", [])
    result["properties"] = {name: sub if name in required else _nullable(sub) for name, sub in properties.items()}
    result["required"] = list(properties)
    result["additionalProperties"] = False
    return result


def can_be_strict(schema: Schema) -> bool:
    """Whether a schema has a strict variant: no object with free keys, no tuple, no value of any type."""
    if schema.get("additionalProperties") not in (None, False) or "prefixItems" in schema:
        return False
    if schema.get("type") == "object" and "properties" not in schema:
        return False
    held: list[bool] = []

    def look(sub: Schema) -> Schema:
        held.append(bool(sub) and can_be_strict(sub))
        return sub

    map_subschemas(schema, look)
    return all(held)


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    # The default is not shown: under a strict schema the model says null, and null means the default.
    schema = {key: value for key, value in schema.items() if key != "default"}
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind) or not schema.keys() - {"description"}:
        return schema
    if "anyOf" in schema:
        options: list[Any] = schema["anyOf"]
        return schema if {"type": "null"} in options else {**schema, "anyOf": [*options, {"type": "null"}]}
    if isinstance(kind, str) and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [kind, "null"]}
    description = {"description": schema.pop("description")} if "description" in schema else {}
    return {"anyOf": [schema, {"type": "null"}], **description}
