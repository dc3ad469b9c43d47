"""Servers over HTTP that misbehave."""

import asyncio
import gzip
import json
import threading
import time
import tracemalloc
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.cases import each_case
from tests.mcp.conftest import find_threads
from toolspeak.values.errors import ServerFailed

SILENT = None


class HttpServer(ThreadingHTTPServer):
    """A server that answers each method as a table says, and is silent where the table has `SILENT`."""

    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {"initialize": initialize, "tools/list": list_tools, "DELETE": lambda _: b""}
        self.headers = {}
        self.status = 200
        self.over = threading.Event()
        self.seen = []
        self.stream, self.streams = None, []  # its own messages, and when they were asked for

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/mcp"


def answer(request, result):
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()


def initialize(request):
    about = {"name": "s", "version": "1"}
    return answer(request, {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": about})


def list_tools(request):
    return answer(request, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.reply(request["method"], request)

    def do_DELETE(self):
        self.reply("DELETE", None)

    def do_GET(self):
        if self.server.stream is not None:
            self.server.streams.append(time.monotonic())
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(self.server.stream)))
            self.end_headers()
            self.wfile.write(self.server.stream)
            return
        self.send_response(405 if self.server.status == 200 else self.server.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def reply(self, method, request):
        self.server.seen.append((method, self.headers["accept-encoding"]))
        if method not in self.server.answers:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        make = self.server.answers[method]
        if make is SILENT:
            self.server.over.wait(60)
            self.close_connection = True
            return
        body = make(request)
        self.send_response(self.server.status)
        headers = {"content-type": "application/json", "content-length": len(body), "mcp-session-id": "1"}
        for name, value in {**headers, **self.server.headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server():
    with HttpServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.over.set()
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_server_that_does_not_answer_the_end_of_a_session_ends(connect, server):
    server.answers["DELETE"] = SILENT
    with connect(server.url) as tools:
        assert tools.load().names == ("echo",)
    assert not find_threads()


@pytest.mark.slow
def test_a_start_fails_in_time_though_the_server_does_not_answer_the_end_of_the_session(connect, server):
    server.answers["DELETE"] = server.answers["tools/list"] = SILENT
    with pytest.raises(ServerFailed, match=r"it was not ready within 0\.5 seconds"):
        connect(server.url, start_timeout=0.5).load()


def test_a_compressed_answer_is_refused_before_it_is_read(connect, server):
    bomb = gzip.compress(b" " * 50_000_000)
    server.answers["initialize"] = lambda _: bomb
    server.headers = {"content-encoding": "gzip"}
    tracemalloc.start()
    with pytest.raises(ServerFailed, match="it sent a compressed answer, which it was not asked for"):
        connect(server.url).load()
    assert tracemalloc.get_traced_memory()[1] < 40_000_000
    tracemalloc.stop()
    assert {encoding for _, encoding in server.seen} == {"identity"}


def call_values(request):
    return answer(request, {"content": [], "structuredContent": {"all": [[]] * 300_000}})


def call_values_in_event(request):
    lines = call_values(request).replace(b"], [], [", b"],\r\ndata: [], [").split(b"\r\n")
    return b"data: " + b"\r\n".join(lines) + b"\r\n\r\n"


@each_case(
    "kind, make", [("application/json", call_values), ("text/event-stream; charset=utf-16", call_values_in_event)]
)
def test_an_answer_of_many_values_is_refused_before_it_is_parsed(connect, server, kind, make):
    server.answers["tools/call"] = make
    tools = connect(server.url, pinned=False).load()
    server.headers = {"content-type": kind}
    with pytest.raises(ServerFailed, match="it sent a message of more than 200,000 values"):
        asyncio.run(tools["echo"]())
    server.headers = {}


def test_an_answer_is_counted_whatever_it_says_of_itself(connect, server, caplog):
    server.answers["DELETE"] = lambda _: b"x" * 20_000_000
    with connect(server.url):
        server.headers = {"content-type": "text/event-stream"}
    assert "it sent a message of more than 16 MB" in caplog.text


def test_a_server_that_ends_its_stream_is_asked_again_after_a_while(connect, server):
    server.stream = b"retry: 0\n\n"
    deadline = time.monotonic() + 60
    with connect(server.url):
        while len(server.streams) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert server.streams[2] - server.streams[0] > 1.5


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_an_error_has_no_key_in_it(connect, server, tmp_path, kind, monkeypatch):
    monkeypatch.setenv("TEST_MCP_KEY", "hush")
    server.status = 404
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"s": {"type": kind, "url": f"{server.url}?key=${{TEST_MCP_KEY}}"}}}))
    with pytest.raises(ServerFailed) as raised:
        connect(path).load()
    assert "hush" not in str(raised.value)


def test_the_proxy_of_the_environment_is_used(connect, server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/mcp"))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert connect("http://example.invalid/mcp").load().names == ("echo",)
