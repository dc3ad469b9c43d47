"""What of a request is handed on beside the conversation, and what only the maker of an API understands.

If the model is asked natively, and in the very API that the client speaks, everything passes: fields that we do not
know, and data that a vendor put on reasoning and calls and wants back. Otherwise fields that say how an answer is drawn
are handed on, fields that are the client's own affairs are set aside, and whatever the answer would lack is refused.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from toolspeak.dialects import Dialect
from toolspeak.errors import UsageError
from toolspeak.messages import Message, Opaque, Part, Result
from toolspeak.models import HttpModel, Model
from toolspeak.models.http import WIRES
from toolspeak.wire.chat_request import ChatRequest

DRAWING = frozenset(
    "top_k min_p presence_penalty frequency_penalty repeat_penalty repetition_penalty logit_bias "
    "chat_template_kwargs".split()
)
"""How an answer is drawn."""

AFFAIRS = frozenset(
    "user metadata store service_tier safety_identifier prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning_effort verbosity moderation thinking cache_control inference_geo user_profile_id workspace_id "
    "diagnostics speed betas context_management output_config".split()
)
"""What concerns the client's account, its caches and the effort: an answer without heed of it is still an answer."""

USUAL: Mapping[str, Any] = {
    "logprobs": False,
    "top_logprobs": 0,
    "modalities": ["text"],
    "response_format": {"type": "text"},
}
"""Values that ask for nothing."""

AnyPart = TypeVar("AnyPart", bound=Part)


class Passage:
    """The way between a client that speaks `api` and a model."""

    def __init__(self, model: Model, dialect: Dialect, api: str) -> None:
        endpoint = model.endpoint if isinstance(model, HttpModel) else None
        self._same = endpoint is not None and endpoint.api == api and not dialect.in_text
        self._drawing = DRAWING if endpoint is None or endpoint.api == "openai" else frozenset({"top_k"})
        self._ours = WIRES[api].VENDOR
        self._theirs = (endpoint.vendor if endpoint else None) or self._ours

    def fields(self, asked: ChatRequest) -> dict[str, Any]:
        """The fields that are handed on. Raises `UsageError` for one without which the answer would be wrong."""
        given = dict(asked.extra or {})
        if self._same:
            return given
        handed_on: dict[str, Any] = {}
        for name, value in given.items():
            if name in self._drawing or (name == "response_format" and not asked.tools):
                handed_on[name] = value
            elif name == "tools":
                raise UsageError("tools: this model can be given only tools that the client runs")
            elif name == "output_config" and "format" in value:
                raise UsageError("output_config.format: this model cannot be held to it")
            elif name not in AFFAIRS and USUAL.get(name, ...) != value:
                raise UsageError(f"{name}: is no field of this API, or none that this model can heed")
        return handed_on

    def inward(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Messages as the model gets them."""
        if not self._same or self._ours == self._theirs:
            return messages
        return tuple(_of_vendor(message, self._ours, self._theirs) for message in messages)

    def outward(self, message: Message) -> Message:
        """A message as the client gets it."""
        if not self._same or self._ours == self._theirs:
            return message
        return _of_vendor(message, self._theirs, self._ours)


def _of_vendor(message: Message, before: str, after: str) -> Message:
    def part(each: AnyPart) -> AnyPart:
        if isinstance(each, Opaque):
            return replace(each, vendor=after) if each.vendor == before else each
        if isinstance(each, Result):
            each = replace(each, content=tuple(part(inner) for inner in each.content))
        if each.extra is None or each.extra.vendor != before:
            return each
        return replace(each, extra=replace(each.extra, vendor=after))

    return replace(message, parts=tuple(part(each) for each in message.parts))
