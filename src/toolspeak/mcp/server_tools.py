"""`ServerTools`: the tools of MCP servers, wherever tools can be given.

A server starts when its tools are first needed. It ends when it is closed, when nobody has its tools any more, or with
the program. A server that has died is started again at the next call, once: if it dies again without having answered a
call, it stays down. A call that was under way when the server died is not repeated, since it may have taken effect.
"""

import asyncio
import base64
import binascii
import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from toolspeak.mcp.config import ServerConfig
from toolspeak.mcp.connection import Connection, Definition
from toolspeak.mcp.tool_specs import (
    MAX_SERVER_CHARS,
    RESERVED_NAMES,
    build_spec,
    count_chars,
    find_changes,
    select_pinned,
    spell_names,
)
from toolspeak.tools import Context, Skipped, Tool, Toolbox
from toolspeak.tools.context import ProgressCallback
from toolspeak.tools.schema_function import describe_function
from toolspeak.values.errors import ServerFailed, ToolError, ToolsChanged, UsageError
from toolspeak.values.log import LOG
from toolspeak.values.messages import Media
from toolspeak.values.spec import ToolSpec

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock


def read_result(result: "CallToolResult", *, has_schema: bool) -> Any:
    """Return what a call gave. Raises `ToolError` if the server says that the call failed.

    A tool that declares the schema of its output gives its structured content, other tools their text. Images, sounds
    and resources that are no text become media.
    """
    texts: list[str] = []
    media: list[Media] = []
    for block in result.content:
        part = _read_block(block)
        if isinstance(part, Media):
            media.append(part)
        else:
            texts.append(part)
    text = "\n".join(texts)
    if result.is_error:
        raise ToolError(text or "the call failed, and the server does not say why")
    structured: Any = result.structured_content
    data: Any = structured if structured is not None and (has_schema or not texts) else text if texts else None
    if not media:
        return data
    return [data, *media] if data is not None else list(media) if len(media) > 1 else media[0]


def _read_block(block: "ContentBlock") -> Media | str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return _read_media(block.data, block.mime_type, None)
        case "resource_link":
            about = f": {block.description}" if block.description else ""
            return f"[{block.name}]({block.uri}){about}"
        case "resource":
            resource = block.resource
            if hasattr(resource, "text"):
                return f"{resource.uri}:\n{getattr(resource, 'text')}"  # noqa: B009 (one of two classes)
            name = str(resource.uri).rpartition("/")[2] or None
            return _read_media(getattr(resource, "blob"), resource.mime_type or "application/octet-stream", name)  # noqa: B009 (the other class)


def _read_media(data: str, mime: str, name: str | None) -> Media | str:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"({mime} that cannot be decoded)"
    return Media(mime=mime, data=content, name=name) if content else f"(empty {mime})"


DefinitionsCheck: TypeAlias = Callable[[ServerConfig, Sequence[Definition]], None]
"""Called with the tools of a server that was started; raises `ToolsChanged` if they are not those that are known."""


class _ConnectionSlot:
    """The current connection of a server, apart from the server: it is closed when the server is collected."""

    def __init__(self) -> None:
        self.connection: Connection | None = None

    def close(self, *, wait: bool = False) -> None:
        connection = self.connection
        if connection is not None:
            connection.close(wait=wait)


class McpServer:
    """A server that is started when it is needed."""

    def __init__(self, config: ServerConfig, check: DefinitionsCheck) -> None:
        self.config = config
        self._check = check
        self._lock = threading.Lock()
        self._slot = _ConnectionSlot()
        self._restarts_left = 1
        self._known: Sequence[Definition] | None = None
        self._accepted: Connection | None = None
        weakref.finalize(self, self._slot.close).atexit = False  # `close_all` ends servers at the end of the program

    def load(self) -> Sequence[Definition]:
        """Start the server, if it does not run, and return the definitions of its tools."""
        connection = self.start()
        return self._accept(connection, connection.started.result())

    async def aload(self) -> Sequence[Definition]:
        """Start the server as `load` does, without blocking the event loop."""
        connection = self.start()
        return self._accept(connection, await _wait_for(connection.started))

    def start(self) -> Connection:
        """Start the server, if it does not run, without waiting for it."""
        with self._lock:
            connection = self._slot.connection
            if connection is None or not connection.is_alive:
                connection = self._slot.connection = Connection(self.config)
            return connection

    def _accept(self, connection: Connection, definitions: Sequence[Definition]) -> Sequence[Definition]:
        """Return the definitions of a server that was started, if they are those that are known."""
        if self._known is None:
            self._check(self.config, definitions)
            self._known = definitions
        elif find_changes(select_pinned(self._known), select_pinned(definitions)):
            connection.close(wait=False)  # the caller may be an event loop
            self._check(self.config, definitions)  # shows what has changed, if that was pinned
            raise ToolsChanged(
                f"the MCP server {self.config.name} was started again, and lists other tools than before; begin anew"
            )
        self._accepted = connection
        return definitions

    def build_tool(self, definition: Definition, spec: ToolSpec) -> Tool[..., Any]:
        """Build the tool that sends its calls to the server."""
        remote_name = str(definition["name"])
        has_schema = definition.get("outputSchema") is not None

        async def call_server(context: Context[Any] | None = None, /, **arguments: Any) -> Any:
            report = None if context is None else context.on_progress
            return await self._call(remote_name, arguments, has_schema, report)

        call_server.__name__ = call_server.__qualname__ = remote_name
        call_server.__module__ = f"mcp:{self.config.name}"
        return Tool(describe_function(call_server, spec))

    async def _call(
        self, tool: str, arguments: dict[str, Any], has_schema: bool, report: ProgressCallback | None
    ) -> Any:
        connection = await self._find_connection()
        result = await asyncio.wrap_future(connection.call(tool, arguments, report))
        self._restarts_left = 1
        return read_result(result, has_schema=has_schema)

    async def _find_connection(self) -> Connection:
        """Return a connection to the running server, which is started again if it has died."""
        with self._lock:
            connection = self._slot.connection
            if connection is not None and connection.is_alive and connection is self._accepted:
                return connection
            if connection is None or not connection.is_alive:
                connection = self._slot.connection = self._restart(connection)
        self._accept(connection, await _wait_for(connection.started))
        return connection

    def _restart(self, dead: Connection | None) -> Connection:
        if dead is not None and dead.pid == os.getpid():
            if self._restarts_left == 0:
                raise ServerFailed(f"the MCP server {self.config.name} has ended twice, and is not started again")
            self._restarts_left -= 1
            reason = " ".join(dead.failure.describe().split())
            LOG.warning("the MCP server %s ended and is started again: %s", self.config.name, reason)
            dead.close(wait=False)
        return Connection(self.config)

    def close(self, *, wait: bool = True) -> None:
        """End the server. A later call starts it again."""
        self._slot.close(wait=wait)


async def _wait_for(started: Future[Sequence[Definition]]) -> Sequence[Definition]:
    # Shielded: others may wait for the same start.
    return await asyncio.shield(asyncio.wrap_future(started))


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
                server.start()  # all at the same time
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
    chars: Counter[McpServer] = Counter()
    for ((server, listed_name), definition), name in zip(listed.items(), names, strict=True):
        try:
            if name in used:
                raise UsageError(f"another tool is called {name}")
            spec = build_spec(definition, name, server.config)
            chars[server] += count_chars(spec)
            if chars[server] > MAX_SERVER_CHARS:
                raise UsageError(f"the server says more than {MAX_SERVER_CHARS:,} characters of its tools")
            tools.append(server.build_tool(definition, spec))
            used.add(name)
        except UsageError as error:
            skipped.append(_skip(server, listed_name, str(error)))
    return Toolbox([*own, *tools], skipped=skipped)


def _skip(server: McpServer, name: str, reason: str) -> Skipped:
    return Skipped(name=f"{server.config.name}.{name}", reason=reason)
