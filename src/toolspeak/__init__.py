"""toolspeak: any model calls your Python functions.

Importing this package loads nothing else: each name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolspeak._version import __version__

if TYPE_CHECKING:
    from toolspeak import codec as codec
    from toolspeak import dialects as dialects
    from toolspeak import errors as errors
    from toolspeak import events as events
    from toolspeak import mcp as mcp
    from toolspeak import messages as messages
    from toolspeak import models as models
    from toolspeak import testing as testing
    from toolspeak import tools as tools
    from toolspeak.attachments import file, image
    from toolspeak.errors import (
        EndpointDown,
        InvalidArguments,
        ModelError,
        OutputMissing,
        ProviderError,
        RateLimited,
        ReplayMiss,
        RunPaused,
        StreamInterrupted,
        ToolError,
        ToolspeakError,
        UsageError,
    )
    from toolspeak.events import Event, ToolChoice
    from toolspeak.limits import Limits
    from toolspeak.messages import Media, Message, ToolCall, ToolResult, system, user
    from toolspeak.models import Model, RetryPolicy, Sampling, connect
    from toolspeak.outcome import Outcome
    from toolspeak.run import Agent, AsyncStream, Chain, Stream, previous
    from toolspeak.spec import ToolSpec
    from toolspeak.tools import Context, Tool, Toolbox, discover, tool

__all__ = [
    "Agent",
    "AsyncStream",
    "Chain",
    "Context",
    "EndpointDown",
    "Event",
    "InvalidArguments",
    "Limits",
    "Media",
    "Message",
    "Model",
    "ModelError",
    "Outcome",
    "OutputMissing",
    "ProviderError",
    "RateLimited",
    "ReplayMiss",
    "RetryPolicy",
    "RunPaused",
    "Sampling",
    "Stream",
    "StreamInterrupted",
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
    "file",
    "image",
    "previous",
    "system",
    "tool",
    "user",
]

_MODULES = {
    "Agent": "toolspeak.run",
    "AsyncStream": "toolspeak.run",
    "Chain": "toolspeak.run",
    "Context": "toolspeak.tools",
    "EndpointDown": "toolspeak.errors",
    "Event": "toolspeak.events",
    "InvalidArguments": "toolspeak.errors",
    "Limits": "toolspeak.limits",
    "Media": "toolspeak.messages",
    "Message": "toolspeak.messages",
    "Model": "toolspeak.models",
    "ModelError": "toolspeak.errors",
    "Outcome": "toolspeak.outcome",
    "OutputMissing": "toolspeak.errors",
    "ProviderError": "toolspeak.errors",
    "RateLimited": "toolspeak.errors",
    "ReplayMiss": "toolspeak.errors",
    "RetryPolicy": "toolspeak.models",
    "RunPaused": "toolspeak.errors",
    "Sampling": "toolspeak.models",
    "Stream": "toolspeak.run",
    "StreamInterrupted": "toolspeak.errors",
    "Tool": "toolspeak.tools",
    "ToolCall": "toolspeak.messages",
    "ToolChoice": "toolspeak.events",
    "ToolError": "toolspeak.errors",
    "ToolResult": "toolspeak.messages",
    "ToolSpec": "toolspeak.spec",
    "Toolbox": "toolspeak.tools",
    "ToolspeakError": "toolspeak.errors",
    "UsageError": "toolspeak.errors",
    "connect": "toolspeak.models",
    "discover": "toolspeak.tools",
    "file": "toolspeak.attachments",
    "image": "toolspeak.attachments",
    "previous": "toolspeak.run",
    "system": "toolspeak.messages",
    "tool": "toolspeak.tools",
    "user": "toolspeak.messages",
}
"""The module of each public name."""

_SUBMODULES = frozenset(
    {"codec", "dialects", "errors", "events", "mcp", "messages", "models", "settings", "testing", "tools"}
)
"""Modules that are imported when they are used as attributes: `toolspeak.codec`."""


if not TYPE_CHECKING:  # a type checker would take every name that is not there for one of this function

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return import_module(f"toolspeak.{name}")
        if name not in _MODULES:
            raise AttributeError(f"module 'toolspeak' has no attribute {name!r}")
        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
