"""From an annotation to its JSON schema and validator.

One pydantic `TypeAdapter` for each annotation, kept: a thousand functions that take a `str` share one. The schema is
made for a model to read: no titles, no `$ref` unless the type is recursive (or inlining it would make it huge), enums
in place, unknown keys ruled out.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import GenericAlias, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from pydantic import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema, to_jsonable_python

from toolspeak.coercion import ENUM_NAMES
from toolspeak.errors import UsageError
from toolspeak.spec import Schema, map_subschemas
from toolspeak.tools.typed_dicts import replace_typed_dicts

INLINE_LIMIT = 2_000
"""Schemas that inlining may produce from one definition; a definition beyond that stays a `$ref`."""

REFS = "#/$defs/"


@dataclass(frozen=True, slots=True)
class Typed:
    """An annotation, understood: how to validate it and how to show it. `defs` are the definitions it refers to."""

    adapter: TypeAdapter[Any]
    schema: Schema
    defs: Mapping[str, Schema]


class UnusableType(UsageError):
    """An annotation that pydantic cannot validate or that has no JSON schema."""


def typed(annotation: Any) -> Typed:
    """Understand `annotation`, or say why not (`UnusableType`)."""
    annotation = _iterables_as_lists(annotation)
    # `int | str` equals `str | int` but is not shown the same way: the spelling belongs to the key.
    return _typed(annotation, repr(annotation)) if _hashable(annotation) else _typed.__wrapped__(annotation, "")


def returned(annotation: Any) -> Schema | None:
    """The schema of what a function returns, or None where it has none; a result needs no schema to be shown."""
    return _returned(annotation, repr(annotation)) if _hashable(annotation) else _returned.__wrapped__(annotation, "")


def _hashable(annotation: Any) -> bool:
    try:
        hash(annotation)
    except TypeError:  # metadata may be anything
        return False
    return True


def _iterables_as_lists(annotation: Any) -> Any:
    """`list[X]` for `Iterable[X]`: pydantic would check each item only when the function asks for it."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is Iterable or origin is Iterable:
        return list[args or Any]
    if origin is Annotated:
        changed = Annotated[_iterables_as_lists(args[0]), *args[1:]]
    elif origin in (Union, UnionType):
        changed = Union[tuple(map(_iterables_as_lists, args))]  # noqa: UP007 (the members are known only now)
    elif isinstance(annotation, GenericAlias):
        changed = origin[tuple(map(_iterables_as_lists, args))]
    else:
        return annotation
    return annotation if changed == annotation else changed


@lru_cache(maxsize=4096)
def _typed(annotation: Any, spelling: str) -> Typed:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(replace_typed_dicts(annotation))
        schema, defs = tidy(adapter.json_schema(schema_generator=_Generator))
    except PydanticUndefinedAnnotation as error:
        raise UnusableType(f"the name {error.name!r} in its type is not defined") from None
    except PydanticSchemaGenerationError as error:
        raise UnusableType(f"pydantic cannot validate its type ({_first_line(error)})") from None
    except PydanticUserError as error:
        raise UnusableType(f"its type has no JSON schema ({_first_line(error)})") from None
    except Exception as error:  # a constraint that the type cannot have, or whatever a class of the user's raises
        raise UnusableType(f"pydantic cannot use its type ({type(error).__name__}: {_first_line(error)})") from None
    return Typed(adapter, schema, defs)


@lru_cache(maxsize=4096)
def _returned(annotation: Any, spelling: str) -> Schema | None:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(replace_typed_dicts(annotation))
        schema, defs = tidy(adapter.json_schema(mode="serialization", schema_generator=_Generator))
    except Exception:  # whatever it is, a result is shown by its value
        return None
    schema = without_names(schema)
    return {**schema, "$defs": {name: without_names(sub) for name, sub in defs.items()}} if defs else schema


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0].rstrip(".")


class _Methods(dict[Any, Any]):
    """Finds the method for a sort of schema when it is asked for; pydantic looks all of them up for each annotation."""

    def __init__(self, generator: GenerateJsonSchema) -> None:
        super().__init__()
        self._generator = generator

    def __missing__(self, kind: str) -> Any:
        return getattr(self._generator, f"{kind.replace('-', '_')}_schema")


class _Generator(GenerateJsonSchema):
    """Adds the names of enum members, by which models call them as often as by their values."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 (pydantic's own attribute)

    def build_schema_type_to_method(self) -> dict[Any, Any]:
        return _Methods(self)

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        names = {member.name: to_jsonable_python(member.value, fallback=str) for member in schema["members"]}
        return {**super().enum_schema(schema), ENUM_NAMES: names}

    def encode_default(self, dft: Any) -> Any:
        # pydantic makes a TypeAdapter for every default; these are JSON as they are.
        if dft is None or type(dft) in (str, bool, int):
            return dft
        if type(dft) in (list, dict) and not dft:
            return type(dft)()
        return super().encode_default(dft)


def tidy(schema: dict[str, Any]) -> tuple[Schema, dict[str, Schema]]:
    """A schema of pydantic's, made for reading: the schema itself, and the definitions it still refers to."""
    defs: dict[str, Schema] = {name: _clean(sub) for name, sub in schema.get("$defs", {}).items()}
    body = _clean({key: value for key, value in schema.items() if key != "$defs"})
    if not defs:
        return body, {}
    kept = _kept(defs)
    used: dict[str, Schema] = {}

    def inlined(node: Schema) -> Schema:
        name = _ref_name(node)
        if name is None:
            return map_subschemas(node, inlined)
        if name not in kept:
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            return {**inlined(defs[name]), **siblings}
        if name not in used:
            used[name] = {}  # named before it is entered: it may lead back to itself
            used[name] = map_subschemas(defs[name], inlined)
        return node

    return inlined(body), used


def _clean(schema: Schema) -> Schema:
    plain = {key: value for key, value in schema.items() if key not in ("title", "discriminator")}
    result = map_subschemas(plain, _clean)
    if "properties" in result and "additionalProperties" not in result:
        result["additionalProperties"] = False
    return {"type": result.pop("type"), **result} if "type" in result else result


def without_names(schema: Schema) -> Schema:
    """The schema as a model sees it, without what only coercion needs."""
    return map_subschemas({key: value for key, value in schema.items() if key != ENUM_NAMES}, without_names)


def _ref_name(schema: Schema) -> str | None:
    ref = schema.get("$ref")
    return ref.removeprefix(REFS) if isinstance(ref, str) else None


def _subschemas(schema: Schema) -> Iterator[Schema]:
    """`schema` and every schema in it."""
    found: list[Schema] = []

    def visit(node: Schema) -> Schema:
        found.append(node)
        map_subschemas(node, visit)
        return node

    visit(schema)
    yield from found


def _kept(defs: Mapping[str, Schema]) -> set[str]:
    """The definitions that must stay definitions: those on a cycle, and those too large to repeat."""
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
            if sizes[name] > INLINE_LIMIT:
                kept.add(name)
                sizes[name] = 1
        return sizes[name]

    for name in defs:
        size(name, ())
    return kept


def merged(into: dict[str, Schema], item: Typed) -> Schema:
    """The schema of `item`, its definitions added to `into` under names that are still free."""
    renamed: dict[str, str] = {}
    for name, definition in item.defs.items():
        free, number = name, 2
        while free in into and into[free] != definition:
            free, number = f"{name}_{number}", number + 1
        renamed[name] = free
    if all(old == new for old, new in renamed.items()):
        into.update(item.defs)
        return item.schema

    def moved(node: Schema) -> Schema:
        result = map_subschemas(node, moved)
        name = _ref_name(node)
        return {**result, "$ref": REFS + renamed[name]} if name is not None else result

    for name, definition in item.defs.items():
        into[renamed[name]] = moved(definition)
    return moved(item.schema)


def assemble(properties: Mapping[str, Schema], required: list[str], defs: Mapping[str, Schema]) -> dict[str, Any]:
    """The parameter schema of a tool."""
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    if defs:
        schema["$defs"] = dict(cast("Mapping[str, Any]", defs))
    return schema


for _common in (str, int, float, bool):
    typed(_common)  # so that no first tool is slower than the others
