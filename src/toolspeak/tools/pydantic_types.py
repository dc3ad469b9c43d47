"""From an annotation to its JSON schema and validator, by pydantic: one `TypeAdapter` for each annotation.

Below Python 3.12 pydantic refuses a `typing.TypedDict` and asks for the one of typing_extensions, since the first does
not keep its bases. A tool needs the fields only. So each such class is replaced, wherever it stands in an annotation,
by a copy that pydantic accepts: same name, docstring and fields, all names in the fields resolved. A value of a
TypedDict is a plain dict, so the copy is never seen.
"""

import sys
from dataclasses import fields
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, TypeGuard, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema, to_jsonable_python

from toolspeak.tools.schema import TypeInfo, UnusableType, ValueValidator, drop_enum_names, simplify_schema
from toolspeak.values.messages import Media
from toolspeak.values.spec import ENUM_NAMES, Schema, map_subschemas

PYDANTIC_TAKES_ALL = sys.version_info >= (3, 12)
MEDIA_KEYS = {field.name for field in fields(Media)}


def replace_typed_dicts(annotation: Any) -> Any:
    """Return `annotation` with a copy in place of each `typing.TypedDict` that pydantic would refuse."""
    return annotation if PYDANTIC_TAKES_ALL else _replace(annotation, {})


def _replace(annotation: Any, copies: dict[type[Any], type[Any]]) -> Any:
    if _is_refused(annotation):
        return copies.get(annotation) or _copy(annotation, copies)
    arguments: tuple[Any, ...] = get_args(annotation)
    origin: Any = get_origin(annotation)
    if not arguments:
        return annotation
    if origin is Annotated:
        base = _replace(arguments[0], copies)
        return annotation if base is arguments[0] else Annotated[base, *arguments[1:]]
    replaced = tuple(_replace(argument, copies) for argument in arguments)
    new_origin = _replace(origin, copies)
    if new_origin is origin and all(new is old for new, old in zip(replaced, arguments, strict=True)):
        return annotation
    if origin is UnionType:
        return Union[replaced]  # noqa: UP007 (the members are known only now)
    # `NotRequired` and the like take one argument, and no tuple.
    return new_origin[replaced[0] if len(replaced) == 1 else replaced]


def _is_refused(annotation: Any) -> TypeGuard[type[Any]]:
    return is_typeddict(annotation) and type(annotation).__module__ == "typing"


def _copy(typed_dict: type[Any], copies: dict[type[Any], type[Any]]) -> type[Any]:
    namespace = {name: value for name, value in vars(typed_dict).items() if name not in ("__dict__", "__weakref__")}
    namespace.setdefault("__orig_bases__", (dict,))
    metaclass = _metaclass(type(typed_dict))
    copy = type.__new__(metaclass, typed_dict.__name__, typed_dict.__bases__, namespace)
    copies[typed_dict] = copy  # before its fields are replaced: they may lead back to it
    try:
        hints = get_type_hints(typed_dict, localns={typed_dict.__name__: typed_dict}, include_extras=True)
    except Exception:  # a name that is not defined: pydantic says which
        return copy
    copy.__annotations__ = {name: _replace(hint, copies) for name, hint in hints.items()}
    return copy


@cache
def _metaclass(base: type[Any]) -> Any:
    # pydantic knows a TypedDict that it refuses by the module of its metaclass.
    return type("TypedDictCopy", (base,), {"__module__": __name__})


def read_pydantic_type(annotation: Any) -> TypeInfo:
    """Return the validator and schema of `annotation`, or raise `UnusableType` with the reason."""
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
    validator = cast("ValueValidator", adapter.validator)  # pydantic's own type may be that of a plugin
    return TypeInfo(validator, partial(adapter.dump_python, mode="json", warnings=False), schema, defs)


def read_pydantic_return_schema(annotation: Any) -> Schema | None:
    """Return the schema of a return annotation, or None if it has none."""
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(replace_typed_dicts(annotation))
        schema, defs = simplify_schema(adapter.json_schema(mode="serialization", schema_generator=_SchemaGenerator))
    except Exception:  # any error of pydantic or of a user's class: a result is shown without a schema
        return None
    if any(map(_holds_media, (schema, *defs.values()))):  # a model gets the image, not the object that holds it
        return None
    schema = drop_enum_names(schema)
    return {**schema, "$defs": {name: drop_enum_names(sub) for name, sub in defs.items()}} if defs else schema


def _holds_media(schema: Schema) -> bool:
    """Whether a schema, or one inside of it, is that of `Media`."""
    if schema.get("properties", {}).keys() == MEDIA_KEYS:
        return True
    found: list[bool] = []
    map_subschemas(schema, lambda sub: found.append(_holds_media(sub)))
    return any(found)


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
