"""The tools of an agent: functions, and the tools of MCP servers, which start when the tools are first needed."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast

from toolspeak.tools import Tool, Toolbox, as_tool
from toolspeak.values.errors import UsageError

if TYPE_CHECKING:
    from toolspeak.mcp.config import ServerApproval
    from toolspeak.mcp.server_tools import ServerTools
    from toolspeak.settings.resolver import Listing

ToolSource: TypeAlias = Union["ServerTools", ModuleType, Path, str]
"""Where tools are: a module, package, file or folder, or MCP servers (`"mcp:npx some-server"`, `"mcp.json"`)."""

Tools: TypeAlias = Toolbox | ToolSource | Iterable[Callable[..., Any] | Tool[..., Any] | ToolSource]
"""Functions, tools, and places where tools are."""


class AgentTools:
    """Tools that an agent was given.

    Attributes:
        own: The tools that are not those of MCP servers.
    """

    def __init__(self, own: Toolbox, servers: "Sequence[ServerTools]" = ()) -> None:
        self.own = own
        self._servers = servers
        self._joined = None if servers else own
        self._lock = threading.Lock()  # several runs may begin at the same time

    @property
    def loaded(self) -> Toolbox | None:
        """All tools, or None if a server has not started."""
        return self.load() if all(source.is_loaded for source in self._servers) else None

    def load(self) -> Toolbox:
        """Return all tools. Servers that have not started are started, which blocks until all have started."""
        with self._lock:
            if self._joined is None:
                from toolspeak.mcp.server_tools import join_tools

                self._joined = join_tools(self.own, self._servers)
            return self._joined

    async def aload(self) -> Toolbox:
        """Return all tools as `load` does, without blocking the event loop."""
        if self._joined is None:
            await asyncio.gather(*[source.astart() for source in self._servers])
            await asyncio.to_thread(self.load)  # cleaning what servers say takes a while
        return self.load()


def collect_tools(
    tools: Tools | AgentTools, listing: "Listing | None" = None, approve: "ServerApproval | None" = None
) -> AgentTools:
    """Collect tools from what an agent was given. Places are searched, and no server is started.

    Of a project's folder, only the files of `listing` are loaded. `approve` says which calls of MCP servers need an
    approval, where their file does not say it.
    """
    if isinstance(tools, AgentTools):
        return tools
    if isinstance(tools, Toolbox):
        return AgentTools(tools)
    if isinstance(tools, Sequence) and all(isinstance(each, Tool | FunctionType) for each in tools):
        return AgentTools(Toolbox(cast("Sequence[Tool[..., Any]]", tools)))
    return _search_sources(tools, listing, approve)


def _search_sources(tools: Tools, listing: "Listing | None", approve: "ServerApproval | None") -> AgentTools:
    """Collect tools from modules, files and folders, and from MCP servers, with what is imported only for these."""
    from toolspeak.mcp.config import distrust_compiled_files, is_server_target, read_target
    from toolspeak.mcp.server_tools import ServerTools
    from toolspeak.mcp.user_servers import build_server_tools
    from toolspeak.tools.discovery import discover_listed

    place = None
    if isinstance(tools, ModuleType | Path | str | ServerTools):
        place, tools = tools, [tools]
    if callable(tools):
        raise UsageError("tools is a list of functions; write tools=[…] around the one function")
    if not isinstance(cast("object", tools), Iterable):
        text = repr(tools)
        shown = text if len(text) <= 40 else f"a {type(tools).__name__}"
        raise UsageError(f"tools is a list of functions, or a module, file or folder, not {shown}")
    found: list[Tool[..., Any]] = []
    servers: list[ServerTools] = []
    boxes: list[Toolbox] = []
    for each in tools:
        if isinstance(each, ServerTools):
            servers.append(each)
        elif isinstance(each, Path | str) and is_server_target(each):
            configs = read_target(each)
            if listing is not None:
                configs = [distrust_compiled_files(config) for config in configs]
            configs = [replace(config, approve=approve) if config.approve is None else config for config in configs]
            servers.append(build_server_tools(configs))
        elif isinstance(each, ModuleType | Path | str):
            boxes.append(discover_listed(each, listing))
            found += boxes[-1]
        else:
            found.append(as_tool(each))
    if place is not None and boxes:
        require_tools(getattr(place, "__name__", place), boxes[0])
    if len(boxes) == 1 and not servers and len(found) == len(boxes[0]):
        return AgentTools(boxes[0])
    return AgentTools(Toolbox(found, skipped=[each for box in boxes for each in box.skipped]), servers)


MAX_SKIPPED_SHOWN = 5


def require_tools(target: object, found: Toolbox) -> None:
    """Raise `UsageError` if a place has no tools: it names the functions that were skipped, and why."""
    if len(found):
        return
    if not found.skipped:
        raise UsageError(f"{target} has no functions; a tool is a function with type hints and a docstring")
    reasons = ", ".join(f"{each.name} ({each.reason})" for each in found.skipped[:MAX_SKIPPED_SHOWN])
    left = len(found.skipped) - MAX_SKIPPED_SHOWN
    more = f", and {left} more (toolspeak tools {target} --skipped lists all)" if left > 0 else ""
    raise UsageError(f"{target} has no function that can be a tool. Skipped: {reasons}{more}")
