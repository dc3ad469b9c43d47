"""Messages to and from a server: one line of JSON each for a child process, or over HTTP by the transports of the SDK.

The transport of the SDK reads lines of any length, and prints what the server writes to its standard error. Here a
message has a limit, lines that are no messages are dropped, and the end of the log is kept for error messages.

A server ends in three steps: its standard input is closed, it is terminated, it is killed; each with its process group,
so that a launcher such as `npx` leaves nothing behind.

Over HTTP, hooks of the HTTP client limit the size of an answer. Compressed answers are not asked for, and are refused:
a few kilobytes can become gigabytes before anybody counts them.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.sse import sse_client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from toolspeak.mcp.config import ServerConfig
from toolspeak.mcp.failure import ServerFailure
from toolspeak.mcp.login import ask_for_login, has_own_key, open_login
from toolspeak.values.errors import UsageError
from toolspeak.values.log import LOG

MAX_MESSAGE_BYTES = 16_000_000  # a server that sends more is ended
GRACE_SECONDS = 1.0  # for a server to end after its input is closed, and again after it is terminated
MAX_LOG_BYTES = 2_000  # of the end of a server's log
CONNECT_TIMEOUT_SECONDS = 30.0
GOODBYE_TIMEOUT_SECONDS = 2.0  # to answer that a session has ended; the session ends without the answer, too
_READ_BYTES, _POLL_SECONDS, _NEWLINE = 65_536, 0.01, b"\n"


@asynccontextmanager
async def open_stdio(config: ServerConfig, failure: ServerFailure) -> AsyncGenerator[tuple[object, object]]:
    """Run a server, and yield the streams that the SDK reads messages from and writes messages to.

    `failure` is told why the connection ended, if the server is the cause.
    """
    process = await _start(config)
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read_messages(process, to_session, failure)),
        asyncio.create_task(_write_messages(process, from_session, to_session)),
        asyncio.create_task(_read_log(process, failure)),
    ]
    try:
        yield incoming, outgoing
    finally:
        # Nothing may cancel the ending: it is bounded, and what it does not do is left behind.
        ending = asyncio.ensure_future(_end(process, tasks))
        while not ending.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(ending)
        for stream in (to_session, incoming, outgoing, from_session):
            stream.close()


async def _start(config: ServerConfig) -> asyncio.subprocess.Process:
    env = get_default_environment() | dict(config.env)
    named = config.command[0]
    is_path = Path(named).name != named
    if is_path and config.cwd:  # it is relative to the folder in which the server starts
        named = str(Path(config.cwd, named).absolute())
    searched = env.get("PATH")
    if searched is not None and "PATH" not in config.env:  # the user's: what it finds must not depend on the folder
        searched = os.pathsep.join(folder for folder in searched.split(os.pathsep) if Path(folder).is_absolute())
    program = shutil.which(named, path=searched)
    # Windows searches the working directory, too.
    if program is None or not (is_path or "PATH" in config.env or Path(program).is_absolute()):
        place = "" if is_path else " on the PATH"
        raise UsageError(f"the MCP server {config.name}: there is no program {named!r}{place}")
    try:
        return await asyncio.create_subprocess_exec(
            program,
            *config.command[1:],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=env,
            cwd=config.cwd,
            start_new_session=True,  # Ctrl-C in the terminal does not reach it, and its whole group can be ended
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"the MCP server {config.name} cannot be started: {reason}") from None


async def _read_messages(
    process: asyncio.subprocess.Process,
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
    failure: ServerFailure,
) -> None:
    dropped = 0
    try:
        async for line in _read_lines(process, failure):
            try:
                message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                dropped += 1  # servers print greetings
                continue
            await to_session.send(SessionMessage(message))
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):  # the session has ended
        pass
    finally:
        if dropped:
            LOG.debug("an MCP server wrote %d lines that are no messages", dropped)
        failure.is_over = True
        to_session.close()  # the session learns that nothing more comes
        await _drain(process)


async def _read_lines(process: asyncio.subprocess.Process, failure: ServerFailure) -> AsyncIterator[bytes]:
    assert process.stdout is not None  # noqa: S101 (it is a pipe)
    buffer = bytearray()
    while chunk := await process.stdout.read(_READ_BYTES):
        first, *others = chunk.split(_NEWLINE)
        buffer += first
        for other in others:
            if buffer.strip():
                yield bytes(buffer)
            buffer = bytearray(other)
        if len(buffer) > MAX_MESSAGE_BYTES:
            failure.reason = f"it sent a message of more than {MAX_MESSAGE_BYTES // 1_000_000} MB"
            _signal(process, "SIGKILL")
            return


async def _drain(process: asyncio.subprocess.Process) -> None:
    """Read and drop what the server still writes: a full pipe would keep it from ending."""
    assert process.stdout is not None  # noqa: S101 (it is a pipe)
    with suppress(OSError, ValueError):
        while await process.stdout.read(_READ_BYTES):
            pass


async def _write_messages(
    process: asyncio.subprocess.Process,
    from_session: MemoryObjectReceiveStream[SessionMessage],
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    assert process.stdin is not None  # noqa: S101 (it is a pipe)
    try:
        async for each in from_session:
            line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + _NEWLINE)
            await process.stdin.drain()
    except OSError:  # the server has closed its input
        to_session.close()


async def _read_log(process: asyncio.subprocess.Process, failure: ServerFailure) -> None:
    assert process.stderr is not None  # noqa: S101 (it is a pipe)
    while chunk := await process.stderr.read(_READ_BYTES):
        failure.log = (failure.log + chunk)[-MAX_LOG_BYTES:]


async def _end(process: asyncio.subprocess.Process, tasks: list[asyncio.Task[None]]) -> None:
    assert process.stdin is not None  # noqa: S101 (it is a pipe)
    with suppress(OSError, RuntimeError):
        process.stdin.close()
    for name in ("SIGTERM", "SIGKILL"):
        if await _wait_for_exit(process):
            break
        _signal(process, name)
    else:
        await _wait_for_exit(process)
    _signal(process, "SIGKILL")  # what is left of its group
    await asyncio.wait(tasks, timeout=_POLL_SECONDS)  # the end of the log
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    # A process that left the group may hold the pipes open; nothing public closes our ends of them.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


async def _wait_for_exit(process: asyncio.subprocess.Process) -> bool:
    """Whether the server ends in time. Its pipes may stay open: a process that it started may have them."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + GRACE_SECONDS
    while process.returncode is None and loop.time() < deadline:
        await asyncio.sleep(_POLL_SECONDS)
    return process.returncode is not None


def _signal(process: asyncio.subprocess.Process, name: str) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, getattr(signal, name))


@asynccontextmanager
async def open_http(config: ServerConfig, failure: ServerFailure) -> AsyncGenerator[tuple[object, object]]:
    """Connect to a server, and yield the streams that the SDK reads messages from and writes messages to."""
    guard = _AnswerGuard(config, failure)
    headers = dict(config.headers)
    if config.transport == "sse":
        async with (
            open_login(config, failure) as login,
            sse_client(config.url, headers=headers, httpx_client_factory=guard.build_client, auth=login) as streams,
        ):
            yield streams
        return
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_SECONDS, read=None)  # a call may take long; the agent has its own timeout
    async with (
        open_login(config, failure) as login,
        guard.build_client(headers=headers, timeout=timeout, auth=login) as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams


class _AnswerGuard:
    """Refuses answers that are compressed or too large. The events of a stream have a limit each, in the SDK."""

    def __init__(self, config: ServerConfig, failure: ServerFailure) -> None:
        self._config = config
        self._failure = failure

    def build_client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """Build a client whose answers are checked. It uses the proxies that environment variables name."""
        hooks: dict[str, list[Any]] = {"request": [self._prepare], "response": [self._check]}
        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, event_hooks=hooks)

    async def _prepare(self, request: httpx2.Request) -> None:
        request.headers["accept-encoding"] = "identity"
        if request.method == "DELETE":  # the end of the session
            timeout = httpx2.Timeout(GOODBYE_TIMEOUT_SECONDS).as_dict()
            request.extensions = {**request.extensions, "timeout": timeout}

    async def _check(self, response: httpx2.Response) -> None:
        if self._config.on_login is None:
            self._note_refusal(response)
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            self._failure.reason = "it sent a compressed answer, which it was not asked for"
            raise httpx2.DecodingError(self._failure.reason, request=response.request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            stream = response.stream
            assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 (the client is async)
            response.stream = _LimitedStream(stream, self._failure)

    def _note_refusal(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in (401, 403):
            asks_for_login = status == 401 and not has_own_key(self._config)
            cure = ask_for_login(self._config) if asks_for_login else "it needs a key, or another one"
            self._failure.reason = f"it answered with HTTP {status}: {cure}"
        elif status < 300 and self._failure.reason.startswith("it answered with HTTP"):  # the token was refreshed
            self._failure.reason = ""


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, failure: ServerFailure) -> None:
        self._stream = stream
        self._failure = failure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_MESSAGE_BYTES:
                self._failure.reason = f"it sent a message of more than {MAX_MESSAGE_BYTES // 1_000_000} MB"
                raise httpx2.StreamError(self._failure.reason)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
