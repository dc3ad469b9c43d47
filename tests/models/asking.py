"""What the tests of endpoints share: models at a server of their own, and how they are asked."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from toolspeak.dialects import NATIVE
from toolspeak.models import Endpoint, HttpModel, Request, RetryPolicy
from toolspeak.values.messages import user
from toolspeak.values.pieces import Piece

from .server import Api, Server

import_module("toolspeak.models.transport")  # or the first question would take as long as it takes to load

QUICK = RetryPolicy(connect_timeout=30, read_timeout=30, total_timeout=60, first_wait=0.002, max_wait=0.05)
"""The retry policy of most tests: short waits, and time for a busy machine to answer."""

IMPATIENT = replace(QUICK, read_timeout=1.0)
"""The retry policy of tests in which the endpoint is silent."""

SLOWLY_IMPATIENT = replace(QUICK, read_timeout=5.0)
"""The same, where the endpoint says something first, for which a busy machine needs a while."""

KEY = "sk-canary-7Qx9/Zt+4mRb"


def at(server: Server | str, api: Api = "openai", **options: Any) -> HttpModel:
    """A model at a server of the tests."""
    url = server if isinstance(server, str) else server.url
    options = {"retry": QUICK, "key": KEY, **options}
    return HttpModel(Endpoint(name="home", base_url=f"{url}/v1", api=api, **options), "m")


def question(prompt: str = "Go on.", *, stream: bool = True) -> Request:
    return Request(shown=NATIVE.render((), [user(prompt)]), stream=stream)


async def collect_pieces(model: Any, prompt: str = "Go on.", *, stream: bool = True) -> list[Piece]:
    """All pieces of an answer."""
    return [piece async for pieces in model.ask(question(prompt, stream=stream)) for piece in pieces]


def answer(model: Any, *, stream: bool = True) -> Any:
    """The answer to a question, in an event loop of its own."""
    return run_within(collect_pieces(model, stream=stream))[-1]


def run_within(work: Coroutine[Any, Any, Any], seconds: float = 80) -> Any:
    """Run it; nothing may hang."""

    async def limited() -> Any:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run(limited())


class Plain:
    """A model that is always asked for a whole answer."""

    def __init__(self, model: HttpModel) -> None:
        self._model = model
        self.name, self.dialect = model.name, model.dialect

    def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        return self._model.ask(replace(request, stream=False))
