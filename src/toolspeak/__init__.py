"""toolspeak: let any language model call your Python functions.

Importing this package loads nothing else: each name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolspeak.values.package import __version__ as __version__

if TYPE_CHECKING:
    from toolspeak import dialects as dialects
    from toolspeak import mcp as mcp
    from toolspeak import models as models
    from toolspeak import settings as settings
    from toolspeak import testing as testing
    from toolspeak import tools as tools
    from toolspeak.models import Model as Model
    from toolspeak.models import RetryPolicy as RetryPolicy
    from toolspeak.models import Sampling as Sampling
    from toolspeak.models import connect as connect
    from toolspeak.run import Agent as Agent
    from toolspeak.run import AsyncStream as AsyncStream
    from toolspeak.run import Chain as Chain
    from toolspeak.run import Chat as Chat
    from toolspeak.run import Stream as Stream
    from toolspeak.run import previous as previous
    from toolspeak.tools import Context as Context
    from toolspeak.tools import Decisive as Decisive
    from toolspeak.tools import Free as Free
    from toolspeak.tools import Happened as Happened
    from toolspeak.tools import Key as Key
    from toolspeak.tools import Tool as Tool
    from toolspeak.tools import Toolbox as Toolbox
    from toolspeak.tools import discover as discover
    from toolspeak.tools import tool as tool
    from toolspeak.values import codec as codec
    from toolspeak.values import errors as errors
    from toolspeak.values import events as events
    from toolspeak.values import messages as messages
    from toolspeak.values.attachments import file as file
    from toolspeak.values.attachments import image as image
    from toolspeak.values.errors import EndpointDown as EndpointDown
    from toolspeak.values.errors import InvalidArguments as InvalidArguments
    from toolspeak.values.errors import ModelError as ModelError
    from toolspeak.values.errors import OutputMissing as OutputMissing
    from toolspeak.values.errors import ProviderError as ProviderError
    from toolspeak.values.errors import RateLimited as RateLimited
    from toolspeak.values.errors import ReplayMiss as ReplayMiss
    from toolspeak.values.errors import RunPaused as RunPaused
    from toolspeak.values.errors import StreamInterrupted as StreamInterrupted
    from toolspeak.values.errors import ToolError as ToolError
    from toolspeak.values.errors import ToolspeakError as ToolspeakError
    from toolspeak.values.errors import UsageError as UsageError
    from toolspeak.values.events import Allow as Allow
    from toolspeak.values.events import Event as Event
    from toolspeak.values.events import ToolChoice as ToolChoice
    from toolspeak.values.limits import Limits as Limits
    from toolspeak.values.messages import Media as Media
    from toolspeak.values.messages import Message as Message
    from toolspeak.values.messages import ToolCall as ToolCall
    from toolspeak.values.messages import ToolResult as ToolResult
    from toolspeak.values.messages import system as system
    from toolspeak.values.messages import user as user
    from toolspeak.values.outcome import Outcome as Outcome
    from toolspeak.values.spec import ToolSpec as ToolSpec

_PLACES = {
    "models": "Model RetryPolicy Sampling connect",
    "run": "Agent AsyncStream Chain Chat Stream previous",
    "tools": "Context Decisive Free Happened Key Tool Toolbox discover tool",
    "values.attachments": "file image",
    "values.errors": (
        "EndpointDown InvalidArguments ModelError OutputMissing ProviderError RateLimited ReplayMiss RunPaused "
        "StreamInterrupted ToolError ToolspeakError UsageError"
    ),
    "values.events": "Allow Event ToolChoice",
    "values.limits": "Limits",
    "values.messages": "Media Message ToolCall ToolResult system user",
    "values.outcome": "Outcome",
    "values.spec": "ToolSpec",
}
"""The modules of the public names. The imports above are the same table for type checkers."""

_HOMES = {name: module for module, names in _PLACES.items() for name in names.split()}

_SUBMODULES = {
    **{name: name for name in ("dialects", "mcp", "models", "settings", "testing", "tools")},
    **{name: f"values.{name}" for name in ("codec", "errors", "events", "messages")},
}
"""Modules that can be used as attributes, as in `toolspeak.codec`."""

if not TYPE_CHECKING:  # a type checker would take every name that is not there for one of this function
    __all__ = ["__version__", *sorted(_HOMES)]

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return import_module(f"toolspeak.{_SUBMODULES[name]}")
        if name not in _HOMES:
            raise AttributeError(f"module 'toolspeak' has no attribute {name!r}")
        value = getattr(import_module(f"toolspeak.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return ["__version__", *_HOMES]
