"""Answers, as a server gives them: the other side of `client_answer`.

Reasoning goes out as `reasoning_content`, which most clients know. No clock and no chance here: id and time are given.
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
from toolspeak.wire.json_data import compact, list_in, object_in, spelled_arguments
from toolspeak.wire.openai_chat.names import DONE, REASONING_DETAILS, REASONING_FIELDS, VENDOR
from toolspeak.wire.sse import encode

_REASONS: dict[FinishReason, str] = {"length": "length", "refused": "content_filter"}

_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


class Encoder:
    """Makes one answer, streamed or plain."""

    def __init__(self, model: str, *, id: str, created: int, include_usage: bool = False) -> None:
        self._whole = {"id": id, "object": "chat.completion", "created": created, "model": model}
        self._include_usage = include_usage
        self._chunk_head: dict[str, Any] = {**self._whole, "object": "chat.completion.chunk"}
        # Everything up to the delta is the same in every chunk.
        self._head = f'{compact(self._chunk_head)[:-1]},"choices":[{{"index":0,"delta":'
        self._calls: dict[str, int] = {}
        self._has_arguments: set[str] = set()

    def start(self) -> bytes:
        """What a stream begins with."""
        return self._chunk({"role": "assistant", "content": ""})

    def feed(self, events: Sequence[Event]) -> bytes:
        """What has happened, as far as this API tells it. `TurnEnded` ends the stream.

        A malformed call is not told, nor that something told was reasoning: what is sent cannot be taken back.
        """
        return b"".join(map(self._event, events))

    def error(self, message: str, kind: str = "server_error") -> bytes:
        """The end of a stream that failed."""
        return encode(compact({"error": _error(message, kind)}))

    def response(self, message: Message, finish: FinishReason, usage: Usage | None = None) -> dict[str, Any]:
        """A plain answer."""
        said: dict[str, Any] = {"role": "assistant", "content": message.text or None, "refusal": None}
        if thought := "".join(part.text for part in message.parts if isinstance(part, Thinking)):
            said[REASONING_FIELDS[0]] = thought
        said |= _extras(message)
        calls = [part for part in message.parts if isinstance(part, Call)]
        if calls:
            said["tool_calls"] = [_whole_call(part) for part in calls]
        reason = _reason(finish, bool(calls))
        choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": reason}
        return {**self._whole, "choices": [choice], "usage": _usage(usage or Usage())}

    def _event(self, event: Event) -> bytes:
        match event:
            case TextDelta(text=text) if text:
                return self._chunk({"content": text})
            case ThinkingDelta(text=text) if text:
                return self._chunk({REASONING_FIELDS[0]: text})
            case CallStarted(call_id=call_id, name=name):
                return self._started(call_id, name)
            case ArgsDelta(call_id=call_id, text=text) if call_id in self._calls and text:
                self._has_arguments.add(call_id)
                return self._call_chunk(self._calls[call_id], {"function": {"arguments": text}})
            case CallReady(call=call):
                started = b"" if call.id in self._calls else self._started(call.id, call.name)
                if call.id in self._has_arguments:
                    return started
                return started + self._event(ArgsDelta(call_id=call.id, text=spelled_arguments(call.arguments)))
            case TurnEnded():
                return self._ended(event)
            case _:
                return b""

    def _started(self, call_id: str, name: str) -> bytes:
        index = self._calls[call_id] = len(self._calls)
        function = {"name": name, "arguments": ""}
        return self._call_chunk(index, {"id": call_id, "type": "function", "function": function})

    def _ended(self, ended: TurnEnded) -> bytes:
        # Data of vendors is known only now; in this API it is no matter where in the stream it stands.
        late = b"".join(
            self._call_chunk(self._calls[part.call.id], own)
            for part in ended.message.parts
            if isinstance(part, Call) and (own := _own(part)) and part.call.id in self._calls
        )
        if extras := _extras(ended.message):
            late += self._chunk(extras)
        last = self._chunk({}, _reason(ended.finish, bool(self._calls)))
        usage = b""
        if self._include_usage:
            usage = encode(compact({**self._chunk_head, "choices": [], "usage": _usage(ended.usage)}))
        return late + last + usage + encode(DONE)

    def _call_chunk(self, index: int, data: dict[str, Any]) -> bytes:
        return self._chunk({"tool_calls": [{"index": index, **data}]})

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        last = "null" if reason is None else json.dumps(reason)
        return encode(f'{self._head}{compact(delta)},"logprobs":null,"finish_reason":{last}}}]}}')


def error_body(status: int, message: str, kind: str = "") -> dict[str, Any]:
    """The body of a refusal. `kind` is what this API calls it, unless the status says it."""
    by_status = _KINDS.get(status, "invalid_request_error" if 400 <= status < 500 else "server_error")
    return {"error": _error(message, kind or by_status)}


def _error(message: str, kind: str) -> dict[str, Any]:
    return {"message": message, "type": kind, "param": None, "code": None}


def _whole_call(part: Call) -> dict[str, Any]:
    function = {"name": part.call.name, "arguments": spelled_arguments(part.call.arguments)}
    return {"id": part.call.id, "type": "function", "function": function, **_own(part)}


def _own(part: Call | Text | Thinking) -> dict[str, Any]:
    return object_in(part.extra.data) if part.extra is not None and part.extra.vendor == VENDOR else {}


def _extras(message: Message) -> dict[str, Any]:
    """Fields of the message in which it goes on carrying what its vendor put there."""
    fields: dict[str, Any] = {}
    for part in message.parts:
        if isinstance(part, Thinking) and (details := list_in(_own(part).get(REASONING_DETAILS))):
            fields[REASONING_DETAILS] = [*fields.get(REASONING_DETAILS, ()), *details]
        elif isinstance(part, Text):
            fields |= {key: value for key, value in _own(part).items() if key in ("annotations", "extra_content")}
    return fields


def _reason(finish: FinishReason, has_calls: bool) -> str:
    return _REASONS.get(finish) or ("tool_calls" if has_calls else "stop")


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
