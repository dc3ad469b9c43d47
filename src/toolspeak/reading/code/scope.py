"""The names that code has bound, and what they stand for."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from toolspeak.reading.code.constants import Module, Unknown, Value
from toolspeak.reading.code.syntax import Constant, Expression, Member, Name

CHANGING_METHODS = frozenset(
    "append push extend insert update pop remove clear setdefault sort reverse splice unshift".split()
)
"""Methods that change the object that they are called on."""


class Scope:
    """The values of names."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str) -> Value:
        """Return the value of a name; None if it is not bound."""
        return self._values.get(name)

    def is_module(self, name: str) -> bool:
        return isinstance(self._values.get(name), Module)

    def bind(self, name: str, value: Value) -> None:
        self._values[name] = value

    def bind_all(self, values: Mapping[str, Value]) -> None:
        self._values.update(values)

    @contextmanager
    def enter(self) -> Generator[None]:
        """Enter a scope inside this one: names that are bound there are forgotten when it is left."""
        outer = dict(self._values)
        try:
            yield
        finally:
            self._values = outer

    def set_member(self, name: str, key: Value, value: Value) -> None:
        """Follow `name[key] = value`: the name stands for a new object."""
        base = self._values.get(name)
        if isinstance(base, dict) and isinstance(key, str):
            self._values[name] = {**base, key: value}
        elif name in self._values:
            self._values[name] = Unknown(reason=f"a part of {name} is changed")

    def change(self, name: str, method: str, args: list[Value]) -> None:
        """Follow `name.method(*args)`, where the method changes its object: the name stands for a new one."""
        base = self._values.get(name)
        if method in ("append", "push") and isinstance(base, list) and len(args) == 1:
            self._values[name] = [*base, args[0]]
        elif method == "update" and isinstance(base, dict) and len(args) == 1 and isinstance(args[0], dict):
            self._values[name] = {**base, **args[0]}
        elif name in self._values:
            self._values[name] = Unknown(reason=f"{name} is changed by .{method}()")

    def get_dotted_name(self, node: Expression) -> str | None:
        """Return `a.b.c` as text, unless `a` is a name that the code has bound to a value."""
        if isinstance(node, Name):
            return node.name if node.name not in self._values or self.is_module(node.name) else None
        if isinstance(node, Member) and isinstance(node.key, Constant) and isinstance(node.key.value, str):
            base = self.get_dotted_name(node.base)
            return f"{base}.{node.key.value}" if base else None
        return None
