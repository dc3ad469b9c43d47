"""Changes JSON schemas into the form that an endpoint accepts. Its `SchemaRules` say which changes it needs."""

from collections.abc import Mapping
from typing import Any, cast

from toolspeak.values.frozen import frozen
from toolspeak.values.spec import Schema, can_be_strict, map_subschemas, strict_schema

MAX_RECURSIONS = 2
"""How often a recursive definition is expanded inside itself before it is cut to a plain object."""

MAX_INLINED_DEPTH = 40
"""Levels of a schema below which no reference is expanded: definitions may refer to each other in a long chain."""

MAX_INLINED_VALUES = 20_000
"""Keywords and schemas that expanded references may add to one schema before the rest is cut: types that refer to each
other multiply, and one large type may be referred to a thousand times."""


@frozen
class SchemaRules:
    """The changes to a schema that an endpoint needs.

    Attributes:
        strict: Every property is required and optional ones are nullable, where the schema allows it.
        inline_refs: No `$ref` and no `$defs`: definitions are expanded where they are used, and recursive ones cut.
        no_any_of: No `anyOf` or `oneOf`: the alternatives become one similar schema. Answers are validated against the
            original schema anyway.
    """

    strict: bool = False
    inline_refs: bool = False
    no_any_of: bool = False


NO_CHANGES = SchemaRules()
"""Schemas are sent unchanged."""


def fit_schema(schema: Schema, rules: SchemaRules) -> tuple[Schema, bool]:
    """Return the schema changed by `rules`, and whether it is strict now."""
    if rules.inline_refs:
        schema = inline_references(schema)
    strict = rules.strict and can_be_strict(schema)
    if strict:
        schema = strict_schema(schema)
    if rules.no_any_of:
        schema = merge_alternatives(schema)
    return schema, strict


def inline_references(schema: Schema) -> dict[str, Any]:
    """Return `schema` with its definitions expanded where they are used."""
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    remaining = MAX_INLINED_VALUES

    def inline(sub: Schema, inside: tuple[str, ...], depth: int = 0) -> dict[str, Any]:
        nonlocal remaining
        if inside:
            remaining -= 1 + len(sub)
        if (reference := sub.get("$ref")) is None:
            rest = {key: value for key, value in sub.items() if key != "$defs"}
            return map_subschemas(rest, lambda each: inline(each, inside, depth + 1))
        name = str(reference).removeprefix("#/$defs/")
        siblings = {key: value for key, value in sub.items() if key not in ("$ref", "$defs")}
        definition = definitions.get(name)
        is_cut = depth > MAX_INLINED_DEPTH or remaining <= 0 or inside.count(name) >= MAX_RECURSIONS
        if is_cut or not isinstance(definition, Mapping):
            return {"type": "object", **siblings}
        return {**inline(cast("Schema", definition), (*inside, name), depth + 1), **siblings}

    return inline(schema, ())


def merge_alternatives(schema: Schema) -> dict[str, Any]:
    """Return `schema` with the alternatives of each `anyOf` and `oneOf` merged into one similar schema."""
    result = map_subschemas(schema, merge_alternatives)
    for keyword in ("anyOf", "oneOf"):
        if options := result.pop(keyword, None):
            result = {**_merge(options), **result}
    return result


def _merge(options: list[dict[str, Any]]) -> dict[str, Any]:
    chosen = [option for option in options if option != {"type": "null"}] or options
    if len(chosen) > 1:
        if all(isinstance(option.get("enum", option.get("const")), str | list) for option in chosen):
            return _merge_enums(chosen)
        if all(option.keys() <= {"type", "title", "description"} and "type" in option for option in chosen):
            types = [kind for option in chosen for kind in _types_of(option)]
            return {"type": list(dict.fromkeys(types))}
    return chosen[0]


def _merge_enums(options: list[dict[str, Any]]) -> dict[str, Any]:
    values = [value for option in options for value in option.get("enum", [option.get("const")])]
    types = {kind for option in options for kind in _types_of(option)}
    return {**({"type": types.pop()} if len(types) == 1 else {}), "enum": values}


def _types_of(schema: dict[str, Any]) -> list[str]:
    kind: Any = schema.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)
