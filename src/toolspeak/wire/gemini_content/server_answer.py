"""Writes answers as a server, streamed or whole: the reverse of `client_answer`.

A stream is a list of answers with further parts each: server-sent events, or a JSON array if the client asks for one.
The API does not stream the arguments of a call, and the signature of a part is known only at the end of the message. So
everything from the first call on is held until then, and written in its order.
"""

from collections.abc import Sequence
from typing import Any

from toolspeak.events import (
    CallReady,
    CallStarted,
    Event,
    FinishReason,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    Usage,
)
from toolspeak.messages import Call, Extra, Media, Message, Opaque, Part, Text, Thinking, ToolCall
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.failures import ErrorReport
from toolspeak.wire.gemini_content.names import VENDOR, part_data
from toolspeak.wire.json_data import as_object, dump_compact, encode_references
from toolspeak.wire.media import to_base64
from toolspeak.wire.sse import encode_event

_FINISH_REASONS: dict[FinishReason, str] = {"length": "MAX_TOKENS", "refused": "SAFETY", "error": "OTHER"}


class Encoder:
    """Writes one answer, streamed or whole. `created` and `include_usage` are not used: counts are always sent."""

    def __init__(
        self, model: str, *, id: str, created: int = 0, include_usage: bool = True, request: ChatRequest | None = None
    ) -> None:
        self._whole: dict[str, Any] = {"modelVersion": model, "responseId": id}
        self._is_array = request is not None and request.stream and request.stream_form == "array"
        self._is_first = True
        self._held: dict[str, None] = {}  # the ids of the calls so far, in their order
        self._held_texts: list[tuple[int, dict[str, Any]]] = []  # parts behind a call, with the number of calls before
        self.content_type = "application/json" if self._is_array else "text/event-stream"

    def start(self) -> bytes:
        """Return the beginning of a stream."""
        return b"[" if self._is_array else b""

    def feed(self, events: Sequence[Event]) -> bytes:
        """Return the part of a stream that represents `events`. `TurnEnded` ends the stream.

        An event that has no counterpart in the API gives no bytes.
        """
        return b"".join(map(self._encode, events))

    def error(self, report: ErrorReport) -> bytes:
        """Return the end of a stream that failed."""
        return self._write(error_body(report)) + (b"]" if self._is_array else b"")

    def response(
        self, message: Message, finish: FinishReason, usage: Usage | None = None, stop_text: str = ""
    ) -> dict[str, Any]:
        """Return the body of a whole answer. The API has no field for `stop_text`."""
        parts = [written for part in message.parts if (written := _encode_part(part)) is not None]
        return self._answer(parts, finish, usage or Usage())

    def _encode(self, event: Event) -> bytes:
        match event:
            case TextDelta(text=text) if text:
                return self._add_text({"text": text})
            case ThinkingDelta(text=text) if text:
                return self._add_text({"text": text, "thought": True})
            case CallStarted(call_id=call_id) | CallReady(call=ToolCall(id=call_id)):
                self._held[call_id] = None
            case TurnEnded():
                return self._end(event)
            case _:
                pass
        return b""

    def _add_text(self, part: dict[str, Any]) -> bytes:
        if not self._held:
            return self._write(self._answer([part]))
        self._held_texts.append((len(self._held), part))
        return b""

    def _end(self, ended: TurnEnded) -> bytes:
        parts: list[dict[str, Any]] = []
        calls: dict[str, Call] = {}
        for part in ended.message.parts:
            if isinstance(part, Call):
                calls[part.call.id] = part
            elif isinstance(part, Text | Thinking) and _vendor_data(part.extra).get("thoughtSignature"):
                thought = {"thought": True} if isinstance(part, Thinking) else {}
                parts.append({"text": "", **_vendor_data(part.extra), **thought})
        for number, call_id in enumerate(self._held):
            parts += [text for place, text in self._held_texts if place == number]
            parts += [_encode_call(calls[call_id])] if call_id in calls else []
        parts += [text for place, text in self._held_texts if place == len(self._held)]
        last = self._write(self._answer(parts, ended.finish, ended.usage))
        return last + (b"]" if self._is_array else b"")

    def _answer(
        self, parts: list[dict[str, Any]], finish: FinishReason | None = None, usage: Usage | None = None
    ) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish is not None:
            candidate["finishReason"] = _FINISH_REASONS.get(finish, "STOP")
        counts = {} if usage is None else {"usageMetadata": _encode_usage(usage)}
        return {"candidates": [candidate], **counts, **self._whole}

    def _write(self, answer: dict[str, Any]) -> bytes:
        if not self._is_array:
            return encode_event(dump_compact(answer))
        separator = "" if self._is_first else ",\n"
        self._is_first = False
        return f"{separator}{dump_compact(answer)}".encode()


def error_body(report: ErrorReport) -> dict[str, Any]:
    """Return the body of an answer with an error status."""
    return {"error": report.google_error()}


def _encode_part(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text=text, extra=extra) if text or extra:
            return {"text": text, **_vendor_data(extra)}
        case Thinking(text=text, extra=extra) if text or extra:
            return {"text": text, **_vendor_data(extra), "thought": True}
        case Call():
            return _encode_call(part)
        case Media(data=bytes()):
            return {"inlineData": {"mimeType": part.mime, "data": to_base64(part)}, **_vendor_data(part.extra)}
        case Opaque(data=data) if part.vendor == VENDOR:
            return as_object(data)
        case _:
            return None


def _encode_call(part: Call) -> dict[str, Any]:
    call = {"id": part.call.id, "name": part.call.name, "args": encode_references(part.call.arguments)}
    return {"functionCall": call, **_vendor_data(part.extra)}


def _vendor_data(extra: Extra | None) -> dict[str, Any]:
    return part_data(as_object(extra.data)) if extra is not None and extra.vendor == VENDOR else {}


def _encode_usage(usage: Usage) -> dict[str, Any]:
    """Write the token counts. The API counts reasoning apart from the rest of an answer."""
    thoughts = min(usage.reasoning_tokens, usage.output_tokens)
    return {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - thoughts,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
        **({"cachedContentTokenCount": usage.cached_tokens} if usage.cached_tokens else {}),
        **({"thoughtsTokenCount": thoughts} if thoughts else {}),
    }
