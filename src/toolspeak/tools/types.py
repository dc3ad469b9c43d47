"""From an annotation to its JSON schema and validator.

The plain types of JSON, and lists, dicts, unions and choices made of them, need no pydantic: their schema is known, and
a value that is exactly of the type is valid as it is. Any other value (`"21"` for an `int`) is left to pydantic, which
is imported then, or with the first other type (`pydantic_types.py`). So a program whose tools take plain types starts
in three quarters of the time.

What was found is kept for each annotation: a thousand functions that take a `str` share one validator.
"""

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, Union, cast, get_args, get_origin

from toolspeak.tools.schema import TypeInfo
from toolspeak.values.spec import Schema

LEFT_TO_PYDANTIC = object()
"""What stands for a value that is not exactly of a type."""

Taker: TypeAlias = Callable[[Any], Any]
"""Returns the value for the function, with lists and dicts copied, or `LEFT_TO_PYDANTIC`."""


class PlainType(NamedTuple):
    """The schema of a type, and what takes values that are exactly of the type."""

    schema: Schema
    take: Taker


class PlainValidator:
    """Validates values of a plain type, as the validator of pydantic does."""

    def __init__(self, annotation: Any, take: Taker) -> None:
        self._annotation = annotation
        self._take = take

    @cached_property
    def _adapter(self) -> Any:
        from pydantic import TypeAdapter

        return TypeAdapter(self._annotation)

    def validate_python(self, value: Any, /) -> Any:
        """Return the value for the function, or raise pydantic's `ValidationError`."""
        taken = self._take(value)
        return self._adapter.validator.validate_python(value) if taken is LEFT_TO_PYDANTIC else taken

    def validate_json(self, data: bytes, /) -> Any:
        """Return the value that JSON stands for, or raise pydantic's `ValidationError`."""
        return self._adapter.validator.validate_json(data)

    def dump(self, value: Any) -> Any:
        """Return a value as JSON data."""
        taken = self._take(value)
        is_left = taken is LEFT_TO_PYDANTIC
        return self._adapter.dump_python(value, mode="json", warnings=False) if is_left else taken


def find_plain_type(annotation: Any) -> PlainType | None:
    """Return the plain type that an annotation stands for; None if pydantic is needed."""
    if annotation is None or isinstance(annotation, type):
        return SCALARS.get(NoneType if annotation is None else annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _build_choice(arguments) if all(type(each) is str for each in arguments) else None
    if origin in (Union, UnionType):
        members = [find_plain_type(each) for each in arguments]
        return _build_union([each for each in members if each is not None]) if None not in members else None
    if origin is list and (item := find_plain_type(arguments[0])) is not None:
        return _build_list(item)
    if origin is dict and arguments[0] is str and (item := find_plain_type(arguments[1])) is not None:
        return _build_dict(item)
    return None


def _take_text(value: Any) -> Any:
    if type(value) is not str:
        return LEFT_TO_PYDANTIC
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            return LEFT_TO_PYDANTIC
    return value


def _take_exactly(kind: type) -> Taker:
    return lambda value: value if type(value) is kind else LEFT_TO_PYDANTIC


SCALARS: dict[type, PlainType] = {
    str: PlainType({"type": "string"}, _take_text),
    int: PlainType({"type": "integer"}, _take_exactly(int)),
    float: PlainType({"type": "number"}, _take_exactly(float)),
    bool: PlainType({"type": "boolean"}, _take_exactly(bool)),
    NoneType: PlainType({"type": "null"}, _take_exactly(NoneType)),
}


def _build_choice(texts: tuple[str, ...]) -> PlainType:
    """Return the type of a choice between texts."""
    allowed = frozenset(texts)
    schema = {"type": "string", "const": texts[0]} if len(texts) == 1 else {"type": "string", "enum": list(texts)}

    def take(value: Any) -> Any:
        return value if type(value) is str and value in allowed else LEFT_TO_PYDANTIC

    return PlainType(schema, take)


def _build_union(members: list[PlainType]) -> PlainType:
    def take(value: Any) -> Any:
        for member in members:
            if (taken := member.take(value)) is not LEFT_TO_PYDANTIC:
                return taken
        return LEFT_TO_PYDANTIC

    # pydantic puts null last, too
    schemas = sorted((member.schema for member in members), key=lambda schema: schema.get("type") == "null")
    return PlainType({"anyOf": schemas}, take)


def _build_list(item: PlainType) -> PlainType:
    def take(value: Any) -> Any:
        if type(value) is not list:
            return LEFT_TO_PYDANTIC
        taken = [item.take(each) for each in cast("list[Any]", value)]
        return LEFT_TO_PYDANTIC if LEFT_TO_PYDANTIC in taken else taken

    return PlainType({"type": "array", "items": item.schema}, take)


def _build_dict(item: PlainType) -> PlainType:
    def take(value: Any) -> Any:
        if type(value) is not dict:
            return LEFT_TO_PYDANTIC
        given = cast("dict[Any, Any]", value)
        taken = {key: item.take(each) for key, each in given.items()}
        is_left = LEFT_TO_PYDANTIC in taken.values() or LEFT_TO_PYDANTIC in map(_take_text, taken)
        return LEFT_TO_PYDANTIC if is_left else taken

    return PlainType({"type": "object", "additionalProperties": item.schema}, take)


def read_type(annotation: Any) -> TypeInfo:
    """Return the validator and schema of `annotation`, or raise `UnusableType` with the reason."""
    if type(annotation) is type:  # a plain class, such as `str`
        return _read_type(annotation, "")
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


@lru_cache(maxsize=4096)
def _read_type(annotation: Any, spelling: str) -> TypeInfo:
    if (plain := find_plain_type(annotation)) is not None:
        validator = PlainValidator(annotation, plain.take)
        return TypeInfo(validator, validator.dump, plain.schema, {})
    from toolspeak.tools.pydantic_types import read_pydantic_type

    return read_pydantic_type(annotation)


@lru_cache(maxsize=4096)
def _read_return_schema(annotation: Any, spelling: str) -> Schema | None:
    if (plain := find_plain_type(annotation)) is not None:
        return plain.schema
    from toolspeak.tools.pydantic_types import read_pydantic_return_schema

    return read_pydantic_return_schema(annotation)


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
