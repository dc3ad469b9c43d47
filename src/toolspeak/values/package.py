"""What the package says of itself: its version, how more of it is installed, and which of its names are imported at
their first use.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

__version__ = "0.2.0"

TOOL_INSTALLS = {
    "uv-receipt.toml": ("uv tool install", 'name = "toolspeak", extras = [', "]"),
    "pipx_metadata.json": ("pipx install --force", '"package_or_url": "toolspeak[', "]"),
}
"""The files of tools that give each command an environment of its own: how they install, and where the file names the
extras. They install anew, so that the extras that are there are named, too."""


def suggest_install(*extras: str, environment: str = sys.prefix) -> str:
    """Return the command that adds extras to this installation, for the tool that made it.

    Args:
        extras: The names of the extras.
        environment: The folder of the environment.
    """
    from pathlib import Path  # at its first use: every import of toolspeak imports this module

    for name, (command, before, after) in TOOL_INSTALLS.items():
        file = Path(environment, name)
        if file.is_file():
            named = file.read_text(encoding="utf-8").partition(before)[2].partition(after)[0].split(",")
            there = [extra for each in named if (extra := each.strip(' "'))]
            return f"{command} 'toolspeak[{','.join(dict.fromkeys((*there, *extras)))}]'"
    return f"pip install 'toolspeak[{','.join(extras)}]'"


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
