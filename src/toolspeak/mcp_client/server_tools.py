"""`ServerTools`: the tools of MCP servers, wherever tools can be given."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

from toolspeak.errors import UsageError
from toolspeak.mcp_client.config import ServerConfig
from toolspeak.mcp_client.connection import Definition
from toolspeak.mcp_client.server import DefinitionsCheck, McpServer
from toolspeak.mcp_client.tool_specs import RESERVED_NAMES, build_spec, spell_names
from toolspeak.tools import Skipped, Tool, Toolbox


def accept_all(config: ServerConfig, definitions: Sequence[Definition]) -> None:
    """Accept the tools of a server whatever they are."""


class ListedTool(NamedTuple):
    """A tool that a server lists."""

    server: McpServer
    definition: Definition


class ServerTools:
    """The tools of one or several MCP servers. The servers start when the tools are first needed.

    Give it to an agent (`tools=[…]`), which starts the servers with its first run, or iterate over it, which starts
    them at once. They end when this object and all tools from it are gone, with the program, or where `with` or
    `async with` ends.
    """

    def __init__(self, configs: Sequence[ServerConfig], check: DefinitionsCheck = accept_all) -> None:
        if not configs:
            raise UsageError("there is no MCP server to get tools from")
        self._servers = [McpServer(config, check) for config in configs]
        self._listed: Sequence[ListedTool] | None = None

    def __repr__(self) -> str:
        names = ", ".join(server.config.name for server in self._servers)
        return f"ServerTools({names}{'' if self._listed is None else f': {len(self._listed)} tools'})"

    @property
    def is_loaded(self) -> bool:
        """Whether the tools are known, so that `load` starts nothing."""
        return self._listed is not None

    def load(self) -> Toolbox:
        """Start the servers if the tools are not known yet, and return the tools. This blocks until all have started.

        Raises:
            ServerFailed: A server did not start.
            ToolsChanged: A server describes its tools in another way than when they were first used.
        """
        return join_tools(Toolbox(), [self])

    async def aload(self) -> Toolbox:
        """Return the tools as `load` does, without blocking the event loop."""
        await self.astart()
        return await asyncio.to_thread(self.load)  # cleaning what a server says takes a while

    def start(self) -> "Sequence[ListedTool]":
        """Start the servers, if that was not done, and return what they list."""
        if self._listed is None:
            for server in self._servers:
                server.begin()  # all at the same time
            self._listed = self._number([server.load() for server in self._servers])
        return self._listed

    async def astart(self) -> None:
        """Start the servers as `start` does, without blocking the event loop."""
        if self._listed is None:
            self._listed = self._number(await asyncio.gather(*[server.aload() for server in self._servers]))

    def _number(self, listed: "Sequence[Sequence[Definition]]") -> "list[ListedTool]":
        pairs = zip(self._servers, listed, strict=True)
        return [ListedTool(server, definition) for server, tools in pairs for definition in tools]

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self.load())

    def close(self) -> None:
        """End the servers, and wait until they have ended. A call of one of the tools starts its server again."""
        for server in self._servers:
            server.close(wait=False)
        for server in self._servers:
            server.close()

    def __enter__(self) -> Self:
        self.load()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await self.aload()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await asyncio.to_thread(self.close)


def join_tools(own: Toolbox, sources: Sequence[ServerTools]) -> Toolbox:
    """Return tools of the program and those of servers in one toolbox. The tools of the program keep their names.

    Servers that have not started are started, which blocks until all have started.
    """
    listed: dict[tuple[McpServer, str], Definition] = {}
    skipped = [*own.skipped]
    for server, definition in (each for source in sources for each in source.start()):
        name = str(definition["name"])
        if (server, name) in listed:
            skipped.append(_skip(server, name, "the server lists this name twice; the first one counts"))
        else:
            listed[server, name] = definition
    names = spell_names([(server.config, name) for server, name in listed], [*own.names, *RESERVED_NAMES])
    tools: list[Tool[..., Any]] = []
    used = {*own.names, *RESERVED_NAMES}
    for ((server, listed_name), definition), name in zip(listed.items(), names, strict=True):
        try:
            if name in used:
                raise UsageError(f"another tool is called {name}")
            tools.append(server.build_tool(definition, build_spec(definition, name, server.config)))
            used.add(name)
        except UsageError as error:
            skipped.append(_skip(server, listed_name, str(error)))
    return Toolbox([*own, *tools], skipped=skipped)


def _skip(server: McpServer, name: str, reason: str) -> Skipped:
    return Skipped(name=f"{server.config.name}.{name}", reason=reason)
