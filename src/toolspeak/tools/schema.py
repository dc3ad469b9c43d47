"""The schemas of types, made for a model to read.

They have no titles, no `$ref` unless the type is recursive (or inlining would make the schema huge), enums in place,
and unknown keys are ruled out. `types.py` says where the schema of a type comes from.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from toolspeak.values.errors import UsageError
from toolspeak.values.spec import ENUM_NAMES, Schema, map_subschemas

MAX_INLINE_SCHEMAS = 2_000
"""Schemas that inlining may produce from one definition; a larger definition stays behind its `$ref`."""

DEFINITIONS = "#/$defs/"


class ValueValidator(Protocol):
    """Validates values of one type, as pydantic's `SchemaValidator` does."""

    def validate_python(self, value: Any, /) -> Any:
        """Return the value for the function, or raise pydantic's `ValidationError`."""
        ...

    def validate_json(self, data: bytes, /) -> Any:
        """Return the value that JSON stands for, or raise pydantic's `ValidationError`."""
        ...


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """What is known of an annotation.

    Attributes:
        validator: Validates values of the type.
        dump: Returns a value of the type as JSON data; it may raise any error.
        schema: The schema.
        defs: The definitions that the schema refers to.
    """

    validator: ValueValidator
    dump: Callable[[Any], Any]
    schema: Schema
    defs: Mapping[str, Schema]


class UnusableType(UsageError):
    """An annotation that pydantic cannot validate or that has no JSON schema."""


def simplify_schema(schema: dict[str, Any]) -> tuple[Schema, dict[str, Schema]]:
    """Return a schema of pydantic made short for a model, and the definitions that it still refers to."""
    defs: dict[str, Schema] = {name: _clean(sub) for name, sub in schema.get("$defs", {}).items()}
    body = _clean({key: value for key, value in schema.items() if key != "$defs"})
    if not defs:
        return body, {}
    kept = _find_shared(defs)
    used: dict[str, Schema] = {}

    def inline(node: Schema) -> Schema:
        name = _ref_name(node)
        if name is None:
            return map_subschemas(node, inline)
        if name not in kept:
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            return {**inline(defs[name]), **siblings}
        if name not in used:
            used[name] = {}  # entered before its definition is inlined, which may lead back to it
            used[name] = map_subschemas(defs[name], inline)
        return node

    return inline(body), used


def _clean(schema: Schema) -> Schema:
    plain = {key: value for key, value in schema.items() if key not in ("title", "discriminator")}
    result = map_subschemas(plain, _clean)
    if "properties" in result and "additionalProperties" not in result:
        result["additionalProperties"] = False
    return {"type": result.pop("type"), **result} if "type" in result else result


def drop_enum_names(schema: Schema) -> Schema:
    """Return the schema as a model sees it, without the enum names that only coercion uses."""
    result = map_subschemas(schema, drop_enum_names)
    result.pop(ENUM_NAMES, None)
    return result


def _ref_name(schema: Schema) -> str | None:
    ref = schema.get("$ref")
    return ref.removeprefix(DEFINITIONS) if isinstance(ref, str) else None


def _subschemas(schema: Schema) -> Iterator[Schema]:
    """Yield `schema` and every schema inside it."""
    found: list[Schema] = []

    def visit(node: Schema) -> Schema:
        found.append(node)
        map_subschemas(node, visit)
        return node

    visit(schema)
    yield from found


def _find_shared(defs: Mapping[str, Schema]) -> set[str]:
    """Return the names of definitions that cannot be inlined: those on a cycle, and those too large to repeat."""
    refs = {
        name: [ref for node in _subschemas(schema) if (ref := _ref_name(node)) is not None]
        for name, schema in defs.items()
    }
    sizes: dict[str, float] = {}
    kept: set[str] = set()

    def size(name: str, above: tuple[str, ...]) -> float:
        if name in above:
            kept.update(above[above.index(name) :])
            return 1
        if name not in sizes:
            below = sum(size(ref, (*above, name)) for ref in refs[name])
            sizes[name] = below + sum(1 for _ in _subschemas(defs[name]))
            if sizes[name] > MAX_INLINE_SCHEMAS:
                kept.add(name)
                sizes[name] = 1
        return sizes[name]

    for name in defs:
        size(name, ())
    return kept


def merge_definitions(into: dict[str, Schema], item: TypeInfo) -> Schema:
    """Add the definitions of `item` to `into`, under free names; return the schema of `item` with these names."""
    renamed: dict[str, str] = {}
    for name, definition in item.defs.items():
        free, number = name, 2
        while free in into and into[free] != definition:
            free, number = f"{name}_{number}", number + 1
        renamed[name] = free
    if all(old == new for old, new in renamed.items()):
        into.update(item.defs)
        return item.schema

    def move(node: Schema) -> Schema:
        result = map_subschemas(node, move)
        name = _ref_name(node)
        return {**result, "$ref": DEFINITIONS + renamed[name]} if name is not None else result

    for name, definition in item.defs.items():
        into[renamed[name]] = move(definition)
    return move(item.schema)


def build_parameter_schema(
    properties: Mapping[str, Schema], required: list[str], defs: Mapping[str, Schema]
) -> dict[str, Any]:
    """Return the parameter schema of a tool."""
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    if defs:
        schema["$defs"] = dict(cast("Mapping[str, Any]", defs))
    return schema
