"""Writes answers as a server, streamed or whole: the reverse of `client_answer`.

A stream is a list of blocks. A block of text or reasoning is closed when another block starts; the block of a call when
the call is ready, so that the blocks of interleaved calls may be open at the same time. The signature of reasoning is
known only at the end of the message: it is sent then, for the block that it belongs to. Opaque blocks are sent only in
a whole answer, because in a stream they are known too late for their place.
"""

from collections.abc import Sequence
from typing import Any, Literal

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
from toolspeak.messages import Call, Extra, Message, Opaque, Part, Text, Thinking
from toolspeak.wire.anthropic_messages.names import VENDOR
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.failures import ErrorReport
from toolspeak.wire.json_data import as_object, as_text, dump_compact, encode_arguments, encode_references
from toolspeak.wire.sse import encode_event

_STOP_REASONS: dict[FinishReason, str] = {"length": "max_tokens", "refused": "refusal"}


class Encoder:
    """Writes one answer, streamed or whole.

    `created`, `include_usage` and `request` are not used: this API has no times, always sends token counts, and repeats
    nothing of a request.
    """

    content_type: str = "text/event-stream"

    def __init__(
        self, model: str, *, id: str, created: int = 0, include_usage: bool = True, request: ChatRequest | None = None
    ) -> None:
        self._whole: dict[str, Any] = {"id": id, "type": "message", "role": "assistant", "model": model}
        self._blocks = 0
        self._open: tuple[int, Literal["text", "thinking", ""]] = (0, "")
        self._thinking_blocks: list[int] = []
        self._calls: dict[str, int] = {}  # index of a call's block, by the id of the call
        self._unready: set[str] = set()
        self._has_arguments: set[str] = set()

    def start(self) -> bytes:
        """Return the beginning of a stream."""
        message: dict[str, Any] = {
            **self._whole,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _encode_usage(Usage()),
        }
        return _sse({"type": "message_start", "message": message})

    def feed(self, events: Sequence[Event]) -> bytes:
        """Return the part of a stream that represents `events`. `TurnEnded` ends the stream.

        An event that has no counterpart in the API gives no bytes.
        """
        return b"".join(map(self._encode, events))

    def error(self, report: ErrorReport) -> bytes:
        """Return the end of a stream that failed."""
        return _sse(error_body(report))

    def response(
        self, message: Message, finish: FinishReason, usage: Usage | None = None, stop_text: str = ""
    ) -> dict[str, Any]:
        """Return the body of a whole answer. `stop_text` is the stop text that ended the answer, if that is known."""
        blocks = [block for part in message.parts if (block := _encode_part(part)) is not None]
        stop = _stop_fields(finish, bool(message.calls), stop_text)
        return {**self._whole, "content": blocks, **stop, "usage": _encode_usage(usage or Usage())}

    def _encode(self, event: Event) -> bytes:
        match event:
            case TextDelta(text=text) if text:
                return self._add_delta("text", {"type": "text_delta", "text": text})
            case ThinkingDelta(text=text) if text:
                return self._add_delta("thinking", {"type": "thinking_delta", "thinking": text})
            case CallStarted(call_id=call_id, name=name):
                return self._start_call(call_id, name)
            case ArgsDelta(call_id=call_id, text=text) if call_id in self._unready and text:
                self._has_arguments.add(call_id)
                return _delta(self._calls[call_id], {"type": "input_json_delta", "partial_json": text})
            case CallReady():
                return self._complete_call(event)
            case TurnEnded():
                return self._end(event)
            case _:
                return b""

    def _add_delta(self, kind: Literal["text", "thinking"], delta: dict[str, Any]) -> bytes:
        start = b""
        if self._open[1] != kind:
            empty = {"type": "text", "text": ""} if kind == "text" else _thinking_block("", None)
            start = self._close_open_block() + self._start_block(empty)
            self._open = (self._blocks - 1, kind)
            if kind == "thinking":
                self._thinking_blocks.append(self._open[0])
        return start + _delta(self._open[0], delta)

    def _start_call(self, call_id: str, name: str) -> bytes:
        closed = self._close_open_block()
        self._calls[call_id] = self._blocks
        self._unready.add(call_id)
        return closed + self._start_block({"type": "tool_use", "id": call_id, "name": name, "input": {}})

    def _complete_call(self, ready: CallReady) -> bytes:
        call = ready.call
        data = b"" if call.id in self._calls else self._start_call(call.id, call.name)
        if call.id not in self._has_arguments:
            data += self._encode(ArgsDelta(call_id=call.id, text=encode_arguments(call.arguments)))
        return data + self._close_call(call.id)

    def _end(self, ended: TurnEnded) -> bytes:
        data = self._close_open_block() + b"".join(self._close_call(call_id) for call_id in self._calls)
        thoughts = [part for part in ended.message.parts if isinstance(part, Thinking) and part.text]
        if len(thoughts) == len(self._thinking_blocks):  # otherwise the block of a signature is not known
            for index, part in zip(self._thinking_blocks, thoughts, strict=True):
                if signature := as_text(_vendor_data(part.extra).get("signature")):
                    data += _delta(index, {"type": "signature_delta", "signature": signature})
        delta = _stop_fields(ended.finish, bool(self._calls), ended.stop_text)
        data += _sse({"type": "message_delta", "delta": delta, "usage": _encode_usage(ended.usage)})
        return data + _sse({"type": "message_stop"})

    def _start_block(self, block: dict[str, Any]) -> bytes:
        start = _sse({"type": "content_block_start", "index": self._blocks, "content_block": block})
        self._blocks += 1
        return start

    def _close_open_block(self) -> bytes:
        """Close the block of text or reasoning, if one is open."""
        index, kind = self._open
        self._open = (0, "")
        return _sse({"type": "content_block_stop", "index": index}) if kind else b""

    def _close_call(self, call_id: str) -> bytes:
        if call_id not in self._unready:
            return b""
        self._unready.remove(call_id)
        return _sse({"type": "content_block_stop", "index": self._calls[call_id]})


def error_body(report: ErrorReport) -> dict[str, Any]:
    """Return the body of an answer with an error status."""
    return {"type": "error", "error": report.anthropic_error()}


def _sse(data: dict[str, Any]) -> bytes:
    return encode_event(dump_compact(data), data["type"])


def _delta(index: int, delta: dict[str, Any]) -> bytes:
    return _sse({"type": "content_block_delta", "index": index, "delta": delta})


def _encode_part(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text=text, extra=extra) if text:
            return {"type": "text", "text": text, **_vendor_data(extra)}
        case Thinking(text=text, extra=extra):
            return _thinking_block(text, extra)
        case Call(call=call, extra=extra):
            block = {"type": "tool_use", "id": call.id, "name": call.name, "input": encode_references(call.arguments)}
            return {**block, **_vendor_data(extra)}
        case Opaque(data=data) if part.vendor == VENDOR:
            return as_object(data)
        case _:
            return None


def _thinking_block(text: str, extra: Extra | None) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "", **_vendor_data(extra)}


def _vendor_data(extra: Extra | None) -> dict[str, Any]:
    return as_object(extra.data) if extra is not None and extra.vendor == VENDOR else {}


def _stop_fields(finish: FinishReason, has_calls: bool, stop_text: str) -> dict[str, Any]:
    """Return the fields that say why an answer ended."""
    if finish == "stop" and stop_text and not has_calls:
        return {"stop_reason": "stop_sequence", "stop_sequence": stop_text}
    reason = _STOP_REASONS.get(finish) or ("tool_use" if has_calls else "end_turn")
    return {"stop_reason": reason, "stop_sequence": None}


def _encode_usage(usage: Usage) -> dict[str, Any]:
    """Write the token counts. `input_tokens` of the API leaves out tokens that a cache had or has stored."""
    return {
        "input_tokens": max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    }
