"""toolspeak: any model calls your Python functions.

Importing this package loads nothing else: each name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolspeak._version import __version__

if TYPE_CHECKING:
    from toolspeak.errors import InvalidArguments, ModelError, RunPaused, ToolError, ToolspeakError, UsageError
    from toolspeak.events import Limits
    from toolspeak.messages import Media, Message
    from toolspeak.models import Sampling
    from toolspeak.run import Agent, Chain, Outcome, previous
    from toolspeak.spec import ToolSpec
    from toolspeak.tools import Context, Tool, Toolbox, discover, tool

__all__ = [
    "Agent",
    "Chain",
    "Context",
    "InvalidArguments",
    "Limits",
    "Media",
    "Message",
    "ModelError",
    "Outcome",
    "RunPaused",
    "Sampling",
    "Tool",
    "ToolError",
    "ToolSpec",
    "Toolbox",
    "ToolspeakError",
    "UsageError",
    "__version__",
    "discover",
    "previous",
    "tool",
]

_HOMES = {
    "Agent": "toolspeak.run",
    "Chain": "toolspeak.run",
    "Context": "toolspeak.tools",
    "InvalidArguments": "toolspeak.errors",
    "Limits": "toolspeak.events",
    "Media": "toolspeak.messages",
    "Message": "toolspeak.messages",
    "ModelError": "toolspeak.errors",
    "Outcome": "toolspeak.run",
    "RunPaused": "toolspeak.errors",
    "Sampling": "toolspeak.models",
    "Tool": "toolspeak.tools",
    "ToolError": "toolspeak.errors",
    "ToolSpec": "toolspeak.spec",
    "Toolbox": "toolspeak.tools",
    "ToolspeakError": "toolspeak.errors",
    "UsageError": "toolspeak.errors",
    "discover": "toolspeak.tools",
    "previous": "toolspeak.run",
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
