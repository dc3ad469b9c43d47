"""Servers over HTTP that misbehave."""

import asyncio
import gzip
import json
import queue
import socket
import threading
import time
import tracemalloc
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.cases import each_case
from tests.mcp.conftest import find_threads, wait_until
from toolspeak.values.errors import ServerFailed

SILENT = None


class HttpServer(ThreadingHTTPServer):
    """A server that answers each method as a table says, and is silent where the table has `SILENT`."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.answers = {"initialize": initialize, "tools/list": list_tools, "DELETE": lambda _: b""}
        self.headers = {}
        self.status = 200
        self.refusals = []  # of calls: statuses and bodies, each for one call
        self.over = threading.Event()
        self.connections = []
        self.events = queue.Queue()
        self.seen = []
        self.stream, self.streams = None, []  # its own messages, and when they were asked for

    def handle_error(self, *_):
        pass  # the client has gone

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/mcp"


def answer(request, result):
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()


def initialize(request):
    about = {"name": "s", "version": "1"}
    return answer(request, {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": about})


def call_tool(request):
    return answer(request, {"content": [{"type": "text", "text": "hello"}]})


def list_tools(request):
    return answer(request, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.connections.append(self.connection)

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
        status, body = self.server.status, make(request)
        if method == "tools/call" and self.server.refusals:
            status, body = self.server.refusals.pop()
        self.send_response(status)
        headers = {"content-type": "application/json", "content-length": len(body), "mcp-session-id": "1"}
        for name, value in {**headers, **self.server.headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)


class EventsHandler(Handler):
    """Answers in the form before 2025: in a stream of events, which lives until the server has sent `None` in it."""

    def do_GET(self):
        if self.path == "/mcp":
            self.send_response(307)
            self.send_header("location", "/mcp/")
            self.send_header("content-length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        events = self.server.events = queue.Queue()
        self.wfile.write(b"event: endpoint\ndata: /messages?session_id=1\n\n: a comment\n\n")
        while (body := events.get()) is not None:
            self.wfile.write(b"event: message\ndata: " + body + b"\n\n")
        self.close_connection = True

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status = 405 if self.path.startswith("/mcp") else self.server.status
        if status == 200 and (make := self.server.answers.get(request["method"])) is not None:
            self.server.events.put(make(request))
        self.send_response(202 if status == 200 else status)
        self.send_header("content-length", "0")
        self.end_headers()


@contextmanager
def serve(port=0, handler=Handler):
    with HttpServer(port) as server:
        server.RequestHandlerClass = handler
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.over.set()
        server.events.put(None)
        server.shutdown()
        thread.join()
        for connection in server.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def server():
    with serve() as server:
        yield server


@pytest.mark.slow
def test_a_server_that_does_not_answer_the_end_of_a_session_ends(connect, server):
    server.answers["DELETE"] = SILENT
    with connect(server.url) as tools:
        assert tools.load().names == ("echo",)
    assert wait_until(lambda: not find_threads())


@pytest.mark.slow
def test_a_start_fails_in_time_though_the_server_does_not_answer_the_end_of_the_session(connect, server):
    server.answers["DELETE"] = server.answers["tools/list"] = SILENT
    with pytest.raises(ServerFailed, match=r"it was not ready within 0\.5 s"):
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


@each_case(
    "kind, make",
    [
        ("application/json", lambda request: answer(request, {"content": [{"type": "text", "text": "\ud800"}]})),
        ("text/event-stream", lambda _: b"data: {" + b'"a": {' * 900 + b"}" * 900 + b"}\n\n"),
    ],
)
def test_an_answer_that_cannot_be_read_is_an_error_at_once(connect, server, kind, make):
    server.answers["tools/call"] = make
    tools = connect(server.url, pinned=False).load()
    server.headers = {"content-type": kind}
    with pytest.raises(
        ServerFailed, match=r"with something that is no result \(Invalid JSON: [a-z 0-9]*\); the call may"
    ):
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


def make_error(code, message):
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}).encode()


@each_case(
    "status, body",
    {
        "an SDK's 404": (404, make_error(-32600, "Session not found")),
        "a 404 of no form": (404, b"<html>"),
        "the 400 of servers for Node": (400, make_error(-32000, "Bad Request: No valid session ID provided")),
        "the 400 of a server that was just started": (400, make_error(-32000, "Bad Request: Server not initialized")),
        "a 400 of no form": (400, b"Invalid or missing session ID"),
    },
)
def test_a_server_that_does_not_know_the_session_gets_the_call_in_a_new_one(connect, server, status, body):
    server.answers["tools/call"] = call_tool
    server.seen.clear()
    echo = connect(server.url, pinned=False).load()["echo"]
    server.refusals = [(status, body)]
    assert asyncio.run(echo()) == "hello"
    assert [method for method, _ in server.seen].count("initialize") == 2
    server.refusals = [(status, body), (status, body)]
    with pytest.raises(ServerFailed, match="gave no answer"):
        asyncio.run(echo())


@each_case("status", [400, 404])
def test_a_call_that_is_refused_for_another_reason_is_not_sent_again(connect, server, status):
    server.answers["tools/call"] = call_tool
    server.seen.clear()
    echo = connect(server.url, pinned=False).load()["echo"]
    server.refusals = [(status, make_error(-32602, "a city is missing"))]
    with pytest.raises(ServerFailed, match="refused the call: a city is missing"):
        asyncio.run(echo())
    assert [method for method, _ in server.seen].count("tools/call") == 1


def test_a_server_that_was_away_is_reached_again(connect):
    with serve() as first:
        port = first.server_port
        first.answers["tools/call"] = call_tool
        echo = connect(first.url, pinned=False).load()["echo"]
        assert asyncio.run(echo()) == "hello"
    errors = []
    for _ in range(6):
        with pytest.raises(ServerFailed) as raised:
            asyncio.run(echo())
        errors.append(str(raised.value))
    assert "cannot be reached (All connection attempts failed); it is tried again in " in errors[-1]
    with serve(port) as second:
        second.answers["tools/call"] = call_tool
        call_until_it_is_back(echo)


def call_until_it_is_back(echo):
    """Call a tool until its server answers again."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            assert asyncio.run(echo()) == "hello"
        except ServerFailed:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server was given up")


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_an_error_has_no_key_in_it(connect, server, tmp_path, kind, monkeypatch):
    monkeypatch.setenv("TEST_MCP_KEY", "hush")
    server.status = 404
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"s": {"type": kind, "url": f"{server.url}?key=${{TEST_MCP_KEY}}"}}}))
    with pytest.raises(ServerFailed) as raised:
        connect(path).load()
    assert "hush" not in str(raised.value)


def test_a_server_of_the_form_before_2025(connect):
    with serve(handler=EventsHandler) as server:
        text = "x" * 2_000_000
        server.answers["tools/call"] = lambda request: answer(request, {"content": [{"type": "text", "text": text}]})
        server.answers["server/discover"] = lambda request: make_error(-32601, "unknown").replace(
            b"null", b"%d" % request["id"]
        )
        echo = connect(server.url, pinned=False).load()["echo"]
        assert asyncio.run(echo()) == text
        server.answers["tools/call"] = lambda request: answer(request, {"content": [{"text": "\ud800"}]})
        with pytest.raises(ServerFailed, match="something that is no result"):
            asyncio.run(echo())
        server.answers["tools/call"] = call_tool
        assert asyncio.run(echo()) == "hello"
        server.status = 503
        with pytest.raises(ServerFailed, match=r"gave no answer \(it answered with HTTP 503"):
            asyncio.run(echo())
        server.status = 200
        assert asyncio.run(echo()) == "hello"
        server.events.put(None)  # the stream ends
        call_until_it_is_back(echo)


def test_a_server_that_takes_no_messages_is_named_by_its_status(connect, server):
    server.status = 405
    with pytest.raises(ServerFailed, match="did not start: it answered with HTTP 405"):
        connect(server.url).load()


def test_the_proxy_of_the_environment_is_used(connect, server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/mcp"))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert connect("http://example.invalid/mcp").load().names == ("echo",)
