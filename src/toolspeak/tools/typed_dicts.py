"""`typing.TypedDict` in annotations, on Python 3.11.

Below Python 3.12 pydantic refuses a `typing.TypedDict` and asks for the one of typing_extensions, since the first does
not keep its bases. A tool needs the fields only. So each such class is replaced, wherever it stands in an annotation,
by a copy that pydantic accepts: same name, docstring and fields, all names in the fields resolved. A value of a
TypedDict is a plain dict, so the copy is never seen.
"""

import sys
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeGuard, Union, get_args, get_origin, get_type_hints, is_typeddict

PYDANTIC_TAKES_ALL = sys.version_info >= (3, 12)


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
