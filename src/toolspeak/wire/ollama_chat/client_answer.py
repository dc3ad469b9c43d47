"""Reads answers, streamed or whole. A whole answer has the form of one object of a stream.

A message of this API is a set of fields, not a list. So the parts of an answer are always reasoning, text, calls. Calls
arrive whole, and older servers give them no ids.
"""

from collections.abc import Iterable
from typing import Any

from toolspeak.errors import ProviderError
from toolspeak.events import FinishReason, Usage
from toolspeak.messages import Extra, Part, Text, Thinking
from toolspeak.pieces import Answer, ApiCall, Piece
from toolspeak.spec import ToolSpec
from toolspeak.wire.api_errors import build_error
from toolspeak.wire.json_data import arguments_as_text, as_count, as_list, as_object, as_text, parse_object
from toolspeak.wire.ollama_chat.names import FINISH_REASONS, VENDOR
from toolspeak.wire.piece_buffer import PieceBuffer


class Decoder:
    """Reads one streamed answer. `tools` are not needed: the arguments of every call are JSON.

    Attributes:
        ended: Whether the API has marked the end of the message. Otherwise the stream was cut.
        reason: The API's own word for why the message ended; empty until the API gave it.
        skipped: The number of lines that were not JSON objects, and so were skipped.
    """

    def __init__(self, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> None:
        self.ended = False
        self.reason = ""
        self.skipped = 0
        self._vendor = vendor
        self._out = PieceBuffer()
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ApiCall] = []
        self._usage: Usage | None = None

    def feed(self, data: str) -> list[Piece]:
        """Read one line."""
        return self.feed_all([data])

    def feed_all(self, payloads: list[str]) -> list[Piece]:
        """Read lines that arrived together; neighbouring pieces of one kind are joined.

        Raises `ModelError` when the API reports an error; `close` still returns what arrived before it.
        """
        for data in payloads:
            chunk = parse_object(data)
            if chunk is None:
                self.skipped += 1
            else:
                self._read_chunk(chunk)
        return self._out.take()

    def close(self) -> Answer:
        """Return the whole message, as far as it arrived."""
        parts: list[Part | ApiCall] = []
        if self._thinking:
            extra = Extra(vendor=self._vendor, data={"field": "thinking"})
            parts.append(Thinking(text="".join(self._thinking), extra=extra))
        if self._text:
            parts.append(Text(text="".join(self._text)))
        return Answer(parts=(*parts, *self._calls), finish=self._finish_reason(), usage=self._usage)

    def read_body(self, body: dict[str, Any]) -> None:
        """Read the body of a whole answer."""
        self._read_chunk(body)
        if "message" not in body:
            raise ProviderError("the answer is not one of Ollama's API: it has no message")
        self.ended = True

    def _read_chunk(self, chunk: dict[str, Any]) -> None:
        if error := chunk.get("error"):
            raise build_error(error)
        message = as_object(chunk.get("message"))
        if thought := as_text(message.get("thinking")):
            self._thinking.append(thought)
            self._out.add_thinking(thought)
        if text := as_text(message.get("content")):
            self._text.append(text)
            self._out.add_text(text)
        for call in as_list(message.get("tool_calls")):
            self._read_call(as_object(call))
        if chunk.get("done") is True:
            self.ended, self.reason = True, as_text(chunk.get("done_reason"))
            self._usage = _read_usage(chunk)

    def _read_call(self, call: dict[str, Any]) -> None:
        function = as_object(call.get("function"))
        name, arguments = as_text(function.get("name")), arguments_as_text(function.get("arguments"))
        if not name and not arguments:
            return
        # The place in the message is the index: the field `index` has had several meanings.
        read = ApiCall(index=len(self._calls), id=as_text(call.get("id")), name=name, arguments=arguments)
        self._calls.append(read)
        self._out.add_call(read.index, read.id, read.name, read.arguments)

    def _finish_reason(self) -> FinishReason:
        if not self.ended:
            return "error"
        finish = FINISH_REASONS.get(self.reason, "stop")
        return "tool_calls" if self._calls and finish == "stop" else finish


def read_response(body: Any, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> Answer:
    """Read a whole answer. Raises `ModelError` if the body is an error or no answer."""
    decoder = Decoder(vendor)
    decoder.read_body(as_object(body))
    return decoder.close()


def _read_usage(chunk: dict[str, Any]) -> Usage | None:
    if "prompt_eval_count" not in chunk and "eval_count" not in chunk:
        return None
    return Usage(input_tokens=as_count(chunk.get("prompt_eval_count")), output_tokens=as_count(chunk.get("eval_count")))
