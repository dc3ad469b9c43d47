"""Messages to and from a server: one line of JSON each for a child process, or over HTTP by the transports of the SDK.

The transport of the SDK reads lines of any length, and prints what the server writes to its standard error. Here lines
that are no messages are dropped, and the end of the log is kept for error messages.

What this program keeps for a server is bounded, whatever the server sends and however little it reads:

- A message has a limit of bytes, and a limit of JSON values: a few bytes of JSON can be hundreds in memory. It is
  counted before it is parsed.
- Requests of a server are read only as long as its answers are taken (`_BoundedReader`, `_BoundedWriter`), and a server
  that does not read for minutes is ended.

A server ends in three steps: its standard input is closed, it is terminated, it is killed; each with its process group,
so that a launcher such as `npx` leaves nothing behind.

Over HTTP, hooks of the HTTP client count the answers. Compressed answers are not asked for, and are refused:
a few kilobytes can become gigabytes before anybody counts them.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

import anyio
import httpx2
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from toolspeak.mcp.config import ServerConfig
from toolspeak.mcp.failure import ServerFailure, find_reason
from toolspeak.mcp.login import ask_for_login, has_own_key, open_login
from toolspeak.values.errors import UsageError
from toolspeak.values.log import LOG

MAX_MESSAGE_BYTES = 16_000_000  # a server that sends more is ended
MAX_MESSAGE_VALUES = 200_000  # JSON values in a message; a server that sends more is ended
MAX_WAITING_ANSWERS = 100  # to a server's own requests; with more, no further ones are read
MAX_REQUEST_CHARS = 100_000  # of a server's own request; a longer one is dropped, since it is kept until it is answered
WRITE_TIMEOUT_SECONDS = 120.0  # for a server to read a message; it may be busy with a call meanwhile
RECONNECT_SECONDS = 1.0  # between two requests for the stream of a server's own messages
GRACE_SECONDS = 1.0  # for a server to end after its input is closed, and again after it is terminated
MAX_LOG_BYTES = 2_000  # of the end of a server's log
CONNECT_TIMEOUT_SECONDS = 30.0
GOODBYE_TIMEOUT_SECONDS = 2.0  # to answer that a session has ended; the session ends without the answer, too
_READ_BYTES, _POLL_SECONDS, _NEWLINE = 65_536, 0.01, b"\n"
_MAX_REDIRECTS = 5
_MAX_RECEIPT_BYTES = 10_000  # of a notification or an answer of this program


SESSION_UNKNOWN = -32091
"""The code of the error of a call that an HTTP server refused since it does not know the session; never a server's."""

UNREADABLE = -32092
"""The code of the error of a call whose answer cannot be read; never a server's."""

_OWN_CODES = (mcp_types.CONNECTION_CLOSED, SESSION_UNKNOWN, UNREADABLE)
_SDK_STREAM_ERROR = "SSE stream "  # how the SDK begins the errors that it gives as answers where a stream has ended,
_SDK_PARSE_ERROR = "Failed to parse "  # and where an answer could not be read
_INVALID_JSON = re.compile(r"Invalid JSON: [^\[\n]*+")
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}:]|[^\s"\[\]{}:,]++', re.DOTALL)
_NO_SESSION = re.compile(rb"session|not initialized", re.IGNORECASE)

_UNUSED_NOTIFICATIONS = frozenset(
    f"notifications/{name}"
    for name in ("message", "tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated")
)
"""What nobody here listens to: the tools of a server are listed once, and its logs are for the one who runs it."""

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_LINE_END = re.compile(rb"\r\n|\n|\r")


class MessageTooLarge(Exception):
    """A server sent more in one message than is kept for it; the text says what."""


def count_values(message: bytes | bytearray) -> int:
    """Return how many values JSON text holds, empty ones twice, without parsing it. Marks in strings do not count."""
    most = sum(map(message.count, (b",", b"[", b"{")))
    return most if most <= MAX_MESSAGE_VALUES else sum(map(_STRING.sub(b"", message).count, (b",", b"[", b"{")))


def check_message(size: int, values: int) -> None:
    """Raise `MessageTooLarge` for a message of more bytes or values than are kept for a server."""
    if size > MAX_MESSAGE_BYTES:
        raise MessageTooLarge(f"it sent a message of more than {MAX_MESSAGE_BYTES // 1_000_000} MB")
    if values > MAX_MESSAGE_VALUES:
        raise MessageTooLarge(f"it sent a message of more than {MAX_MESSAGE_VALUES:,} values")


def find_answered_id(text: str) -> int | str | None:
    """Return the id of an answer that cannot be parsed, by a look at its outermost object; None for what is no answer.

    Examples:
        >>> find_answered_id('{"jsonrpc": "2.0", "result": {"id": 1, "all": [[[…]]]}, "id": 7}')
        7
    """
    depth, last, key, keys = 0, "", "", dict[str, str]()
    for found in _TOKEN.finditer(text):
        piece = found[0]
        if depth == 1 and piece == ":":
            key = last
        elif depth == 1 and last == ":":
            keys[key] = piece
        depth += piece in ("{", "[")
        depth -= piece in ("}", "]")
        last = piece
    if '"method"' in keys or not {'"result"', '"error"'} & keys.keys():
        return None
    with suppress(ValueError):
        value = json.loads(keys.get('"id"', ""))
        return value if isinstance(value, int | str) else None
    return None


def answer_unreadable(error: ValidationError) -> SessionMessage | None:
    """Return an error in the place of an answer that cannot be read, for which somebody waits; None for no answer."""
    first = error.errors(include_url=False)[0]
    content = first["input"]
    is_json = first["type"] != "json_invalid"
    text = json.dumps(content) if is_json else content if isinstance(content, str) else content.decode(errors="replace")
    answered = find_answered_id(text)
    if answered is None:
        return None
    reason = "no message of JSON-RPC" if is_json else find_reason(error)
    data = mcp_types.ErrorData(code=UNREADABLE, message=reason)
    return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=answered, error=data))


class _StreamEnd:
    """One of the two streams of a transport, which the SDK closes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()


class _BoundedWriter(_StreamEnd):
    """The stream that the SDK writes messages to. It knows how many wait until the server reads them.

    Attributes:
        waiting: How many messages wait.
    """

    def __init__(self, stream: Any, failure: ServerFailure, timeout: float) -> None:
        super().__init__(stream)
        self._failure = failure
        self._timeout = timeout
        self._has_room = asyncio.Event()
        self._has_room.set()
        self.waiting = 0

    async def send(self, item: SessionMessage) -> None:
        self.waiting += 1
        if self.waiting >= MAX_WAITING_ANSWERS:
            self._has_room.clear()
        try:
            async with asyncio.timeout(self._timeout):
                await self._stream.send(item)
        except TimeoutError:
            note_stall(self._failure, self._timeout)
            raise anyio.BrokenResourceError from None
        finally:
            self.waiting -= 1
            if self.waiting < MAX_WAITING_ANSWERS:
                self._has_room.set()

    async def wait_for_room(self) -> None:
        """Wait until fewer messages than the limit wait for the server."""
        await self._has_room.wait()


class _BoundedReader(_StreamEnd):
    """The stream that the SDK reads messages from. Each request in it costs an answer, which has to be kept."""

    def __init__(self, stream: Any, writer: _BoundedWriter, failure: ServerFailure) -> None:
        super().__init__(stream)
        self._writer = writer
        self._failure = failure

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while True:
            item: SessionMessage | Exception = await self._stream.receive()
            if isinstance(item, ValidationError):  # which the session would drop
                if (unreadable := answer_unreadable(item)) is not None:
                    return unreadable
                continue
            message = None if isinstance(item, Exception) else item.message
            if isinstance(message, mcp_types.JSONRPCNotification) and message.method in _UNUSED_NOTIFICATIONS:
                continue
            if isinstance(message, mcp_types.JSONRPCRequest):
                if len(message.model_dump_json()) > MAX_REQUEST_CHARS:
                    LOG.debug("a request of an MCP server is too long, and was dropped")
                    continue
                await self._writer.wait_for_room()
            if isinstance(message, mcp_types.JSONRPCError):
                self._set_code(message)
            return item

    def _set_code(self, message: mcp_types.JSONRPCError) -> None:
        """Keep some codes for what they say here: servers use the same ones for errors of their own."""
        error = message.error
        if message.id in self._failure.refused_ids:
            self._failure.refused_ids.discard(message.id)
            error.code = SESSION_UNKNOWN
        elif error.code == mcp_types.PARSE_ERROR and error.message.startswith(_SDK_PARSE_ERROR):
            found = _INVALID_JSON.search(error.message)
            error.code, error.message = UNREADABLE, found[0].strip() if found else error.message
        elif error.code in _OWN_CODES and not error.message.startswith(_SDK_STREAM_ERROR):
            error.code = mcp_types.INTERNAL_ERROR

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


def bound_streams(streams: Any, failure: ServerFailure, timeout: float) -> tuple[_BoundedReader, _BoundedWriter]:
    """Return the two streams of a transport as streams that keep a bounded number of messages for the server."""
    writer = _BoundedWriter(streams[1], failure, timeout)
    return _BoundedReader(streams[0], writer, failure), writer


def note_stall(failure: ServerFailure, timeout: float) -> None:
    """Note that a server does not read what it is sent."""
    failure.reason = f"it did not read what it was sent for {timeout:g} s"
    failure.is_over = True


@asynccontextmanager
async def open_stdio(
    config: ServerConfig, failure: ServerFailure, write_timeout: float = WRITE_TIMEOUT_SECONDS
) -> AsyncGenerator[tuple[object, object]]:
    """Run a server, and yield the streams that the SDK reads messages from and writes messages to.

    `failure` is told why the connection ended, if the server is the cause.
    """
    process = await _start(config)
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read_messages(process, to_session, failure)),
        asyncio.create_task(_write_messages(process, from_session, to_session, failure, write_timeout)),
        asyncio.create_task(_read_log(process, failure)),
    ]
    try:
        yield bound_streams((incoming, outgoing), failure, write_timeout)
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
        async for line in _read_lines(process):
            check_message(0, count_values(line))
            try:
                message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError as error:
                if line.lstrip().startswith(b"{"):
                    await to_session.send(error)
                else:
                    dropped += 1  # servers print greetings
                continue
            await to_session.send(SessionMessage(message))
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):  # the session has ended
        pass
    except MessageTooLarge as error:
        failure.reason = str(error)
        _signal(process, "SIGKILL")
    finally:
        if dropped:
            LOG.debug("an MCP server wrote %d lines that are no messages", dropped)
        failure.is_over = True
        to_session.close()  # the session learns that nothing more comes
        await _drain(process)


async def _read_lines(process: asyncio.subprocess.Process) -> AsyncIterator[bytes]:
    assert process.stdout is not None  # noqa: S101 (it is a pipe)
    buffer = bytearray()
    while chunk := await process.stdout.read(_READ_BYTES):
        first, *others = chunk.split(_NEWLINE)
        buffer += first
        for other in others:
            if buffer.strip():
                yield bytes(buffer)
            buffer = bytearray(other)
        check_message(len(buffer), 0)


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
    failure: ServerFailure,
    timeout: float,
) -> None:
    assert process.stdin is not None  # noqa: S101 (it is a pipe)
    try:
        async for each in from_session:
            line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + _NEWLINE)
            async with asyncio.timeout(timeout):
                await process.stdin.drain()
    except TimeoutError:
        note_stall(failure, timeout)
        _signal(process, "SIGKILL")  # which ends the messages from it, too
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
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_SECONDS, read=None)  # a call may take long; the agent has its own timeout
    guard = _AnswerGuard(config, failure)
    async with (
        open_login(config) as login,
        guard.build_client(headers=dict(config.headers), timeout=timeout, auth=login) as client,
        _open_events(client, config.url, failure)
        if config.transport == "sse"
        else streamable_http_client(config.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield bound_streams(streams, failure, WRITE_TIMEOUT_SECONDS)


@asynccontextmanager
async def _open_events(
    client: httpx2.AsyncClient, url: str, failure: ServerFailure
) -> AsyncGenerator[tuple[object, object]]:
    """Connect in the form before 2025: answers come in one stream of events, which first names where messages go.

    The transport of the SDK leaves a call without an answer if its message is refused, and takes 1 MB at most.
    """
    asked = client.build_request("GET", url, headers={"accept": "text/event-stream", "cache-control": "no-store"})
    response = await _send_within_origin(client, asked)
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    address: asyncio.Queue[str] = asyncio.Queue()

    async def read_events() -> None:
        async for event in httpx2.EventSource(response, max_event_size=MAX_MESSAGE_BYTES):
            if event.event == "endpoint":
                address.put_nowait(event.data)
            elif event.event == "message" and event.data:
                try:
                    item = SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(event.data, by_name=False))
                except ValidationError as error:
                    item = error
                await to_session.send(item)

    async def post_messages() -> None:
        target = httpx2.URL(url).join(await address.get())
        if not _is_within_origin(httpx2.URL(url), target):
            raise ValueError("it wants its messages at another origin")
        async for each in from_session:
            line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            message = client.build_request("POST", target, content=line, headers={"content-type": "application/json"})
            await (await _send_within_origin(client, message)).aclose()

    async def note_end(work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):  # the session has ended
            pass
        except Exception as error:
            failure.reason = failure.reason or find_reason(error)
        finally:
            failure.is_over = True
            to_session.close()  # the session learns that nothing more comes

    tasks = [asyncio.create_task(note_end(work)) for work in (read_events(), post_messages())]
    try:
        yield incoming, outgoing
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (to_session, incoming, outgoing, from_session):
            stream.close()
        await response.aclose()


async def _send_within_origin(client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
    """Send a request, with the redirects that stay within its origin. Raises `HTTPStatusError` if it is refused."""
    response = await client.send(request, stream=True, follow_redirects=False)
    for _ in range(_MAX_REDIRECTS):
        following = response.next_request
        if following is None or following.method != request.method or not _is_within_origin(request.url, following.url):
            break
        await response.aclose()
        response = await client.send(following, stream=True, follow_redirects=False)
    if not response.is_success:
        await response.aclose()
        response.raise_for_status()
    return response


def _is_within_origin(url: httpx2.URL, other: httpx2.URL) -> bool:
    return (url.scheme, url.host, url.port) == (other.scheme, other.host, other.port)


class _AnswerGuard:
    """Refuses answers that are compressed or too large: each event of a stream, and any other answer as a whole."""

    def __init__(self, config: ServerConfig, failure: ServerFailure) -> None:
        self._config = config
        self._failure = failure
        self._next_stream = 0.0  # when the server may be asked for its own messages again

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
        seconds = None
        if request.method == "DELETE":  # the end of the session
            seconds = GOODBYE_TIMEOUT_SECONDS
        elif request.method == "POST" and (self._config.transport == "sse" or not _is_call(request)):
            seconds = WRITE_TIMEOUT_SECONDS  # nothing but the receipt is waited for, and all other messages wait for it
        elif request.method == "GET" and _asks_for_events(request):
            # The SDK asks again as soon as the server ends the stream, if the server wishes so.
            now = asyncio.get_running_loop().time()
            wait, self._next_stream = self._next_stream - now, max(now, self._next_stream) + RECONNECT_SECONDS
            await asyncio.sleep(max(wait, 0.0))
        if seconds is not None:
            request.extensions = {**request.extensions, "timeout": httpx2.Timeout(seconds).as_dict()}

    async def _check(self, response: httpx2.Response) -> None:
        if self._config.on_login is None:
            self._note_refusal(response)
        if response.request.method == "POST":
            self._failure.post_status = response.status_code
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            self._failure.reason = "it sent a compressed answer, which it was not asked for"
            raise httpx2.DecodingError(self._failure.reason, request=response.request)
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 (the client is async)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_read_by_event = (
            response.status_code == 200
            and kind == "text/event-stream"
            and response.request.method in ("GET", "POST")
            and _asks_for_events(response.request)
        )
        response.encoding = "utf-8"  # which is how the bytes are counted
        response.stream = (_CountedEvents if is_read_by_event else _CountedAnswer)(stream, self._failure)
        if response.status_code in (400, 404) and "mcp-session-id" in response.request.headers:
            await self._note_unknown_session(response)

    async def _note_unknown_session(self, response: httpx2.Response) -> None:
        """Note the call that a server refused because it does not know the session, as after its restart."""
        body = await response.aread()
        if _NO_SESSION.search(body) or (response.status_code == 404 and b"jsonrpc" not in body):
            with suppress(ValueError, TypeError, KeyError):  # not a call
                self._failure.refused_ids.add(json.loads(response.request.content)["id"])

    def _note_refusal(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in (401, 403):
            asks_for_login = status == 401 and not has_own_key(self._config)
            cure = ask_for_login(self._config) if asks_for_login else "it needs a key, or another one"
            self._failure.reason = f"it answered with HTTP {status}: {cure}"
        elif status < 300 and self._failure.reason.startswith("it answered with HTTP"):  # the token was refreshed
            self._failure.reason = ""


def _asks_for_events(request: httpx2.Request) -> bool:
    """Whether the SDK reads the answer to a request event by event. It reads all others whole."""
    return "text/event-stream" in request.headers.get("accept", "")


def _is_call(request: httpx2.Request) -> bool:
    """Whether a request is answered with a result, and so may take long; others are notifications and answers."""
    if len(request.content) > _MAX_RECEIPT_BYTES:
        return True
    try:
        message = json.loads(request.content)
    except ValueError:
        return True
    return not isinstance(message, dict) or ("method" in message and "id" in message)


class _CountedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, failure: ServerFailure) -> None:
        self._stream = stream
        self._failure = failure

    async def aclose(self) -> None:
        await self._stream.aclose()


class _CountedAnswer(_CountedStream):
    """An answer that is read whole: nothing of it is handed over before all of it was counted."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = bytearray()
        try:
            async for chunk in self._stream:
                body += chunk
                check_message(len(body), 0)
            check_message(0, count_values(body))
        except MessageTooLarge as error:
            self._failure.reason = str(error)
            raise httpx2.StreamError(self._failure.reason) from None
        yield bytes(body)


class _CountedEvents(_CountedStream):
    """A stream of events. A line is counted before the end of its event is handed over."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        counter = EventCounter()
        try:
            async for chunk in self._stream:
                counter.add(chunk)
                yield chunk
        except MessageTooLarge as error:
            self._failure.reason = str(error)
            raise httpx2.SSEError(self._failure.reason) from None


class EventCounter:
    """Counts the bytes and the values of each event in a stream of them."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._size = self._values = 0
        self._ends_with_return = False

    def add(self, chunk: bytes) -> None:
        """Count the next bytes. Raises `MessageTooLarge`."""
        if self._ends_with_return:
            chunk = b"\r" + chunk
        self._ends_with_return = chunk.endswith(b"\r")  # a line feed may follow, which ends the same line
        first, *others = _LINE_END.split(chunk[:-1] if self._ends_with_return else chunk)
        self._line += first
        for other in others:
            self._end_line()
            self._line += other
        check_message(self._size + len(self._line), 0)

    def _end_line(self) -> None:
        if self._line:
            if not self._line.startswith(b":"):  # a comment, which is dropped
                self._size += len(self._line)
                self._values += count_values(self._line)
                check_message(self._size, self._values)
            self._line = bytearray()
        else:  # the end of an event
            self._size = self._values = 0
