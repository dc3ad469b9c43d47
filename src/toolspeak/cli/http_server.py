"""What the commands that serve over HTTP share: who may send requests, the socket and what is logged."""

import logging
import os
import queue
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self, TextIO

from toolspeak.cli.safe_text import escape_controls
from toolspeak.values.errors import UsageError
from toolspeak.values.log import LOG

if TYPE_CHECKING:
    from toolspeak.gateway.guard import AccessRules


class SafeFormatter(logging.Formatter):
    """Formats a record as text that is safe to show: a traceback may hold a text of a model, a path one of a client."""

    def format(self, record: logging.LogRecord) -> str:
        return escape_controls(super().format(record))


def print_log() -> None:
    """Print everything that toolspeak logs from now on, for `--debug`."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.DEBUG)


MAX_CLOSING_SECONDS = 2.0  # for the lines that still wait to be written

log = logging.getLogger("toolspeak.gateway")


class LineWriter:
    """A context in which lines are written to a stream, in a thread: whoever reads them slowly holds up nobody else.

    Lines beyond `max_waiting` that wait for a slow reader are dropped. A reader who has gone away is no error.
    """

    def __init__(self, stream: TextIO, max_waiting: int = 1_000) -> None:
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


def read_access_rules(host: str, key_env: str | None, origins: Sequence[str]) -> "AccessRules":
    """Return who may send requests. Raises `UsageError` if others can reach the host and no key is set."""
    from toolspeak.gateway.guard import AccessRules
    from toolspeak.gateway.server import check_exposure

    key = read_key(key_env, os.environ)
    check_exposure(host, key)
    allowed = frozenset(map(_read_origin, origins))
    return AccessRules(key=key, hosts=AccessRules().hosts | {host.lower()}, origins=allowed)


def _read_origin(text: str) -> str:
    """Read an origin: a scheme, a host, perhaps a port. Neither `*` nor `null` is one: every page could have those."""
    origin = text.strip().rstrip("/").lower()
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[a-z0-9._\[\]:-]+", origin):
        raise UsageError(f"--allow-origin {text}: write one origin as browsers do, such as https://chat.example")
    return origin


def read_key(variable: str | None, environ: Mapping[str, str]) -> str | None:
    if variable is None:
        return None
    if key := environ.get(variable, "").strip():
        return key
    raise UsageError(f"--key-env {variable}: this environment variable is not set; set it to the key")


def listen(host: str, port: int) -> socket.socket:
    try:
        addresses: Sequence[tuple[socket.AddressFamily, object, object, object, tuple[object, ...]]]
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, *_, address = addresses[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"cannot listen on {host}:{port}: {reason}; choose another port or address") from None
    # Connections inherit it. Without it the body of an answer waits until the client has confirmed its head, up to
    # 40 ms: asyncio sets it only for sockets that name their protocol, and `create_server` names none.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def log_to_standard_error() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    for existing in logging.getLogger("uvicorn").handlers:
        existing.setFormatter(SafeFormatter("%(asctime)s %(message)s"))
