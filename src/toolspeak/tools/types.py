"""From an annotation to its JSON schema and validator.

A plain type (`plain_types.py`) needs no pydantic, which is imported with the first other type (`pydantic_types.py`).
What was found is kept for each annotation: a thousand functions that take a `str` share one validator.
"""

from collections.abc import Iterable
from functools import lru_cache
from types import GenericAlias, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from toolspeak.spec import Schema
from toolspeak.tools.plain_types import PlainType, PlainValidator, find_plain_type
from toolspeak.tools.schema import TypeInfo


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
        return _build_plain_info(annotation, plain)
    from toolspeak.tools.pydantic_types import read_pydantic_type

    return read_pydantic_type(annotation)


@lru_cache(maxsize=4096)
def _read_return_schema(annotation: Any, spelling: str) -> Schema | None:
    if (plain := find_plain_type(annotation)) is not None:
        return plain.schema
    from toolspeak.tools.pydantic_types import read_pydantic_return_schema

    return read_pydantic_return_schema(annotation)


def _build_plain_info(annotation: Any, plain: PlainType) -> TypeInfo:
    validator = PlainValidator(annotation, plain.take)
    return TypeInfo(validator, validator.dump, plain.schema, {})


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
