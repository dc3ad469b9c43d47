"""toolspeak: any model calls your Python functions.

Importing this package loads nothing else: each name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolspeak._version import __version__

if TYPE_CHECKING:
    from toolspeak.errors import (
        InvalidArguments,
        ModelError,
        ProviderError,
        RunPaused,
        ToolError,
        ToolspeakError,
        UsageError,
    )
    from toolspeak.events import Limits, ToolChoice
    from toolspeak.messages import Media, Message, ToolCall, ToolResult, system, user
    from toolspeak.models import Sampling, connect
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
    "ProviderError",
    "RunPaused",
    "Sampling",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "ToolError",
    "ToolResult",
    "ToolSpec",
    "Toolbox",
    "ToolspeakError",
    "UsageError",
    "__version__",
    "connect",
    "discover",
    "previous",
    "system",
    "tool",
    "user",
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
    "ProviderError": "toolspeak.errors",
    "RunPaused": "toolspeak.errors",
    "Sampling": "toolspeak.models",
    "Tool": "toolspeak.tools",
    "ToolCall": "toolspeak.messages",
    "ToolChoice": "toolspeak.events",
    "ToolError": "toolspeak.errors",
    "ToolResult": "toolspeak.messages",
    "ToolSpec": "toolspeak.spec",
    "Toolbox": "toolspeak.tools",
    "ToolspeakError": "toolspeak.errors",
    "UsageError": "toolspeak.errors",
    "discover": "toolspeak.tools",
    "connect": "toolspeak.models",
    "previous": "toolspeak.run",
    "system": "toolspeak.messages",
    "tool": "toolspeak.tools",
    "user": "toolspeak.messages",
}

_ROOMS = frozenset({"codec", "dialects", "errors", "events", "messages", "models", "testing", "tools"})


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"toolspeak.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'toolspeak' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
