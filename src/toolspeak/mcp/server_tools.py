"""`ServerTools`: the tools of MCP servers, wherever tools can be given.

A server starts when its tools are first needed. It ends when it is closed, when nobody has its tools any more, or with
the program. A program that has died is started again at the next call, once: if it dies again without having answered a
call, it stays down. A server over HTTP, which others start, is connected to again and again, after a pause that grows.
A call that was under way when the server died is not repeated, since it may have taken effect; one that the server
refused because it does not know the session is.
"""

import asyncio
import math
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias, TypeVar

from toolspeak.mcp.config import ServerConfig
from toolspeak.mcp.connection import (
    INSTRUCTIONS,
    Connection,
    Definition,
    SessionUnknown,
    acquire_loop,
    release_loop,
)
from toolspeak.mcp.results import FURTHER_TOOLS, bind_request, read_result
from toolspeak.mcp.tool_specs import (
    MAX_SERVER_CHARS,
    RESERVED_NAMES,
    build_spec,
    clean_text,
    count_chars,
    find_changes,
    select_pinned,
    spell_names,
)
from toolspeak.tools import Context, Skipped, Tool, Toolbox
from toolspeak.tools.schema_function import NOTE_ATTRIBUTE, describe_function
from toolspeak.values.errors import ServerFailed, ToolsChanged, ToolspeakError, UsageError
from toolspeak.values.log import LOG
from toolspeak.values.spec import ToolSpec
from toolspeak.values.validation import nearest

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")

MAX_PAUSE_SECONDS = 32.0  # between two attempts to connect to a server over HTTP; the first pause is of a second


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
        self._restarts = 0  # since the last answer
        self._next_restart = 0.0
        self._known: Sequence[Definition] | None = None
        self.skipped: Skipped | None = None
        self._note: tuple[str, str] | None = None
        self._accepted: Connection | None = None
        weakref.finalize(self, self._slot.close).atexit = False  # `close_all` ends servers at the end of the program

    def load(self) -> Sequence[Definition]:
        """Start the server, if it does not run, and return the definitions of its tools."""
        connection = self.start()
        try:
            definitions = connection.started.result()
        except (ServerFailed, UsageError) as error:
            return self._leave_out(error)
        return self._accept(connection, definitions)

    async def aload(self) -> Sequence[Definition]:
        """Start the server as `load` does, without blocking the event loop."""
        connection = self.start()
        try:
            definitions = await _wait_for(connection.started)
        except (ServerFailed, UsageError) as error:
            return self._leave_out(error)
        return self._accept(connection, definitions)

    def _leave_out(self, error: ToolspeakError) -> Sequence[Definition]:
        """Go on without the tools of a server that did not start, if that is allowed."""
        if self.config.required:
            raise error
        self.skipped = Skipped(name=self.config.name, reason=str(error))
        LOG.warning("%s; its tools are left out", " ".join(str(error).split()))
        return ()

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
        texts = [clean_text(str(each.get("description", ""))) for each in definitions if each["name"] == INSTRUCTIONS]
        self._note = (clean_text(" ".join(self.config.name.split())), texts[0]) if texts and texts[0] else None
        listed = [each for each in definitions if each["name"] != INSTRUCTIONS]
        wanted = {"resources": self.config.resources, "prompts": self.config.prompts}
        return listed + [
            each.definition for each in FURTHER_TOOLS if wanted[each.kind] and each.kind in connection.offers
        ]

    def build_tool(self, definition: Definition, spec: ToolSpec) -> Tool[..., Any]:
        """Build the tool that sends its calls to the server."""
        remote_name = str(definition["name"])
        ask = next((each.ask for each in FURTHER_TOOLS if each.definition is definition), None)
        has_schema = definition.get("outputSchema") is not None

        async def call_server(context: Context[Any] | None = None, /, **arguments: Any) -> Any:
            if ask is not None:
                request = bind_request(ask, arguments)
                return await self._send(lambda connection: connection.ask(request))
            report = None if context is None else context.on_progress
            result = await self._send(lambda connection: connection.call(remote_name, arguments, report))
            return read_result(result, has_schema=has_schema)

        call_server.__name__ = call_server.__qualname__ = remote_name
        call_server.__module__ = f"mcp:{self.config.name}"
        setattr(call_server, NOTE_ATTRIBUTE, self._note)
        described, rule = describe_function(call_server, spec), self.config.approve
        return Tool(described, approve=rule) if spec.approve and callable(rule) else Tool(described)

    async def _send(self, send: Callable[[Connection], Future[T]]) -> T:
        """Return the answer to a request, which is sent once more if the server does not know the session."""
        connection = await self._find_connection()
        try:
            result = await asyncio.wrap_future(send(connection))
        except SessionUnknown:
            result = await asyncio.wrap_future(send(await self._find_connection()))
        self._restarts = 0
        return result

    def fetch(self, request: "Callable[[Client], Awaitable[T]]") -> T:
        """Return the answer to a request of the program. The server is started if it does not run."""
        self.load()
        thread = acquire_loop()
        try:
            return thread.submit(self._send(lambda connection: connection.ask(request))).result()
        finally:
            release_loop(thread)

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
            reason = " ".join(dead.failure.describe().split())
            self._count_restart(reason)
            LOG.warning("the MCP server %s ended and is started again: %s", self.config.name, reason)
            dead.close(wait=False)
        return Connection(self.config)

    def _count_restart(self, reason: str) -> None:
        """Count a restart without an answer since the last one. Raises `ServerFailed` if it may not be tried now."""
        if self.config.transport == "stdio":
            if self._restarts:
                raise ServerFailed(f"the MCP server {self.config.name} has ended twice, and is not started again")
        elif (left := self._next_restart - time.monotonic()) > 0 and self._restarts:
            again = f"it is tried again in {math.ceil(left)} s"
            raise ServerFailed(f"the MCP server {self.config.name} cannot be reached ({reason}); {again}")
        self._next_restart = time.monotonic() + min(2.0 ** min(self._restarts, 10), MAX_PAUSE_SECONDS)
        self._restarts += 1

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
    them at once. They stop when nothing refers to this object and its tools any more, when the program ends, or at the
    end of a `with` or `async with` block.
    """

    def __init__(self, configs: Sequence[ServerConfig], check: DefinitionsCheck = accept_all) -> None:
        if not configs:
            raise UsageError("there is no MCP server to get tools from")
        self._servers = [McpServer(config, check) for config in configs]
        self._listed: Sequence[ListedTool] | None = None

    def __repr__(self) -> str:
        names = ", ".join(server.config.name for server in self._servers)
        return f"ServerTools({names}{'' if self._listed is None else f', tools: {len(self._listed)}'})"

    @property
    def skipped(self) -> list[Skipped]:
        """The servers that did not start and are not required."""
        return [server.skipped for server in self._servers if server.skipped is not None]

    @property
    def is_loaded(self) -> bool:
        """Whether the tools are known, so that `load` starts nothing."""
        return self._listed is not None

    def pick_server(self, name: str | None) -> McpServer:
        """Return the server of that name, or the only one. Raises `UsageError` if there is no such server."""
        found = [server for server in self._servers if name in (None, server.config.name)]
        if len(found) != 1:
            names = ", ".join(server.config.name for server in self._servers)
            raise UsageError(f"say which MCP server is meant, with server=…; there are: {names}")
        return found[0]

    def load(self) -> Toolbox:
        """Start the servers if the tools are not known yet, and return the tools. This blocks until all have started.

        Raises:
            ServerFailed: A server did not start.
            ToolsChanged: A server has changed the descriptions of its tools.
        """
        return join_tools(Toolbox(), [self])

    async def aload(self) -> Toolbox:
        """Return the tools as `load` does, without blocking the event loop."""
        await self.astart()
        return await asyncio.to_thread(self.load)  # cleaning what a server says takes a while

    def start(self) -> "Sequence[ListedTool]":
        """Start the servers, if that was not done, and return their lists."""
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
        names = {str(definition["name"]) for tools in listed for definition in tools}
        for config in (server.config for server in self._servers):
            if unknown := [each for each in config.asked_tools if each not in names]:
                raise _build_name_error(config, "approve", unknown[0], names)
        pairs = list(zip(self._servers, listed, strict=True))
        for config, own in ((server.config, {str(each["name"]) for each in tools}) for server, tools in pairs):
            unknown = [each for each in config.unasked or () if each not in own and each != "*"]
            if unknown and own:  # a server that is not required may have failed
                raise _build_name_error(config, "autoApprove or alwaysAllow", unknown[0], own)
        return [ListedTool(server, definition) for server, tools in pairs for definition in tools]

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self.load())

    def close(self) -> None:
        """Stop the servers, and wait until they have stopped. A call of one of the tools starts its server again."""
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
    skipped += [each for source in sources for each in source.skipped]
    order = {server: place for place, server in enumerate(dict.fromkeys(server for server, _ in listed), start=1)}
    named = [(server.config, order[server], name) for server, name in listed]
    names = spell_names(named, [*own.names, *RESERVED_NAMES])
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


def _build_name_error(config: ServerConfig, key: str, name: str, names: Iterable[str]) -> UsageError:
    hint = f"; did you mean {similar}?" if (similar := nearest(name, names)) else ""
    return UsageError(f"the MCP server {config.name}: {key} names {name!r}, which is no tool{hint}")


def _skip(server: McpServer, name: str, reason: str) -> Skipped:
    return Skipped(name=f"{server.config.name}.{name}", reason=reason)
