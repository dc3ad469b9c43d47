"""Reads answers, streamed or whole. A stream is a list of answers, each with further parts of the message.

Neighbouring texts of one sort are one part. A signature ends its part; in a stream it may come with an empty text,
behind the text that it belongs to. Parts of the API's own tools become `Opaque` parts.
"""

from collections.abc import Iterable
from typing import Any

from toolspeak.errors import ProviderError
from toolspeak.events import FinishReason, Usage
from toolspeak.messages import Extra, Media, Opaque, Part, Text, Thinking
from toolspeak.pieces import Answer, ApiCall, Piece
from toolspeak.spec import ToolSpec
from toolspeak.wire.api_errors import build_error
from toolspeak.wire.gemini_content.names import FINISH_REASONS, VENDOR, part_data
from toolspeak.wire.json_data import as_count, as_list, as_object, as_text, encode_arguments, parse_object
from toolspeak.wire.media import decode_any_base64
from toolspeak.wire.piece_buffer import PieceBuffer


class _TextPart:
    """A part of text or reasoning, while it arrives."""

    __slots__ = ("data", "is_thought", "texts")

    def __init__(self, is_thought: bool) -> None:
        self.is_thought = is_thought
        self.texts: list[str] = []
        self.data: dict[str, Any] = {}


class Decoder:
    """Reads one streamed answer. `tools` are not needed: the arguments of every call are an object.

    Attributes:
        ended: Whether the API has marked the end of the message. Otherwise the stream was cut.
        reason: The API's own word for why the message ended; empty until the API gave it.
        skipped: The number of events that were not JSON objects, and so were skipped.
    """

    def __init__(self, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> None:
        self.ended = False
        self.reason = ""
        self.skipped = 0
        self._is_blocked = False
        self._vendor = vendor
        self._out = PieceBuffer()
        self._parts: list[_TextPart | ApiCall | Part] = []
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
            chunk = parse_object(data)
            if chunk is not None:
                self.read_chunk(chunk)
            elif data.strip() != "[DONE]":  # some servers end the stream as OpenAI does
                self.skipped += 1
        return self._out.take()

    def close(self) -> Answer:
        """Return the whole message, as far as it arrived."""
        parts = [self._build_text(part) if isinstance(part, _TextPart) else part for part in self._parts]
        return Answer(parts=tuple(parts), finish=self._finish_reason(), usage=_read_usage(self._usage))

    def read_chunk(self, chunk: dict[str, Any]) -> None:
        """Read one answer of a stream, or a whole answer."""
        if error := chunk.get("error"):
            raise build_error(error)
        candidate = as_object(next(iter(as_list(chunk.get("candidates"))), None))
        for part in as_list(as_object(candidate.get("content")).get("parts")):
            self._read_part(as_object(part))
        # Counts are totals: a later one replaces an earlier one, and one that is left out stays.
        self._usage |= as_object(chunk.get("usageMetadata"))
        if blocked := as_text(as_object(chunk.get("promptFeedback")).get("blockReason")):
            self.ended, self.reason, self._is_blocked = True, blocked, True
        if reason := as_text(candidate.get("finishReason")):
            self.ended, self.reason = True, reason

    def _read_part(self, part: dict[str, Any]) -> None:
        data = part_data(part)
        if isinstance(part.get("text"), str):
            self._add_text(part["text"], data)
        elif call := as_object(part.get("functionCall")):
            self._add_call(call, data)
        elif (media := self._read_media(part, data)) is not None:
            self._parts.append(media)
        elif rest := {name: value for name, value in part.items() if name not in data and value}:
            self._parts.append(Opaque(vendor=self._vendor, data={**rest, **data}))
        elif data.get("thoughtSignature"):
            self._add_text("", data)

    def _add_text(self, text: str, data: dict[str, Any]) -> None:
        is_thought = data.get("thought") is True
        last = self._parts[-1] if self._parts else None
        joins = isinstance(last, _TextPart) and last.is_thought == is_thought and "thoughtSignature" not in last.data
        if not isinstance(last, _TextPart) or not joins or (text and "thoughtSignature" in data and last.texts):
            if not text and not data.get("thoughtSignature"):
                return
            last = _TextPart(is_thought)
            self._parts.append(last)
        last.data |= data
        if text:
            last.texts.append(text)
            if is_thought:
                self._out.add_thinking(text)
            else:
                self._out.add_text(text)

    def _add_call(self, call: dict[str, Any], data: dict[str, Any]) -> None:
        call_id, name = as_text(call.get("id")), as_text(call.get("name"))
        arguments = encode_arguments(as_object(call.get("args")))
        extra = Extra(vendor=self._vendor, data=data) if data else None
        self._parts.append(ApiCall(index=self._calls, id=call_id, name=name, arguments=arguments, extra=extra))
        self._out.add_call(self._calls, call_id, name, arguments)
        self._calls += 1

    def _read_media(self, part: dict[str, Any], data: dict[str, Any]) -> Media | None:
        blob = as_object(part.get("inlineData"))
        content = decode_any_base64(as_text(blob.get("data")))
        mime = as_text(blob.get("mimeType"))
        if not content or not mime:
            return None
        return Media(mime=mime, data=content, extra=Extra(vendor=self._vendor, data=data) if data else None)

    def _build_text(self, part: _TextPart) -> Part:
        text = "".join(part.texts)
        extra = Extra(vendor=self._vendor, data=part.data) if part.data else None
        return Thinking(text=text, extra=extra) if part.is_thought else Text(text=text, extra=extra)

    def _finish_reason(self) -> FinishReason:
        if not self.ended:
            return "error"
        finish = "refused" if self._is_blocked else FINISH_REASONS.get(self.reason, "stop")
        return "tool_calls" if finish == "stop" and self._calls else finish  # the API gives one reason for both


def read_response(body: Any, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> Answer:
    """Read a whole answer. Raises `ModelError` if the body is an error or no answer."""
    decoder = Decoder(vendor)
    # Without `alt=sse`, a stream is a list of answers.
    chunks = [as_object(each) for each in as_list(body)] if isinstance(body, list) else [as_object(body)]
    for chunk in chunks:
        decoder.read_chunk(chunk)
    if not decoder.ended and not any(chunk.get("candidates") for chunk in chunks):
        raise ProviderError("the answer is not a message: it has no candidates")
    decoder.ended = True
    return decoder.close()


def _read_usage(usage: dict[str, Any]) -> Usage | None:
    """Read the token counts. The API counts reasoning apart from the rest of an answer."""
    if not usage:
        return None
    thoughts = as_count(usage.get("thoughtsTokenCount"))
    return Usage(
        input_tokens=as_count(usage.get("promptTokenCount")) + as_count(usage.get("toolUsePromptTokenCount")),
        output_tokens=as_count(usage.get("candidatesTokenCount")) + thoughts,
        cached_tokens=as_count(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )
