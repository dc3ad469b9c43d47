"""The events of a durable run as server-sent events, as long as the client is connected.

Each event has its id, so a browser that was cut off sends the last one as `Last-Event-ID` and gets what came after it.
A comment is sent from time to time: a proxy that sees nothing for a minute would close the connection.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolspeak import codec
from toolspeak.durable import RunEvent
from toolspeak.errors import ToolspeakError
from toolspeak.gateway.responses import log, run_while_connected

KEEP_ALIVE_SECONDS = 15.0

KEEP_ALIVE = b": keep-alive\n\n"


def encode_run_event(event: RunEvent) -> bytes:
    """Return an event as bytes: its id, its kind, and the event as JSON."""
    data = codec.encode_event(event.event)
    return f"id: {event.id}\nevent: {data['kind']}\ndata: {json.dumps(data)}\n\n".encode()


class RunEventStream(Response):
    """The events of a run, sent as they are committed, until the run has ended."""

    def __init__(self, events: AsyncGenerator[RunEvent], keep_alive: float = KEEP_ALIVE_SECONDS) -> None:
        self._events = events
        self._keep_alive = keep_alive
        self.status_code = 200
        self.background = None
        self.init_headers({"cache-control": "no-cache", "content-type": "text/event-stream; charset=utf-8"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events, as long as the client is connected."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        with suppress(ClientDisconnect):
            await run_while_connected(receive, self._send_events(send))

    async def _send_events(self, send: Send) -> None:
        lock = asyncio.Lock()

        async def write(data: bytes, more: bool = True) -> None:
            async with lock:
                await send({"type": "http.response.body", "body": data, "more_body": more})

        async def keep_alive() -> None:
            while True:
                await asyncio.sleep(self._keep_alive)
                await write(KEEP_ALIVE)

        keeping = asyncio.create_task(keep_alive())
        try:
            with suppress(OSError):  # the client has disconnected
                try:
                    async with aclosing(self._events):
                        async for event in self._events:
                            await write(encode_run_event(event))
                except ToolspeakError as error:  # the client connects again, and goes on after the last event
                    log.warning("the events of a run broke off: %s", error)
                await write(b"", more=False)
        finally:
            keeping.cancel()
