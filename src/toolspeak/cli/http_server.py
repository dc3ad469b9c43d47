"""What the commands that serve over HTTP share: the key, the allowed origins, the socket and the log."""

import logging
import re
import socket
from collections.abc import Mapping, Sequence

from toolspeak.cli.debug import SafeFormatter
from toolspeak.errors import UsageError

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
