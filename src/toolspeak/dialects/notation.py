"""What the notations of TypeScript and Python share: names, literals, and what a schema says beside its types."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from toolspeak.values.messages import Concat, Ref
from toolspeak.values.spec import Schema

BOUNDS = {
    "minimum": "at least {}", "maximum": "at most {}", "exclusiveMinimum": "above {}", "exclusiveMaximum": "below {}",
    "multipleOf": "a multiple of {}", "minLength": "at least {} characters", "maxLength": "at most {} characters",
    "minItems": "at least {} items", "maxItems": "at most {} items", "pattern": "matching {}", "format": "format {}",
}  # fmt: skip
"""Keywords that no type expresses, in words for the model."""


def note(schema: Schema) -> str:
    """Return what a schema says beside its type: its description, and its bounds in words."""
    words = [text.format(schema[key]) for key, text in BOUNDS.items() if key in schema]
    for option in schema.get("anyOf", ()):
        words += [text.format(option[key]) for key, text in BOUNDS.items() if key in option]
    about = " ".join(str(schema.get("description", "")).split())
    bounds = ", ".join(words)
    if not bounds:
        return about
    return f"{about.rstrip('.')} ({bounds})" if about else bounds


def default_of(schema: Schema) -> str | None:
    """Return the default as JSON; None without one, or if it is null, which leaving the value out means anyway."""
    if schema.get("default") is None:
        return None
    return literal(schema["default"])


def literal(value: Any) -> str:
    """Return a value as JSON, on one line."""
    return json.dumps(value, ensure_ascii=False)


def is_optional(schema: Schema, name: str) -> bool:
    """Whether a property of an object schema may be left out."""
    return name not in schema.get("required", ())


def parameters_of(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Return the properties of an object schema, each with its own schema."""
    yield from cast("Mapping[str, Schema]", schema.get("properties", {})).items()


def definition_name(ref: str) -> str:
    """Return the name of the definition that a `$ref` points to."""
    return ref.rpartition("/")[2]


def without_null(schema: Schema) -> Schema:
    """Return a schema without null among its types: what may be left out need not be shown as nullable."""
    options: list[Any] = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1 and len(schema["anyOf"]) == 2:
        return {**options[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
    types = schema.get("type")
    if isinstance(types, list):
        others = [each for each in cast("list[str]", types) if each != "null"]
        return {**schema, "type": others[0] if len(others) == 1 else others}
    return schema


def identifier(name: str) -> str:
    """Return the name of a tool as an identifier of code. The reader resolves it to the tool."""
    plain = "".join(char if char.isalnum() or char in "_." else "_" for char in name)
    return f"_{plain}" if plain[:1].isdigit() else plain


def referenced_calls(value: Any) -> set[str]:
    """Return the ids of the calls whose results a value refers to."""
    match value:
        case Ref(call=call):
            return {call}
        case Concat(parts=parts):
            return {part.call for part in parts if isinstance(part, Ref)}
        case dict():
            return {ref for item in cast("dict[str, Any]", value).values() for ref in referenced_calls(item)}
        case list():
            return {ref for item in cast("list[Any]", value) for ref in referenced_calls(item)}
        case _:
            return set()
