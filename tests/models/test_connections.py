"""Connections: every framing of HTTP/1.1 at every byte, what is broken, what is kept, and proxies."""

import asyncio
import gzip
import socket
import ssl
import subprocess
import sys
import textwrap
import threading
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from tests.cases import each_case
from toolspeak.models.connections import (
    MAX_HEAD_BYTES,
    MAX_INFLATED,
    MAX_UNREAD,
    ConnectError,
    CutOff,
    NotHttp,
    Pool,
    build_head,
    find_route,
    get_pool,
)

from .asking import run_within

CERTIFICATE = Path(__file__).with_name("self_signed.pem")
OK = b"HTTP/1.1 200 OK\r\n"
LONG = bytes(range(256)) * 40
PACKED = gzip.compress(LONG)

WHOLE: dict[str, tuple[bytes, int, bytes, bool]] = {
    "a length": (OK + b"Content-Length: 5\r\n\r\nhello", 200, b"hello", True),
    "no body": (OK + b"content-length: 0\r\n\r\n", 200, b"", True),
    "chunks": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n \r\nA \r\n0123456789\r\n0\r\n\r\n",
        200,
        b"hello 0123456789",
        True,
    ),
    "chunks and trailers": (
        OK + b"transfer-encoding: Chunked\r\n\r\n3\r\na\r\n\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n",
        200,
        b"a\r\n",
        True,
    ),
    "no chunks": (OK + b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n", 200, b"", True),
    "until the end": (OK + b"content-type: text/plain\r\n\r\nhello", 200, b"hello", False),
    "not to be kept": (OK + b"connection: Close\r\ncontent-length: 2\r\n\r\nhi", 200, b"hi", False),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi", 200, b"hi", False),
    "HTTP/1.0 that is kept": (
        b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nhi",
        200,
        b"hi",
        True,
    ),
    "a status without a body": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    "a status without a body that says it has chunks": (
        b"HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n",
        204,
        b"",
        True,
    ),
    "a status without words": (b"HTTP/1.1 503\r\ncontent-length: 1\r\n\r\nx", 503, b"x", True),
    "words before the response": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" + OK + b"content-length: 2\r\n\r\nhi",
        200,
        b"hi",
        True,
    ),
    "many words before the response": (
        b"HTTP/1.1 100\r\n\r\n" * 3000 + OK + b"content-length: 2\r\n\r\nhi",
        200,
        b"hi",
        True,
    ),
    "compressed": (
        OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(PACKED) + PACKED,
        200,
        LONG,
        True,
    ),
    "compressed otherwise": (
        OK + b"content-encoding: deflate\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n" % len(zlib.compress(LONG))
        + zlib.compress(LONG) + b"\r\n0\r\n\r\n",
        200,
        LONG,
        True,
    ),
    "two ways to tell the length": (
        OK + b"content-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        200,
        b"hi",
        False,
    ),
}  # fmt: skip

BROKEN: dict[str, tuple[bytes, type[OSError]]] = {
    "nothing": (b"", CutOff),
    "half of a head": (OK + b"content-le", CutOff),
    "half of a body": (OK + b"content-length: 9\r\n\r\nhello", CutOff),
    "half of a chunk": (OK + b"transfer-encoding: chunked\r\n\r\n9\r\nhello", CutOff),
    "no last chunk": (OK + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", CutOff),
    "no end of the trailers": (OK + b"transfer-encoding: chunked\r\n\r\n0\r\nX: 1\r\n", CutOff),
    "another protocol": (b"SSH-2.0-OpenSSH_9.6 canary\r\n", NotHttp),
    "a status that is none": (b"HTTP/1.1 canary\r\n\r\n", NotHttp),
    "another version": (b"HTTP/2 200\r\n\r\n", NotHttp),
    "a header without a name": (OK + b"canary\r\n\r\n", NotHttp),
    "a header with a space": (OK + b"content length: 1\r\n\r\nx", NotHttp),
    "a length that is none": (OK + b"content-length: -5\r\n\r\nhello", NotHttp),
    "a length of many digits": (OK + b"content-length: " + b"1" * 5000 + b"\r\n\r\nhello", NotHttp),
    "two lengths": (OK + b"content-length: 5\r\ncontent-length: 6\r\n\r\nhello!", NotHttp),
    "a chunk without a length": (OK + b"transfer-encoding: chunked\r\n\r\ncanary\r\n", NotHttp),
    "a negative chunk": (OK + b"transfer-encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n", NotHttp),
    "a chunk that is too long": (OK + b"transfer-encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n", NotHttp),
    "another coding": (OK + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", NotHttp),
    "another encoding": (OK + b"content-encoding: br\r\ncontent-length: 2\r\n\r\nhi", NotHttp),
    "not compressed": (OK + b"content-encoding: gzip\r\ncontent-length: 6\r\n\r\ncanary", NotHttp),
    "more than was compressed": (
        OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % (len(PACKED) + 6) + PACKED + b"canary",
        NotHttp,
    ),
    "a head without an end": (OK + b"x: " + b"y" * MAX_HEAD_BYTES * 2, NotHttp),
}


class Raw:
    """A server that answers each request with these bytes, so many at a time, and counts its connections."""

    def __init__(self, data: bytes, size: int | None = None, *, keeps: bool = True) -> None:
        self.data, self.size, self.keeps = data, size, keeps
        self.connections = 0
        self.heads: list[str] = []
        self.sent = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
                for place in range(0, len(self.data), self.size or len(self.data) or 1):
                    part = self.data[place : place + (self.size or len(self.data))]
                    writer.write(part)
                    await writer.drain()
                    self.sent += len(part)
                    if self.size:
                        await asyncio.sleep(0)
                if not self.keeps:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(raw: Raw) -> AsyncGenerator[str]:
    server = await asyncio.start_server(raw.handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def get(pool: Pool, url: str) -> tuple[int, bytes]:
    response = await pool.send("GET", f"{url}/x", {}, None, proxy=None, connect_timeout=60, read_timeout=60)
    body = b""
    try:
        while data := await response.readany():
            body += data
        assert response.at_eof()
    finally:
        response.close()
    return response.status, body


@each_case("name", list(WHOLE))
def test_a_response_is_read_whole_however_it_arrives(name: str):
    data, status, body, is_kept = WHOLE[name]

    async def ask() -> None:
        pool = await get_pool()
        for size in (None, 1, 2, 3, 7, 100) if len(data) < 20_000 else (None, 1001):
            raw = Raw(data, size, keeps=is_kept)
            async with serving(raw) as url:
                assert await get(pool, url) == (status, body)
                assert await get(pool, url) == (status, body)
                assert raw.connections == (1 if is_kept else 2), size

    run_within(ask())


@each_case("name", list(BROKEN))
def test_a_broken_response_is_an_error_that_quotes_nothing(name: str):
    data, kind = BROKEN[name]

    async def ask() -> None:
        pool = await get_pool()
        for size in (None, 1) if len(data) < 1000 else (None, len(data) // 9):
            raw = Raw(data, size, keeps=False)
            async with serving(raw) as url:
                for _ in range(2):
                    with pytest.raises(kind) as caught:
                        await get(pool, url)
                    assert "canary" not in repr(caught.value)
                assert raw.connections == 2

    run_within(ask())


def test_what_nobody_reads_stays_on_the_network():
    raw = Raw(OK + b"content-length: 60000000\r\n\r\n" + b"x" * 60_000_000, 100_000)

    async def ask() -> None:
        pool = await get_pool()
        async with serving(raw) as url:
            response = await pool.send("GET", url, {}, None, proxy=None, read_timeout=60)
            sent = -1
            while sent != raw.sent:  # until the server waits
                sent = raw.sent
                await asyncio.sleep(0.2)
            assert sent < MAX_UNREAD + 50_000_000  # what the system buffers is the rest
            size = 0
            while data := await response.readany():
                size += len(data)
                assert len(data) <= MAX_UNREAD + 100_000
            assert size == 60_000_000

    run_within(ask())


def test_a_compressed_body_grows_bit_by_bit():
    packed = gzip.compress(b"0" * 20_000_000)
    raw = Raw(OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed) + packed)

    async def ask() -> None:
        async with serving(raw) as url:
            response = await (await get_pool()).send("GET", url, {}, None, proxy=None)
            sizes: list[int] = []
            while data := await response.readany():
                sizes.append(len(data))
            assert (sum(sizes), max(sizes)) == (20_000_000, MAX_INFLATED)

    run_within(ask())


@pytest.mark.parametrize("more", [OK, b"x"])
def test_a_connection_with_more_than_was_asked_for_is_not_kept(more: bytes):
    raw = Raw(OK + b"content-length: 2\r\n\r\nhi" + more)

    async def ask() -> None:
        pool = await get_pool()
        async with serving(raw) as url:
            for _ in range(3):
                assert await get(pool, url) == (200, b"hi")
            assert raw.connections == 3

    run_within(ask())


def test_a_response_that_is_given_up_closes_its_connection():
    raw = Raw(OK + b"content-length: 9\r\n\r\nhello")

    async def ask() -> None:
        pool = await get_pool()
        async with serving(raw) as url:
            for _ in range(3):
                response = await pool.send("GET", url, {}, None, proxy=None)
                assert await response.readany() == b"hello"
                response.close()
                with pytest.raises(CutOff):
                    await response.readany()
            assert raw.connections == 3

    run_within(ask())


def test_a_body_that_cannot_be_unpacked_leaves_the_next_request_alone():
    """The whole body has arrived when its error is found, and its connection belongs to another request."""
    go_on = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"content-encoding: gzip\r\ncontent-length: 6\r\n\r\nbroken")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"content-length: 5\r\n\r\nhe")
        await go_on.wait()
        writer.write(b"llo")
        writer.close()

    async def ask() -> None:
        pool = await get_pool()
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            first = await pool.send("GET", url, {}, None, proxy=None)
            second = await pool.send("GET", url, {}, None, proxy=None)
            with pytest.raises(NotHttp, match="compressed"):
                await first.readany()
            first.close()
            assert await second.readany() == b"he"
            go_on.set()
            assert await second.readany() == b"llo"

    run_within(ask())


@pytest.mark.parametrize("late", [b"", OK + b"content-length: 3\r\n\r\nbad"])
def test_what_arrives_while_the_event_loop_is_blocked_is_not_for_the_next_request(late: bytes):
    """A server ends a silent connection, or sends what nobody asked for, while a tool blocks the event loop."""
    may_send, is_late = threading.Event(), threading.Event()

    def answer(listener: socket.socket) -> None:
        answered = OK + b"content-length: 2\r\n\r\nhi"
        with listener.accept()[0] as first:
            first.recv(10_000)
            first.sendall(answered)
            may_send.wait(60)
            first.sendall(late)
            first.shutdown(socket.SHUT_WR)
            is_late.set()
            with listener.accept()[0] as second:
                second.recv(10_000)
                second.sendall(answered)

    async def ask(url: str) -> None:
        pool = await get_pool()
        assert await get(pool, url) == (200, b"hi")
        may_send.set()
        assert is_late.wait(60)  # blocks the event loop
        assert await get(pool, url) == (200, b"hi")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=answer, args=(listener,), daemon=True)
        server.start()
        run_within(ask(f"http://127.0.0.1:{listener.getsockname()[1]}"))
        server.join(60)


class OtherLoop(asyncio.SelectorEventLoop):
    """An event loop with the options of uvloop's, which has no race between addresses."""

    async def create_connection(  # pyright: ignore[reportIncompatibleMethodOverride] (that is what it is for)
        self, protocol_factory: Any, host: Any = None, port: Any = None, *, ssl: Any = None, server_hostname: Any = None
    ) -> Any:
        return await super().create_connection(
            protocol_factory, "127.0.0.1", port, ssl=ssl, server_hostname=server_hostname
        )


@pytest.mark.parametrize("host", ["127.0.0.1", "models.example"])
def test_an_event_loop_without_a_race_between_addresses_will_do(host: str):
    raw = Raw(OK + b"content-length: 2\r\n\r\nhi")

    async def ask() -> None:
        async with serving(raw) as url:
            assert await get(await get_pool(), url.replace("127.0.0.1", host)) == (200, b"hi")

    with asyncio.Runner(loop_factory=OtherLoop) as runner:
        runner.run(ask())


def test_a_request_that_is_given_up_closes_its_connection_though_nobody_reads_it():
    accepted: list[asyncio.Transport] = []

    class Deaf(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted.append(cast("asyncio.Transport", transport))
            accepted[0].pause_reading()

    async def ask() -> None:
        pool = await get_pool()
        listener = await asyncio.get_running_loop().create_server(Deaf, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        async with listener:
            with pytest.raises(TimeoutError):
                await pool.send("POST", url, {}, b"x" * 30_000_000, proxy=None, read_timeout=0.3)
            while pool.connections:
                await asyncio.sleep(0.01)
            accepted[0].abort()

    run_within(ask())


def test_a_body_that_ends_with_the_connection_is_not_whole_if_the_pool_closes_it():
    raw = Raw(OK + b"\r\nhello")

    async def ask() -> None:
        pool = await get_pool()
        async with serving(raw) as url:
            response = await pool.send("GET", url, {}, None, proxy=None)
            assert await response.readany() == b"hello"
            rest = asyncio.create_task(response.readany())
            await asyncio.sleep(0)
            await pool.close()
            with pytest.raises(CutOff):
                await rest

    run_within(ask())


def test_a_header_of_the_user_does_not_say_how_long_the_body_is():
    raw = Raw(OK + b"content-length: 0\r\n\r\n")

    async def ask() -> None:
        pool = await get_pool()
        headers = {"content-length": "1", "transfer-encoding": "chunked", "x-mine": "1"}
        async with serving(raw) as url:
            await pool.send("POST", url, headers, b"body", proxy=None)
        assert "content-length: 4\r\n" in raw.heads[0]
        assert "x-mine: 1\r\n" in raw.heads[0]
        assert "content-length: 1" not in raw.heads[0]
        assert "transfer-encoding" not in raw.heads[0]

    run_within(ask())


@pytest.mark.parametrize(
    ("address", "proxy", "host", "port", "target", "header"),
    [
        ("http://h/v1/x", None, "h", 80, "/v1/x", "h"),
        ("http://h", None, "h", 80, "/", "h"),
        ("https://h:443/x?a=1&b=%20 c", None, "h", 443, "/x?a=1&b=%20%20c", "h"),
        ("http://[::1]:8080/ä", None, "::1", 8080, "/%C3%A4", "[::1]:8080"),
        ("https://müller.example/x", None, "xn--mller-kva.example", 443, "/x", "xn--mller-kva.example"),
        ("http://h/a%2Fb%20/100%/%zz[1]:ask?alt=sse", None, "h", 80, "/a%2Fb%20/100%25/%25zz%5B1%5D:ask?alt=sse", "h"),
        ("https://h.:8443/x", None, "h.", 8443, "/x", "h:8443"),
        ("http://h:81/x", "http://p:3128", "p", 3128, "http://h:81/x", "h:81"),
        ("https://h/x", "http://p", "p", 80, "/x", "h"),
    ],
)
def test_routes(address: str, proxy: str | None, host: str, port: int, target: str, header: str):
    route = find_route(address, proxy)
    assert (route.host, route.port, route.target, route.host_header) == (host, port, target, header)


@pytest.mark.parametrize(
    "address", ["", "h/x", "ftp://h/x", "http://", "http://h:port/", "http://a b/", "http://h:99999"]
)
def test_what_is_no_route(address: str):
    with pytest.raises(ValueError, match="not an address"):
        find_route(address, None)


@pytest.mark.parametrize(
    ("address", "proxy"), [("http://me:canary/1@h/", None), ("http://h/", "http://me:canary/1@p/")]
)
def test_a_password_that_breaks_the_address_is_not_quoted(address: str, proxy: str | None):
    with pytest.raises(ValueError, match="not an address") as caught:
        find_route(address, proxy)
    assert "canary" not in str(caught.value)


def test_names_and_passwords_in_addresses():
    assert find_route("http://me:p%40ss@h/", None).key == "Basic bWU6cEBzcw=="
    assert find_route("https://h/", "http://me:p%40ss@p/").proxy_key == "Basic bWU6cEBzcw=="


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\0b"])
def test_a_header_cannot_begin_another(value: str):
    with pytest.raises(ValueError, match="line break"):
        build_head("POST", "/", {"x": value}, 0)


# Proxies

ASK_OVER_PROXY = """
    import asyncio, sys
    from toolspeak.models.connections import get_pool

    async def main():
        pool = await get_pool()
        for _ in range(2):
            response = await pool.send("POST", sys.argv[1], {"x-mine": "1"}, b"question", proxy=sys.argv[2])
            print(response.status, (await response.readany()).decode())

    asyncio.run(main())
"""


def ask_over_proxy(tmp_path: Path, address: str, proxy: str) -> Sequence[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(ASK_OVER_PROXY), address, proxy],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "SSL_CERT_FILE": str(CERTIFICATE), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=80,
    )
    return [*done.stdout.splitlines(), *done.stderr.splitlines()[-1:]]


class TunnelProxy:
    """A proxy that leads every tunnel to one port of this machine, or refuses it."""

    def __init__(self, port: int, refusal: str = "") -> None:
        self.port, self.refusal = port, refusal
        self.heads: list[str] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        if self.refusal:
            writer.write(f"HTTP/1.1 {self.refusal}\r\ncontent-length: 0\r\n\r\n".encode())
            writer.close()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(self._pass_on(reader, far_writer), self._pass_on(far_reader, writer))

    @staticmethod
    async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


def test_a_tunnel_to_a_host_that_is_not_trusted_is_closed():
    async def ask() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        server = await asyncio.start_server(Raw(b"").handle, "127.0.0.1", 0, ssl=context)
        proxy = TunnelProxy(server.sockets[0].getsockname()[1])
        proxy_server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{proxy_server.sockets[0].getsockname()[1]}"
        pool = await get_pool()
        async with server, proxy_server:
            with pytest.raises(ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                await pool.send("GET", "https://other.example/x", {}, None, proxy=url, connect_timeout=60)
            assert not pool.connections

    run_within(ask())


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1."])
@pytest.mark.parametrize("refusal", ["", "407 Proxy Authentication Required"])
def test_tls_goes_through_a_tunnel(tmp_path: Path, refusal: str, host: str):
    async def ask() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        raw = Raw(OK + b"content-length: 6\r\n\r\nanswer")
        server = await asyncio.start_server(raw.handle, "127.0.0.1", 0, ssl=context)
        proxy = TunnelProxy(server.sockets[0].getsockname()[1], refusal)
        proxy_server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
        url = f"http://me:secret@127.0.0.1:{proxy_server.sockets[0].getsockname()[1]}"
        async with server, proxy_server:
            said = await asyncio.to_thread(ask_over_proxy, tmp_path, f"https://{host}:9/v1/x", url)
        assert proxy.heads[0].startswith("CONNECT 127.0.0.1:9 HTTP/1.1\r\n")
        assert "proxy-authorization: Basic bWU6c2VjcmV0" in proxy.heads[0]
        if refusal:
            assert "ConnectError: the proxy 127.0.0.1" in said[-1]
            assert "answered 407" in said[-1]
            assert "secret" not in said[-1]
            assert not raw.heads
        else:
            assert said == ["200 answer", "200 answer"]
            assert (len(proxy.heads), raw.connections) == (1, 1)
            assert raw.heads[0].startswith("POST /v1/x HTTP/1.1\r\n")
            assert "proxy-authorization" not in raw.heads[0]

    run_within(ask())
