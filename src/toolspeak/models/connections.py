"""HTTP/1.1 connections to models, which stay open between requests.

A request to a model needs no cookies, redirects or forms. Without them it takes a third of the CPU time that it takes
in aiohttp, which was most of what a short run cost. What is here is the rest: a pool for each event loop, TLS, proxies,
and responses that are read while they arrive. `transport.py` says what an error means and when a request is sent again.

A connection goes back to the pool once the whole response has arrived. It is closed if the response is given up, if
the server says so, or if it sends what was not asked for. While nobody reads a response, about `MAX_UNREAD` bytes of it
are taken from the network, and no more.

No exception here refers to a request or quotes a response: both may hold the key.
"""

import asyncio
import re
import select
import socket
import ssl
import sys
import zlib
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from functools import cache, lru_cache, partial
from inspect import signature
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import SplitResult, quote, unquote, urlsplit
from weakref import WeakKeyDictionary

BUFFER_SIZE = 65_536
"""Bytes that are read at once. All connections of a pool read into the same: each takes what has arrived out of it
before another one reads. To ask for memory at every read would cost page faults."""

MAX_UNREAD = 1_048_576
"""The connection is paused when more bytes of a response than this wait to be read."""

MAX_HEAD_BYTES = 65_536
"""The longest head of a response, and the longest line of a chunk."""

MAX_INFLATED = 262_144
"""Bytes that a compressed body grows to in one read."""

MAX_REQUESTS = 1000
"""Requests of one event loop at the same time; others wait."""

KEPT_SECONDS = 60.0
"""How long a connection is kept that nobody uses."""

STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: .*)?")
HEADER_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?")
LENGTH = re.compile(r"[0-9]{1,18}")
HOST = re.compile(r"[A-Za-z0-9._~%:-]+")
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

DEFAULT_PORTS = {"http": 80, "https": 443}
SAFE = "!$%&'()*+,-./:;=?@_~"  # what stays as it is in a path and in a query
LONE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Inflater(Protocol):
    """What `zlib.decompressobj` returns."""

    @property
    def unused_data(self) -> bytes: ...

    @property
    def unconsumed_tail(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class ConnectError(ConnectionError):
    """A connection could not be opened; `cause` says why."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class NotHttp(ConnectionError):
    """What arrived is no HTTP."""


class CutOff(ConnectionError):
    """The connection ended before the response did."""


class Route(NamedTuple):
    """Where an address leads: the next host, and how it is asked."""

    host: str
    port: int
    is_tls: bool
    tunnel: str  # the host behind a proxy to which TLS goes, with its port; "" if there is none
    target: str
    host_header: str
    key: str  # the header for the name and the password in the address; "" if there are none
    proxy_key: str  # the same for the proxy


@lru_cache(maxsize=256)
def find_route(address: str, proxy: str | None) -> Route:
    """Find out where to connect to. Raises `ValueError` for what is no address."""
    parts = urlsplit(address)
    host, port = parts.hostname or "", _read_port(parts)
    if not host.isascii():
        host = host.encode("idna").decode()
    if parts.scheme not in DEFAULT_PORTS or HOST.fullmatch(host) is None:
        raise ValueError("that is not an address")
    is_tls = parts.scheme == "https"
    named_host = f"[{host}]" if ":" in host else host.rstrip(".")
    host_header = named_host if port in (None, DEFAULT_PORTS[parts.scheme]) else f"{named_host}:{port}"
    port = port or DEFAULT_PORTS[parts.scheme]
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    target = quote(LONE_PERCENT.sub("%25", target), safe=SAFE)
    key = _build_basic(parts)
    if proxy is None:
        return Route(host, port, is_tls, "", target, host_header, key, "")
    via = urlsplit(proxy)
    if via.scheme not in DEFAULT_PORTS or not via.hostname:
        raise ValueError(f"the proxy {via.scheme}://{via.hostname} is not supported; give one with http or https")
    via_port = _read_port(via) or DEFAULT_PORTS[via.scheme]
    target = target if is_tls else f"http://{host_header}{target}"
    tunnel = f"{named_host}:{port}" if is_tls else ""
    return Route(via.hostname, via_port, via.scheme == "https", tunnel, target, host_header, key, _build_basic(via))


def _read_port(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:  # it quotes what may be half of a password
        raise ValueError("that is not an address: its port is no number up to 65535") from None


def _build_basic(parts: SplitResult) -> str:
    """Build the header for a name and a password in an address; "" if there are none."""
    if parts.username is None:
        return ""
    named = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {b64encode(named.encode()).decode()}"


@cache
def _tls_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def build_head(method: str, target: str, headers: Mapping[str, str], size: int | None) -> bytes:
    """Build the head of a request. Raises `ValueError` if a header cannot be sent."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if size is not None:
        lines.append(f"content-length: {size}")
    if CONTROL.search("".join(lines)):
        raise ValueError("a header has a line break or another control character")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


class Pool:
    """The connections of one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.buffer = memoryview(bytearray(BUFFER_SIZE))
        self._slots = asyncio.Semaphore(MAX_REQUESTS)
        self._idle: dict[tuple[object, ...], list[Connection]] = {}
        self.connections: set[Connection] = set()
        self._sweeper: asyncio.TimerHandle | None = None

    async def send(
        self,
        method: str,
        address: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        proxy: str | None,
        connect_timeout: float | None = None,
        read_timeout: float | None = None,
    ) -> "Response":
        """Send a request and return the response, once its head has arrived.

        Raises:
            ConnectError: There is no connection.
            OSError: The connection broke, or nothing arrived in time.
            ValueError: The request cannot be sent.
        """
        route = find_route(address, proxy)
        named = {"host": route.host_header, "accept": "*/*", "accept-encoding": "identity", "user-agent": "toolspeak"}
        if route.key:
            named["authorization"] = route.key
        named.update(headers)
        for name in ("content-length", "transfer-encoding"):  # only we know how the body is sent
            named.pop(name, None)
        if route.proxy_key and not route.tunnel:
            named["proxy-authorization"] = route.proxy_key
        head = build_head(method, route.target, named, None if body is None else len(body))
        await self._slots.acquire()
        response = None
        try:
            connection = await self._connect(route, connect_timeout)
            response = Response(connection, read_timeout)
            connection.write(head + body if body else head)
            await response.wait_for_head()
        except BaseException:
            if response is None:
                self._slots.release()
            else:
                response.close()
            raise
        return response

    async def _connect(self, route: Route, timeout: float | None) -> "Connection":
        """Return a connection that is open, or open one."""
        key = route[:4]
        idle = self._idle.get(key, [])
        while idle:
            connection = idle.pop()
            is_young = self._loop.time() - connection.idle_since < KEPT_SECONDS
            if connection.is_open and is_young and not connection.has_news():
                return connection
            connection.close()
        try:
            async with asyncio.timeout(timeout):
                return await self._open_connection(route, key)
        except (OSError, ssl.CertificateError, UnicodeError) as error:
            cause = error
        raise ConnectError(cause)  # outside of the except block, so that only one of the two is shown

    async def _open_connection(self, route: Route, key: tuple[object, ...]) -> "Connection":
        connection = Connection(self, key)
        create = self._loop.create_connection
        # If a host has several addresses, the next one is tried early. For "localhost", all of them answer at once.
        has_many = route.host != "localhost" and re.search("[g-z]", route.host) is not None
        if has_many and "happy_eyeballs_delay" in signature(create).parameters:  # uvloop's has no such option
            create = partial(create, happy_eyeballs_delay=0.25)
        try:
            await create(
                lambda: connection,
                route.host,
                route.port,
                ssl=_tls_context() if route.is_tls else None,
                server_hostname=route.host.rstrip(".") if route.is_tls else None,
            )
            if route.tunnel:
                await self._tunnel(connection, route)
        except BaseException:
            connection.close()
            connection.connection_lost(None)  # event loops don't call it after a failed TLS handshake
            raise
        return connection

    async def _tunnel(self, connection: "Connection", route: Route) -> None:
        """Ask a proxy for a connection to a host, and speak TLS with that."""
        headers = {"host": route.tunnel} | ({"proxy-authorization": route.proxy_key} if route.proxy_key else {})
        response = Response(connection, None, is_tunnel=True)
        connection.write(build_head("CONNECT", route.tunnel, headers, None))
        await response.wait_for_head()
        if response.status != 200:
            raise ConnectionError(f"the proxy {route.host}:{route.port} answered {response.status}")
        host = route.tunnel.rpartition(":")[0].strip("[]")
        await connection.start_tls(_tls_context(), host)

    def discard(self, connection: "Connection") -> None:
        self.connections.discard(connection)
        idle = self._idle.get(connection.key, [])
        if connection in idle:
            idle.remove(connection)
        if not idle:
            self._idle.pop(connection.key, None)

    def end_request(self, connection: "Connection", *, can_keep: bool) -> None:
        """Let the next request begin, and keep the connection if that is possible."""
        self._slots.release()
        if not can_keep:
            connection.close()
            return
        connection.idle_since = self._loop.time()
        self._idle.setdefault(connection.key, []).append(connection)
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(KEPT_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Close what nobody has used for long."""
        self._sweeper = None
        now, idle = self._loop.time(), [each for listed in self._idle.values() for each in listed]
        for each in idle:
            if now - each.idle_since >= KEPT_SECONDS:
                each.close()
        if idle:
            self._sweeper = self._loop.call_later(KEPT_SECONDS, self._sweep)

    async def close(self) -> None:
        """Close all connections, and wait until they are."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        open_now = list(self.connections)
        for each in open_now:
            if each.response is not None:
                each.response.close()  # otherwise one that ends with the connection would be whole
            each.close()
        if open_now:
            await asyncio.wait([each.closed for each in open_now], timeout=1.0)


class Connection(asyncio.BufferedProtocol):
    """A connection, and the response that it is receiving."""

    def __init__(self, pool: Pool, key: tuple[object, ...]) -> None:
        self.pool = pool
        self.key = key
        self.loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = self.loop.create_future()
        self.is_open = False
        self.idle_since = 0.0
        self.response: Response | None = None
        self._transport: asyncio.Transport | None = None
        self._socket: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._socket = transport.get_extra_info("socket")
        with suppress(OSError):  # a model may be silent for minutes, and a router forgets silent connections
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.is_open = True
        self.pool.connections.add(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.pool.buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self.response is None:
            self.close()  # nobody has asked for anything
        else:
            self.response.feed(bytes(self.pool.buffer[:nbytes]))

    def eof_received(self) -> None:
        """Let the transport close the connection, which no request may use from here on."""
        self.is_open = False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self.pool.discard(self)
        if not self.closed.done():
            self.closed.set_result(None)
        if self.response is not None:
            self.response.end_with_connection(exc)

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        if self._transport is not None:
            self._transport = await self.loop.start_tls(self._transport, self, context, server_hostname=host)

    def pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and self.is_open:
            self._transport.resume_reading()

    def has_news(self) -> bool:
        """Whether bytes or the end have arrived that the event loop, which may have been blocked, hasn't read yet."""
        if self._socket is None:
            return False
        if sys.platform == "win32":
            return bool(select.select([self._socket], [], [], 0)[0])
        poll = select.poll()  # `select.select` fails for file descriptors above 1023
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    @property
    def has_sent_all(self) -> bool:
        return self._transport is not None and self._transport.get_write_buffer_size() == 0

    def close(self) -> None:
        """Close the connection now, without what is still to be sent: the server might never read it."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()


class Response:
    """A response while it arrives: a `sender.HttpResponse`, and its own `HttpContent`."""

    def __init__(self, connection: Connection, read_timeout: float | None, *, is_tunnel: bool = False) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._connection = connection
        self._loop = connection.loop
        self._is_tunnel = is_tunnel
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._rest: bytes = b""  # of the head, or of the line of a chunk
        # How many bytes of the body, or of a chunk, are still to come; None if the body ends with the connection.
        self._left: int | None = None
        self._is_chunked = False
        self._is_at_break = False  # whether a chunk has ended, and its line break is due
        self._is_trailer = False
        self._can_keep = True
        self._has_arrived = False
        self._unread: list[bytes] = []
        self._unread_size = 0
        self._is_paused = False
        self._inflater: Inflater | None = None
        self._read_timeout = read_timeout
        self._last = self._loop.time()
        self._timer = None if read_timeout is None else self._loop.call_later(read_timeout, self._check_time)
        connection.response = self

    @property
    def content(self) -> "Response":
        return self

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "application/octet-stream").partition(";")[0].strip().lower()

    async def wait_for_head(self) -> None:
        while not self.status and self._error is None:
            await self._wait()
        if self._error is not None and not self.status:
            raise self._error

    async def readany(self) -> bytes:
        """Return the bytes that have arrived, at least one; none at the end. Raises `OSError`."""
        while True:
            if self._unread:
                data = self._take()
                if data:
                    return data
            elif self._has_arrived:
                return b""
            elif self._error is not None:
                raise self._error
            else:
                await self._wait()

    def at_eof(self) -> bool:
        """Whether the whole body was read."""
        return self._has_arrived and not self._unread

    def close(self) -> None:
        """Close the connection, unless the whole body has arrived."""
        self._fail(CutOff("the connection was closed here"))

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _take(self) -> bytes:
        """Take what has arrived; of a compressed body a part."""
        data = self._unread[0] if len(self._unread) == 1 else b"".join(self._unread)
        self._unread.clear()
        self._unread_size = 0
        if self._inflater is not None:
            try:
                found = self._inflater.decompress(data, MAX_INFLATED)
                if self._inflater.unused_data:  # zlib would keep everything that follows
                    raise zlib.error("it goes on after its end")
            except zlib.error as error:
                self._has_arrived = False
                self._fail(NotHttp(f"the body is not compressed as it says ({error})"))
                return b""
            if rest := self._inflater.unconsumed_tail:
                self._unread.append(rest)
                self._unread_size = len(rest)
            data = found
        if self._is_paused and self._unread_size < MAX_UNREAD:
            self._is_paused = False
            self._last = self._loop.time()
            self._connection.resume()
        return data

    def _check_time(self) -> None:
        """Give up if nothing has arrived for too long; otherwise look again later."""
        now, timeout = self._loop.time(), self._read_timeout or 0.0
        due = (now if self._is_paused else self._last) + timeout
        if due > now:
            self._timer = self._loop.call_at(due, self._check_time)
        else:
            self._fail(TimeoutError(f"nothing arrived for {timeout:g} s"))

    def _fail(self, error: Exception) -> None:
        """End the response with an error, unless it has ended."""
        if not self._has_arrived and self._error is None:
            self._error = error
            self._end(can_keep=False)

    def _end(self, *, can_keep: bool) -> None:
        connection = self._connection
        if connection.response is not self:
            return  # it had arrived before it failed: the connection may be another request's
        if self._timer is not None:
            self._timer.cancel()
        connection.response = None
        self._wake()
        if not self._is_tunnel:
            connection.pool.end_request(
                connection, can_keep=can_keep and connection.is_open and connection.has_sent_all
            )

    def _finish(self, rest: bytes) -> None:
        """Note that the whole body has arrived; `rest` is what came after it."""
        self._has_arrived = True
        if self._is_paused:
            self._is_paused = False
            self._connection.resume()
        self._end(can_keep=self._can_keep and not rest)

    def end_with_connection(self, cause: Exception | None) -> None:
        """Note that the connection has ended."""
        is_whole = self.status and self._left is None and not self._is_chunked and cause is None
        if is_whole and not self._has_arrived and self._error is None:
            self._can_keep = False
            self._finish(b"")
        else:
            self._fail(CutOff("the server disconnected" if cause is None else str(cause) or type(cause).__name__))

    def feed(self, data: bytes) -> None:
        """Take bytes from the network."""
        self._last = self._loop.time()
        try:
            if self.status:
                self._feed_body(data)
            else:
                self._feed_head(data)
        except NotHttp as error:
            self._fail(error)
        if self._unread:
            self._wake()

    def _feed_head(self, data: bytes) -> None:
        data, self._rest = self._rest + data, b""
        status = place = version = 0
        headers: dict[str, str] = {}
        while status < 200 and status != 101:  # what it says before the response
            end = data.find(b"\r\n\r\n", place)
            if end < 0:
                self._rest = data[place:]
                if len(self._rest) > MAX_HEAD_BYTES or not b"HTTP/1.".startswith(self._rest[:7]):
                    raise NotHttp("it has no status line")
                return
            status, version, headers = parse_head(data[place:end])
            place = end + 4
        data = data[place:]
        self.status, self.headers = status, headers
        if self._is_tunnel:
            self._has_arrived = True
            self._end(can_keep=False)
            return
        self._begin_body(version)
        self._wake()
        if self._left == 0 and not self._is_chunked:
            self._finish(data)
        elif data:
            self._feed_body(data)

    def _begin_body(self, version: int) -> None:
        """Find out from the head how long the body is."""
        headers = self.headers
        connection = headers.get("connection", "").lower()
        self._can_keep = "close" not in connection and (version == 1 or "keep-alive" in connection)
        if self.status in (204, 304):
            self._left = 0
        elif coding := headers.get("transfer-encoding", "").lower():
            if coding != "chunked":
                raise NotHttp("the transfer coding is unknown")
            self._is_chunked, self._left = True, 0
            self._can_keep = self._can_keep and "content-length" not in headers
        elif length := headers.get("content-length", ""):
            if LENGTH.fullmatch(length) is None:
                raise NotHttp("the content length is no number")
            self._left = int(length)
        encoding = headers.get("content-encoding", "identity").lower()
        if encoding in ("gzip", "x-gzip", "deflate"):  # it was not asked for
            self._inflater = zlib.decompressobj(wbits=47 if "gzip" in encoding else zlib.MAX_WBITS)
        elif encoding not in ("", "identity"):
            raise NotHttp("the encoding of the body is unknown")

    def _feed_body(self, data: bytes) -> None:
        if self._is_chunked:
            self._feed_chunks(data)
        elif self._left is None:
            self._add(data)
        else:
            part = data[: self._left]
            self._add(part)
            self._left -= len(part)
            if not self._left:
                self._finish(data[len(part) :])

    def _feed_chunks(self, data: bytes) -> None:
        """Take chunks: a line with a size, so many bytes, and a line break; after the last, lines and an empty one."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        place = 0
        while place < len(data):
            if self._left:
                part = data[place : place + self._left]
                self._add(part)
                place += len(part)
                self._left -= len(part)
                self._is_at_break = not self._left
                continue
            if self._is_at_break:
                if data.startswith(b"\r\n", place):
                    place += 2
                    self._is_at_break = False
                    continue
                if data[place:] != b"\r":
                    raise NotHttp("a chunk is longer than it says")
            end = data.find(b"\r\n", place)
            if end < 0:
                self._rest = data[place:]
                if len(self._rest) > MAX_HEAD_BYTES:
                    raise NotHttp("the line of a chunk is too long")
                return
            line = data[place:end]
            place = end + 2
            if self._is_trailer:
                if not line:
                    self._finish(data[place:])
                    return
            elif (match := CHUNK_LINE.fullmatch(line)) is None:
                raise NotHttp("a chunk has no length")
            elif size := int(match[1], 16):
                self._left = size
            else:
                self._is_trailer = True

    def _add(self, data: bytes) -> None:
        self._unread.append(data)
        self._unread_size += len(data)
        if self._unread_size > MAX_UNREAD and not self._is_paused:
            self._is_paused = True
            self._connection.pause()


def parse_head(head: bytes) -> tuple[int, int, dict[str, str]]:
    """Return the status, the minor version and the headers of a response, whose names are in lower case."""
    first, *lines = head.split(b"\r\n")
    if (match := STATUS_LINE.fullmatch(first)) is None:
        raise NotHttp("it has no status line")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or HEADER_NAME.fullmatch(name) is None:
            raise NotHttp("a header has no name")
        key, text = name.decode("ascii").lower(), value.strip(b" \t").decode("utf-8", "surrogateescape")
        if key in headers:
            if key == "content-length" and headers[key] != text:
                raise NotHttp("it has two lengths")
            text = text if key == "content-length" else f"{headers[key]}, {text}"
        headers[key] = text
    return int(match[2]), int(match[1]), headers


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Pool, AsyncGenerator[None]]] = WeakKeyDictionary()


async def get_pool() -> Pool:
    """Return the pool of the running event loop, which is created on first use and closed with it."""
    loop = asyncio.get_running_loop()
    if (known := _pools.get(loop)) is not None:
        return known[0]
    pool = Pool()
    # An event loop that shuts down closes its async generators; this one closes the connections.
    closer = _close_with_loop(pool)
    _pools[loop] = pool, closer
    await anext(closer)
    return pool


async def _close_with_loop(pool: Pool) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        _pools.pop(asyncio.get_running_loop(), None)  # a pool holds its loop: neither would ever be freed
        await pool.close()
