"""Answers, streamed and plain: a list of blocks, each told from its start through its deltas to its stop.

Text, reasoning and calls are read; every other block (what the API's own tools did, reasoning that is not shown) is
carried as it is, in its place.
"""

from typing import Any

from toolspeak.errors import ProviderError
from toolspeak.events import FinishReason, Usage
from toolspeak.messages import Extra, Opaque, Part, Text, Thinking
from toolspeak.pieces import Answer, ApiCall, Piece
from toolspeak.wire.anthropic_messages.names import FINISHES, VENDOR
from toolspeak.wire.faults import fault
from toolspeak.wire.json_data import count_in, list_in, object_in, parse_object, spelled_arguments, text_in
from toolspeak.wire.piece_buffer import PieceBuffer

_KNOWN = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
}
"""What is read of a block; the rest of it goes back with it."""


class _Block:
    """A block that is being told. `data` is its start; what was added since is in the other fields."""

    __slots__ = ("call", "data", "sort", "stopped", "texts")

    def __init__(self, data: dict[str, Any], call: int) -> None:
        self.data = data
        self.sort = text_in(data.get("type"))
        self.call = call
        self.texts: list[str] = []
        self.stopped = False


class Decoder:
    """Reads one streamed answer.

    Attributes:
        ended: Whether the API said that the message is over; if not, it was cut.
        reason: How the API said it ended, in its own word. After `pause_turn` the message is to be sent back to go on.
        skipped: How much of what came was not an object of the API at all.
    """

    def __init__(self, vendor: str = VENDOR) -> None:
        self.ended = False
        self.reason = ""
        self.skipped = 0
        self._vendor = vendor
        self._out = PieceBuffer()
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._calls = 0
        self._usage: dict[str, Any] = {}

    def feed(self, data: str) -> list[Piece]:
        """Read the data of one event."""
        return self.feed_all([data])

    def feed_all(self, payloads: list[str]) -> list[Piece]:
        """Read the data of events that came together; neighbouring pieces of a sort are told as one.

        Raises `ModelError` when the API reports an error; `close` still tells all that came before it.
        """
        for data in payloads:
            event = parse_object(data)
            if event is not None:
                self._read(event)
            elif data.strip() != "[DONE]":  # some servers close with the other API's last word
                self.skipped += 1
        return self._out.take()

    def close(self) -> Answer:
        """All of the message, as far as it came."""
        parts = [part for block in self._blocks if (part := self._part(block)) is not None]
        return Answer(parts=tuple(parts), finish=self._finish(), usage=_usage(self._usage))

    def read_whole(self, message: dict[str, Any]) -> None:
        """Read a message that came in one piece."""
        for index, block in enumerate(list_in(message.get("content"))):
            self._start(index, dict(object_in(block)))
            self._stop(index)
        self._usage |= object_in(message.get("usage"))
        self.ended, self.reason = True, text_in(message.get("stop_reason"))

    def _read(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "content_block_delta":
                self._add(_index(event), object_in(event.get("delta")))
            case "content_block_start":
                self._start(_index(event), dict(object_in(event.get("content_block"))))
            case "content_block_stop":
                self._stop(_index(event))
            case "message_start":
                self._count(object_in(event.get("message")).get("usage"))
            case "message_delta":
                self._count(event.get("usage"))
                if reason := text_in(object_in(event.get("delta")).get("stop_reason")):
                    self.ended, self.reason = True, reason
            case "message_stop":
                self.ended = True
            case _:
                if error := event.get("error"):
                    raise fault(error)

    def _count(self, usage: Any) -> None:
        # Figures are totals: a later one stands for an earlier, and one that is not said stays.
        self._usage |= {name: figure for name, figure in object_in(usage).items() if figure is not None}

    def _start(self, index: int, data: dict[str, Any]) -> None:
        block = _Block(data, self._calls)
        self._blocks.append(block)
        self._by_index[index] = block
        if block.sort == "tool_use":
            self._calls += 1
            self._out.call(block.call, text_in(data.get("id")), text_in(data.get("name")), "")
        elif block.sort in ("text", "thinking") and (text := text_in(data.get(block.sort))):
            self._tell(block, text)

    def _add(self, index: int, delta: dict[str, Any]) -> None:
        block = self._by_index.get(index)
        if block is None:
            return
        match delta.get("type"):
            case "text_delta" | "thinking_delta":
                if text := text_in(delta.get("text") or delta.get("thinking")):
                    self._tell(block, text)
            case "input_json_delta":
                if text := text_in(delta.get("partial_json")):
                    block.texts.append(text)
                    if block.sort == "tool_use":
                        self._out.call(block.call, "", "", text)
            case "citations_delta":
                block.data["citations"] = [*list_in(block.data.get("citations")), delta.get("citation")]
            case _:  # a signature, or a delta of a block that we only carry
                block.data |= {key: value for key, value in delta.items() if key != "type"}

    def _tell(self, block: _Block, text: str) -> None:
        block.texts.append(text)
        if block.sort == "text":
            self._out.text(text)
        elif block.sort == "thinking":
            self._out.thinking(text)

    def _stop(self, index: int) -> None:
        block = self._by_index.get(index)
        if block is None or block.stopped:
            return
        block.stopped = True
        if block.sort == "tool_use" and not block.texts:
            arguments = spelled_arguments(
                object_in(block.data.get("input"))
            )  # all there from the start, or no arguments
            block.texts.append(arguments)
            self._out.call(block.call, "", "", arguments)

    def _part(self, block: _Block) -> Part | ApiCall | None:
        text, data = "".join(block.texts), block.data
        rest = {
            key: value for key, value in data.items() if key not in _KNOWN.get(block.sort, ()) and value is not None
        }
        extra = Extra(vendor=self._vendor, data=rest) if rest else None
        match block.sort:
            case "text":
                return Text(text=text, extra=extra) if text or extra else None
            case "thinking":
                return Thinking(text=text, extra=extra) if text or extra else None
            case "tool_use":
                call_id, name = text_in(data.get("id")), text_in(data.get("name"))
                return ApiCall(index=block.call, id=call_id, name=name, arguments=text, extra=extra)
            case "":
                return None
            case _:
                return self._carried(block, text)

    def _carried(self, block: _Block, text: str) -> Opaque | None:
        if not block.stopped:
            return None  # cut: it could not be sent back
        if text:
            block.data["input"] = parse_object(text) or {}
        return Opaque(vendor=self._vendor, data=block.data)

    def _finish(self) -> FinishReason:
        if not self.ended:
            return "error"
        finish = FINISHES.get(self.reason, "stop")
        if finish in ("stop", "tool_calls"):
            return "tool_calls" if self._calls else "stop"  # not all servers say which
        return finish


def read_response(body: Any, vendor: str = VENDOR) -> Answer:
    """Read a plain answer. Raises `ModelError` when it is none."""
    message = object_in(body)
    if error := message.get("error"):
        raise fault(error)
    if not isinstance(message.get("content"), list):
        raise ProviderError("the answer is not a message: it has no content")
    decoder = Decoder(vendor)
    decoder.read_whole(message)
    return decoder.close()


def _index(event: dict[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else -1


def _usage(usage: dict[str, Any]) -> Usage | None:
    """Tokens. Here `input_tokens` are those that were neither read from a cache nor written to one."""
    if not usage:
        return None
    cached = count_in(usage.get("cache_read_input_tokens"))
    written = count_in(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=count_in(usage.get("input_tokens")) + cached + written,
        output_tokens=count_in(usage.get("output_tokens")),
        cached_tokens=cached,
    )
