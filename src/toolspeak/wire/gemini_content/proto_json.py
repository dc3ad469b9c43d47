"""Brings the JSON of a request into one form. The API takes it in several: it reads protocol buffers.

Names are written as `systemInstruction` or `system_instruction`, a list of one may be its only element, and a schema
may be one of OpenAPI, with types in capitals.
"""

import re
from collections.abc import Collection
from typing import Any, cast

from toolspeak.wire.json_data import as_object

_OPAQUE_FIELDS = frozenset(
    "args response parameters parametersJsonSchema responseSchema responseJsonSchema partMetadata labels".split()
)
"""Fields whose content belongs to the client: its names are left as they are."""

_LIST_FIELDS = frozenset({"contents", "parts", "tools", "functionDeclarations"})

_COUNT_KEYWORDS = frozenset("minItems maxItems minProperties maxProperties minLength maxLength".split())
"""Keywords of a schema whose numbers may be written as text, since they have 64 bits."""

_UNDERSCORE = re.compile(r"(?<=[a-z])_([a-z])")


def normalize_request(body: Any, fields: Collection[str]) -> Any:
    """Return the body of a request with all names in one form, and lists where the API has lists.

    Args:
        body: The body.
        fields: The fields of the request that are read. What the others contain is left as it is.
    """
    return _normalize_object(cast("dict[str, Any]", body), fields) if isinstance(body, dict) else body


def _normalize_object(given: dict[str, Any], fields: Collection[str] | None = None) -> dict[str, Any]:
    normalized: dict[str, Any] = {}
    for written, value in given.items():
        name = _camel_case(written)
        if name in _LIST_FIELDS and isinstance(value, dict):
            value = [cast("dict[str, Any]", value)]
        is_opaque = name in _OPAQUE_FIELDS or (fields is not None and name not in fields)
        normalized[name] = value if is_opaque else _normalize(value)
    return normalized


def _normalize(value: Any) -> Any:
    if isinstance(value, list):
        return [_normalize(each) for each in cast("list[Any]", value)]
    return _normalize_object(cast("dict[str, Any]", value)) if isinstance(value, dict) else value


def convert_schema(schema: Any) -> dict[str, Any]:
    """Return a schema of OpenAPI, as the API writes it, as a JSON schema."""
    given = {_camel_case(name): value for name, value in as_object(schema).items()}
    is_nullable = given.pop("nullable", False) is True
    given.pop("propertyOrdering", None)
    converted: dict[str, Any] = {}
    for name, value in given.items():
        if name == "type" and isinstance(value, str):
            if value != "TYPE_UNSPECIFIED":
                converted["type"] = value.lower()
        elif name in ("properties", "$defs") and isinstance(value, dict):
            inner = cast("dict[str, Any]", value)
            converted[name] = {key: convert_schema(each) for key, each in inner.items()}
        elif isinstance(value, dict) and name in ("items", "additionalProperties"):
            converted[name] = convert_schema(value)
        elif isinstance(value, list) and name in ("anyOf", "oneOf", "prefixItems"):
            converted[name] = [convert_schema(each) for each in cast("list[Any]", value)]
        elif name in _COUNT_KEYWORDS and isinstance(value, str) and value.isdecimal():
            converted[name] = int(value)
        elif not (name == "format" and value == "enum"):
            converted[name] = value
    return _add_null(converted) if is_nullable else converted


def _add_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if isinstance(schema.get("type"), str):
        schema = {**schema, "type": [schema["type"], "null"]}
    return {**schema, "enum": [*schema["enum"], None]} if isinstance(schema.get("enum"), list) else schema


def _camel_case(name: str) -> str:
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)
