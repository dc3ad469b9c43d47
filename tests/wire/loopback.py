"""A real HTTP server on loopback that says what it is told to say, in small writes."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WRITE = 7
"""Bytes of a write: so small that characters and events are split."""


class Server:
    """What it answers, and what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.answer: dict[str, Any] | bytes = {}
        self.asked: Any = None
        self.path = ""
        self.url = ""


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            server.path = self.path
            server.asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            streams = isinstance(server.answer, bytes)
            body = server.answer if isinstance(server.answer, bytes) else json.dumps(server.answer).encode()
            self.send_response(server.status)
            self.send_header("content-type", "text/event-stream" if streams else "application/json")
            self.send_header("content-length", str(len(body)))
            self.send_header("connection", "close")
            self.end_headers()
            for at in range(0, len(body), WRITE):
                self.wfile.write(body[at : at + WRITE])

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
