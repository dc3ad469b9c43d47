"""`HttpModel`: a model behind an HTTP endpoint."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeAlias

from toolspeak.models.abilities import ask_abilities, get_abilities
from toolspeak.models.answer_reader import AnswerReader
from toolspeak.models.endpoint import Endpoint
from toolspeak.models.model import DialectChoice, Request, Sampling
from toolspeak.models.profiles import is_text_only
from toolspeak.models.request_encoder import PieceRestorer, RequestEncoder
from toolspeak.models.sender import RequestDeadline, Sender
from toolspeak.values.address import hide_secrets
from toolspeak.values.errors import ProviderError
from toolspeak.values.events import Usage
from toolspeak.values.messages import Media
from toolspeak.values.pieces import Piece
from toolspeak.wire.api import CLIENT_WIRES
from toolspeak.wire.json_data import as_count, as_object
from toolspeak.wire.media import explain_text_only

CostFunction: TypeAlias = Callable[[Usage], float | None]
"""A function that returns what tokens cost, in US dollars; None if it does not know."""


class HttpModel:
    """A model behind an HTTP endpoint: hosted, on this machine, or embedded.

    Attributes:
        endpoint: The endpoint.
        model: The model's name there.
        own_cost: The function that returns the cost of tokens, if the model was given one.
        skipped: The number of events in all streams so far that were not JSON objects, and so were skipped.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        dialect: str | DialectChoice = "native",
        *,
        sender: Sender | None = None,
        context: int | None = None,
        cost: CostFunction | None = None,
    ) -> None:
        """Prepare the model. Nothing is sent.

        Args:
            endpoint: The endpoint.
            model: The model's name there.
            dialect: The dialect to use for `"auto"`.
            sender: What sends the requests; by default they are sent over the network.
            context: The tokens of a request and its answer; by default what the server says.
            cost: Returns what tokens cost, in US dollars; by default the price list is asked.
        """
        self.endpoint = endpoint
        self._sender = sender
        self._context = context
        self.own_cost = cost
        self.skipped = 0
        self.model = model
        if isinstance(dialect, str):
            dialect = DialectChoice(name=dialect, reason="given with the model object")
        self._choice = dialect
        self._wire = CLIENT_WIRES[endpoint.api]
        self._vendor = endpoint.vendor or self._wire.VENDOR
        self._encoder = RequestEncoder(endpoint, model)

    @property
    def name(self) -> str:
        return f"{self.endpoint.name}:{self.model}"

    @property
    def dialect(self) -> str:
        return self.dialect_choice.name

    @property
    def dialect_choice(self) -> DialectChoice:
        """The dialect as far as it is known, and why it was chosen. Nothing is sent."""
        abilities = get_abilities(self.endpoint, self.model) if self._choice.is_guess else None
        if abilities is None or abilities.tool_calls is None:
            return self._choice
        listed = "tool calls" if abilities.tool_calls else "no tool calls"
        return DialectChoice(
            name="native" if abilities.tool_calls else self._choice.name,
            reason=f"asked the server: it lists {listed} for the model ({abilities.tool_source})",
        )

    @property
    def own_dialect_choice(self) -> DialectChoice:
        """The dialect that the model was created with, regardless of its server."""
        return self._choice

    async def choose_dialect(self) -> DialectChoice:
        """Return the dialect and why it was chosen, after asking the server once if the dialect would be a guess."""
        if self._choice.is_guess:
            await ask_abilities(self.endpoint, self.model)
        return self.dialect_choice

    @property
    def context_tokens(self) -> int | None:
        """The tokens of a request and its answer, as far as they are known. Nothing is sent."""
        return self.find_context()

    def find_context(self, sampling: Sampling | None = None) -> int | None:
        """Return the tokens of a request and its answer with this sampling, as far as they are known.

        Nothing is sent. For Ollama, the field `num_ctx` of the request or of the endpoint decides.
        """
        abilities = get_abilities(self.endpoint, self.model)
        known = abilities.context if abilities is not None else None
        longest = abilities.max_context if abilities is not None else None
        if self.endpoint.api == "ollama":
            extra = {**self.endpoint.extra, **((sampling and sampling.extra) or {})}
            options = as_object(extra.get("options"))
            known = as_count(options.get("num_ctx")) or as_count(extra.get("num_ctx")) or known
        sizes = [size for size in (known, longest) if size is not None]
        return self._context if self._context is not None else min(sizes) if known is not None else None

    @property
    def asks_context(self) -> bool:
        """Whether to ask the server for its context before a run, because it may truncate silently."""
        return self.endpoint.cuts_silently and self._context is None

    async def ask_context(self) -> int | None:
        """Return the tokens of a request and its answer, after asking the server once; None if that is not known."""
        if self._context is None:
            await ask_abilities(self.endpoint, self.model)
        return self.context_tokens

    @property
    def leaks_calls(self) -> bool:
        return self.endpoint.leaks_calls

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of these tokens in US dollars; None if the price is unknown."""
        if self.own_cost is not None:
            return self.own_cost(usage)
        from toolspeak.models.prices import find_cost

        return find_cost(self.endpoint, self.model, usage)

    def explain_unsupported(self, media: Media) -> str | None:
        """Return why the model cannot take an attachment, as the rest of a sentence; None if that is not known."""
        return (explain_text_only(media) if is_text_only(self.model) else None) or self._wire.explain_unsupported(media)

    def __repr__(self) -> str:
        return f"HttpModel({self.name!r}, {hide_secrets(self.endpoint.base_url)!r})"

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Yield the pieces of an answer in batches, as they arrive. The last piece is the `Answer`."""
        from toolspeak.models import transport  # imported with the first request

        endpoint = self.endpoint
        if endpoint.lacks_key and self._sender is None:
            cure = f"set {endpoint.key_variable}" if endpoint.key_variable else "give it with connect(…, key=…)"
            raise ProviderError(f"{endpoint.label} needs a key; {cure} (nothing was sent)", status=401)
        path, body, is_broken = self._encoder.encode(request)
        schedule = transport.RetrySchedule(endpoint.retry, is_instant=getattr(self._sender, "is_instant", False))
        total = endpoint.retry.total_timeout
        ends_at = None if total is None else asyncio.get_running_loop().time() + total
        while True:
            try:
                deadline = RequestDeadline(ends_at)
                response = await transport.post(endpoint, path, body, deadline, self._sender)
                is_streamed = response.content_type == self._wire.FRAMING.content_type
                reader = AnswerReader(self._wire, self._vendor, request.shown.tools, streamed=is_streamed)
                restorer = PieceRestorer() if is_broken else None
                answer = transport.AnswerStream(endpoint, response, reader, deadline, restorer)
                try:
                    while pieces := await answer.next_pieces():
                        yield pieces
                finally:
                    self.skipped += reader.skipped
                    answer.close()
                if get_abilities(endpoint, self.model):  # the context may be known, now that the model is loaded
                    await ask_abilities(endpoint, self.model, has_answered=True)
                return
            except transport.RequestFailed as failure:
                await schedule.wait(failure, ends_at)
