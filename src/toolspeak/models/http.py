"""`HttpModel`: a model behind an endpoint."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from toolspeak.errors import ModelError, RateLimited
from toolspeak.models.answer_reader import AnswerReader
from toolspeak.models.endpoint import Endpoint
from toolspeak.models.model import Request
from toolspeak.pieces import Piece
from toolspeak.wire import anthropic_messages, openai_chat

if TYPE_CHECKING:
    import aiohttp

WIRES = {"openai": openai_chat, "anthropic": anthropic_messages}

AFTERWORD = 2.0
"""Seconds that an endpoint has to say what an answer took, or to end the connection, when the answer is over."""


class HttpModel:
    """A model behind an endpoint: hosted, on this machine, or embedded.

    Attributes:
        endpoint: Where it is reached.
        model: What it is called there.
        skipped: How much of what was streamed was nothing of the API, and was passed over.
    """

    def __init__(self, endpoint: Endpoint, model: str, dialect: str = "native") -> None:
        self.endpoint = endpoint
        self.skipped = 0
        self.model = model
        self._dialect = dialect
        self._wire = WIRES[endpoint.api]
        self._vendor = endpoint.vendor or self._wire.VENDOR

    @property
    def name(self) -> str:
        return f"{self.endpoint.name}:{self.model}"

    @property
    def dialect(self) -> str:
        return self._dialect

    def __repr__(self) -> str:
        return f"HttpModel({self.name!r}, {self.endpoint.base_url!r})"

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Ask it: pieces in batches, as they arrive; the last one is the `Answer`."""
        from toolspeak.models import transport  # aiohttp is loaded when something is first asked

        body = json.dumps(self._body(request)).encode()
        tries = transport.Tries(self.endpoint)
        deadline = _deadline(self.endpoint)
        while True:
            try:
                async with (
                    transport.posted(self.endpoint, self._wire.PATH, body, deadline) as response,
                    aclosing(self._answer(response, deadline)) as answer,
                ):
                    async for pieces in answer:
                        yield pieces
                return
            except transport.Retryable as unreached:
                await tries.again(unreached, deadline)

    def _body(self, request: Request) -> dict[str, Any]:
        shown, sampling, constraint = request.shown, request.sampling, request.shown.constraint
        return self._wire.request_body(
            model=self.model,
            messages=shown.messages,
            tools=shown.tools,
            choice=shown.choice,
            parallel=shown.parallel,
            stream=request.stream,
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=sampling.seed,
            stop=sampling.stop,
            extra=sampling.extra,
            json_schema=constraint.json_schema if constraint else None,
            grammar=constraint.grammar if constraint else None,
            rules=self.endpoint.rules,
            quirks=self.endpoint.quirks,
            vendor=self._vendor,
        )

    async def _answer(
        self, response: "aiohttp.ClientResponse", deadline: float | None
    ) -> AsyncGenerator[Sequence[Piece]]:
        """Read an answer to its end. Raises `ModelError`, and `Unreached` while nothing of it was told."""
        from toolspeak.models import transport

        decoder = self._wire.Decoder(self._vendor)
        read_whole = partial(self._wire.read_response, vendor=self._vendor)
        hearing = AnswerReader(decoder, read_whole, streamed=response.content_type == "text/event-stream")
        loop = asyncio.get_running_loop()
        timer = None if deadline is None else loop.call_at(deadline, response.close)
        broken: BaseException | None = None
        read = response.content.readany
        try:
            while hearing.failure is None and (chunk := await (_afterword(read) if hearing.ended else read())):
                if pieces := hearing.feed(chunk):
                    yield pieces
        except transport.BROKEN as error:
            broken = error
        finally:
            self.skipped += decoder.skipped
            if timer is not None:
                timer.cancel()
        if pieces := hearing.close():
            yield pieces
        if hearing.failure is not None:
            raise self._reported(hearing.failure, begun=hearing.begun)
        if not hearing.ended:
            late = deadline is not None and loop.time() >= deadline
            raise transport.broken_off(self.endpoint, broken, begun=hearing.begun, late=late) from broken

    def _reported(self, error: ModelError, *, begun: bool) -> Exception:
        """An error that the endpoint reported in the answer itself. Not its cause: that may repeat the key."""
        from toolspeak.models import transport

        named = type(error)(f"{self.endpoint.where}: {self.endpoint.without_key(str(error))}")
        return transport.Retryable(named) if isinstance(error, RateLimited) and not begun else named


async def _afterword(read: Callable[[], Awaitable[bytes]]) -> bytes:
    async with asyncio.timeout(AFTERWORD):
        return await read()


def _deadline(endpoint: Endpoint) -> float | None:
    total = endpoint.patience.total
    return None if total is None else asyncio.get_running_loop().time() + total
