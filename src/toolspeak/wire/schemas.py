"""Schemas brought into the form that an endpoint takes. Which changes are needed is data of its profile."""

from collections.abc import Mapping
from typing import Any, cast

from toolspeak._frozen import frozen
from toolspeak.spec import Schema, can_be_strict, map_subschemas, strict_schema

RECURSIONS = 2
"""How often a definition may stand inside itself before it is cut, once references are written out."""

MOST = 2000
"""How many definitions are written out before all that follow are cut: types that all refer to each other never end."""


@frozen
class SchemaRules:
    """What an endpoint wants changed in a schema.

    Attributes:
        strict: Every property required, optional ones nullable, where the schema allows it.
        inline_refs: No `$ref` and no `$defs`: definitions are written out where they are used, recursive ones cut.
        no_any_of: No `anyOf` or `oneOf`: one schema that comes near. Answers are checked against the true one anyway.
    """

    strict: bool = False
    inline_refs: bool = False
    no_any_of: bool = False


PLAIN = SchemaRules()
"""Schemas as they are."""


def fitted(schema: Schema, rules: SchemaRules) -> tuple[Schema, bool]:
    """The schema in the form that `rules` ask for, and whether it is strict now."""
    if rules.inline_refs:
        schema = inlined(schema)
    strict = rules.strict and can_be_strict(schema)
    if strict:
        schema = strict_schema(schema)
    if rules.no_any_of:
        schema = without_any_of(schema)
    return schema, strict


def inlined(schema: Schema) -> dict[str, Any]:
    """`schema` with its definitions written out where they are used."""
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    left = MOST

    def inline(sub: Schema, inside: tuple[str, ...]) -> dict[str, Any]:
        nonlocal left
        if (reference := sub.get("$ref")) is None:
            whole = {key: value for key, value in sub.items() if key != "$defs"}
            return map_subschemas(whole, lambda each: inline(each, inside))
        name = str(reference).removeprefix("#/$defs/")
        beside = {key: value for key, value in sub.items() if key not in ("$ref", "$defs")}
        definition = definitions.get(name)
        if not isinstance(definition, Mapping) or inside.count(name) >= RECURSIONS or left <= 0:
            return {"type": "object", **beside}
        left -= 1
        return {**inline(cast("Schema", definition), (*inside, name)), **beside}

    return inline(schema, ())


def without_any_of(schema: Schema) -> dict[str, Any]:
    """`schema` with each choice between schemas made one schema that comes near."""
    result = map_subschemas(schema, without_any_of)
    for keyword in ("anyOf", "oneOf"):
        if options := result.pop(keyword, None):
            result = {**_one_of(options), **result}
    return result


def _one_of(options: list[dict[str, Any]]) -> dict[str, Any]:
    said = [option for option in options if option != {"type": "null"}] or options
    if len(said) > 1:
        if all(isinstance(option.get("enum", option.get("const")), str | list) for option in said):
            return _one_enum(said)
        if all(option.keys() <= {"type", "title", "description"} and "type" in option for option in said):
            types = [kind for option in said for kind in _types(option)]
            return {"type": list(dict.fromkeys(types))}
    return said[0]


def _one_enum(options: list[dict[str, Any]]) -> dict[str, Any]:
    values = [value for option in options for value in option.get("enum", [option.get("const")])]
    types = {kind for option in options for kind in _types(option)}
    return {**({"type": types.pop()} if len(types) == 1 else {}), "enum": values}


def _types(schema: dict[str, Any]) -> list[str]:
    kind: Any = schema.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)
