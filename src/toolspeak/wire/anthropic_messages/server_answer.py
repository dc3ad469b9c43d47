"""Answers, as a server gives them: the other side of `client_answer`.

A stream is a list of blocks. A block of text or reasoning is closed when another begins; a block of a call when the
call is ready, so that calls which are said at the same time may be open side by side. The signature of reasoning is
known only when the message has ended: it is sent then, to the block that it belongs to. Opaque blocks go out in a plain
answer only, for in a stream their place is past when they are known.
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
from toolspeak.wire.json_data import compact, object_in, plain_arguments, spelled_arguments, text_in
from toolspeak.wire.sse import encode

_REASONS: dict[FinishReason, str] = {"length": "max_tokens", "refused": "refusal"}

_KINDS = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Encoder:
    """Makes one answer, streamed or plain.

    `created` and `include_usage` are what the other API's encoder needs: this API has no times and always tells usage.
    """

    def __init__(self, model: str, *, id: str, created: int = 0, include_usage: bool = True) -> None:
        self._whole: dict[str, Any] = {"id": id, "type": "message", "role": "assistant", "model": model}
        self._blocks = 0
        self._open: tuple[int, Literal["text", "thinking", ""]] = (0, "")
        self._thoughts: list[int] = []
        self._calls: dict[str, int] = {}  # blocks of calls by the ids of the calls
        self._unready: set[str] = set()
        self._has_arguments: set[str] = set()

    def start(self) -> bytes:
        """What a stream begins with."""
        begun: dict[str, Any] = {
            **self._whole,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(Usage()),
        }
        return _sse({"type": "message_start", "message": begun})

    def feed(self, events: Sequence[Event]) -> bytes:
        """What has happened, as far as this API tells it. `TurnEnded` ends the stream.

        A malformed call is not told, nor that something told was reasoning: what is sent cannot be taken back.
        """
        return b"".join(map(self._event, events))

    def error(self, message: str, kind: str = "api_error") -> bytes:
        """The end of a stream that failed."""
        return _sse({"type": "error", "error": {"type": kind, "message": message}})

    def response(self, message: Message, finish: FinishReason, usage: Usage | None = None) -> dict[str, Any]:
        """A plain answer."""
        blocks = [block for part in message.parts if (block := _block(part)) is not None]
        reason = _reason(finish, bool(message.calls))
        ended = {"stop_reason": reason, "stop_sequence": None, "usage": _usage(usage or Usage())}
        return {**self._whole, "content": blocks, **ended}

    def _event(self, event: Event) -> bytes:
        match event:
            case TextDelta(text=text) if text:
                return self._said("text", {"type": "text_delta", "text": text})
            case ThinkingDelta(text=text) if text:
                return self._said("thinking", {"type": "thinking_delta", "thinking": text})
            case CallStarted(call_id=call_id, name=name):
                return self._started(call_id, name)
            case ArgsDelta(call_id=call_id, text=text) if call_id in self._unready and text:
                self._has_arguments.add(call_id)
                return _delta(self._calls[call_id], {"type": "input_json_delta", "partial_json": text})
            case CallReady():
                return self._ready(event)
            case TurnEnded():
                return self._ended(event)
            case _:
                return b""

    def _said(self, sort: Literal["text", "thinking"], delta: dict[str, Any]) -> bytes:
        begun = b""
        if self._open[1] != sort:
            fresh = {"type": "text", "text": ""} if sort == "text" else _thinking("", None)
            begun = self._closed() + self._begun(fresh)
            self._open = (self._blocks - 1, sort)
            if sort == "thinking":
                self._thoughts.append(self._open[0])
        return begun + _delta(self._open[0], delta)

    def _started(self, call_id: str, name: str) -> bytes:
        closed = self._closed()
        self._calls[call_id] = self._blocks
        self._unready.add(call_id)
        return closed + self._begun({"type": "tool_use", "id": call_id, "name": name, "input": {}})

    def _ready(self, ready: CallReady) -> bytes:
        call = ready.call
        told = b"" if call.id in self._calls else self._started(call.id, call.name)
        if call.id not in self._has_arguments:
            told += self._event(ArgsDelta(call_id=call.id, text=spelled_arguments(call.arguments)))
        return told + self._call_closed(call.id)

    def _ended(self, ended: TurnEnded) -> bytes:
        told = self._closed() + b"".join(self._call_closed(call_id) for call_id in self._calls)
        thoughts = [part for part in ended.message.parts if isinstance(part, Thinking) and part.text]
        if len(thoughts) == len(self._thoughts):  # else it is not known which signature belongs where
            for index, part in zip(self._thoughts, thoughts, strict=True):
                if signature := text_in(_own(part.extra).get("signature")):
                    told += _delta(index, {"type": "signature_delta", "signature": signature})
        delta = {"stop_reason": _reason(ended.finish, bool(self._calls)), "stop_sequence": None}
        told += _sse({"type": "message_delta", "delta": delta, "usage": _usage(ended.usage)})
        return told + _sse({"type": "message_stop"})

    def _begun(self, block: dict[str, Any]) -> bytes:
        begun = _sse({"type": "content_block_start", "index": self._blocks, "content_block": block})
        self._blocks += 1
        return begun

    def _closed(self) -> bytes:
        """The end of the block of text or reasoning that is open."""
        index, sort = self._open
        self._open = (0, "")
        return _sse({"type": "content_block_stop", "index": index}) if sort else b""

    def _call_closed(self, call_id: str) -> bytes:
        if call_id not in self._unready:
            return b""
        self._unready.remove(call_id)
        return _sse({"type": "content_block_stop", "index": self._calls[call_id]})


def error_body(status: int, message: str, kind: str = "") -> dict[str, Any]:
    """The body of a refusal. `kind` is what this API calls it, unless the status says it."""
    by_status = _KINDS.get(status, "invalid_request_error" if 400 <= status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind or by_status, "message": message}}


def _sse(data: dict[str, Any]) -> bytes:
    return encode(compact(data), data["type"])


def _delta(index: int, delta: dict[str, Any]) -> bytes:
    return _sse({"type": "content_block_delta", "index": index, "delta": delta})


def _block(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text=text, extra=extra) if text:
            return {"type": "text", "text": text, **_own(extra)}
        case Thinking(text=text, extra=extra):
            return _thinking(text, extra)
        case Call(call=call, extra=extra):
            said = {"type": "tool_use", "id": call.id, "name": call.name, "input": plain_arguments(call.arguments)}
            return {**said, **_own(extra)}
        case Opaque(data=data) if part.vendor == VENDOR:
            return object_in(data)
        case _:
            return None


def _thinking(text: str, extra: Extra | None) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "", **_own(extra)}


def _own(extra: Extra | None) -> dict[str, Any]:
    return object_in(extra.data) if extra is not None and extra.vendor == VENDOR else {}


def _reason(finish: FinishReason, has_calls: bool) -> str:
    return _REASONS.get(finish) or ("tool_use" if has_calls else "end_turn")


def _usage(usage: Usage) -> dict[str, Any]:
    """Tokens. Here `input_tokens` are those that no cache held."""
    return {
        "input_tokens": max(0, usage.input_tokens - usage.cached_tokens),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    }
