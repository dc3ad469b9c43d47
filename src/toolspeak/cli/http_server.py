"""What the commands that serve over HTTP share: the key, the allowed origins, the socket and the log."""

import logging
import queue
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Self, TextIO

from toolspeak.cli.safe_text import escape_controls
from toolspeak.values.errors import UsageError
from toolspeak.values.log import LOG

# `--debug`: prints the log of toolspeak on standard error.


class SafeFormatter(logging.Formatter):
    """Formats a record as text that is safe to show: a traceback may hold a text of a model, a path one of
    a client.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        return escape_controls(super().format(record))


def print_log() -> None:
    """Print everything that is logged from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.DEBUG)


# `LineWriter`: writes lines in a thread of its own, so that whoever reads them slowly holds up nobody else.


MAX_WAITING_LINES = 1_000
"""Lines that wait for a slow reader. Further ones are dropped."""

MAX_CLOSING_SECONDS = 2.0
"""How long the lines that wait may take to be written at the end."""

log = logging.getLogger("toolspeak.gateway")


class LineWriter:
    """A context in which lines are written to a stream. A reader who has gone away is no error."""

    def __init__(self, stream: TextIO, max_waiting: int = MAX_WAITING_LINES) -> None:
        self._stream = stream
        self._waiting: queue.Queue[str | None] = queue.Queue(max_waiting)
        self._has_dropped = False
        self._thread = threading.Thread(target=self._run, name="toolspeak-lines", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self._waiting.put(None, timeout=MAX_CLOSING_SECONDS)
        except queue.Full:
            return
        self._thread.join(MAX_CLOSING_SECONDS)

    def write(self, line: str) -> None:
        """Write a line, given without its end, soon."""
        try:
            self._waiting.put_nowait(line)
        except queue.Full:
            if not self._has_dropped:
                log.warning("exchanges are not shown any more: whoever reads them is too slow")
            self._has_dropped = True
        else:
            self._has_dropped = False

    def _run(self) -> None:
        is_read = True
        while (line := self._waiting.get()) is not None:
            try:
                if is_read:
                    self._stream.write(f"{line}\n")
                    self._stream.flush()
            except (OSError, ValueError):  # the reader has gone away
                is_read = False


ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9._\[\]:-]+")
"""An origin: a scheme, a host and perhaps a port. Neither `*` nor `null` is one: every page could have those."""


def read_origin(text: str) -> str:
    origin = text.strip().rstrip("/").lower()
    if not ORIGIN.fullmatch(origin):
        raise UsageError(f"--allow-origin {text}: write one origin as browsers do, such as https://chat.example")
    return origin


def read_key(variable: str | None, environ: Mapping[str, str]) -> str | None:
    if variable is None:
        return None
    if key := environ.get(variable, "").strip():
        return key
    raise UsageError(f"--key-env {variable}: this environment variable is not set")


def listen(host: str, port: int) -> socket.socket:
    try:
        addresses: Sequence[tuple[socket.AddressFamily, object, object, object, tuple[object, ...]]]
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, *_, address = addresses[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    # Connections inherit it. Without it the body of an answer waits until the client has confirmed its head, up to
    # 40 ms: asyncio sets it only for sockets that name their protocol, and `create_server` names none.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def log_to_standard_error() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(message)s"))
    log = logging.getLogger("toolspeak.gateway")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    for existing in logging.getLogger("uvicorn").handlers:
        existing.setFormatter(SafeFormatter("%(asctime)s %(message)s"))
