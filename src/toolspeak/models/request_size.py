"""How many tokens a request takes, estimated from what will be rendered: its texts, tools, calls and results.

Until an endpoint has counted the tokens of a request, a token has 3 bytes; from then on, as many bytes as in the last
request to that model. An attachment that is no text counts as a fixed number of tokens. The rate is kept with the agent
and not in facts: a compaction is a fact, so a resumed run need not estimate alike.
"""

import json

from toolspeak.dialects import Shown
from toolspeak.values.codec import encode_argument
from toolspeak.values.events import Usage
from toolspeak.values.messages import Call, Media, Opaque, Part, Result

DEFAULT_BYTES_PER_TOKEN = 3.0
"""Bytes of a token until the endpoint has counted some. English has more, so the first estimate is rather too high."""

MEDIA_BYTES = 4_500
"""Bytes that an image or another attachment without text counts for: about 1,500 tokens."""

MESSAGE_BYTES = 16
"""Bytes of a message beside its content: its role, and what separates it from the next."""

MIN_BYTES_PER_TOKEN, MAX_BYTES_PER_TOKEN = 1.0, 8.0
"""Bytes of a token that are plausible for a request. Fewer are counted as the least, since an image takes many tokens.
More mean that the endpoint did not count the whole request."""

CALL_BYTES = 32
"""Bytes of a call or a result beside its content: its id and its frame."""


class TokenRates:
    """How many bytes a token has for each model, as its endpoint last counted.

    The runs of an agent share one, and so do the requests to a model of a gateway.
    """

    def __init__(self) -> None:
        self._bytes_per_token: dict[str, float] = {}
        self._least: dict[str, float] = {}

    def bytes_per_token(self, model: str) -> float:
        """Return the bytes of a token in requests to a model."""
        return self._bytes_per_token.get(model, DEFAULT_BYTES_PER_TOKEN)

    def density_share(self, model: str) -> float:
        """Return the bytes of a token in the densest long request to a model, as a share of those in the last one.

        So dense may be what is left of a conversation after a compaction: long results, which are taken away first,
        have more bytes per token than calls and ids.
        """
        rate = self.bytes_per_token(model)
        return min(rate, self._least.get(model, rate)) / rate

    def is_known(self, model: str) -> bool:
        """Whether the endpoint of a model has counted the tokens of a request."""
        return model in self._bytes_per_token

    def note(self, model: str, request_bytes: int, usage: Usage) -> None:
        """Note how many tokens an endpoint counted in a request of that many bytes, if that is plausible."""
        if not request_bytes or not usage.input_tokens or usage.estimated:
            return
        rate = request_bytes / usage.input_tokens
        if rate > MAX_BYTES_PER_TOKEN:
            return
        self._bytes_per_token[model] = max(rate, MIN_BYTES_PER_TOKEN)
        if usage.input_tokens >= 400:  # it is long: what its template adds is a small part of it
            self._least[model] = min(self._bytes_per_token[model], self._least.get(model, MAX_BYTES_PER_TOKEN))


def count_request_bytes(shown: Shown) -> int:
    """Return how many bytes a request has for the model."""
    tools = sum(len(spec.name) + _count(spec.description) + _count_json(spec.parameters) for spec in shown.tools)
    messages = sum(MESSAGE_BYTES + sum(map(_count_part, message.parts)) for message in shown.messages)
    return tools + messages


def _count_part(part: Part) -> int:
    match part:
        case Call(call=call):
            return CALL_BYTES + len(call.name) + _count_json(encode_argument(call.arguments))
        case Result(content=content):
            return CALL_BYTES + sum(map(_count_part, content))
        case Media(mime=mime, data=data):
            return len(data) if data is not None and mime.startswith("text/") else MEDIA_BYTES
        case Opaque(data=data):
            return _count_json(data)
        case _:
            return _count(part.text)


def _count(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _count_json(value: object) -> int:
    return _count(json.dumps(value, ensure_ascii=False))


def cut_bytes(text: str, max_bytes: int) -> str:
    """Return the beginning of a text that has at most that many bytes."""
    return text.encode("utf-8", "replace")[: max(max_bytes, 0)].decode("utf-8", "ignore")
