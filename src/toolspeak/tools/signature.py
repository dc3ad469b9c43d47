"""What a callable takes: its parameters, their annotations and defaults, found for every sort of callable.

Everything that keeps a callable from being a tool is said here, naming the parameter and the cure.
"""

import copy
import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from toolspeak.errors import UsageError
from toolspeak.tools.context import Context

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

NO_DEFAULT = inspect.Parameter.empty

MADE = object()
"""A default that is made anew for each call, and so has nothing to show."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that the model fills.

    Attributes:
        name: Its name in the function.
        key: Its name for the model: the same, unless a `Field` gives an alias.
        annotation: Its type, without the text that was annotated.
        description: The text that was annotated; empty if there is none.
        default: Its default, or `NO_DEFAULT`.
        explicit: Makes the value to pass when the model leaves it out; None lets Python apply the default.
        positional: Whether it can be passed by position only.
    """

    name: str
    key: str
    annotation: Any
    description: str
    default: Any
    explicit: Callable[[], Any] | None
    positional: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """What a callable takes and gives. `context` is the parameter that the run fills: its name, or its position."""

    name: str
    docstring: str | None
    parameters: tuple[Parameter, ...]
    context: str | int | None
    returns: Any
    is_async: bool


def read_signature(function: Callable[..., Any], name: str | None = None) -> Signature:
    """Read the signature of a function, method, partial or callable object."""
    bare, bound = _unwrapped(function)
    label = name or _name_of(bare)
    if inspect.isclass(bare):
        raise UsageError(f"{label} is a class; write a function that makes one and give that")
    if not NAME.fullmatch(label):
        cure = "give it one with tool(function, name=…)"
        raise UsageError(f"{label!r} cannot be the name of a tool (letters, digits, _ . -, at most 64); {cure}")
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        raise UsageError(f"{label} does not say what it takes; wrap it in a function with type hints") from None
    hints = _hints(bare, label)
    parameters: list[Parameter] = []
    context: str | int | None = None
    for parameter in signature.parameters.values():
        if parameter.name in bound:
            continue
        hint = hints.get(parameter.name, NO_DEFAULT)
        if _is_context(hint):
            if context is not None:
                raise UsageError(f"{label}: {parameter.name!r} is a second Context; one is all that a run has to give")
            context = len(parameters) if parameter.kind is parameter.POSITIONAL_ONLY else parameter.name
        else:
            parameters.append(_parameter(parameter, hint, label))
    _refuse_same_keys(parameters, label)
    return Signature(
        label, _docstring(bare), tuple(parameters), context, hints.get("return", NO_DEFAULT), _is_async(bare)
    )


def _unwrapped(function: Callable[..., Any]) -> tuple[Callable[..., Any], set[str]]:
    """The function inside partials, and the keyword arguments already given: they are not the model's to see."""
    bound: set[str] = set()
    while isinstance(function, functools.partial):
        bound |= function.keywords.keys()
        function = cast("Callable[..., Any]", function.func)
    return function, bound


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def _docstring(function: Callable[..., Any]) -> str | None:
    if inspect.isroutine(function):
        return inspect.getdoc(function)
    call = type(function).__call__
    return inspect.getdoc(call) if getattr(call, "__doc__", None) else type(function).__doc__


def _is_async(function: Callable[..., Any]) -> bool:
    # An object counts as async if its __call__ is.
    target = function if inspect.isroutine(function) else type(function).__call__
    return inspect.iscoroutinefunction(inspect.unwrap(target)) or inspect.iscoroutinefunction(target)


def _hints(function: Callable[..., Any], label: str) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        try:
            return get_type_hints(target, include_extras=True)
        except NameError:
            # Names of the scope in which the function was written (a class inside a test, say) are not in its globals.
            return get_type_hints(target, localns=_names_around(), include_extras=True)
    except NameError as error:
        cure = "import or define it where the function is defined, not only under TYPE_CHECKING"
        raise UsageError(f"{label}: the type hint {error.name!r} is not defined; {cure}") from None
    except Exception as error:  # an annotation is an expression: evaluating it can raise anything
        raise UsageError(f"{label}: its type hints cannot be read: {type(error).__name__}: {error}") from None


def _names_around() -> dict[str, Any]:
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("toolspeak."):
        frame = frame.f_back
    names: dict[str, Any] = {}
    while frame is not None and "__name__" in frame.f_globals and frame.f_code.co_name != "<module>":
        names = {**frame.f_locals, **names}
        frame = frame.f_back
    return names


def _is_context(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        return any(_is_context(option) for option in get_args(hint))
    return hint is Context or get_origin(hint) is Context


def _parameter(parameter: inspect.Parameter, hint: Any, label: str) -> Parameter:
    name = parameter.name
    if parameter.kind is parameter.VAR_POSITIONAL:
        raise UsageError(f"{label}: *{name} has no schema; take one list instead, such as {name}: list[str]")
    if parameter.kind is parameter.VAR_KEYWORD:
        raise UsageError(
            f"{label}: **{name} has no schema; name the parameters, or take one dict, such as {name}: dict[str, str]"
        )
    if hint is NO_DEFAULT:
        cure = "give the bound method (object.method)" if name in ("self", "cls") else f"write {name}: str, for example"
        raise UsageError(f"{label}: the parameter {name!r} has no type hint; {cure}")
    annotation, description, field = _annotated(hint)
    default, explicit = parameter.default, None
    if isinstance(default, FieldInfo):  # def f(x: int = Field(3, ge=1))
        field = default
        annotation = Annotated[annotation, _of_the_type(field)]
        default = NO_DEFAULT
    if default is NO_DEFAULT and field is not None and not field.is_required():
        default = _field_default(field)
        explicit = functools.partial(field.get_default, call_default_factory=True, validated_data={})
    description = description or (field.description if field is not None and field.description else "")
    key = (field.validation_alias if field is not None else None) or name
    positional = parameter.kind is parameter.POSITIONAL_ONLY
    if default is PydanticUndefined:
        default = NO_DEFAULT
    if positional and explicit is None and default is not NO_DEFAULT:
        explicit = functools.partial(_same, default)
    return Parameter(
        name, key if isinstance(key, str) else name, annotation, description, default, explicit, positional
    )


def _same(value: Any) -> Any:
    return value


def _field_default(field: FieldInfo) -> Any:
    """What to show as the default. A factory is not asked: what it makes now is not what it will make."""
    if field.default_factory is None:
        return field.default
    return (
        [] if field.default_factory in (list, set, tuple, frozenset) else {} if field.default_factory is dict else MADE
    )


def _annotated(hint: Any) -> tuple[Any, str, FieldInfo | None]:
    """The type, the text for the model, and pydantic's `Field`. Bare text in the metadata is a description."""
    if get_origin(hint) is not Annotated:
        return hint, "", None
    base, *metadata = get_args(hint)
    texts = [item if isinstance(item, str) else getattr(item, "documentation", None) for item in metadata]
    text = " ".join(item.strip() for item in texts if isinstance(item, str))
    rest = tuple(item for item in metadata if not isinstance(item, str) and not hasattr(item, "documentation"))
    field = next((item for item in reversed(rest) if isinstance(item, FieldInfo)), None)
    plain = tuple(_of_the_type(item) if isinstance(item, FieldInfo) else item for item in rest)
    return Annotated[base, *plain] if plain else base, text, field


def _of_the_type(field: FieldInfo) -> FieldInfo:
    """What a `Field` says of the type. What it says of the field is for us; pydantic would warn that it is unused."""
    plain = copy.copy(field)
    plain.alias = plain.validation_alias = plain.serialization_alias = None
    plain.exclude = plain.deprecated = plain.frozen = plain.validate_default = None
    plain.repr = True
    return plain


def _refuse_same_keys(parameters: list[Parameter], label: str) -> None:
    seen: set[str] = set()
    for parameter in parameters:
        if parameter.key in seen:
            raise UsageError(f"{label}: two parameters are called {parameter.key!r}; change the alias of one")
        seen.add(parameter.key)
