"""`EmbeddedModel`: the model that needs no key. It runs on this machine, and is just another endpoint."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from toolspeak.models.endpoint import Endpoint
from toolspeak.models.http import HttpModel
from toolspeak.models.local import CONTEXT, SLOTS, LocalServer, local_server
from toolspeak.models.model import Request
from toolspeak.models.profiles import SERVERS, best_dialect
from toolspeak.pieces import Piece


class EmbeddedModel:
    """Weights that are run in a child process, which is started when the model is first asked.

    Its answers are the likeliest ones, unless a temperature is asked for.

    Attributes:
        weights: The GGUF file.
    """

    def __init__(
        self,
        weights: Path,
        *,
        name: str | None = None,
        dialect: str | None = None,
        threads: int | None = None,
        context: int = CONTEXT,
        slots: int = SLOTS,
    ) -> None:
        self.weights = weights
        self._name = name or f"local:{weights.name}"
        self._dialect = dialect or best_dialect(SERVERS["llamacpp"], weights.name)
        self._threads = threads
        self._context = context
        self._slots = slots
        self._server: LocalServer | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def dialect(self) -> str:
        return self._dialect

    def __repr__(self) -> str:
        return f"EmbeddedModel({self.name!r})"

    @property
    def ready(self) -> bool:
        """Whether it can be asked without waiting for it to load."""
        return self._server is not None and self._server.alive

    def load(self, on_progress: Callable[[float], None] | None = None) -> LocalServer:
        """Start it, if it does not run, and wait until it can be asked."""
        server = self._server
        if server is None or not server.alive:
            server = self._server = local_server(
                self.weights,
                threads=self._threads,
                context=self._context,
                slots=self._slots,
                on_progress=on_progress,
            )
        return server

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Ask it: pieces in batches, as they arrive; the last one is the `Answer`."""
        server = self._server if self.ready and self._server else await asyncio.to_thread(self.load)
        endpoint = Endpoint(
            name="local", base_url=server.base_url, key=server.key, quirks=SERVERS["llamacpp"].quirks, vendor="local"
        )
        if request.sampling.temperature is None:  # a small model calls best when it says what is likeliest
            request = replace(request, sampling=replace(request.sampling, temperature=0.0))
        async with aclosing(HttpModel(endpoint, self.weights.stem).ask(request)) as answer:
            async for pieces in answer:
                yield pieces
