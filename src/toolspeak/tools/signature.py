"""Reads the signature of a callable: the parameters with annotations and defaults, for every sort of callable.

A callable that cannot be a tool is refused here, with an error that names the parameter and the cure.
"""

import copy
import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from toolspeak.tools.context import Context
from toolspeak.values.errors import UsageError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

NO_DEFAULT = inspect.Parameter.empty

COMPUTED_DEFAULT = object()
"""Stands for a default that a factory makes anew for each call, so that there is no value to show."""


class Weight(Enum):
    """Whether the value of a parameter must come from a trusted source: `Annotated[str, Decisive]`.

    Attributes:
        DECISIVE: It decides whom, what, how much or where to: a recipient, an amount, a path, an id.
        FREE: It may be any text: the body of a mail, a comment.
    """

    DECISIVE = "decisive"
    FREE = "free"


Decisive = Weight.DECISIVE
"""Marks a parameter that decides something: `Annotated[str, Decisive]`."""

Free = Weight.FREE
"""Marks a parameter that takes any text: `Annotated[str, Free]`."""


class Key:
    """A field of foreign results that identifies a thing for your tools: `@tool(result={"id": Key("file_id")})`.

    A key fills parameters, and nothing else: its value must be used whole, and as one of these parameters.

    Attributes:
        parameters: The parameters that it may fill: `file_id` of every tool, or `share_file.file_id` of one.
        by: The fields beside it that name the thing, such as a title. With them, a key may only be used if the user has
            named the thing so: in quotes, or by one long word with digits or dots, such as the name of a file.
        when: The fields beside it that must have a certain value, such as `{"owner": "anna@example.com"}`: in other
            records the field is foreign.
    """

    def __init__(
        self, *parameters: str, by: str | Sequence[str] = (), when: Mapping[str, str | int | bool] | None = None
    ) -> None:
        self.by = (by,) if isinstance(by, str) else tuple(by)
        self.parameters = parameters
        self.when = dict(when or {})
        if not parameters or not all(each and isinstance(cast("object", each), str) for each in parameters + self.by):
            raise UsageError("Key takes the names of parameters, such as Key('file_id', by='name')")
        values = cast("tuple[object, ...]", tuple(self.when.values()))
        if when is not None and not (values and all(isinstance(each, str | int) for each in values)):
            raise UsageError(f"when is a dict of fields and their values, such as {{'owner': 'anna'}}, not {when!r}")

    def __repr__(self) -> str:
        by = f", by={self.by!r}" if self.by else ""
        when = f", when={self.when!r}" if self.when else ""
        return f"Key({', '.join(map(repr, self.parameters))}{by}{when})"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that the model fills.

    Attributes:
        name: The name in the function.
        key: The name for the model: the same, unless a `Field` gives an alias.
        annotation: The type, without the description in `Annotated`.
        description: The description in `Annotated`, or an empty text.
        default: The default, or `NO_DEFAULT`.
        make_default: Makes the value to pass when the model leaves the key out; None lets Python apply the default.
        is_positional_only: Whether the parameter can be passed by position only.
        weight: `Decisive`, `Free` or None, as it is marked.
    """

    name: str
    key: str
    annotation: Any
    description: str
    default: Any
    make_default: Callable[[], Any] | None
    is_positional_only: bool
    weight: "Weight | None" = None


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a callable.

    Attributes:
        name: The name of the tool.
        docstring: The docstring.
        parameters: The parameters that the model fills.
        context: The name or the position of the parameter that the run fills with its `Context`.
        deps_type: The type of the deps in that `Context`; None if it is not said, or if there need be none.
        returns: The annotation of what the callable returns.
        is_async: Whether calling it gives a coroutine.
    """

    name: str
    docstring: str | None
    parameters: tuple[Parameter, ...]
    context: str | int | None
    deps_type: Any
    returns: Any
    is_async: bool


def read_signature(function: Callable[..., Any], name: str | None = None) -> Signature:
    """Read the signature of a function, method, partial or callable object."""
    bare, bound = _unwrap_partial(function)
    label = name or getattr(bare, "__name__", None) or type(bare).__name__
    if inspect.isclass(bare):
        raise UsageError(f"{label} is a class; write a function that makes one and give that")
    if not TOOL_NAME.fullmatch(label):
        cure = "choose another" if name else "give it one with tool(function, name=…)"
        raise UsageError(f"{label!r} cannot be the name of a tool (ASCII letters, digits, _ . -, at most 64); {cure}")
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        raise UsageError(f"{label} has no signature to read; wrap it in a function with type hints") from None
    hints = _read_hints(bare, label)
    parameters: list[Parameter] = []
    context: str | int | None = None
    deps_type: Any = None
    for parameter in signature.parameters.values():
        if parameter.name in bound:
            continue
        hint = hints.get(parameter.name, NO_DEFAULT)
        if _is_context(hint):
            if context is not None:
                raise UsageError(f"{label}: {parameter.name!r} is a second Context; a tool can have only one")
            context = len(parameters) if parameter.kind is parameter.POSITIONAL_ONLY else parameter.name
            deps_type = _find_deps_type(hint)
        else:
            parameters.append(_read_parameter(parameter, hint, label))
    keys = [parameter.key for parameter in parameters]
    if same := next((key for key in keys if keys.count(key) > 1), None):
        raise UsageError(f"{label}: two parameters are called {same!r}; change the alias of one")
    return Signature(
        name=label,
        docstring=_get_docstring(bare),
        parameters=tuple(parameters),
        context=context,
        deps_type=deps_type,
        returns=hints.get("return", NO_DEFAULT),
        is_async=_is_async(bare),
    )


def _unwrap_partial(function: Callable[..., Any]) -> tuple[Callable[..., Any], set[str]]:
    """Return the function inside partials, and the keywords that the partials fill: the model does not see them."""
    bound: set[str] = set()
    while isinstance(function, functools.partial):
        bound |= function.keywords.keys()
        function = cast("Callable[..., Any]", function.func)
    return function, bound


def _get_docstring(function: Callable[..., Any]) -> str | None:
    if inspect.isroutine(function):
        return inspect.getdoc(function)
    call = type(function).__call__
    return inspect.getdoc(call) if getattr(call, "__doc__", None) else type(function).__doc__


def _is_async(function: Callable[..., Any]) -> bool:
    # An object counts as async if its __call__ is.
    target = function if inspect.isroutine(function) else type(function).__call__
    return inspect.iscoroutinefunction(inspect.unwrap(target)) or inspect.iscoroutinefunction(target)


def _read_hints(function: Callable[..., Any], label: str) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        try:
            return get_type_hints(target, include_extras=True)
        except NameError:
            # Names of the scope in which the function was written (a class inside a test, say) are not in its globals.
            return get_type_hints(target, localns=_collect_local_names(), include_extras=True)
    except NameError as error:
        cure = "import or define it where the function is defined, not only under TYPE_CHECKING"
        raise UsageError(f"{label}: the type hint {error.name!r} is not defined; {cure}") from None
    except Exception as error:  # an annotation is an expression: evaluating it can raise anything
        raise UsageError(f"{label}: its type hints cannot be read: {type(error).__name__}: {error}") from None


def _collect_local_names() -> dict[str, Any]:
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("toolspeak."):
        frame = frame.f_back
    names: dict[str, Any] = {}
    while frame is not None and "__name__" in frame.f_globals and frame.f_code.co_name != "<module>":
        names = {**frame.f_locals, **names}
        frame = frame.f_back
    return names


def _is_context(hint: Any) -> bool:
    if isinstance(hint, type):
        return hint is Context
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        return any(_is_context(option) for option in get_args(hint))
    return hint is Context or get_origin(hint) is Context


def _find_deps_type(hint: Any) -> Any:
    """Return `Deps` of the hint `Context[Deps]`; None if there is none, or if it allows None."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) is not Context:
        return None
    (deps,) = get_args(hint)
    allows_none = deps in (Any, object, NoneType) or isinstance(deps, TypeVar)
    is_optional = get_origin(deps) in (Union, UnionType) and NoneType in get_args(deps)
    return None if allows_none or is_optional else deps


def _read_parameter(parameter: inspect.Parameter, hint: Any, label: str) -> Parameter:
    name = parameter.name
    item = "str" if hint is NO_DEFAULT else inspect.formatannotation(hint)
    wrapped = "; if this is the wrapper of a decorator, put @functools.wraps on it" if hint is NO_DEFAULT else ""
    if parameter.kind is parameter.VAR_POSITIONAL:
        cure = f"take one list instead, such as {name}: list[{item}]{wrapped}"
        raise UsageError(f"{label}: *{name} has no schema; {cure}")
    if parameter.kind is parameter.VAR_KEYWORD:
        cure = f"name the parameters, or take one dict, such as {name}: dict[str, {item}]{wrapped}"
        raise UsageError(f"{label}: **{name} has no schema; {cure}")
    if hint is NO_DEFAULT:
        bind = f"give the bound method: object.{label}, or Tool(object.{label}, …) with options"
        cure = bind if name in ("self", "cls") else f"write {name}: str, for example"
        raise UsageError(f"{label}: the parameter {name!r} has no type hint; {cure}")
    annotation, description, field, weight = _split_annotated(hint)
    default, make_default = parameter.default, None
    if _is_field(default):  # def f(x: int = Field(3, ge=1))
        field = default
        annotation = Annotated[annotation, _keep_type_metadata(field)]
        default = NO_DEFAULT
    if default is NO_DEFAULT and field is not None and not field.is_required():
        default = _get_field_default(field)
        make_default = functools.partial(field.get_default, call_default_factory=True, validated_data={})
    description = description or (field.description if field is not None and field.description else "")
    key = (field.validation_alias if field is not None else None) or name
    is_positional_only = parameter.kind is parameter.POSITIONAL_ONLY
    if is_positional_only and make_default is None and default is not NO_DEFAULT:
        make_default = functools.partial(_return_value, default)
    key = key if isinstance(key, str) else name
    return Parameter(name, key, annotation, description, default, make_default, is_positional_only, weight)


def _is_field(value: Any) -> "TypeGuard[FieldInfo]":
    """Whether a value is a `Field` of pydantic. Before pydantic was imported, nothing is."""
    fields = sys.modules.get("pydantic.fields")
    return fields is not None and isinstance(value, fields.FieldInfo)


def _return_value(value: Any) -> Any:
    return value


def _get_field_default(field: "FieldInfo") -> Any:
    """Return the default to show. A factory is not called: each call of the tool gets a new value from it."""
    if field.default_factory is None:
        return field.default
    if field.default_factory in (list, set, tuple, frozenset):
        return []
    return {} if field.default_factory is dict else COMPUTED_DEFAULT


def _split_annotated(hint: Any) -> "tuple[Any, str, FieldInfo | None, Weight | None]":
    """Split a hint into the type, the description, pydantic's `Field` and the mark of a decisive or a free parameter.

    Bare text in `Annotated` is a description.
    """
    if isinstance(hint, type) or get_origin(hint) is not Annotated:
        return hint, "", None, None
    base, *marked = get_args(hint)
    weight = next((item for item in reversed(marked) if isinstance(item, Weight)), None)
    metadata = [item for item in marked if not isinstance(item, Weight)]
    texts = [item if isinstance(item, str) else getattr(item, "documentation", None) for item in metadata]
    text = " ".join(item.strip() for item in texts if isinstance(item, str))
    rest = tuple(item for item in metadata if not isinstance(item, str) and not hasattr(item, "documentation"))
    field = next((item for item in reversed(rest) if _is_field(item)), None)
    plain = tuple(_keep_type_metadata(item) if _is_field(item) else item for item in rest)
    return Annotated[base, *plain] if plain else base, text, field, weight


def _keep_type_metadata(field: "FieldInfo") -> "FieldInfo":
    """Return a `Field` with its constraints on the type only; pydantic would warn that the others are unused."""
    plain = copy.copy(field)
    plain.alias = plain.validation_alias = plain.serialization_alias = None
    plain.exclude = plain.deprecated = plain.frozen = plain.validate_default = None
    plain.repr = True
    return plain
