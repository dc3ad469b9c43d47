"""The cost of a call through our MCP server and our client beside those of the official SDK, in one run.

Both servers serve the same function to the same client: in this process (the server alone) and over standard input and
output. Then the SDK's server is called by an agent's tool, with its checks, and by the SDK's client: what an MCP call
costs beyond the SDK's own. Rounds alternate, so that both meet the same load. The figure is a ratio.

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

from toolspeak import Tool, mcp
from toolspeak.mcp import ToolServer, serve_stdio

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


async def measure_tool(tool: Tool[..., Any]) -> float:
    began = time.perf_counter()
    for number in range(CALLS):
        bound = tool.bind({"first": number})
        assert await tool.function(*bound.args, **bound.kwargs) == {"result": number + 1}
    return (time.perf_counter() - began) / CALLS


async def compare_clients() -> None:
    """Print what an MCP call costs beyond the SDK's own."""
    own: list[float] = []
    sdk: list[float] = []
    command = [sys.executable, __file__, "theirs"]
    async with mcp.tools(command, env=dict(os.environ), pinned=False) as tools, Client(start("theirs")) as client:
        tool = (await tools.aload())["add"]
        await client.list_tools()
        for _ in range(ROUNDS):
            own.append(await measure_tool(tool))
            sdk.append(await measure(client, "add"))
    ours, theirs = statistics.median(own), statistics.median(sdk)
    ratio = statistics.median(one / other for one, other in zip(own, sdk, strict=True))
    print(f"{'client':12} {'add':10} ours {ours * 1e3:6.2f} ms   SDK {theirs * 1e3:6.2f} ms   ratio {ratio:.2f}")


async def main() -> None:
    for tool in ("add", "add_async"):
        await compare("in process", tool, lambda: build_ours().protocol, build_theirs)
        await compare("stdio", tool, lambda: start("ours"), lambda: start("theirs"))
    await compare_clients()


if __name__ == "__main__":
    if sys.argv[1:] == ["ours"]:
        serve_stdio(build_ours())
    elif sys.argv[1:] == ["theirs"]:
        build_theirs().run("stdio")
    else:
        asyncio.run(main())
