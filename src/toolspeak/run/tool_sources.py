"""The places where tools are: modules, files and folders that are searched, and MCP servers."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from toolspeak.errors import UsageError
from toolspeak.mcp_client import ServerTools, is_server_target, read_target
from toolspeak.run.agent_tools import Tools
from toolspeak.run.server_tools import build_server_tools
from toolspeak.tools import Tool, Toolbox, as_tool, discover


def search_sources(tools: Tools) -> tuple[Toolbox, Sequence[ServerTools]]:
    """Return the tools that are not those of MCP servers, and the servers, none of which is started."""
    if isinstance(tools, ModuleType | Path | str | ServerTools):
        tools = [tools]
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
            servers.append(build_server_tools(read_target(each)))
        elif isinstance(each, ModuleType | Path | str):
            boxes.append(discover(each))
            found += boxes[-1]
        else:
            found.append(as_tool(each))
    if len(boxes) == 1 and not servers and len(found) == len(boxes[0]):
        return boxes[0], ()
    return Toolbox(found, skipped=[each for box in boxes for each in box.skipped]), servers
