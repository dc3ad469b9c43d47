"""Writes answers as a server, streamed or whole: the reverse of `client_answer`.

Reasoning is sent as `reasoning_content`, which most clients know. The caller gives id and time.
"""

import json
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
from toolspeak.messages import Call, Message, Text, Thinking
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.failures import ErrorReport
from toolspeak.wire.json_data import as_list, as_object, dump_compact, encode_arguments
from toolspeak.wire.openai_chat.names import DONE, REASONING_DETAILS, REASONING_FIELDS, VENDOR
from toolspeak.wire.sse import encode_event

_FINISH_REASONS: dict[FinishReason, str] = {"length": "length", "refused": "content_filter"}


class Encoder:
    """Writes one answer, streamed or whole. `request` is not used: an answer repeats nothing of it."""

    content_type: str = "text/event-stream"

    def __init__(
        self, model: str, *, id: str, created: int, include_usage: bool = False, request: ChatRequest | None = None
    ) -> None:
        self._whole = {"id": id, "object": "chat.completion", "created": created, "model": model}
        self._include_usage = include_usage
        self._chunk_head: dict[str, Any] = {**self._whole, "object": "chat.completion.chunk"}
        # Everything up to the delta is the same in every chunk.
        self._head = f'{dump_compact(self._chunk_head)[:-1]},"choices":[{{"index":0,"delta":'
        self._calls: dict[str, int] = {}
        self._has_arguments: set[str] = set()

    def start(self) -> bytes:
        """Return the beginning of a stream."""
        return self._chunk({"role": "assistant", "content": ""})

    def feed(self, events: Sequence[Event]) -> bytes:
        """Return the part of a stream that represents `events`. `TurnEnded` ends the stream.

        An event that has no counterpart in the API gives no bytes.
        """
        return b"".join(map(self._encode, events))

    def error(self, report: ErrorReport) -> bytes:
        """Return the end of a stream that failed."""
        return encode_event(dump_compact(error_body(report)))

    def response(
        self, message: Message, finish: FinishReason, usage: Usage | None = None, stop_text: str = ""
    ) -> dict[str, Any]:
        """Return the body of a whole answer. The API has no field for `stop_text`."""
        fields: dict[str, Any] = {"role": "assistant", "content": message.text or None, "refusal": None}
        if thought := "".join(part.text for part in message.parts if isinstance(part, Thinking)):
            fields[REASONING_FIELDS[0]] = thought
        fields |= _extra_fields(message)
        calls = [part for part in message.parts if isinstance(part, Call)]
        if calls:
            fields["tool_calls"] = [_encode_call(part) for part in calls]
        reason = _finish_reason(finish, bool(calls))
        choice = {"index": 0, "message": fields, "logprobs": None, "finish_reason": reason}
        return {**self._whole, "choices": [choice], "usage": _encode_usage(usage or Usage())}

    def _encode(self, event: Event) -> bytes:
        match event:
            case TextDelta(text=text) if text:
                return self._chunk({"content": text})
            case ThinkingDelta(text=text) if text:
                return self._chunk({REASONING_FIELDS[0]: text})
            case CallStarted(call_id=call_id, name=name):
                return self._start_call(call_id, name)
            case ArgsDelta(call_id=call_id, text=text) if call_id in self._calls and text:
                self._has_arguments.add(call_id)
                return self._call_chunk(self._calls[call_id], {"function": {"arguments": text}})
            case CallReady(call=call):
                started = b"" if call.id in self._calls else self._start_call(call.id, call.name)
                if call.id in self._has_arguments:
                    return started
                return started + self._encode(ArgsDelta(call_id=call.id, text=encode_arguments(call.arguments)))
            case TurnEnded():
                return self._end(event)
            case _:
                return b""

    def _start_call(self, call_id: str, name: str) -> bytes:
        index = self._calls[call_id] = len(self._calls)
        function = {"name": name, "arguments": ""}
        return self._call_chunk(index, {"id": call_id, "type": "function", "function": function})

    def _end(self, ended: TurnEnded) -> bytes:
        # The vendor's data is known only now; in this API its position in the stream does not matter.
        late = b"".join(
            self._call_chunk(self._calls[part.call.id], data)
            for part in ended.message.parts
            if isinstance(part, Call) and (data := _vendor_data(part)) and part.call.id in self._calls
        )
        if extras := _extra_fields(ended.message):
            late += self._chunk(extras)
        last = self._chunk({}, _finish_reason(ended.finish, bool(self._calls)))
        usage = b""
        if self._include_usage:
            usage = encode_event(dump_compact({**self._chunk_head, "choices": [], "usage": _encode_usage(ended.usage)}))
        return late + last + usage + encode_event(DONE)

    def _call_chunk(self, index: int, data: dict[str, Any]) -> bytes:
        return self._chunk({"tool_calls": [{"index": index, **data}]})

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        last = "null" if reason is None else json.dumps(reason)
        return encode_event(f'{self._head}{dump_compact(delta)},"logprobs":null,"finish_reason":{last}}}]}}')


def error_body(report: ErrorReport) -> dict[str, Any]:
    """Return the body of an answer with an error status."""
    return {"error": report.openai_error()}


def _encode_call(part: Call) -> dict[str, Any]:
    function = {"name": part.call.name, "arguments": encode_arguments(part.call.arguments)}
    return {"id": part.call.id, "type": "function", "function": function, **_vendor_data(part)}


def _vendor_data(part: Call | Text | Thinking) -> dict[str, Any]:
    return as_object(part.extra.data) if part.extra is not None and part.extra.vendor == VENDOR else {}


def _extra_fields(message: Message) -> dict[str, Any]:
    """Return the fields for vendor data on the parts of a message."""
    fields: dict[str, Any] = {}
    for part in message.parts:
        if isinstance(part, Thinking) and (details := as_list(_vendor_data(part).get(REASONING_DETAILS))):
            fields[REASONING_DETAILS] = [*fields.get(REASONING_DETAILS, ()), *details]
        elif isinstance(part, Text):
            fields |= {
                key: value for key, value in _vendor_data(part).items() if key in ("annotations", "extra_content")
            }
    return fields


def _finish_reason(finish: FinishReason, has_calls: bool) -> str:
    return _FINISH_REASONS.get(finish) or ("tool_calls" if has_calls else "stop")


def _encode_usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
