"""`ContextCheck`: refuses a request that is too long for the model, and keeps the answer within what is left.

A server that gets too long a conversation may cut it without notice, the tools first. So the tokens of a request are
compared with the context of the model, where that is known: the model says it, or its server is asked, once.

The tokens are estimated from the bytes of the request, as a range: how many bytes a token has differs between texts.
If the upper end does not fit, the server counts the tokens, where it has a route for that; no other request costs a
further one. Where it has none, a request is refused if even the lower end does not fit. For a server that refuses by
itself what is too long, the lower end is what no text goes below; for one that may cut, it is what the last count of
the server lets expect.
"""

from dataclasses import replace
from typing import NamedTuple

from toolspeak.errors import ContextExceeded
from toolspeak.events import Usage
from toolspeak.gateway.token_count import count_shown
from toolspeak.models import HttpModel, Model, Request
from toolspeak.models.context import find_model_context, must_ask_context
from toolspeak.models.request_size import TokenRates, count_request_bytes

UNKNOWN_RATES = (2.0, 5.0)
"""The least and the most bytes of a token, on average over a request in any language."""

RATE_TOLERANCE = 0.15
"""How much more tokens a request may have than the last count of the endpoint lets expect."""

FULL_SHARE = 0.95
"""The share of the context from which on a request may have been cut: then its count says nothing about its bytes."""


class FittedRequest(NamedTuple):
    """A request that fits into the context, as far as is known.

    Attributes:
        request: The request.
        size: Its bytes; 0 if the context is not known.
        context: The tokens of the context; None if they are not known.
    """

    request: Request
    size: int = 0
    context: int | None = None


class ContextCheck:
    """Checks the requests to one model."""

    def __init__(self) -> None:
        self._rates = TokenRates()

    async def fit(self, model: Model, request: Request) -> FittedRequest:
        """Return the request with at most as many tokens for the answer as the context has left.

        Raises:
            ContextExceeded: The request leaves no room for an answer. The message has both numbers.
        """
        if isinstance(model, HttpModel):
            await model.ask_context()
        context = find_model_context(model, request.sampling)
        if context is None:
            return FittedRequest(request)
        size = count_request_bytes(request.shown)
        low, high = self._estimate(model, size)
        number = f"about {int(size / self._rates.bytes_per_token(model.name))}"
        if high >= context:
            count = await count_shown(model, request.shown)
            if not count.is_estimate:
                low, high, number = count.tokens, count.tokens, str(count.tokens)
        if low >= context:
            raise ContextExceeded(
                f"{number} tokens > {context} maximum: the request does not fit into the context of the model; "
                "shorten the conversation, or send fewer tools",
                status=400,
            )
        limit = request.sampling.max_tokens
        if limit is not None and limit > context - high:
            limit = max(context - high, min(limit, context // 8, context - low))
            request = replace(request, sampling=replace(request.sampling, max_tokens=limit))
        return FittedRequest(request, size, context)

    def note_usage(self, model: Model, fitted: FittedRequest, usage: Usage) -> None:
        """Note how many tokens the endpoint counted in a request."""
        if fitted.context is not None and usage.input_tokens < fitted.context * FULL_SHARE:
            self._rates.note(model.name, fitted.size, usage)

    def _estimate(self, model: Model, size: int) -> tuple[int, int]:
        """Return the least and the most tokens of a request of that many bytes."""
        least, most = UNKNOWN_RATES
        if not self._rates.is_known(model.name):
            return int(size / most) + 1, int(size / least) + 1
        tokens = size / self._rates.bytes_per_token(model.name)
        low = tokens if must_ask_context(model) else size / most
        return int(low) + 1, int(tokens * (1 + RATE_TOLERANCE)) + 1
