"""What the notations of types have in common: TypeScript and Python say the same schema in other words."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from toolspeak.messages import Concat, Ref
from toolspeak.spec import Schema

LIMITS = {
    "minimum": "at least {}", "maximum": "at most {}", "exclusiveMinimum": "above {}", "exclusiveMaximum": "below {}",
    "multipleOf": "a multiple of {}", "minLength": "at least {} characters", "maxLength": "at most {} characters",
    "minItems": "at least {} items", "maxItems": "at most {} items", "pattern": "matching {}", "format": "format {}",
}  # fmt: skip
"""What a type cannot say, in words."""


def note(schema: Schema) -> str:
    """What a schema says beside its type: the description, and its limits in words."""
    words = [text.format(schema[key]) for key, text in LIMITS.items() if key in schema]
    for option in schema.get("anyOf", ()):
        words += [text.format(option[key]) for key, text in LIMITS.items() if key in option]
    about = " ".join(str(schema.get("description", "")).split())
    limits = ", ".join(words)
    if not limits:
        return about
    return f"{about.rstrip('.')} ({limits})" if about else limits


def default_of(schema: Schema) -> str | None:
    """The default as JSON, unless there is none worth saying: leaving a thing out already means null."""
    if schema.get("default") is None:
        return None
    return literal(schema["default"])


def literal(value: Any) -> str:
    """A value as JSON, in one line."""
    return json.dumps(value, ensure_ascii=False)


def is_optional(schema: Schema, name: str) -> bool:
    return name not in schema.get("required", ())


def parameters_of(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The properties of an object schema."""
    yield from cast("Mapping[str, Schema]", schema.get("properties", {})).items()


def definition_name(ref: str) -> str:
    """The name of a definition that a `$ref` points to."""
    return ref.rpartition("/")[2]


def without_null(schema: Schema) -> Schema:
    """The schema of something that may be left out: that it may also be null goes without saying."""
    options: list[Any] = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1 and len(schema["anyOf"]) == 2:
        return {**options[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [each for each in cast("list[str]", kind) if each != "null"]
        return {**schema, "type": kinds[0] if len(kinds) == 1 else kinds}
    return schema


def identifier(name: str) -> str:
    """A tool's name as code can say it; the reader finds the tool by it all the same."""
    plain = "".join(char if char.isalnum() or char in "_." else "_" for char in name)
    return f"_{plain}" if plain[:1].isdigit() else plain


def calls_referred_to(said: Any) -> set[str]:
    """The calls whose results a value takes."""
    match said:
        case Ref(call=call):
            return {call}
        case Concat(parts=parts):
            return {part.call for part in parts if isinstance(part, Ref)}
        case dict():
            return {ref for item in cast("dict[str, Any]", said).values() for ref in calls_referred_to(item)}
        case list():
            return {ref for item in cast("list[Any]", said) for ref in calls_referred_to(item)}
        case _:
            return set()
