"""toolspeak: any model calls your Python functions.

Importing this package loads nothing else: each name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolspeak._version import __version__

if TYPE_CHECKING:
    from toolspeak.errors import InvalidArguments, ToolspeakError, UsageError
    from toolspeak.spec import ToolSpec
    from toolspeak.tools import Context, Tool, Toolbox, discover, tool

__all__ = [
    "Context",
    "InvalidArguments",
    "Tool",
    "ToolSpec",
    "Toolbox",
    "ToolspeakError",
    "UsageError",
    "__version__",
    "discover",
    "tool",
]

_HOMES = {
    "Context": "toolspeak.tools",
    "InvalidArguments": "toolspeak.errors",
    "Tool": "toolspeak.tools",
    "ToolSpec": "toolspeak.spec",
    "Toolbox": "toolspeak.tools",
    "ToolspeakError": "toolspeak.errors",
    "UsageError": "toolspeak.errors",
    "discover": "toolspeak.tools",
    "tool": "toolspeak.tools",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'toolspeak' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
