"""Writes answers as a server, streamed or whole: the reverse of `client_answer`.

An answer repeats the options of its request. Reasoning is written as its text, or as its summary if the request asks
for one. Data that a vendor puts on reasoning is known only at the end of a message: in a stream it is in the whole
answer, which ends the stream.
"""

from collections.abc import Sequence
from typing import Any

from toolspeak.events import (
    ArgsDelta,
    CallReady,
    CallStarted,
    Event,
    FinishReason,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    Usage,
)
from toolspeak.messages import Message, Thinking
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.failures import ErrorReport
from toolspeak.wire.json_data import as_object
from toolspeak.wire.openai_chat.server_answer import error_body
from toolspeak.wire.openai_responses.client_request import encode_choice, group_definitions
from toolspeak.wire.openai_responses.item_stream import ItemStream
from toolspeak.wire.openai_responses.names import ID_PREFIX
from toolspeak.wire.openai_responses.output_items import ItemBuilder, find_call_forms, vendor_data

__all__ = ["Encoder", "error_body"]

_INCOMPLETE_REASONS: dict[FinishReason, str] = {"length": "max_output_tokens", "refused": "content_filter"}

_REPEATED_FIELDS = ("metadata", "reasoning", "service_tier", "truncation", "user", "prompt_cache_key")
"""Fields of a request that an answer repeats unchanged."""


class Encoder:
    """Writes one answer, streamed or whole. `include_usage` is not used: this API always sends token counts."""

    content_type: str = "text/event-stream"

    def __init__(
        self, model: str, *, id: str, created: int, include_usage: bool = True, request: ChatRequest | None = None
    ) -> None:
        self._response: dict[str, Any] = {
            "id": id,
            "object": "response",
            "created_at": created,
            "model": model,
            **_repeat_options(request),
        }
        summarizes = bool(as_object((request.extra or {}).get("reasoning")).get("summary")) if request else False
        forms = find_call_forms(request)
        self._builder = ItemBuilder(id.removeprefix(ID_PREFIX), forms, summarizes=summarizes)
        self._stream = ItemStream(self._builder, summarizes=summarizes)

    def start(self) -> bytes:
        """Return the beginning of a stream."""
        output: list[dict[str, Any]] = []
        response = {**self._response, "status": "in_progress", "output": output, "usage": None}
        return self._stream.event("created", response=response) + self._stream.event("in_progress", response=response)

    def feed(self, events: Sequence[Event]) -> bytes:
        """Return the part of a stream that represents `events`. `TurnEnded` ends the stream.

        An event that has no counterpart in the API gives no bytes.
        """
        return b"".join(map(self._encode, events))

    def error(self, report: ErrorReport) -> bytes:
        """Return the end of a stream that failed."""
        closed = self._stream.close_open_item("incomplete") + self._stream.close_calls()
        error = {**report.openai_error(), "code": report.form.responses_code}
        response = {**self._response, "status": "failed", "error": error, "output": self._stream.output, "usage": None}
        return closed + self._stream.event("failed", response=response)

    def response(
        self, message: Message, finish: FinishReason, usage: Usage | None = None, stop_text: str = ""
    ) -> dict[str, Any]:
        """Return the body of a whole answer. The API has no field for `stop_text`."""
        status = "incomplete" if finish in _INCOMPLETE_REASONS else "completed"
        return self._end_response(self._builder.build(message, status), finish, usage or Usage())

    def _encode(self, event: Event) -> bytes:
        match event:
            case TextDelta(text=text) if text:
                return self._stream.add_text(text)
            case ThinkingDelta(text=text) if text:
                return self._stream.add_thinking(text)
            case CallStarted(call_id=call_id, name=name):
                return self._stream.start_call(call_id, name)
            case ArgsDelta(call_id=call_id, text=text) if text:
                return self._stream.add_arguments(call_id, text)
            case CallReady(call=call):
                return self._stream.complete_call(call)
            case TurnEnded():
                return self._end(event)
            case _:
                return b""

    def _end(self, ended: TurnEnded) -> bytes:
        status = "incomplete" if ended.finish in _INCOMPLETE_REASONS else "completed"
        closed = self._stream.close_open_item(status) + self._stream.close_calls()
        output = _add_vendor_data(self._stream.output, ended.message)
        response = self._end_response(output, ended.finish, ended.usage)
        return closed + self._stream.event(response["status"], response=response)

    def _end_response(self, output: list[dict[str, Any]], finish: FinishReason, usage: Usage) -> dict[str, Any]:
        response = {**self._response, "output": output, "usage": _encode_usage(usage)}
        if reason := _INCOMPLETE_REASONS.get(finish):
            return {**response, "status": "incomplete", "incomplete_details": {"reason": reason}}
        return {**response, "status": "completed"}


def _add_vendor_data(output: list[dict[str, Any]], message: Message) -> list[dict[str, Any]]:
    """Return streamed items with the data that the vendor has put on reasoning. Ids stay as they were sent."""
    thoughts = [part for part in message.parts if isinstance(part, Thinking)]
    items = [item for item in output if item["type"] == "reasoning"]
    if len(thoughts) == len(items):  # otherwise the item of the data is not known
        for part, item in zip(thoughts, items, strict=True):
            data = vendor_data(part.extra)
            item |= {key: value for key, value in data.items() if key not in ("id", "summary", "content")}
    return output


def _repeat_options(request: ChatRequest | None) -> dict[str, Any]:
    """Return the fields of an answer that say how it was asked for."""
    options: dict[str, Any] = {
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": False,
        "temperature": None,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "truncation": "disabled",
    }
    if request is None:
        return options
    extra = request.extra or {}
    options |= {
        "max_output_tokens": request.max_tokens,
        "parallel_tool_calls": request.parallel,
        "temperature": request.temperature,
        "tool_choice": encode_choice(request.choice, request.tools),
        "tools": group_definitions(request.tools, request.namespaces),
        "top_p": request.top_p,
    }
    options |= {name: extra[name] for name in _REPEATED_FIELDS if extra.get(name) is not None}
    options["text"] |= as_object(extra.get("text"))
    return options


def _encode_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
