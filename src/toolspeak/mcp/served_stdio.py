"""An MCP server over standard input and output: a message on each line, until the client closes its end.

Nothing else may be written there. While the server runs, what functions and their children print goes to standard
error, and they read nothing. A client cannot fill the memory: a line has a largest length, the calls that run and wait
are limited (`CallGate` in `served_tools.py`), and nothing more is read while many answers wait to be written.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import BinaryIO, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from mcp import types
from toolspeak.execution.outcome import CallOutcome, Raised
from toolspeak.execution.threads import ThreadPool
from toolspeak.mcp.served_tools import MAX_MESSAGE_BYTES, ToolServer

MAX_WAITING_ANSWERS = 64  # to be written, while more is read
SKIPPED_BYTES = 65_536  # of a line that is too long, at once

T = TypeVar("T")


def serve_stdio(server: ToolServer) -> None:
    """Serve over the standard input and output of this process, until the client closes one of them."""
    with claim_standard_streams() as (source, sink):
        asyncio.run(serve_streams(server, source, sink))


@contextmanager
def claim_standard_streams() -> Generator[tuple[BinaryIO, BinaryIO]]:
    """Take standard input and output away from all other code, and yield them as files."""
    sys.stdout.flush()
    wire_in, wire_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    # Never closed: a thread may still be waiting for one of them when the server has ended.
    source = open(wire_in, "rb", closefd=False)  # noqa: SIM115 (open as long as the process)
    sink = open(wire_out, "wb", buffering=0, closefd=False)  # noqa: SIM115 (open as long as the process)
    try:
        with redirect_stdout(sys.stderr):
            yield source, sink
    finally:
        sys.stderr.flush()
        os.dup2(wire_in, 0)
        os.dup2(wire_out, 1)


async def serve_streams(server: ToolServer, source: BinaryIO, sink: BinaryIO) -> None:
    """Serve over two files, until `source` ends or `sink` cannot be written to."""
    incoming_end, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outgoing_end = anyio.create_memory_object_stream[SessionMessage](0)
    connection = _StreamConnection(source, sink, incoming_end, outgoing)
    protocol = server.protocol
    async with anyio.create_task_group() as group:

        async def write() -> None:
            try:
                await connection.write_messages(outgoing_end)
            except OSError:  # the client no longer reads
                group.cancel_scope.cancel()

        group.start_soon(connection.read_messages)
        group.start_soon(write)
        await protocol.run(incoming, outgoing, protocol.create_initialization_options())


class _StreamConnection:
    """The messages of one client, read and written in threads: a file may block at any time."""

    def __init__(
        self,
        source: BinaryIO,
        sink: BinaryIO,
        incoming: MemoryObjectSendStream[SessionMessage | Exception],
        outgoing: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        self._source = source
        self._sink = sink
        self._incoming = incoming
        self._outgoing = outgoing.clone()
        self._pool = ThreadPool()
        self._written = asyncio.Event()

    async def read_messages(self) -> None:
        async with self._incoming, self._outgoing:
            while line := await _run_in_thread(self._pool, self._read_line):
                await self._wait_for_writer()
                try:
                    await self._take_line(line)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):  # the server has ended
                    return

    def _read_line(self) -> bytes:
        """Read a line. One that is too long is skipped, and its beginning is returned. Empty: there is no more."""
        line = self._source.readline(MAX_MESSAGE_BYTES + 1)
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = self._source.readline(SKIPPED_BYTES)
        return line

    async def _take_line(self, line: bytes) -> None:
        if len(line) > MAX_MESSAGE_BYTES:
            await self._refuse(types.INVALID_REQUEST, f"the message is longer than {MAX_MESSAGE_BYTES:,} bytes")
        elif line.strip():
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                await self._refuse(types.PARSE_ERROR, "the line is not a JSON-RPC message")
            else:
                await self._incoming.send(SessionMessage(message))

    async def _refuse(self, code: int, reason: str) -> None:
        error = types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=code, message=reason))
        await self._outgoing.send(SessionMessage(error))

    async def _wait_for_writer(self) -> None:
        while self._outgoing.statistics().tasks_waiting_send >= MAX_WAITING_ANSWERS:
            self._written.clear()
            await self._written.wait()

    async def write_messages(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with outgoing:
            async for each in outgoing:
                data = each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                await _run_in_thread(self._pool, lambda data=data: self._write(data))
                self._written.set()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._sink.write(view) :]


async def _run_in_thread(pool: ThreadPool, function: Callable[[], T]) -> T:
    """Run a function in a daemon thread, which nobody waits for when this task is cancelled."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def end(outcome: CallOutcome) -> None:
        if ended.cancelled():
            return
        if isinstance(outcome, Raised):
            ended.set_exception(outcome.error)
        else:
            ended.set_result(outcome.value)

    def pass_on(outcome: CallOutcome) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(end, outcome)

    pool.start(function, pass_on)
    return await ended
