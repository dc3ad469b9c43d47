"""From an annotation to its JSON schema and validator.

There is one cached pydantic `TypeAdapter` for each annotation: a thousand functions that take a `str` share one. The
schema is made for a model to read: no titles, no `$ref` unless the type is recursive (or inlining would make the schema
huge), enums in place, unknown keys ruled out.
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

MAX_INLINE_SCHEMAS = 2_000
"""Schemas that inlining may produce from one definition; a larger definition stays behind its `$ref`."""

DEFINITIONS = "#/$defs/"


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """The validator and the schema of an annotation, and the definitions (`defs`) that the schema refers to."""

    adapter: TypeAdapter[Any]
    schema: Schema
    defs: Mapping[str, Schema]


class UnusableType(UsageError):
    """An annotation that pydantic cannot validate or that has no JSON schema."""


def read_type(annotation: Any) -> TypeInfo:
    """Return the validator and schema of `annotation`, or raise `UnusableType` with the reason."""
    annotation = _replace_iterables(annotation)
    # `int | str` equals `str | int`, but the order of the schema differs: the text belongs to the key of the cache.
    if not _is_hashable(annotation):
        return _read_type.__wrapped__(annotation, "")
    return _read_type(annotation, repr(annotation))


def read_return_schema(annotation: Any) -> Schema | None:
    """Return the schema of a return annotation, or None: a result can be shown without a schema."""
    if not _is_hashable(annotation):
        return _read_return_schema.__wrapped__(annotation, "")
    return _read_return_schema(annotation, repr(annotation))


def _is_hashable(annotation: Any) -> bool:
    try:
        hash(annotation)
    except TypeError:  # metadata may be anything
        return False
    return True


def _replace_iterables(annotation: Any) -> Any:
    """Replace `Iterable[X]` by `list[X]`: pydantic would check each item only when the function takes it."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is Iterable or origin is Iterable:
        return list[args or Any]
    if origin is Annotated:
        changed = Annotated[_replace_iterables(args[0]), *args[1:]]
    elif origin in (Union, UnionType):
        changed = Union[tuple(map(_replace_iterables, args))]  # noqa: UP007 (the members are known only now)
    elif isinstance(annotation, GenericAlias):
        changed = origin[tuple(map(_replace_iterables, args))]
    else:
        return annotation
    return annotation if changed == annotation else changed


@lru_cache(maxsize=4096)
def _read_type(annotation: Any, spelling: str) -> TypeInfo:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(replace_typed_dicts(annotation))
        schema, defs = simplify_schema(adapter.json_schema(schema_generator=_SchemaGenerator))
    except PydanticUndefinedAnnotation as error:
        raise UnusableType(f"the name {error.name!r} in its type is not defined") from None
    except PydanticSchemaGenerationError as error:
        raise UnusableType(f"pydantic cannot validate its type ({_first_line(error)})") from None
    except PydanticUserError as error:
        raise UnusableType(f"its type has no JSON schema ({_first_line(error)})") from None
    except Exception as error:  # a constraint that the type cannot have, or any error of a user's class
        raise UnusableType(f"pydantic cannot use its type ({type(error).__name__}: {_first_line(error)})") from None
    return TypeInfo(adapter, schema, defs)


@lru_cache(maxsize=4096)
def _read_return_schema(annotation: Any, spelling: str) -> Schema | None:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(replace_typed_dicts(annotation))
        schema, defs = simplify_schema(adapter.json_schema(mode="serialization", schema_generator=_SchemaGenerator))
    except Exception:  # any error of pydantic or of a user's class: a result is shown without a schema
        return None
    schema = drop_enum_names(schema)
    return {**schema, "$defs": {name: drop_enum_names(sub) for name, sub in defs.items()}} if defs else schema


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0].rstrip(".")


class _LazyMethods(dict[Any, Any]):
    """Looks up the method for a sort of schema on first use; pydantic looks up all methods for each annotation."""

    def __init__(self, generator: GenerateJsonSchema) -> None:
        super().__init__()
        self._generator = generator

    def __missing__(self, kind: str) -> Any:
        return getattr(self._generator, f"{kind.replace('-', '_')}_schema")


class _SchemaGenerator(GenerateJsonSchema):
    """Adds the names of enum members, which models write as often as the values."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 (pydantic's own attribute)

    def build_schema_type_to_method(self) -> dict[Any, Any]:
        return _LazyMethods(self)

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


for _common_type in (str, int, float, bool):
    read_type(_common_type)  # in advance, so that the first tool is as fast as the others
