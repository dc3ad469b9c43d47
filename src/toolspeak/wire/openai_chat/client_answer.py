"""Reads answers, streamed or whole. A whole answer is read as a stream of one chunk, so that both give the same parts.
Only its calls need not be put together.

A message of this API is a set of fields, not a list: reasoning, text and calls have no order among each other. So the
parts of an answer are always reasoning, text, refusal, calls. Servers differ most in how they stream calls; the rules
for that are in `PartialCalls`.
"""

from collections.abc import Iterable
from typing import Any

from toolspeak.errors import ProviderError
from toolspeak.events import FinishReason, Usage
from toolspeak.messages import Extra, Part, Text, Thinking
from toolspeak.pieces import Answer, ApiCall, Piece
from toolspeak.spec import ToolSpec
from toolspeak.wire.api_errors import build_error
from toolspeak.wire.json_data import as_count, as_list, as_object, as_text, parse_object
from toolspeak.wire.openai_chat.names import DONE, FINISH_REASONS, REASONING_DETAILS, REASONING_FIELDS, VENDOR
from toolspeak.wire.openai_chat.partial_calls import PartialCalls, read_whole_call
from toolspeak.wire.openai_chat.text_chunks import TextChunks
from toolspeak.wire.piece_buffer import PieceBuffer

_TEXT_EXTRA_FIELDS = ("annotations", "extra_content")
"""Fields of a message that are kept as the `extra` of its text."""

_PLAIN_COUNTS = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
"""The token counts that every server sends."""

_COMMON_FIELDS = frozenset({"role", "content", "refusal", "tool_calls"})
"""Fields of a message that nearly every server sends, and most servers no others."""


class Decoder:
    """Reads one streamed answer. `tools` are not needed: the arguments of every call are JSON.

    Attributes:
        ended: Whether the API has marked the end of the message. Otherwise the stream was cut.
        reason: The API's own word for why the message ended; empty until the API gave it.
        skipped: The number of events that were not JSON objects, and so were skipped.
    """

    def __init__(self, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> None:
        self.ended = False
        self.reason = ""
        self.skipped = 0
        self._stop_text = ""
        self._vendor = vendor
        self._out = PieceBuffer()
        self._text: list[str] = []
        self._text_extra: dict[str, Any] = {}
        self._refusal: list[str] = []
        self._thinking: list[str] = []
        self._thinking_field = ""
        self._details: list[dict[str, Any]] = []
        self._calls = PartialCalls(self._out)
        self._is_whole = False
        self._whole_calls: list[ApiCall] = []
        self._text_chunks = TextChunks("content")
        self._argument_chunks = TextChunks("arguments")  # of the call that was read last
        self._lone_arguments = ""  # those of the last chunk, if there was nothing else to read in it
        self._usage: Usage | None = None

    def feed(self, data: str) -> list[Piece]:
        """Read the data of one event."""
        return self.feed_all([data])

    def feed_all(self, payloads: list[str]) -> list[Piece]:
        """Read the data of events that arrived together; neighbouring pieces of one kind are joined.

        Raises `ModelError` when the API reports an error; `close` still returns what arrived before it.
        """
        for data in payloads:
            if text := self._text_chunks.read(data):
                self._add_text(text)
            elif arguments := self._argument_chunks.read(data):
                self._calls.add_arguments(arguments)
            elif data.strip() == DONE:
                self.ended = True
                self._calls.end()
            elif (chunk := parse_object(data)) is None:
                self.skipped += 1
            elif text := self._read_chunk(chunk):
                self._text_chunks.learn(data, text)
            elif self._lone_arguments:
                self._argument_chunks.learn(data, self._lone_arguments)
            else:
                self._argument_chunks.forget()  # the next arguments may be those of another call
        return self._out.take()

    def close(self) -> Answer:
        """Return the whole message, as far as it arrived."""
        calls = self._whole_calls or self._calls.build(self._vendor)
        parts: list[Part | ApiCall] = [*self._build_parts(), *calls]
        finish = self._finish_reason(bool(calls))
        return Answer(parts=tuple(parts), finish=finish, usage=self._usage, stop_text=self._stop_text)

    def read_body(self, body: dict[str, Any]) -> None:
        """Read the body of a whole answer."""
        self._is_whole = True
        self._read_chunk(body)
        if not as_list(body.get("choices")):
            raise ProviderError("the answer is not a chat completion: it has no choices")
        self.ended = True
        self._calls.end()

    def _read_chunk(self, chunk: dict[str, Any]) -> str:
        """Read a chunk, and return its text if there was nothing else to read in it; else an empty text."""
        self._lone_arguments = ""
        if error := chunk.get("error"):
            raise build_error(error)
        usage = chunk.get("usage")
        if usage and (usage := as_object(usage)):
            self._usage = _read_usage(usage, as_object(chunk.get("timings")))
        choices = as_list(chunk.get("choices"))
        if not choices:
            if chunk.get("object") == "error":
                raise build_error(chunk)
            return ""
        choice = as_object(choices[0])
        delta = as_object(choice.get("delta") or choice.get("message"))
        content = delta.get("content")
        if type(content) is str:
            self._add_text(content)
        elif content:
            self._read_blocks(content)
        has_other = (len(delta) > 1 or not content) and self._read_other_fields(delta)
        reason = choice.get("finish_reason")
        if reason and (reason := as_text(reason)):
            self.ended, self.reason = True, reason
            self._stop_text = as_text(choice.get("stop_reason"))  # vLLM and SGLang; for a token it is a number
            self._calls.end()
        if content or reason or usage:
            self._lone_arguments = ""
        return content if type(content) is str and not (reason or usage or has_other) else ""

    def _add_text(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._out.add_text(text)

    def _read_blocks(self, content: Any) -> None:
        """Read content that is a list of blocks, some of them reasoning, as Mistral sends it."""
        for block in map(as_object, as_list(content)):
            self._add_text(as_text(block.get("text")))
            for thought in map(as_object, as_list(block.get("thinking"))):
                self._add_thinking(REASONING_FIELDS[0], as_text(thought.get("text")))

    def _read_other_fields(self, delta: dict[str, Any]) -> bool:
        """Read everything but the text, and return whether there was anything. Most chunks have only text."""
        refusal, calls = delta.get("refusal"), delta.get("tool_calls")
        is_common = delta.keys() <= _COMMON_FIELDS
        if not is_common:
            self._read_reasoning(delta)
        if refusal and (text := as_text(refusal)):
            self._refusal.append(text)
            self._out.add_text(text)
        if calls and self._is_whole:
            self._whole_calls = [
                read_whole_call(as_object(call), place, self._vendor) for place, call in enumerate(as_list(calls))
            ]
        elif calls:
            lone_arguments = self._read_pieces(as_list(calls))
            self._lone_arguments = lone_arguments if is_common and not refusal else ""
        if is_common:
            return bool(refusal or calls)
        if legacy := delta.get("function_call"):
            self._calls.read({"index": 0, "function": legacy})
        for field in _TEXT_EXTRA_FIELDS:
            if value := delta.get(field):
                self._add_text_extra(field, value)
        return any(delta[field] for field in delta if field not in ("role", "content"))

    def _read_pieces(self, pieces: list[Any]) -> str:
        """Read pieces of calls. If there is one that has nothing but arguments, return them; else an empty text."""
        arguments = ""
        for piece in pieces:
            arguments = self._calls.read(as_object(piece))
        return arguments if len(pieces) == 1 else ""

    def _read_reasoning(self, delta: dict[str, Any]) -> None:
        details = as_list(delta.get(REASONING_DETAILS))
        for field in REASONING_FIELDS:
            if thought := as_text(delta.get(field)):
                self._add_thinking(field, thought)
                break
        else:
            for detail in map(as_object, details):
                self._add_thinking("", as_text(detail.get("text")) or as_text(detail.get("summary")))
        for detail in map(as_object, details):
            self._add_detail(detail)

    def _add_thinking(self, field: str, text: str) -> None:
        if text:
            self._thinking_field = self._thinking_field or field
            self._thinking.append(text)
            self._out.add_thinking(text)

    def _add_detail(self, detail: dict[str, Any]) -> None:
        last = self._details[-1] if self._details else {}
        if "index" not in detail or (last.get("index"), last.get("type")) != (detail["index"], detail.get("type")):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in ("text", "summary") and isinstance(last.get(key), str) and isinstance(value, str):
                last[key] += value
            elif value is not None:
                last[key] = value

    def _add_text_extra(self, field: str, value: Any) -> None:
        kept = self._text_extra.get(field)
        if isinstance(kept, list):
            value = [*as_list(kept), *as_list(value)]
        self._text_extra[field] = value

    def _build_parts(self) -> list[Part]:
        parts: list[Part] = []
        if self._thinking or self._details:
            data: dict[str, Any] = {"field": self._thinking_field} if self._thinking_field else {}
            data |= {REASONING_DETAILS: self._details} if self._details else {}
            parts.append(Thinking(text="".join(self._thinking), extra=Extra(vendor=self._vendor, data=data)))
        if self._text or self._text_extra:
            extra = Extra(vendor=self._vendor, data=self._text_extra) if self._text_extra else None
            parts.append(Text(text="".join(self._text), extra=extra))
        if self._refusal:
            extra = Extra(vendor=self._vendor, data={"refusal": True})
            parts.append(Text(text="".join(self._refusal), extra=extra))
        return parts

    def _finish_reason(self, has_calls: bool) -> FinishReason:
        if not self.ended:
            return "error"
        finish = FINISH_REASONS.get(self.reason.lower(), "stop")
        if finish not in ("stop", "tool_calls"):
            return finish
        if self._refusal:
            return "refused"
        return "tool_calls" if has_calls else "stop"  # some servers give the same reason for both


def read_response(body: Any, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> Answer:
    """Read a whole answer. Raises `ModelError` if the body is an error or no answer."""
    decoder = Decoder(vendor)
    decoder.read_body(as_object(body))
    return decoder.close()


def _read_usage(usage: dict[str, Any], timings: dict[str, Any]) -> Usage:
    """Read the token counts. In `timings` servers of llama.cpp say what their cache had."""
    input_tokens, output_tokens = as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens"))
    if not timings and usage.keys() <= _PLAIN_COUNTS:
        return Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    details = as_object(usage.get("prompt_tokens_details"))
    output_details = as_object(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=as_count(details.get("cached_tokens"))
        or as_count(usage.get("prompt_cache_hit_tokens"))
        or as_count(timings.get("cache_n")),
        cache_write_tokens=as_count(details.get("cache_write_tokens")),
        reasoning_tokens=as_count(output_details.get("reasoning_tokens")),
    )
