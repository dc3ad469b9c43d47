"""Reads answers, streamed or whole: a list of items. A whole answer is read as a stream of items that arrive complete.

Messages, reasoning and calls are read. Every other item (of the API's own tools) becomes an `Opaque` part in its place.
What an item holds may arrive as deltas, as a whole text after them, with the whole item, or with the whole answer, and
servers leave out any of these but the last. So of each text, only what is new is emitted.
"""

from collections.abc import Iterable
from typing import Any

from toolspeak.definitions import CUSTOM_PARAMETER
from toolspeak.errors import ProviderError
from toolspeak.events import FinishReason, Usage
from toolspeak.messages import Extra, Opaque, Part, Text, Thinking
from toolspeak.pieces import Answer, ApiCall, Piece
from toolspeak.spec import ToolSpec
from toolspeak.wire.api_errors import build_error
from toolspeak.wire.json_data import arguments_as_text, as_count, as_list, as_object, as_text, parse_object
from toolspeak.wire.openai_responses.names import CUSTOM_CALL, FUNCTION_CALL, VENDOR, is_custom, join_namespace
from toolspeak.wire.openai_responses.raw_input import CLOSE_ARGUMENTS, escape_text, open_arguments
from toolspeak.wire.piece_buffer import PieceBuffer

_CALL_FIELDS = frozenset("type status call_id name arguments input".split())
_MESSAGE_FIELDS = frozenset("type status role content".split())
_REASONING_FIELDS = frozenset("type status".split())
_TEXT_FIELDS = frozenset("type text refusal logprobs".split())

_SUMMARY_SEPARATOR = "\n\n"
"""What stands between two parts of a summary."""

_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class _GrowingText:
    """A text that arrives in pieces, each of which is handled once however many there are."""

    __slots__ = ("_length", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0

    def __str__(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._length += len(piece)

    def find_rest(self, whole: str) -> str:
        """Return what a whole text has after this one; nothing if the whole text begins otherwise."""
        if len(whole) <= self._length:
            return ""
        return whole[self._length :] if whole.startswith(str(self)) else ""


class _AnswerItem:
    """An item of the answer while it arrives.

    Attributes:
        data: The item as the API sent it last.
        kind: Its type.
        call: The number of its call, if it is one.
        name: The tool of its call, with the namespace of the tool.
        call_id: The id of its call.
        texts: The texts so far, by the index of their part: contents of a message, or arguments at 0.
        reasoning: The type of the deltas that its reasoning is read from: of a text and its summary, the first one.
        is_done: Whether nothing more of the item will arrive.
        status: The status with which the item ended; empty if the API gave none.
        closing: What ends the arguments of a custom tool's call, once the call is known to be complete.
    """

    __slots__ = ("call", "call_id", "closing", "data", "is_done", "kind", "name", "reasoning", "status", "texts")

    def __init__(self, data: dict[str, Any], call: int) -> None:
        self.data = data
        self.kind = as_text(data.get("type"))
        self.call = call
        self.name = join_namespace(as_text(data.get("namespace")), as_text(data.get("name")))
        self.call_id = as_text(data.get("call_id"))
        self.reasoning = ""
        self.texts: dict[int, _GrowingText] = {}
        self.is_done = False
        self.status = ""
        self.closing = ""

    def add(self, part: int, text: str) -> None:
        """Add text to a part."""
        if part not in self.texts:
            self.texts[part] = _GrowingText()
        self.texts[part].add(text)


class Decoder:
    """Reads one streamed answer.

    Attributes:
        ended: Whether the API has marked the end of the answer. Otherwise the stream was cut.
        reason: The status of the answer, or the reason why it is incomplete; empty until the API gave it.
        skipped: The number of events that were not JSON objects, and so were skipped.
    """

    def __init__(self, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> None:
        self.ended = False
        self.reason = ""
        self.skipped = 0
        self._vendor = vendor
        self._raw = {spec.name: spec.raw or CUSTOM_PARAMETER for spec in tools if is_custom(spec)}
        self._out = PieceBuffer()
        self._items: dict[int, _AnswerItem] = {}  # by their indexes in the output
        self._calls = 0
        self._usage: Usage | None = None
        self._status = ""

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
            elif data.strip() != "[DONE]":  # some servers end the stream as the chat API does
                self.skipped += 1
        return self._out.take()

    def close(self) -> Answer:
        """Return the whole message, as far as it arrived."""
        parts = [part for _, item in sorted(self._items.items()) for part in self._build_parts(item)]
        return Answer(parts=tuple(parts), finish=self._finish_reason(parts), usage=self._usage)

    def read_body(self, response: dict[str, Any]) -> None:
        """Read the body of a whole answer. Raises `ModelError` if the answer failed."""
        self._status = as_text(response.get("status")) or "completed"
        for index, data in enumerate(as_list(response.get("output"))):
            self._complete_item(index, as_object(data))
        for item in self._items.values():
            self._close_arguments(item)
        if usage := as_object(response.get("usage")):
            self._usage = _read_usage(usage)
        if self._status == "failed":
            raise build_error(response.get("error"))
        self.ended = True
        self.reason = as_text(as_object(response.get("incomplete_details")).get("reason")) or self._status

    def _read_event(self, event: dict[str, Any]) -> None:
        kind = as_text(event.get("type"))
        index = event.get("output_index")
        if kind in _ENDS:
            self.read_body(as_object(event.get("response")))
        elif kind == "error" or (not kind and event.get("error")):
            raise build_error(event.get("error") or event)
        elif not isinstance(index, int):
            return
        elif kind == "response.output_item.added":
            self._start_item(index, as_object(event.get("item")))
        elif kind == "response.output_item.done":
            self._complete_item(index, as_object(event.get("item")))
        elif (item := self._items.get(index)) is not None and not item.is_done:
            self._read_part_event(item, kind, event)

    def _read_part_event(self, item: _AnswerItem, kind: str, event: dict[str, Any]) -> None:
        """Read an event about a part of an item."""
        part = _part_index(event)
        match kind.removeprefix("response."):
            case "output_text.delta" | "refusal.delta" if item.kind == "message":
                self._add_text(item, part, as_text(event.get("delta")))
            case "refusal.done" | "output_text.done" if item.kind == "message":
                self._catch_up(item, part, as_text(event.get("text")) or as_text(event.get("refusal")))
            case "content_part.added" | "content_part.done" if item.kind == "message":
                self._keep_content(item, part, as_object(event.get("part")))
            case "reasoning_text.delta" | "reasoning_summary_text.delta" if item.kind == "reasoning":
                self._add_thinking(item, kind, part, as_text(event.get("delta")))
            case "function_call_arguments.delta" if item.kind == FUNCTION_CALL:
                self._add_text(item, 0, as_text(event.get("delta")))
            case "function_call_arguments.done" if item.kind == FUNCTION_CALL:
                self._catch_up(item, 0, arguments_as_text(event.get("arguments")))
            case "custom_tool_call_input.delta" if item.kind == CUSTOM_CALL:
                self._add_text(item, 0, as_text(event.get("delta")))
            case "custom_tool_call_input.done" if item.kind == CUSTOM_CALL:
                self._catch_up(item, 0, as_text(event.get("input")))
            case _:
                pass

    # Items

    def _start_item(self, index: int, data: dict[str, Any]) -> _AnswerItem | None:
        if index in self._items or not as_text(data.get("type")):
            return self._items.get(index)
        item = self._items[index] = _AnswerItem(dict(data), self._calls)
        if item.kind in (FUNCTION_CALL, CUSTOM_CALL):
            self._calls += 1
            self._out.add_call(item.call, item.call_id, item.name, "")
            if item.kind == CUSTOM_CALL:
                self._out.add_call(item.call, "", "", open_arguments(self._parameter(item)))
        return item

    def _complete_item(self, index: int, data: dict[str, Any]) -> None:
        item = self._start_item(index, data)
        if item is None or item.kind != data.get("type"):
            return
        if item.is_done:  # in the whole answer, an item may have more fields
            item.data |= {key: value for key, value in data.items() if key not in item.data}
            return
        item.status = as_text(data.get("status"))
        match item.kind:
            case "message":
                for part, content in enumerate(map(as_object, as_list(data.get("content")))):
                    self._catch_up(item, part, as_text(content.get("text")) or as_text(content.get("refusal")))
            case "reasoning":
                if not item.texts:
                    self._read_reasoning(item, data)
            case "function_call":
                self._catch_up(item, 0, arguments_as_text(data.get("arguments")))
            case "custom_tool_call":
                self._catch_up(item, 0, as_text(data.get("input")))
            case _:
                pass
        item.data = dict(data)
        item.is_done = True
        if item.status:  # without a status, the end of the answer tells whether a call is complete
            self._close_arguments(item)

    def _close_arguments(self, item: _AnswerItem) -> None:
        """End the arguments of a custom tool's call, if all of its text has arrived."""
        if item.kind == CUSTOM_CALL and item.is_done and not item.closing and not self._is_cut(item):
            item.closing = CLOSE_ARGUMENTS
            self._out.add_call(item.call, "", "", CLOSE_ARGUMENTS)

    def _read_reasoning(self, item: _AnswerItem, data: dict[str, Any]) -> None:
        kind = "content" if as_list(data.get("content")) else "summary"
        event = "response.reasoning_text.delta" if kind == "content" else "response.reasoning_summary_text.delta"
        for part, content in enumerate(map(as_object, as_list(data.get(kind)))):
            self._add_thinking(item, event, part, as_text(content.get("text")))

    # Texts

    def _add_text(self, item: _AnswerItem, part: int, text: str) -> None:
        if not text:
            return
        item.add(part, text)
        if item.kind == "message":
            self._out.add_text(text)
        else:
            self._out.add_call(item.call, "", "", escape_text(text) if item.kind == CUSTOM_CALL else text)

    def _catch_up(self, item: _AnswerItem, part: int, whole: str) -> None:
        known = item.texts.get(part)
        self._add_text(item, part, known.find_rest(whole) if known else whole)

    def _add_thinking(self, item: _AnswerItem, kind: str, part: int, text: str) -> None:
        item.reasoning = item.reasoning or kind
        if not text or item.reasoning != kind:
            return
        if part not in item.texts and item.texts and "summary" in kind:
            text = _SUMMARY_SEPARATOR + text
        item.add(part, text)
        self._out.add_thinking(text)

    def _keep_content(self, item: _AnswerItem, part: int, content: dict[str, Any]) -> None:
        """Keep the fields of a part of a message, for a stream that is cut before the whole message came."""
        contents = [*as_list(item.data.get("content"))]
        contents[part:] = [content] if part <= len(contents) else []
        item.data["content"] = contents

    # Parts

    def _build_parts(self, item: _AnswerItem) -> list[Part | ApiCall]:
        match item.kind:
            case "message":
                return [*self._build_texts(item)]
            case "reasoning":
                data = _other_fields(item.data, _REASONING_FIELDS)
                return [Thinking(text="".join(map(str, item.texts.values())), extra=self._extra(data))]
            case "function_call" | "custom_tool_call":
                return [self._build_call(item)]
            case _:
                # An item that was cut would be refused.
                return [Opaque(vendor=self._vendor, data=item.data)] if item.is_done else []

    def _build_texts(self, item: _AnswerItem) -> list[Text]:
        contents = [as_object(each) for each in as_list(item.data.get("content"))]
        fields = _other_fields(item.data, _MESSAGE_FIELDS)
        texts: list[Text] = []
        for part, text in sorted(item.texts.items()):
            content = contents[part] if part < len(contents) else {}
            own = {key: value for key, value in _other_fields(content, _TEXT_FIELDS).items() if value != []}
            refusal = {"refusal": True} if content.get("type") == "refusal" else {}
            texts.append(Text(text=str(text), extra=self._extra({**fields, **own, **refusal})))
        return texts

    def _build_call(self, item: _AnswerItem) -> ApiCall:
        text = str(item.texts.get(0, ""))
        fields = _other_fields(item.data, _CALL_FIELDS)
        if item.kind == CUSTOM_CALL:
            fields["type"] = CUSTOM_CALL
            text = f"{open_arguments(self._parameter(item))}{escape_text(text)}{item.closing}"
        return ApiCall(index=item.call, id=item.call_id, name=item.name, arguments=text, extra=self._extra(fields))

    def _is_cut(self, item: _AnswerItem) -> bool:
        """Whether an item ended before it was complete, by its own status or else by that of the answer."""
        return (item.status or self._status) == "incomplete"

    def _parameter(self, item: _AnswerItem) -> str:
        return self._raw.get(item.name, CUSTOM_PARAMETER)

    def _extra(self, data: dict[str, Any]) -> Extra | None:
        return Extra(vendor=self._vendor, data=data) if data else None

    def _finish_reason(self, parts: list[Part | ApiCall]) -> FinishReason:
        if not self.ended or self.reason == "cancelled":
            return "error"
        refused = any(isinstance(part, Text) and part.extra and part.extra.data.get("refusal") for part in parts)
        if refused or self.reason == "content_filter":
            return "refused"
        if self.reason != "completed":
            return "length"
        return "tool_calls" if self._calls else "stop"


def read_response(body: Any, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> Answer:
    """Read a whole answer. Raises `ModelError` if the body is an error or no answer."""
    response = as_object(body)
    if (error := response.get("error")) and response.get("status") != "failed":
        raise build_error(error)
    if not isinstance(response.get("output"), list):
        raise ProviderError("the answer is not a response: it has no output")
    decoder = Decoder(vendor, tools)
    decoder.read_body(response)
    return decoder.close()


def _part_index(event: dict[str, Any]) -> int:
    index = event.get("content_index", event.get("summary_index"))
    return index if isinstance(index, int) else 0


def _other_fields(data: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in known and value is not None}


def _read_usage(usage: dict[str, Any]) -> Usage:
    details = as_object(usage.get("input_tokens_details"))
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")),
        output_tokens=as_count(usage.get("output_tokens")),
        cached_tokens=as_count(details.get("cached_tokens")),
        cache_write_tokens=as_count(details.get("cache_write_tokens")),
        reasoning_tokens=as_count(as_object(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )
