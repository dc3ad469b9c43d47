"""`Passthrough`: which fields of a request, besides the conversation, and which vendor data are forwarded.

If the model is asked in the native dialect and in the API of the client, everything is forwarded: unknown fields, and
the data that a vendor puts on reasoning and calls and needs back. Otherwise:

- Fields that control sampling are forwarded.
- Fields about accounts, caches and effort are ignored: an answer is right without them.
- A field that asks for an answer in a format is forwarded only to vendors who are known to keep it; for all others the
  gateway does (`held_format.py`). Fields that ask for another form of answer are refused.
- All other fields, and tools that only the servers of a vendor run, are left out, and the client is told which.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from toolspeak.dialects import Dialect
from toolspeak.gateway.arrangement import arrange
from toolspeak.gateway.notices import NOTHING_LEFT_OUT, Notices
from toolspeak.messages import Message, Opaque, Part, Result
from toolspeak.models import HttpModel, Model
from toolspeak.wire.api import CLIENT_WIRES, WIRES, ServedApiName
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.fields import FieldError
from toolspeak.wire.json_data import as_list, as_object
from toolspeak.wire.vendor_tools import name_vendor_tool, read_client_tool

IGNORABLE_FIELDS = frozenset(
    "user metadata store service_tier safety_identifier prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning_effort verbosity moderation thinking cache_control inference_geo user_profile_id workspace_id "
    "diagnostics speed betas context_management output_config reasoning include truncation max_tool_calls "
    "client_metadata text thinkingConfig safetySettings mediaResolution labels enableEnhancedCivicAnswers".split()
)
"""Fields about the client's account, its caches, and the effort: an answer is right without them."""

NEUTRAL_VALUES: Mapping[str, Any] = {
    "background": False,
    "logprobs": False,
    "top_logprobs": 0,
    "modalities": ["text"],
    "response_format": {"type": "text"},
    "responseMimeType": "text/plain",
    "responseModalities": ["TEXT"],
    "responseLogprobs": False,
    "candidateCount": 1,
}
"""Values of fields that are the default, and so have no effect."""

FORMAT_FIELDS: Mapping[str, str] = {
    "response_format": "",
    "output_format": "",
    "output_config": "format",
    "text": "format",
    "responseMimeType": "",
    "responseSchema": "",
    "responseJsonSchema": "",
}
"""Fields that ask for an answer in a format, and the inner field that does so; empty if the whole field does."""

FORM_FIELDS = frozenset(FORMAT_FIELDS) | frozenset(
    "logprobs top_logprobs modalities audio background conversation prompt candidateCount responseModalities "
    "responseLogprobs speechConfig imageConfig cachedContent".split()
)
"""Fields without which an answer would be wrong, or not what the client waits for."""

AnyPart = TypeVar("AnyPart", bound=Part)


class Passthrough:
    """Forwards fields and vendor data between a client of `api` and a model.

    Attributes:
        knows_format: Whether the model's API has the field of the client for an answer in a format, with or without
            tools. That is known of vendors who serve only their own models.
        can_constrain: Whether the API takes any schema to hold an answer to.
    """

    def __init__(self, model: Model, dialect: Dialect, api: ServedApiName) -> None:
        endpoint = model.endpoint if isinstance(model, HttpModel) else None
        self._same_api = endpoint is not None and endpoint.api == api and not dialect.in_text
        is_vendor = endpoint is not None and endpoint.quirks.response_format and not endpoint.leaks_calls
        self.knows_format = is_vendor and self._same_api
        self.can_constrain = endpoint is None or endpoint.api in ("openai", "ollama")
        self._sampling_fields = CLIENT_WIRES[endpoint.api if endpoint else "openai"].SAMPLING_FIELDS
        self._client_vendor = WIRES[api].VENDOR
        self._model_vendor = (endpoint.vendor if endpoint else None) or self._client_vendor

    def reduce(self, request: ChatRequest) -> tuple[ChatRequest, Notices]:
        """Return a request without what this model cannot be given, and what was left out.

        A tool that a vendor defines and the client runs becomes a tool like any other. The conversation is arranged.
        """
        keep_system = self._same_api and self._client_vendor == "anthropic"
        messages = arrange(request.messages, keep_system=keep_system)
        if messages != request.messages:
            request = replace(request, messages=messages)
        if self._same_api or not request.extra:
            return request, NOTHING_LEFT_OUT
        known = self._sampling_fields | IGNORABLE_FIELDS | FORM_FIELDS
        given = dict(request.extra)
        vendor_tools = [as_object(each) for each in as_list(given.pop("tools", None))]
        client_tools = [tool for each in vendor_tools if (tool := read_client_tool(each)) is not None]
        notices = Notices(
            fields=tuple(name for name in given if name not in known),
            tools=tuple(name_vendor_tool(each) for each in vendor_tools if read_client_tool(each) is None),
        )
        if missing := [name for name in request.choice.names if name in notices.tools]:
            problem = f"{missing[0]!r} runs on servers of its vendor, and this model cannot call it"
            raise FieldError("tool_choice", problem, "unsupported_value")
        kept = {name: value for name, value in given.items() if name in known}
        taken = {tool.name for tool in request.tools}
        added = (tool for tool in client_tools if tool.name not in taken)
        return replace(request, tools=(*request.tools, *added), extra=kept or None), notices

    def forwarded_fields(self, request: ChatRequest) -> dict[str, Any]:
        """Return the fields to forward to the model. Raises `FieldError` for a field that cannot be ignored."""
        given = dict(request.extra or {})
        if request.answer_format is not None and not self.knows_format:
            given = _remove_format(given)
        if self._same_api:
            return given
        forwarded: dict[str, Any] = {}
        for name, value in given.items():
            if name in self._sampling_fields:
                forwarded[name] = value
            elif name not in IGNORABLE_FIELDS and NEUTRAL_VALUES.get(name, ...) != value:
                raise FieldError(name, "this model does not support it", "unsupported_parameter")
        return forwarded

    def to_model(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return messages of the client with their vendor data for the model."""
        if not self._same_api or self._client_vendor == self._model_vendor:
            return messages
        return tuple(_change_vendor(message, self._client_vendor, self._model_vendor) for message in messages)

    def to_client(self, message: Message) -> Message:
        """Return a message of the model with its vendor data for the client."""
        if not self._same_api or self._client_vendor == self._model_vendor:
            return message
        return _change_vendor(message, self._model_vendor, self._client_vendor)


def _remove_format(fields: Mapping[str, Any]) -> dict[str, Any]:
    remaining: dict[str, Any] = {}
    for name, value in fields.items():
        inner = FORMAT_FIELDS.get(name)
        if inner is None:
            remaining[name] = value
        elif inner and (rest := {key: each for key, each in value.items() if key != inner}):
            remaining[name] = rest
    return remaining


def _change_vendor(message: Message, before: str, after: str) -> Message:
    def part(each: AnyPart) -> AnyPart:
        if isinstance(each, Opaque):
            return replace(each, vendor=after) if each.vendor == before else each
        if isinstance(each, Result):
            each = replace(each, content=tuple(part(inner) for inner in each.content))
        if each.extra is None or each.extra.vendor != before:
            return each
        return replace(each, extra=replace(each.extra, vendor=after))

    return replace(message, parts=tuple(part(each) for each in message.parts))
