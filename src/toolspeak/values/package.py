"""What the package says of itself: its version, and which of its names are imported at their first use."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def export_lazily(package: str, **modules: tuple[str, ...]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, which finds a name of the package in its modules.

    Args:
        package: The package, which also imports the names for type checkers.
        modules: For each module of the package, the names that are imported from it.
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find
