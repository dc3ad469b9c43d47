"""Counts the tokens of a request, as the dialect shows it: by the server of the model, else by its length."""

from toolspeak._frozen import frozen
from toolspeak.dialects import Dialect, Shown
from toolspeak.gateway.tool_list import list_tools
from toolspeak.messages import Call, Message, Result, Text
from toolspeak.models import EmbeddedModel, Endpoint, HttpModel, Model
from toolspeak.models.token_count import count_tokens
from toolspeak.usage import estimate_tokens
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.json_data import dump_compact, encode_arguments

TOKENS_PER_MESSAGE = 4
"""Tokens that a chat template adds to a message."""


@frozen
class TokenCount:
    """The tokens of a request.

    Attributes:
        tokens: Their number.
        is_estimate: Whether the number follows from the length of the text.
    """

    tokens: int
    is_estimate: bool


async def count_request(
    model: Model, dialect: Dialect, request: ChatRequest, tool_budget: int | None = None
) -> TokenCount:
    """Return the tokens that a model reads for a request, with its tools cut to `tool_budget` tokens."""
    listed = list_tools(request.tools, dialect, tool_budget, request.messages, request.choice)
    view = listed.view(request.messages)
    shown = view.render(view.history, request.choice, parallel=request.parallel)
    return await count_shown(model, shown)


async def count_shown(model: Model, shown: Shown) -> TokenCount:
    """Return the tokens that a model reads for what it is shown."""
    tools = [{"name": tool.name, "about": tool.description, "schema": dict(tool.parameters)} for tool in shown.tools]
    text = "\n".join((*map(_read_text, shown.messages), *map(dump_compact, tools)))
    template = TOKENS_PER_MESSAGE * len(shown.messages)
    endpoint = await _find_tokenizer(model)
    counted = None if endpoint is None else await count_tokens(endpoint, text)
    estimate = estimate_tokens(len(text))
    return TokenCount(tokens=template + (estimate if counted is None else counted), is_estimate=counted is None)


async def _find_tokenizer(model: Model) -> Endpoint | None:
    """Return the endpoint of a model whose server may count tokens."""
    if isinstance(model, EmbeddedModel):
        return await model.find_endpoint()
    if isinstance(model, HttpModel) and "llamacpp" in model.endpoint.ability_apis:
        return model.endpoint
    return None


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
