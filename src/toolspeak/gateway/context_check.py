"""`ContextCheck`: refuses a request that is too long for the model, and keeps the answer within what is left.

A server that gets too long a conversation may cut it without notice, the tools first. So the tokens of a request are
compared with the context of the model, where that is known: the model says it, or its server is asked, once.

The tokens are estimated from the bytes of the request, as a range: how many bytes a token has differs between texts.
If the upper end does not fit, the server counts the tokens, where it has a route for that; no other request costs a
further one. Where it has none, a request is refused if even the lower end does not fit. For a server that refuses by
itself what is too long, the lower end is what no text goes below; for one that may cut, it is what the last count of
the server lets expect. A server that refuses by itself is trusted with what is close.

The gateway asks every server that may say its context: it must clamp `max_tokens`, and its clients cannot be asked.
"""

from dataclasses import replace
from typing import NamedTuple

from toolspeak.dialects import Dialect, Shown
from toolspeak.gateway.tool_list import list_tools
from toolspeak.models import EmbeddedModel, HttpModel, Model, Request
from toolspeak.models.abilities import count_tokens
from toolspeak.models.model import find_model_context, must_ask_context
from toolspeak.models.request_size import TokenRates, count_request_bytes
from toolspeak.values.errors import ContextExceeded
from toolspeak.values.events import Usage
from toolspeak.values.limits import estimate_tokens
from toolspeak.values.messages import Call, Message, Result, Text
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.json_data import dump_compact, encode_arguments

TOKENS_PER_MESSAGE = 4
"""Tokens that a chat template adds to a message."""

UNKNOWN_RATES = (2.0, 5.0)
"""The least and the most bytes of a token, on average over a request in any language."""

RATE_TOLERANCE = 0.15
"""How much more tokens a request may have than the last count of the endpoint lets expect."""

FULL_SHARE = 0.95
"""The share of the context from which on a request may have been cut: then its count says nothing about its bytes."""


class TokenCount(NamedTuple):
    """The tokens of a request, as the server of the model counts them, or estimated from the length of the text."""

    tokens: int
    is_estimate: bool


async def count_request(
    model: Model, dialect: Dialect, request: ChatRequest, tool_budget: int | None = None
) -> TokenCount:
    """Return the tokens that a model reads for a request, with its tools cut to `tool_budget` tokens."""
    view = list_tools(request.tools, dialect, tool_budget, request.messages, request.choice).view(request.messages)
    shown = view.render(view.history, request.choice, parallel=request.parallel)
    return await count_shown(model, shown)


async def count_shown(model: Model, shown: Shown) -> TokenCount:
    """Return the tokens that a model reads for what it is shown."""
    tools = [{"name": tool.name, "about": tool.description, "schema": dict(tool.parameters)} for tool in shown.tools]
    text = "\n".join((*map(_read_text, shown.messages), *map(dump_compact, tools)))
    template = TOKENS_PER_MESSAGE * len(shown.messages)
    endpoint = None  # of a server that may count tokens
    if isinstance(model, EmbeddedModel):
        endpoint = await model.find_endpoint()
    elif isinstance(model, HttpModel) and "llamacpp" in model.endpoint.ability_apis:
        endpoint = model.endpoint
    counted = None if endpoint is None else await count_tokens(endpoint, text)
    return TokenCount(template + (estimate_tokens(len(text)) if counted is None else counted), counted is None)


def _read_text(message: Message) -> str:
    texts: list[str] = []
    for part in message.parts:
        if isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, Call):
            texts.append(f"{part.call.name} {encode_arguments(part.call.arguments)}")
        elif isinstance(part, Result):
            texts += [each.text for each in part.content if isinstance(each, Text)]
    return "\n".join(texts)


class FittedRequest(NamedTuple):
    """A request that fits into the context, as far as is known."""

    request: Request
    size: int = 0  # in bytes; 0 if the context is not known, or the tokens may be those of two requests
    context: int | None = None  # in tokens


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
        return FittedRequest(request, 0 if request.shown.closer else size, context)

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
