"""`McpServer`: a server for as long as somebody has its tools.

It starts when its tools are first needed. It ends when it is closed, when nobody has its tools any more, or with the
program. A server that has died is started again at the next call, once: if it dies again without having answered a
call, it stays down. A call that was under way when the server died is not repeated, since it may have taken effect.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeAlias

from toolspeak.errors import ServerFailed, ToolsChanged
from toolspeak.log import LOG
from toolspeak.mcp_client.config import ServerConfig
from toolspeak.mcp_client.connection import Connection, Definition
from toolspeak.mcp_client.pinning import find_changes, select_pinned
from toolspeak.mcp_client.results import read_result
from toolspeak.spec import ToolSpec
from toolspeak.tools import Context, Tool
from toolspeak.tools.context import ProgressCallback
from toolspeak.tools.schema_function import describe_function

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
    """A server that is started when it is needed.

    Attributes:
        config: How the server is reached.
    """

    def __init__(self, config: ServerConfig, check: DefinitionsCheck) -> None:
        self.config = config
        self._check = check
        self._lock = threading.Lock()
        self._slot = _ConnectionSlot()
        self._restarts_left = 1
        self._known: Sequence[Definition] | None = None
        self._accepted: Connection | None = None
        weakref.finalize(self, self._slot.close).atexit = False  # `close_all` ends servers at the end of the program

    def begin(self) -> None:
        """Start the server, if it does not run, without waiting for it."""
        self._start()

    def load(self) -> Sequence[Definition]:
        """Start the server, if it does not run, and return the definitions of its tools."""
        connection = self._start()
        return self._accept(connection, connection.started.result())

    async def aload(self) -> Sequence[Definition]:
        """Start the server as `load` does, without blocking the event loop."""
        connection = self._start()
        return self._accept(connection, await _wait_for(connection.started))

    def _start(self) -> Connection:
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
