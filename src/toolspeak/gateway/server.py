"""The server of the gateway: uvicorn, with timeouts for clients that send or receive too slowly."""

import asyncio
import gc
import ipaddress
import logging
import socket

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolspeak.values.errors import UsageError

HEAD_TIMEOUT_SECONDS = 15.0
"""Time for a client to send the head of a request."""

WRITE_TIMEOUT_SECONDS = 60.0
"""Time after which a client that reads nothing of its answer counts as disconnected."""

FIRST_PROBE_SECONDS, MAX_PROBES = 0.1, 5
"""A client that has stopped sending may still read, or may be gone. That is found out by writing to it: after
`FIRST_PROBE_SECONDS`, then after twice the time each, this often."""

KEEP_ALIVE_SECONDS = 30
SHUTDOWN_SECONDS = 3
"""Time for answers to be completed when the server is stopped."""

MAX_CONNECTIONS = 2_000

COLLECTION_OBJECTS = 20_000
"""New objects after which Python looks for garbage: about those of 100 requests that are answered at the same time."""


class TimeoutProtocol(H11Protocol):
    """A connection to a client, with timeouts.

    It is closed if the head of a request does not arrive in time (not at all, or too slowly), or if the client does
    not read its answer. A client that closes its side after the request still gets its answer.
    """

    head_timeout = HEAD_TIMEOUT_SECONDS
    write_timeout = WRITE_TIMEOUT_SECONDS

    _head_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _probe_timer: asyncio.TimerHandle | None = None
    _is_half_closed = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]  # at first it is None
            self._wait_for_head()
        elif self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.write_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn returns None
        """Return whether the connection stays open for writing, when the client has closed its side."""
        if not self._is_answering() or self.cycle.more_body:
            return False
        self._is_half_closed = True
        self._probe_later(FIRST_PROBE_SECONDS, MAX_PROBES)
        return True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_half_closed:  # there is no next request
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._head_timer, self._write_timer, self._probe_timer):
            if timer is not None:
                timer.cancel()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]  # at first it is None

    def _probe_later(self, seconds: float, remaining: int) -> None:
        if remaining:
            self._probe_timer = self.loop.call_later(seconds, self._probe, seconds, remaining)

    def _probe(self, seconds: float, remaining: int) -> None:
        """Write something that a client ignores. If the client is gone, a later write fails and ends the connection.

        Before the answer that is an interim response, and within a stream of events an empty comment.
        """
        if not self._is_answering() or self.transport.is_closing():
            return
        if self.cycle.response_started:
            probe: h11.Event = h11.Data(data=b":\n\n")
        else:
            probe = h11.InformationalResponse(status_code=100, headers=[])
        self.transport.write(self.conn.send(probe))
        self._probe_later(2 * seconds, remaining - 1)

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_timeout, self.transport.close)


def is_loopback(host: str) -> bool:
    """Whether a host is reachable only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_exposure(host: str, key: str | None) -> None:
    """Raise `UsageError` if other machines can reach the gateway and no key is set."""
    if not is_loopback(host) and not key:
        raise UsageError(
            f"--host {host} can be reached by others, so a key is needed: put one into an environment variable and "
            "name it with --key-env"
        )


def build_server(
    app: Starlette, *, host: str, port: int, protocol: type[H11Protocol] = TimeoutProtocol
) -> uvicorn.Server:
    """Return a server for the app, not yet running."""
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
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_relevant)
    return uvicorn.Server(config)


def run_server(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve until the server is stopped. The process must do nothing else: its garbage collection is set up for this.

    What exists now lives as long as the process, so it is never searched for garbage again. Python would search it all
    after every few hundred requests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECTION_OBJECTS)
    server.run(sockets=[listener])


def _is_relevant(record: logging.LogRecord) -> bool:
    """Whether a log record is to be kept. Answers that a stop of the server cancels are not failures."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))
