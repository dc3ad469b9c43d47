"""Sends answers, as long as the client is connected.

One task of a request waits for the client to leave (`ClientWatch`) and cancels the task of the request. A streamed
answer has a second task, so that a token does not resume every coroutine of Starlette around it.
"""

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolspeak.gateway.errors import is_expected, report_error
from toolspeak.gateway.figures import GatewayFigures
from toolspeak.models.cassettes import CassetteNotWritten
from toolspeak.values.errors import ModelError
from toolspeak.values.events import ArgsDelta, Event, TextDelta, ThinkingDelta, TurnEnded, Usage
from toolspeak.wire.api import AnswerEncoder

log = logging.getLogger("toolspeak.gateway")

TOKENS_HEADER = "x-toolspeak-tokens"
"""The header of a whole answer with the tokens that the model read, and how many of them anew."""

PING_SECONDS = 15.0
"""Time without a word of the model after which a streamed answer begins, and then after which a ping is sent."""

T = TypeVar("T")

Keep: TypeAlias = Callable[[dict[str, Any], str], Awaitable[None]]
"""Keeps a whole answer, before the client gets its end."""


def log_failure(request_id: str, error: Exception) -> None:
    """Log the type and the traceback of an error, but not its message, which may quote the request."""
    if isinstance(error, CassetteNotWritten):
        log.error("%s failed: %s", request_id, error)
        return
    where = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s failed with %s\n%s", request_id, type(error).__name__, where)


class ClientWatch:
    """Waits for the client of one request to disconnect, and then cancels the work for it.

    The work is awaited in the task of the request. The watch has a task of its own, until `stop`. It begins after the
    body of the request was received. `has_left` says whether the client has disconnected.
    """

    def __init__(self, receive: Receive) -> None:
        self.has_left = False
        self._working: asyncio.Task[Any] | None = None
        self._watching = asyncio.create_task(self._wait_for_disconnect(receive))

    async def run(self, work: Awaitable[T]) -> T:
        """Return the result of `work`. If the client disconnects first, cancel it and raise `ClientDisconnect`."""
        task = self._working = asyncio.current_task()
        try:
            return await work
        except asyncio.CancelledError:
            if not self.has_left or task is None:
                raise
            task.uncancel()
            raise ClientDisconnect from None
        finally:
            self._working = None

    def stop(self) -> None:
        """Watch no longer."""
        self._watching.cancel()

    async def _wait_for_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.has_left = True
        if self._working is not None:
            self._working.cancel()


async def run_while_connected(receive: Receive, work: Awaitable[T]) -> T:
    """Return the result of `work`. If the client disconnects first, cancel it and raise `ClientDisconnect`."""
    watch = ClientWatch(receive)
    try:
        return await watch.run(work)
    finally:
        watch.stop()


async def start_stream(
    receive: Receive,
    events: AsyncGenerator[list[Event]],
    encoder: AnswerEncoder,
    request_id: str,
    figures: GatewayFigures,
    *,
    ping_seconds: float = PING_SECONDS,
    on_first: Callable[[], None] = lambda: None,
    keep: Keep | None = None,
) -> Response:
    """Return a streamed answer, once its first events are there: a model that fails at once gets an error status.

    A model that takes longer than `ping_seconds` for them is not waited for: the stream begins, so that neither the
    client nor a proxy takes the connection for dead. `on_first` is called when the first events are there.
    """
    watch = ClientWatch(receive)
    first = asyncio.ensure_future(anext(events))
    try:
        await watch.run(asyncio.wait({first}, timeout=ping_seconds))
        if first.done():
            first.result()
    except BaseException:
        watch.stop()
        first.cancel()
        await asyncio.wait({first})
        raise
    return StreamedAnswer(
        events, first, encoder, request_id, watch, figures, ping_seconds=ping_seconds, on_first=on_first, keep=keep
    )


async def read_to_end(events: AsyncGenerator[list[Event]]) -> list[TurnEnded]:
    """Return the ends of all answers to a request, each of which holds a whole message. There is at least one."""
    async with aclosing(events):
        ends = [end async for batch in events if isinstance(end := batch[-1], TurnEnded)]
    if not ends:
        raise ModelError("the answer has no end")
    return ends


class StreamedAnswer(Response):
    """An answer that is sent while it is generated. If nothing of it arrives for a while, pings are sent."""

    def __init__(
        self,
        events: AsyncGenerator[list[Event]],
        first: asyncio.Future[list[Event]],
        encoder: AnswerEncoder,
        request_id: str,
        watch: ClientWatch,
        figures: GatewayFigures,
        *,
        ping_seconds: float,
        on_first: Callable[[], None],
        keep: Keep | None,
    ) -> None:
        self._watch = watch
        self._events = events
        self._figures = figures
        self._keep = keep
        self._first = first
        self._on_first = on_first
        self._encoder = encoder
        self._request_id = request_id
        self._ping_seconds = ping_seconds
        self._writes = 0
        self._writes_at_ping = 0
        self._timer: asyncio.TimerHandle | None = None  # for the next ping
        self._pinging: asyncio.Task[None] | None = None
        self.status_code = 200
        self.background = None
        self.init_headers({"cache-control": "no-cache", "content-type": f"{encoder.content_type}; charset=utf-8"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, as long as the client is connected."""
        self._figures.open_streams += 1
        try:
            if not self._watch.has_left:
                with suppress(ClientDisconnect):
                    await self._watch.run(asyncio.create_task(self._send_events(send)))
        finally:
            self._watch.stop()
            self._stop_pings()
            self._figures.open_streams -= 1
            if not self._first.done():
                self._first.cancel()
                await asyncio.wait({self._first})
            await self._events.aclose()

    async def _send_events(self, send: Send) -> None:
        async def write(data: bytes, more: bool = True) -> None:
            self._writes += 1
            await send({"type": "http.response.body", "body": data, "more_body": more})

        with suppress(OSError):  # the client has disconnected
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            self._wait_for_silence(write)
            try:
                start = self._encoder.start()
                if not self._first.done():
                    await write(start + self._encoder.ping())
                    start = b""
                batch = await self._first
                self._on_first()
                data = start + self._encoder.feed(_join_deltas(batch))
                await self._keep_answer()
                await write(data)
                async for batch in self._events:
                    if data := self._encoder.feed(_join_deltas(batch)):
                        await self._keep_answer()
                        await write(data)
                if isinstance(batch[-1], TurnEnded) and (counts := describe_tokens(batch[-1].usage)):
                    log.info("%s tokens: %s", self._request_id, counts)
            except Exception as error:
                if is_expected(error):
                    log.warning("%s broke off with %s", self._request_id, type(error).__name__)
                else:
                    log_failure(self._request_id, error)
                report = report_error(error)
                report = replace(report, message=f"{report.message} ({self._request_id})")
                await write(self._encoder.error(report))
                if repeated := self._encoder.repeat_error(report):
                    await write(repeated)
            self._stop_pings()
            await write(b"", more=False)

    async def _keep_answer(self) -> None:
        if self._keep is not None and self._encoder.body is not None:
            await self._keep(self._encoder.body, self._encoder.written_body)

    def _wait_for_silence(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        """Write a ping whenever nothing was written for `ping_seconds`."""

        async def ping() -> None:
            with suppress(OSError):
                await write(self._encoder.ping())

        def check() -> None:
            is_silent = self._writes == self._writes_at_ping
            if is_silent and (self._pinging is None or self._pinging.done()):
                self._pinging = asyncio.create_task(ping())
                self._writes_at_ping = self._writes + 1
            else:
                self._writes_at_ping = self._writes
            self._timer = loop.call_later(self._ping_seconds, check)

        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._ping_seconds, check)

    def _stop_pings(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._pinging is not None:
            self._pinging.cancel()


def describe_tokens(usage: Usage) -> str:
    """Return how many tokens the model read, and how many of them anew; empty if the endpoint did not count them."""
    if not usage.input_tokens or usage.estimated:
        return ""
    fresh = max(usage.input_tokens - usage.cached_tokens, 0)
    return f"input={usage.input_tokens}, cached={usage.cached_tokens}, anew={fresh}"


def _join_deltas(events: list[Event]) -> list[Event]:
    """Return events with neighbouring deltas of the same kind joined into one."""
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
