"""Messages to and from a server over HTTP, by the transports of the SDK, with a limit on the size of an answer.

Compressed answers are not asked for, and are refused: a few kilobytes can become gigabytes before anybody counts them.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from toolspeak.mcp_client.config import ServerConfig
from toolspeak.mcp_client.failure import ServerFailure
from toolspeak.mcp_client.login import ask_for_login, has_own_key, open_login
from toolspeak.mcp_client.stdio_transport import MAX_MESSAGE_BYTES

CONNECT_TIMEOUT_SECONDS = 30.0

GOODBYE_TIMEOUT_SECONDS = 2.0
"""How long a server has to answer that a session has ended; the session ends without the answer, too."""


@asynccontextmanager
async def open_http(config: ServerConfig, failure: ServerFailure) -> AsyncGenerator[tuple[object, object]]:
    """Connect to a server, and yield the streams that the SDK reads messages from and writes messages to."""
    guard = _AnswerGuard(config, failure)
    headers = dict(config.headers)
    if config.transport == "sse":
        async with (
            open_login(config, failure) as login,
            sse_client(config.url, headers=headers, httpx_client_factory=guard.build_client, auth=login) as streams,
        ):
            yield streams
        return
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_SECONDS, read=None)  # a call may take long; the agent has its own timeout
    async with (
        open_login(config, failure) as login,
        guard.build_client(headers=headers, timeout=timeout, auth=login) as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams


class _AnswerGuard:
    """Refuses answers that are compressed or too large. The events of a stream have a limit each, in the SDK."""

    def __init__(self, config: ServerConfig, failure: ServerFailure) -> None:
        self._config = config
        self._failure = failure

    def build_client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """Build a client whose answers are checked. It uses the proxies that environment variables name."""
        hooks: dict[str, list[Any]] = {"request": [self._prepare], "response": [self._check]}
        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, event_hooks=hooks)

    async def _prepare(self, request: httpx2.Request) -> None:
        request.headers["accept-encoding"] = "identity"
        if request.method == "DELETE":  # the end of the session
            timeout = httpx2.Timeout(GOODBYE_TIMEOUT_SECONDS).as_dict()
            request.extensions = {**request.extensions, "timeout": timeout}

    async def _check(self, response: httpx2.Response) -> None:
        if self._config.on_login is None:
            self._note_refusal(response)
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            self._failure.reason = "it sent a compressed answer, which it was not asked for"
            raise httpx2.DecodingError(self._failure.reason, request=response.request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            stream = response.stream
            assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 (the client is async)
            response.stream = _LimitedStream(stream, self._failure)

    def _note_refusal(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in (401, 403):
            asks_for_login = status == 401 and not has_own_key(self._config)
            cure = ask_for_login(self._config) if asks_for_login else "it needs a key, or another one"
            self._failure.reason = f"it answered with HTTP {status}: {cure}"
        elif status < 300 and self._failure.reason.startswith("it answered with HTTP"):  # the token was refreshed
            self._failure.reason = ""


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
