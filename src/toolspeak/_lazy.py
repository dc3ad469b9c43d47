"""`export_lazily`: the `__getattr__` of a package some of whose names are imported when they are first used."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def export_lazily(package: str, **modules: tuple[str, ...]) -> Callable[[str], Any]:
    """Return the function that finds a name of a package in the modules of the package.

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
