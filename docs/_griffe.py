"""Shows the fields of value classes: `@frozen` makes a dataclass with parameters that must be named."""

from typing import Any

import griffe


class FrozenClasses(griffe.Extension):
    """Lets griffe take `@frozen` for `@dataclass(kw_only=True)`."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """Replace the decorator of a value class."""
        for decorator in cls.decorators:
            if str(decorator.value) == "frozen":
                named = griffe.ExprKeyword("kw_only", "True")
                dataclass = griffe.ExprName("dataclasses.dataclass")
                decorator.value = griffe.ExprCall(dataclass, [named])
