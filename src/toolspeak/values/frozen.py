"""`frozen`: the decorator of all value classes. They are frozen, slotted, keyword-only dataclasses.

One decorator instead of thirty repetitions of the same three flags. A class whose values are saved or sent (a part, a
message, an event) has a `kind`: a class variable, which costs nothing to construct and names the class in saved JSON.

The methods are not those that `dataclass` generates, but behave like them. `dataclass` compiles six methods for each
class; here only `__init__` is compiled, when the first value of the class is constructed, and the others are shared:
importing the package becomes much faster. And `__init__` sets the slots directly, instead of by `object.__setattr__`,
which halves the time to construct a value.

Here are also the two errors that value classes raise or are raised with; `errors.py` has the others.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, fields
from inspect import Signature, signature
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, cast, dataclass_transform

T = TypeVar("T")


class ToolspeakError(Exception):
    """The base class of all errors of this library.

    Attributes:
        outcome: If a run had begun and this error ended it, its `Outcome`: the messages, calls and facts until then.
    """

    outcome: Any = None


class UsageError(ToolspeakError):
    """An argument or a file cannot be used; the message says which, why, and how to fix it."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
def frozen(cls: type[T]) -> type[T]:
    """Make `cls` a frozen, slotted, keyword-only dataclass."""
    if cls.__doc__ is None:
        cls.__doc__ = f"{cls.__name__}({', '.join(cls.__annotations__)})"  # `dataclass` would ask for the signature
    described: Any = dataclass(kw_only=True, init=False, repr=False, eq=False)(cls)
    known = fields(described)
    names = [field.name for field in known]
    methods = {
        "__repr__": _build_repr([field.name for field in known if field.repr]),
        **_build_comparison(_build_getter([field.name for field in known if field.compare])),
        **_build_state_methods(names),
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
    }
    own = {name: value for name, value in vars(cls).items() if name not in names and name not in _NOT_WITH_SLOTS}
    own |= {name: method for name, method in methods.items() if own.get(name) is None}  # else it has one of its own
    inherited = {name for base in cls.__mro__[1:] for name in getattr(base, "__slots__", ())}
    own["__slots__"] = tuple(name for name in names if name not in inherited)
    made: Any = type(cls)(cls.__name__, cls.__bases__, own)
    made.__qualname__ = cls.__qualname__
    if "__init__" not in own:
        made.__init__ = _delay_init(made, known)
        made.__signature__ = _InitSignature()
    return cast("type[T]", made)


_NOT_WITH_SLOTS = frozenset({"__dict__", "__weakref__"})
"""What a class without slots has for its instances."""


def _delay_init(made: Any, known: tuple[Field[Any], ...]) -> Callable[..., None]:
    """Return an `__init__` that compiles the real one and puts it in its own place."""

    def compile_and_call(self: object, **values: Any) -> None:
        made.__init__ = init = _build_init(made, known)
        init(self, **values)

    compile_and_call.__qualname__ = f"{made.__qualname__}.__init__"
    return compile_and_call


class _InitSignature:
    """The signature of a class whose `__init__` may not be compiled yet."""

    def __get__(self, value: object, made: Any) -> Signature | None:
        has_own_init, has_own_signature = "__init__" in vars(made), "__signature__" in vars(made)
        if has_own_init and not has_own_signature:  # a subclass that is constructed in its own way
            return None
        init = signature(_build_init(made, fields(made)))
        return init.replace(parameters=list(init.parameters.values())[1:])


def _build_init(made: Any, known: tuple[Field[Any], ...]) -> Callable[..., None]:
    """Compile `__init__`, which sets each slot through the descriptor of the slot."""
    names: dict[str, Any] = {"MISSING": MISSING}
    parameters: list[str] = []
    lines: list[str] = []
    for field in known:
        name = field.name
        names[f"set_{name}"] = getattr(made, name).__set__
        value = name
        if field.default_factory is not MISSING:
            names[f"make_{name}"] = field.default_factory
            parameters.append(f"{name}=MISSING")
            value = f"make_{name}() if {name} is MISSING else {name}"
        elif field.default is not MISSING:
            names[f"default_{name}"] = field.default
            parameters.append(f"{name}=default_{name}")
        else:
            parameters.append(name)
        lines.append(f"set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    head = ", ".join(["self", *(["*", *parameters] if parameters else [])])
    exec(f"def __init__({head}):\n " + "\n ".join(lines or ["pass"]), names)  # noqa: S102 (text of our own)
    init = names["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__module__ = made.__module__
    init.__annotations__ = {field.name: field.type for field in known} | {"return": None}
    return init


def _build_getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns the values of these fields."""
    if len(names) > 1:
        return cast("Callable[[Any], tuple[Any, ...]]", attrgetter(*names))
    return lambda value: tuple(getattr(value, name) for name in names)


def _build_comparison(values: Callable[[Any], tuple[Any, ...]]) -> dict[str, Callable[..., Any]]:
    def equals(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def compute_hash(self: object) -> int:
        return hash(values(self))

    return {"__eq__": equals, "__hash__": compute_hash}


def _build_repr(names: list[str]) -> Callable[[object], str]:
    @recursive_repr()
    def describe(self: object) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return describe


def _build_state_methods(names: list[str]) -> dict[str, Callable[..., Any]]:
    """Return the methods for copies and pickles, which must get around `__setattr__`."""

    def get_state(self: object) -> list[Any]:
        return [getattr(self, name) for name in names]

    def set_state(self: object, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": get_state, "__setstate__": set_state}


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
