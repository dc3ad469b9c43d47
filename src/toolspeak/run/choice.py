"""What a user says of tools, as the loop knows it."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from toolspeak.errors import UsageError
from toolspeak.events import AUTO, ToolChoice
from toolspeak.tools import Tool, Toolbox, discover
from toolspeak.tools.toolbox import unknown_tool

Tools: TypeAlias = Toolbox | ModuleType | Path | str | Iterable[Callable[..., Any] | Tool[..., Any]]
"""Functions, tools, or a place to discover them in."""

Choice: TypeAlias = str | Sequence[str] | ToolChoice
"""`"auto"`, `"none"`, `"required"`, the name of a tool, or names of tools that must all be called."""


def toolbox_of(tools: Tools) -> Toolbox:
    """The tools, however they were given."""
    if isinstance(tools, Toolbox):
        return tools
    if isinstance(tools, ModuleType | Path | str):
        return discover(tools)
    if callable(tools):
        raise UsageError("tools is a list of functions; write tools=[…] around the one function")
    return Toolbox(tools)


def choice_of(choice: Choice, toolbox: Toolbox) -> ToolChoice:
    """The choice, checked against the tools that there are."""
    if isinstance(choice, str):
        if choice in ("auto", "none", "required"):
            choice = ToolChoice(mode=choice)
        else:
            choice = ToolChoice(mode="named", names=(choice,))
    elif not isinstance(choice, ToolChoice):
        choice = ToolChoice(mode="named", names=tuple(dict.fromkeys(choice)))
    for name in choice.names:
        if name not in toolbox:
            raise UsageError(f"tool_choice: {unknown_tool(name, toolbox.names)}")
    if choice.mode == "required" and not len(toolbox):
        raise UsageError("tool_choice='required', but there are no tools; give some with tools=[…]")
    return AUTO if choice.mode == "named" and not choice.names else choice
