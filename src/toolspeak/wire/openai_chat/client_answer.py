"""Answers, streamed and plain. A plain answer is read as a stream of one chunk, so both give the same.

A message of this API is a set of fields, not a list: reasoning, text and calls have no order among each other. So the
parts of an answer are always reasoning, text, refusal, calls. Servers differ most in how they stream calls; the rules
for that are in `SpokenCalls`.
"""

from typing import Any

from toolspeak.errors import ProviderError
from toolspeak.events import FinishReason, Usage
from toolspeak.messages import Extra, Part, Text, Thinking
from toolspeak.pieces import Answer, ApiCall, Piece
from toolspeak.wire.faults import fault
from toolspeak.wire.json_data import count_in, list_in, object_in, parse_object, text_in
from toolspeak.wire.openai_chat.names import DONE, FINISHES, REASONING_DETAILS, REASONING_FIELDS, VENDOR
from toolspeak.wire.openai_chat.partial_calls import PartialCalls
from toolspeak.wire.piece_buffer import PieceBuffer

_KEPT_OF_MESSAGE = ("annotations", "extra_content")
"""Fields of a message that belong to its text."""


class Decoder:
    """Reads one streamed answer.

    Attributes:
        ended: Whether the API said that the message is over; if not, it was cut.
        reason: How the API said it ended, in its own word.
        skipped: How much of what came was not an object of the API at all.
    """

    def __init__(self, vendor: str = VENDOR) -> None:
        self.ended = False
        self.reason = ""
        self.skipped = 0
        self._vendor = vendor
        self._out = PieceBuffer()
        self._text: list[str] = []
        self._text_extra: dict[str, Any] = {}
        self._refusal: list[str] = []
        self._thinking: list[str] = []
        self._thinking_field = ""
        self._details: list[dict[str, Any]] = []
        self._calls = PartialCalls(self._out)
        self._usage: Usage | None = None

    def feed(self, data: str) -> list[Piece]:
        """Read the data of one event."""
        return self.feed_all([data])

    def feed_all(self, payloads: list[str]) -> list[Piece]:
        """Read the data of events that came together; neighbouring pieces of a sort are told as one.

        Raises `ModelError` when the API reports an error; `close` still tells all that came before it.
        """
        for data in payloads:
            chunk = parse_object(data)
            if chunk is not None:
                self._read(chunk)
            elif data.strip() == DONE:
                self.ended = True
                self._calls.end()
            else:
                self.skipped += 1
        return self._out.take()

    def close(self) -> Answer:
        """All of the message, as far as it came."""
        calls = self._calls.spoken(self._vendor)
        parts: list[Part | ApiCall] = [*self._parts(), *calls]
        return Answer(parts=tuple(parts), finish=self._finish(bool(calls)), usage=self._usage)

    def read_whole(self, body: dict[str, Any]) -> None:
        """Read a message that came in one piece."""
        choices = [dict(object_in(choice)) for choice in list_in(body.get("choices"))[:1]]
        for choice in choices:
            message = object_in(choice.get("message"))
            calls = map(object_in, list_in(message.get("tool_calls")))
            # Here the place in the list is the index, whatever the ids are.
            numbered = [{**call, "index": index} for index, call in enumerate(calls)]
            choice["message"] = {**message, "tool_calls": numbered}
        self._read({**body, "choices": choices})
        if not choices:
            raise ProviderError("the answer is not a chat completion: it has no choices")
        self.ended = True
        self._calls.end()

    def _read(self, chunk: dict[str, Any]) -> None:
        if error := chunk.get("error"):
            raise fault(error)
        if usage := object_in(chunk.get("usage")):
            self._usage = _usage(usage)
        choices = list_in(chunk.get("choices"))
        if not choices:
            if chunk.get("object") == "error":
                raise fault(chunk)
            return
        choice = object_in(choices[0])
        delta = object_in(choice.get("delta") or choice.get("message"))
        content = delta.get("content")
        if content:
            if type(content) is str:
                self._text.append(content)
                self._out.text(content)
            else:
                self._read_blocks(content)
        if len(delta) > 1 or not content:
            self._read_others(delta)
        if reason := text_in(choice.get("finish_reason")):
            self.ended, self.reason = True, reason
            self._calls.end()

    def _read_blocks(self, content: Any) -> None:
        """Text as a list of blocks, some of them reasoning, as Mistral sends it."""
        for block in map(object_in, list_in(content)):
            if text := text_in(block.get("text")):
                self._text.append(text)
                self._out.text(text)
            for thought in map(object_in, list_in(block.get("thinking"))):
                self._think(REASONING_FIELDS[0], text_in(thought.get("text")))

    def _read_others(self, delta: dict[str, Any]) -> None:
        """All but the text: what most chunks do not have."""
        details = list_in(delta.get(REASONING_DETAILS))
        for field in REASONING_FIELDS:
            if thought := text_in(delta.get(field)):
                self._think(field, thought)
                break
        else:
            for detail in map(object_in, details):
                self._think("", text_in(detail.get("text")) or text_in(detail.get("summary")))
        for detail in map(object_in, details):
            self._add_detail(detail)
        if refusal := text_in(delta.get("refusal")):
            self._refusal.append(refusal)
            self._out.text(refusal)
        for call in list_in(delta.get("tool_calls")):
            self._calls.read(object_in(call))
        if legacy := delta.get("function_call"):
            self._calls.read({"index": 0, "function": legacy})
        for field in _KEPT_OF_MESSAGE:
            if kept := delta.get(field):
                self._keep(field, kept)

    def _think(self, field: str, text: str) -> None:
        if text:
            self._thinking_field = self._thinking_field or field
            self._thinking.append(text)
            self._out.thinking(text)

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

    def _keep(self, field: str, value: Any) -> None:
        kept = self._text_extra.get(field)
        if isinstance(kept, list):
            value = [*list_in(kept), *list_in(value)]
        self._text_extra[field] = value

    def _parts(self) -> list[Part]:
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

    def _finish(self, has_calls: bool) -> FinishReason:
        if not self.ended:
            return "error"
        finish = FINISHES.get(self.reason.lower(), "stop")
        if finish not in ("stop", "tool_calls"):
            return finish
        if self._refusal:
            return "refused"
        return "tool_calls" if has_calls else "stop"  # not all servers say which


def read_response(body: Any, vendor: str = VENDOR) -> Answer:
    """Read a plain answer. Raises `ModelError` when it is none."""
    decoder = Decoder(vendor)
    decoder.read_whole(object_in(body))
    return decoder.close()


def _usage(usage: dict[str, Any]) -> Usage:
    details = object_in(usage.get("prompt_tokens_details"))
    return Usage(
        input_tokens=count_in(usage.get("prompt_tokens")),
        output_tokens=count_in(usage.get("completion_tokens")),
        cached_tokens=count_in(details.get("cached_tokens")) or count_in(usage.get("prompt_cache_hit_tokens")),
    )
