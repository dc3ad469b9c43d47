"""Serving the gateway: uvicorn, with a limit on how long a client may take to say what it wants."""

import asyncio
import ipaddress
import logging

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolspeak.errors import UsageError

HEAD_SECONDS = 15.0
"""Seconds for the head of a request."""

STALLED_SECONDS = 60.0
"""Seconds after which a client that takes nothing of what it is sent counts as gone."""

IDLE_SECONDS = 30
GRACE_SECONDS = 3
"""Seconds that answers have to come to their end when the server is stopped."""

MOST_CONNECTIONS = 2_000


class PatientProtocol(H11Protocol):
    """A connection to a client that is waited for, but not for ever.

    It is closed if the head of a request does not come in time (not at all, or in drops), and if the client takes
    nothing of what it is sent.
    """

    head_seconds = HEAD_SECONDS
    stalled_seconds = STALLED_SECONDS

    _head: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]  # at first it is None
            self._wait_for_head()
        elif self._head is not None:
            self._head.cancel()
            self._head = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(self.stalled_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._head, self._stalled):
            if timer is not None:
                timer.cancel()

    def _wait_for_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(self.head_seconds, self.transport.close)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_exposure(host: str, key: str | None) -> None:
    """Nobody serves everybody by accident."""
    if not is_loopback(host) and not key:
        raise UsageError(
            f"--host {host} can be reached by others, so a key is needed: put one into an environment variable and "
            "name it with --key-env"
        )


def server(app: Starlette, *, host: str, port: int, protocol: type[H11Protocol] = PatientProtocol) -> uvicorn.Server:
    """A server for the app, not yet running."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_no_cancellation)
    return uvicorn.Server(config)


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Whether a log record is worth reading: that answers were cut when the server was stopped is no failure."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))
