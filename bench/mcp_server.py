"""The cost of a call through our MCP server beside the high-level server of the official SDK, in one run.

Both serve the same function to the same client: in this process (the server alone) and over standard input and output.
Rounds alternate, so that both meet the same load. The figure is a ratio.

    python bench/mcp_server.py
"""

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.mcpserver import MCPServer

from toolspeak.mcp_server import ToolServer, serve_stdio

ROUNDS = 15
CALLS = 40


def add(first: int, second: int = 1) -> int:
    """Add two numbers."""
    return first + second


async def add_async(first: int, second: int = 1) -> int:
    """Add two numbers."""
    return first + second


def build_theirs() -> MCPServer:
    server = MCPServer("bench")
    server.tool()(add)
    server.tool()(add_async)
    return server


def build_ours() -> ToolServer:
    return ToolServer([add, add_async])


def start(which: str) -> Any:
    return stdio_client(StdioServerParameters(command=sys.executable, args=[__file__, which], env={**os.environ}))


async def measure(client: Client, tool: str) -> float:
    began = time.perf_counter()
    for number in range(CALLS):
        result = await client.call_tool(tool, {"first": number})
        assert result.structured_content == {"result": number + 1}
    return (time.perf_counter() - began) / CALLS


async def compare(label: str, tool: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    async with Client(ours()) as one, Client(theirs()) as other:
        await asyncio.gather(one.list_tools(), other.list_tools())
        for _ in range(ROUNDS):
            times["ours"].append(await measure(one, tool))
            times["theirs"].append(await measure(other, tool))
    own, foreign = (statistics.median(each) for each in times.values())
    print(f"{label:12} {tool:10} ours {own * 1e3:6.2f} ms   SDK {foreign * 1e3:6.2f} ms   ratio {own / foreign:.2f}")


async def main() -> None:
    for tool in ("add", "add_async"):
        await compare("in process", tool, lambda: build_ours().protocol, build_theirs)
        await compare("stdio", tool, lambda: start("ours"), lambda: start("theirs"))


if __name__ == "__main__":
    if sys.argv[1:] == ["ours"]:
        serve_stdio(build_ours())
    elif sys.argv[1:] == ["theirs"]:
        build_theirs().run("stdio")
    else:
        asyncio.run(main())
