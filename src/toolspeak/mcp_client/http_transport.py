"""Messages to and from a server over HTTP, by the transport of the SDK, with a limit on the size of an answer."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from toolspeak.mcp_client.config import ServerConfig
from toolspeak.mcp_client.failure import ServerFailure
from toolspeak.mcp_client.stdio_transport import MAX_MESSAGE_BYTES

CONNECT_TIMEOUT_SECONDS = 30.0


@asynccontextmanager
async def open_http(config: ServerConfig, failure: ServerFailure) -> AsyncGenerator[tuple[object, object]]:
    """Connect to a server, and yield the streams that the SDK reads messages from and writes messages to."""
    if config.transport == "sse":
        async with sse_client(config.url, headers=dict(config.headers)) as streams:
            yield streams
        return
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_SECONDS, read=None)  # a call may take long; the agent has its own timeout
    transport = _LimitedTransport(failure)
    async with (
        httpx2.AsyncClient(headers=dict(config.headers), timeout=timeout, transport=transport) as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams


class _LimitedTransport(httpx2.AsyncHTTPTransport):
    """Refuses an answer that is too large. The events of a stream have a limit each, in the SDK."""

    def __init__(self, failure: ServerFailure) -> None:
        super().__init__()
        self._failure = failure

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.status_code in (401, 403):
            self._failure.reason = f"it answered with HTTP {response.status_code}: it needs a key or another one"
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            stream = response.stream
            assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 (the transport is async)
            response.stream = _LimitedStream(stream, self._failure)
        return response


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, failure: ServerFailure) -> None:
        self._stream = stream
        self._failure = failure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_MESSAGE_BYTES:
                self._failure.reason = f"it sent a message of more than {MAX_MESSAGE_BYTES // 1_000_000} MB"
                raise httpx2.StreamError(self._failure.reason)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
