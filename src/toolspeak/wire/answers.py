"""`AnswerDecoder` and `AnswerEncoder`: what the readers and the writers of answers share, whatever the API.

A decoder reads the events of a stream, or the body of a whole answer, into pieces and one `Answer`. An encoder writes
the events of a turn as a stream, or its message as a whole answer. Each API derives both; `PieceBuffer` joins the
pieces of one read from the network, so that they are handed on as one.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

from toolspeak.values.events import (
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
from toolspeak.values.messages import Message, ToolCall
from toolspeak.values.pieces import Answer, CallPiece, Piece
from toolspeak.wire.errors import ErrorReport
from toolspeak.wire.json_data import encode_arguments, parse_object


class PieceBuffer:
    """Collects pieces, and joins neighbours of the same kind."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._kind: Literal["text", "thinking", "call", ""] = ""  # of the piece that is being joined
        self._texts: list[str] = []
        self._call = (0, "", "")

    def add_text(self, text: str) -> None:
        """Add text of the answer."""
        if self._kind != "text":
            self._flush()
            self._kind = "text"
        self._texts.append(text)

    def add_thinking(self, text: str) -> None:
        """Add reasoning."""
        if self._kind != "thinking":
            self._flush()
            self._kind = "thinking"
        self._texts.append(text)

    def add_call(self, index: int, call_id: str, name: str, arguments: str) -> None:
        """Add a piece of a call. Only its first piece has the id and the name."""
        if self._kind != "call" or self._call[0] != index or call_id or name:
            self._flush()
            self._kind = "call"
            self._call = (index, call_id, name)
        self._texts.append(arguments)

    def take(self) -> list[Piece]:
        """Return the pieces that were added since the last call."""
        self._flush()
        pieces, self._pieces = self._pieces, []
        return pieces

    def _flush(self) -> None:
        if not self._kind:
            return
        text = "".join(self._texts)
        self._texts.clear()
        if self._kind == "text":
            self._pieces.append(TextDelta(text=text))
        elif self._kind == "thinking":
            self._pieces.append(ThinkingDelta(text=text))
        else:
            index, call_id, name = self._call
            self._pieces.append(CallPiece(index=index, id=call_id, name=name, arguments=text))
        self._kind = ""


class AnswerDecoder(ABC):
    """Reads one answer.

    Attributes:
        ended: Whether the API has marked the end of the message. Otherwise the stream was cut.
        reason: The API's own word for why the message ended; empty until the API gave it.
        skipped: The number of events that were not JSON objects, and so were skipped.
    """

    end_mark: str | None = "[DONE]"
    """The data of the last event of OpenAI's chat API. Servers of other APIs send it as well; it is not skipped."""

    def __init__(self, vendor: str) -> None:
        self.ended = False
        self.reason = ""
        self.skipped = 0
        self._vendor = vendor
        self._out = PieceBuffer()

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
            elif data.strip() != self.end_mark:
                self.skipped += 1
        return self._out.take()

    @abstractmethod
    def close(self) -> Answer:
        """Return the whole message, as far as it arrived."""

    @abstractmethod
    def _read_event(self, event: dict[str, Any]) -> Any:
        """Read one event. Raises `ModelError` if it is an error."""


class AnswerEncoder(ABC):
    """Writes one answer of a server, streamed (`start`, `feed`, `ping`, `error`) or whole (`response`).

    Attributes:
        content_type: The media type of a stream.
        body: The whole answer, once its end was written, where the API has one at the end of a stream as well (OpenAI's
            responses).
        written_body: That answer as JSON, if it was written in a stream.
    """

    content_type: str = "text/event-stream"
    body: dict[str, Any] | None = None
    written_body: str = ""

    def __init__(self) -> None:
        self._calls: dict[str, int] = {}  # the places of the calls that were begun, by their ids
        self._has_arguments: set[str] = set()
        self._shows_thinking = True  # whether the client has asked for reasoning, where the API lets it

    @abstractmethod
    def start(self) -> bytes:
        """Return the beginning of a stream."""

    def feed(self, events: Sequence[Event]) -> bytes:
        """Return the part of a stream that represents `events`. `TurnEnded` ends the stream.

        An event that has no counterpart in the API gives no bytes.
        """
        return b"".join(map(self._encode, events))

    @abstractmethod
    def error(self, report: ErrorReport) -> bytes:
        """Return the end of a stream that failed."""

    def repeat_error(self, report: ErrorReport) -> bytes:
        """Return the error once more for clients that do not see it in the stream; sent by itself, after `error`."""
        return b""

    def ping(self) -> bytes:
        """Return what may be sent between two parts of a stream so that it is not silent. Clients ignore it."""
        return b": ping\n\n"

    @abstractmethod
    def response(
        self, message: Message, finish: FinishReason, usage: Usage | None = None, stop_text: str = ""
    ) -> dict[str, Any]:
        """Return the body of a whole answer. `stop_text` is the stop text that ended the answer, if that is known."""

    def join(self, bodies: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the body of several whole answers to one request, where the API has that (OpenAI's chat, Gemini)."""
        return bodies[0]

    def _encode(self, event: Event) -> bytes:
        match event:
            case TextDelta(text=text) if text:
                return self._add_text(text)
            case ThinkingDelta(text=text) if text and self._shows_thinking:
                return self._add_thinking(text)
            case CallStarted(call_id=call_id, name=name):
                return self._start_call(call_id, name)
            case ArgsDelta(call_id=call_id, text=text) if text:
                return self._add_arguments(call_id, text)
            case CallReady(call=call):
                return self._complete_call(call)
            case TurnEnded():
                return self._end(event)
            case _:
                return b""

    @abstractmethod
    def _add_text(self, text: str) -> bytes: ...

    @abstractmethod
    def _add_thinking(self, text: str) -> bytes: ...

    @abstractmethod
    def _start_call(self, call_id: str, name: str) -> bytes: ...

    @abstractmethod
    def _add_arguments(self, call_id: str, text: str) -> bytes:
        """Add JSON of a call's arguments. The call may be unknown, or complete already."""

    def _complete_call(self, call: ToolCall) -> bytes:
        """Write what was not written of a call, perhaps all of it."""
        started = b"" if call.id in self._calls else self._start_call(call.id, call.name)
        if call.id in self._has_arguments:
            return started
        return started + self._add_arguments(call.id, encode_arguments(call.arguments))

    @abstractmethod
    def _end(self, ended: TurnEnded) -> bytes: ...
