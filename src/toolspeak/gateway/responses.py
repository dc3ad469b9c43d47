"""Answers on their way out, for as long as somebody is there to take them."""

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator, Awaitable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolspeak.errors import ToolspeakError
from toolspeak.events import ArgsDelta, Event, TextDelta, ThinkingDelta

log = logging.getLogger("toolspeak.gateway")

T = TypeVar("T")


class AnswerEncoder(Protocol):
    """Writes an answer in one of the APIs."""

    def start(self) -> bytes: ...
    def feed(self, events: list[Event], /) -> bytes: ...
    def error(self, message: str, /) -> bytes: ...


def log_failure(request_id: str, error: Exception) -> None:
    """Log where it failed, but not the words of the error: they may quote the request."""
    where = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s failed with %s\n%s", request_id, type(error).__name__, where)


async def unless_gone(receive: Receive, work: Awaitable[T]) -> T:
    """The result of the work; if the client leaves first, the work is ended and `ClientDisconnect` raised."""
    task = asyncio.ensure_future(work)
    await _while_there(receive, task)
    if task.cancelled():
        raise ClientDisconnect
    return task.result()


async def _while_there(receive: Receive, task: "asyncio.Future[Any]") -> None:
    """Wait for the task, which is cancelled when the client leaves. Nothing is left running."""
    both = {task, asyncio.ensure_future(_gone(receive))}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in both:
            each.cancel()
        await asyncio.wait(both)
        if not task.cancelled():
            task.exception()  # looked at, so that nobody is told that it was not


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Streamed(Response):
    """An answer that goes out as it is made. Its first events are there already."""

    def __init__(
        self, events: AsyncGenerator[list[Event]], first: list[Event], encoder: AnswerEncoder, request_id: str
    ) -> None:
        self._events = events
        self._first = first
        self._encoder = encoder
        self._request_id = request_id
        self.status_code = 200
        self.background = None
        self.init_headers({"cache-control": "no-cache", "content-type": "text/event-stream; charset=utf-8"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, for as long as the client is there."""
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await _while_there(receive, asyncio.ensure_future(self._sent(send)))
        finally:
            await self._events.aclose()

    async def _sent(self, send: Send) -> None:
        async def out(data: bytes, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        with suppress(OSError):  # the client has left
            try:
                await out(self._encoder.start() + self._encoder.feed(joined(self._first)))
                async for batch in self._events:
                    if data := self._encoder.feed(joined(batch)):
                        await out(data)
            except ToolspeakError as error:
                log.warning("%s broke off with %s", self._request_id, type(error).__name__)
                await out(self._encoder.error(f"{error} ({self._request_id})"))
            except Exception as error:
                log_failure(self._request_id, error)
                await out(self._encoder.error(f"the gateway failed ({self._request_id})"))
            await out(b"", more=False)


def joined(events: list[Event]) -> list[Event]:
    """Events with neighbouring deltas of one sort made one: what comes together goes out together."""
    if len(events) < 2:
        return events
    merged: list[Event] = []
    for event in events:
        last = merged[-1] if merged else None
        match last, event:
            case (TextDelta(text=before), TextDelta(text=after)):
                merged[-1] = TextDelta(text=before + after)
            case (ThinkingDelta(text=before), ThinkingDelta(text=after)):
                merged[-1] = ThinkingDelta(text=before + after)
            case (ArgsDelta(call_id=one, text=before), ArgsDelta(call_id=other, text=after)) if one == other:
                merged[-1] = ArgsDelta(call_id=one, text=before + after)
            case _:
                merged.append(event)
    return merged
