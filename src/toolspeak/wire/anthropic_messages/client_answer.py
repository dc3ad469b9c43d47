"""Reads answers, streamed or whole: a list of blocks, each streamed as a start, deltas and a stop.

Text, reasoning and calls are read. Every other block (of the API's own tools, or redacted reasoning) becomes an
`Opaque` part in its place.
"""

from collections.abc import Iterable
from typing import Any

from toolspeak.errors import ProviderError
from toolspeak.events import FinishReason, Usage
from toolspeak.messages import Extra, Opaque, Part, Text, Thinking
from toolspeak.pieces import Answer, ApiCall, Piece
from toolspeak.spec import ToolSpec
from toolspeak.wire.anthropic_messages.names import FINISH_REASONS, VENDOR
from toolspeak.wire.api_errors import build_error
from toolspeak.wire.json_data import as_count, as_list, as_object, as_text, encode_arguments, parse_object
from toolspeak.wire.piece_buffer import PieceBuffer

_KNOWN_FIELDS = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
}
"""The fields of a block that are read; the others are kept as `extra`, and sent back."""


class _AnswerBlock:
    """A block: `data` is its start, `texts` its deltas so far, `call` the number of its call if it is one."""

    __slots__ = ("call", "data", "kind", "stopped", "texts")

    def __init__(self, data: dict[str, Any], call: int) -> None:
        self.data = data
        self.kind = as_text(data.get("type"))
        self.call = call
        self.texts: list[str] = []
        self.stopped = False


class Decoder:
    """Reads one streamed answer. `tools` are not needed: the arguments of every call are JSON.

    Attributes:
        ended: Whether the API has marked the end of the message. Otherwise the stream was cut.
        reason: The API's own word for why the message ended; empty until the API gave it. After `pause_turn` the client
            must send the message back for the rest.
        skipped: The number of events that were not JSON objects, and so were skipped.
    """

    def __init__(self, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> None:
        self.ended = False
        self.reason = ""
        self.skipped = 0
        self._stop_text = ""
        self._vendor = vendor
        self._out = PieceBuffer()
        self._blocks: list[_AnswerBlock] = []
        self._by_index: dict[int, _AnswerBlock] = {}
        self._calls = 0
        self._usage: dict[str, Any] = {}

    def feed(self, data: str) -> list[Piece]:
        """Read the data of one event."""
        return self.feed_all([data])

    def feed_all(self, payloads: list[str]) -> list[Piece]:
        """Read the data of events that arrived together; neighbouring pieces of one kind are joined.

        Raises `ModelError` when the API reports an error; `close` still returns what arrived before it.
        """
        for data in payloads:
            event = parse_object(data)
            if event is not None:
                self._read_event(event)
            elif data.strip() != "[DONE]":  # some servers end the stream as OpenAI does
                self.skipped += 1
        return self._out.take()

    def close(self) -> Answer:
        """Return the whole message, as far as it arrived."""
        parts = [part for block in self._blocks if (part := self._build_part(block)) is not None]
        return Answer(
            parts=tuple(parts),
            finish=self._finish_reason(),
            usage=_read_usage(self._usage),
            stop_text=self._stop_text,
        )

    def read_body(self, message: dict[str, Any]) -> None:
        """Read the body of a whole answer."""
        for index, block in enumerate(as_list(message.get("content"))):
            self._start_block(index, dict(as_object(block)))
            self._stop_block(index)
        self._usage |= as_object(message.get("usage"))
        self.ended, self.reason = True, as_text(message.get("stop_reason"))
        self._stop_text = as_text(message.get("stop_sequence"))

    def _read_event(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "content_block_delta":
                self._add_delta(_index(event), as_object(event.get("delta")))
            case "content_block_start":
                self._start_block(_index(event), dict(as_object(event.get("content_block"))))
            case "content_block_stop":
                self._stop_block(_index(event))
            case "message_start":
                self._add_usage(as_object(event.get("message")).get("usage"))
            case "message_delta":
                self._add_usage(event.get("usage"))
                delta = as_object(event.get("delta"))
                if reason := as_text(delta.get("stop_reason")):
                    self.ended, self.reason = True, reason
                    self._stop_text = as_text(delta.get("stop_sequence"))
            case "message_stop":
                self.ended = True
            case _:
                if error := event.get("error"):
                    raise build_error(error)

    def _add_usage(self, usage: Any) -> None:
        # Counts are totals: a later one replaces an earlier one, and one that is left out stays.
        self._usage |= {name: figure for name, figure in as_object(usage).items() if figure is not None}

    def _start_block(self, index: int, data: dict[str, Any]) -> None:
        block = _AnswerBlock(data, self._calls)
        self._blocks.append(block)
        self._by_index[index] = block
        if block.kind == "tool_use":
            self._calls += 1
            self._out.add_call(block.call, as_text(data.get("id")), as_text(data.get("name")), "")
        elif block.kind in ("text", "thinking") and (text := as_text(data.get(block.kind))):
            self._emit(block, text)

    def _add_delta(self, index: int, delta: dict[str, Any]) -> None:
        block = self._by_index.get(index)
        if block is None:
            return
        match delta.get("type"):
            case "text_delta" | "thinking_delta":
                if text := as_text(delta.get("text") or delta.get("thinking")):
                    self._emit(block, text)
            case "input_json_delta":
                if text := as_text(delta.get("partial_json")):
                    block.texts.append(text)
                    if block.kind == "tool_use":
                        self._out.add_call(block.call, "", "", text)
            case "citations_delta":
                block.data["citations"] = [*as_list(block.data.get("citations")), delta.get("citation")]
            case _:  # a signature, or a delta of an opaque block
                block.data |= {key: value for key, value in delta.items() if key != "type"}

    def _emit(self, block: _AnswerBlock, text: str) -> None:
        block.texts.append(text)
        if block.kind == "text":
            self._out.add_text(text)
        elif block.kind == "thinking":
            self._out.add_thinking(text)

    def _stop_block(self, index: int) -> None:
        block = self._by_index.get(index)
        if block is None or block.stopped:
            return
        block.stopped = True
        if block.kind == "tool_use" and not block.texts:
            # The arguments were in the start of the block, or there are none.
            arguments = encode_arguments(as_object(block.data.get("input")))
            block.texts.append(arguments)
            self._out.add_call(block.call, "", "", arguments)

    def _build_part(self, block: _AnswerBlock) -> Part | ApiCall | None:
        text, data = "".join(block.texts), block.data
        known = _KNOWN_FIELDS.get(block.kind, ())
        rest = {key: value for key, value in data.items() if key not in known and value is not None}
        extra = Extra(vendor=self._vendor, data=rest) if rest else None
        match block.kind:
            case "text":
                return Text(text=text, extra=extra) if text or extra else None
            case "thinking":
                return Thinking(text=text, extra=extra) if text or extra else None
            case "tool_use":
                call_id, name = as_text(data.get("id")), as_text(data.get("name"))
                return ApiCall(index=block.call, id=call_id, name=name, arguments=text, extra=extra)
            case "":
                return None
            case _:
                return self._build_opaque(block, text)

    def _build_opaque(self, block: _AnswerBlock, text: str) -> Opaque | None:
        if not block.stopped:
            return None  # cut: the API would refuse it
        if text:
            block.data["input"] = parse_object(text) or {}
        return Opaque(vendor=self._vendor, data=block.data)

    def _finish_reason(self) -> FinishReason:
        if not self.ended:
            return "error"
        finish = FINISH_REASONS.get(self.reason, "stop")
        if finish in ("stop", "tool_calls"):
            return "tool_calls" if self._calls else "stop"  # some servers give the same reason for both
        return finish


def read_response(body: Any, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> Answer:
    """Read a whole answer. Raises `ModelError` if the body is an error or no answer."""
    message = as_object(body)
    if error := message.get("error"):
        raise build_error(error)
    if not isinstance(message.get("content"), list):
        raise ProviderError("the answer is not a message: it has no content")
    decoder = Decoder(vendor)
    decoder.read_body(message)
    return decoder.close()


def _index(event: dict[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else -1


def _read_usage(usage: dict[str, Any]) -> Usage | None:
    """Read the token counts. `input_tokens` of the API leaves out tokens that a cache had or has stored."""
    if not usage:
        return None
    cached = as_count(usage.get("cache_read_input_tokens"))
    written = as_count(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")) + cached + written,
        output_tokens=as_count(usage.get("output_tokens")),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=as_count(as_object(usage.get("output_tokens_details")).get("thinking_tokens")),
    )
