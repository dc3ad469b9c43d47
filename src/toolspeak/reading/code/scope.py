"""The names that code has bound, and what they stand for."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from toolspeak.reading.code.budget import ITEMS_PER_STEP, TOO_LARGE, Budget
from toolspeak.reading.code.constants import Module, Unknown, Value
from toolspeak.reading.code.syntax import Constant, Expression, Member, Name

CHANGING_METHODS = frozenset(
    "append push extend insert update pop remove clear setdefault sort reverse splice unshift".split()
)
"""Methods that change the object that they are called on."""


class Scope:
    """The values of names.

    Args:
        budget: Bounds the objects that are copied to be changed.
    """

    def __init__(self, budget: Budget) -> None:
        self._values: dict[str, Value] = {}
        self._budget = budget

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
        self._budget.count_steps(1 + len(self._values) // ITEMS_PER_STEP)
        outer = dict(self._values)
        try:
            yield
        finally:
            self._values = outer

    def set_member(self, name: str, key: Value, value: Value) -> None:
        """Follow `name[key] = value`: the name stands for a new object."""
        base = self._values.get(name)
        if isinstance(base, dict) and not self._budget.can_build(len(base)):
            self._values[name] = Unknown(reason=TOO_LARGE)
        elif isinstance(base, dict) and isinstance(key, str):
            self._values[name] = {**base, key: value}
        elif name in self._values:
            self._values[name] = Unknown(reason=f"a part of {name} is changed")

    def change(self, name: str, method: str, args: list[Value]) -> None:
        """Follow `name.method(*args)`, where the method changes its object: the name stands for a new one."""
        base = self._values.get(name)
        size = sum(len(each) for each in (base, *args) if isinstance(each, dict | list))
        if name in self._values and not self._budget.can_build(size):
            self._values[name] = Unknown(reason=TOO_LARGE)
        elif method in ("append", "push") and isinstance(base, list) and len(args) == 1:
            self._values[name] = [*base, args[0]]
        elif method == "update" and isinstance(base, dict) and len(args) == 1 and isinstance(args[0], dict):
            self._values[name] = {**base, **args[0]}
        elif name in self._values:
            self._values[name] = Unknown(reason=f"{name} is changed by .{method}()")

    def get_dotted_name(self, node: Expression) -> str | None:
        """Return `a.b.c` as text, unless `a` is a name that the code has bound to a value."""
        keys: list[str] = []
        while isinstance(node, Member) and isinstance(node.key, Constant) and isinstance(node.key.value, str):
            keys.append(node.key.value)
            node = node.base
        if not isinstance(node, Name) or (node.name in self._values and not self.is_module(node.name)):
            return None
        return ".".join((node.name, *reversed(keys)))
