"""A server behind the gateway that sends given bytes, as an endpoint never should."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from toolspeak.models import Endpoint, HttpModel, RetryPolicy

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
PATIENT = RetryPolicy(connect_timeout=60.0, read_timeout=60.0, total_timeout=80.0, attempts=2, first_wait=0.01)
"""Waits longer than a busy machine takes for an answer."""


def event(text: str) -> bytes:
    return b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % text.encode()


ABILITY_PATHS = (b"/props", b"/api/", b"/v1/models")
"""Where a server is asked what its model can do. This one does not say."""


class Upstream:
    """What it sends, and what became of its connections."""

    def __init__(self) -> None:
        self.url = ""
        self.asked = 0
        self.left = 0  # clients that went away while something was sent to them
        self.plays: Callable[[socket.socket, Upstream], None] = lambda client, upstream: None

    def model(self, retry: RetryPolicy = PATIENT, **more: Any) -> HttpModel:
        return HttpModel(Endpoint(name="there", base_url=f"{self.url}/v1", retry=retry, **more), "m")


@contextmanager
def upstream() -> Iterator[Upstream]:
    made = Upstream()
    with socket.create_server(("127.0.0.1", 0), backlog=300) as listening:
        made.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        threads: list[threading.Thread] = []

        def serve(client: socket.socket) -> None:
            with client, suppress(OSError):
                with client.makefile("rb") as request:
                    if not (first := request.readline()):
                        return  # its client was gone before the gateway had sent anything
                    path = first.split(b" ")[1]
                    size = 0
                    while (line := request.readline()) not in (b"\r\n", b""):
                        name, _, value = line.partition(b":")
                        size = int(value) if name.lower() == b"content-length" else size
                    request.read(size)
                if path.startswith(ABILITY_PATHS):
                    client.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    return
                made.asked += 1
                made.plays(client, made)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threads.append(threading.Thread(target=serve, args=(listening.accept()[0],)))
                    threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield made
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            for thread in (accepting, *threads):
                thread.join()


def sends(*pieces: bytes, reset: bool = False) -> Callable[[socket.socket, Upstream], None]:
    """Bytes, and then the end of the connection."""

    def play(client: socket.socket, upstream: Upstream) -> None:
        for piece in pieces:
            client.sendall(piece)
            time.sleep(0.01)
        if reset:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return play


def drips(piece: bytes, pause: float = 0.02, first: bytes = HEAD) -> Callable[[socket.socket, Upstream], None]:
    """A stream without end, until whoever reads it goes away."""

    def play(client: socket.socket, upstream: Upstream) -> None:
        try:
            client.sendall(first)
            client.settimeout(pause)
            while True:
                with suppress(TimeoutError):
                    if client.recv(1) == b"":
                        upstream.left += 1
                        return
                client.sendall(piece)
        except OSError:
            upstream.left += 1

    return play
