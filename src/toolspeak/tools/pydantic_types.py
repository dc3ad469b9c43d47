"""From an annotation to its JSON schema and validator, by pydantic: one `TypeAdapter` for each annotation."""

from functools import partial
from typing import Any, cast

from pydantic import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema, to_jsonable_python

from toolspeak.coercion import ENUM_NAMES
from toolspeak.spec import Schema
from toolspeak.tools.schema import TypeInfo, UnusableType, ValueValidator, drop_enum_names, simplify_schema
from toolspeak.tools.typed_dicts import replace_typed_dicts


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
