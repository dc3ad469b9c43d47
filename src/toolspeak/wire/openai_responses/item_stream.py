"""`ItemStream`: the items of an answer as server-sent events, while the answer is generated.

An item begins with `output_item.added` and ends with `output_item.done`. Between the two its parts do the same: a part
of a message or of reasoning is added, grows by deltas, and is done. A message or reasoning ends where another item
begins; a call ends when it is ready, so that several calls may be open at the same time. What a client has been sent of
an item is what the item in the whole answer says, its ids included.
"""

from typing import Any, Literal

from toolspeak.messages import ToolCall
from toolspeak.wire.json_data import dump_compact
from toolspeak.wire.openai_responses.output_items import (
    CallForm,
    ItemBuilder,
    message_item,
    reasoning_item,
    text_content,
)
from toolspeak.wire.openai_responses.raw_input import RawInputReader
from toolspeak.wire.sse import encode_event


class _OpenCall:
    """A call that is being sent: the index and id of its item, and the text of its arguments so far."""

    __slots__ = ("call_id", "form", "index", "item_id", "raw", "texts")

    def __init__(self, call_id: str, form: CallForm, index: int, item_id: str) -> None:
        self.call_id = call_id
        self.form = form
        self.index = index
        self.item_id = item_id
        self.texts: list[str] = []
        self.raw = RawInputReader() if form.is_custom else None

    @property
    def text(self) -> str:
        return "".join(self.texts)


class ItemStream:
    """Writes the items of one answer.

    Attributes:
        items: The items as they are in the whole answer, as far as they are complete, by their indexes.
    """

    def __init__(self, builder: ItemBuilder, *, summarizes: bool) -> None:
        self.items: dict[int, dict[str, Any]] = {}
        self._builder = builder
        self._summarizes = summarizes
        self._sequence = -1
        self._count = 0
        self._open: Literal["message", "reasoning", ""] = ""
        self._texts: list[str] = []  # of the open item
        self._head: dict[str, Any] = {}  # the fields of all events of the open item
        self._calls: dict[str, _OpenCall] = {}
        self._closed_calls: set[str] = set()

    def event(self, kind: str, **fields: Any) -> bytes:
        """Return an event of the stream, with its number."""
        self._sequence += 1
        name = f"response.{kind}"
        data = {"type": name, "sequence_number": self._sequence, **fields}
        return encode_event(dump_compact(data), name)

    @property
    def output(self) -> list[dict[str, Any]]:
        """The complete items, in order."""
        return [item for _, item in sorted(self.items.items())]

    # Messages and reasoning

    def add_text(self, text: str) -> bytes:
        """Return the events of more text of the answer."""
        start = b"" if self._open == "message" else self._open_message()
        self._texts.append(text)
        return start + self.event("output_text.delta", **self._head, content_index=0, delta=text, logprobs=[])

    def add_thinking(self, text: str) -> bytes:
        """Return the events of more reasoning."""
        start = b"" if self._open == "reasoning" else self._open_reasoning()
        self._texts.append(text)
        if self._summarizes:
            return start + self.event("reasoning_summary_text.delta", **self._head, summary_index=0, delta=text)
        return start + self.event("reasoning_text.delta", **self._head, content_index=0, delta=text)

    def close_open_item(self, status: str = "completed") -> bytes:
        """Return the events that end the message or the reasoning that is open."""
        kind, text = self._open, "".join(self._texts)
        if not kind:
            return b""
        self._open, self._texts = "", []
        events = self._close_message_part(text) if kind == "message" else self._close_reasoning_part(text)
        item_id = self._head["item_id"]
        if kind == "message":
            item = message_item(item_id, [text_content(text)], status)
        else:
            item = reasoning_item(item_id, [text], summarizes=self._summarizes)
        return events + self._end_item(self._head["output_index"], item)

    def _open_message(self) -> bytes:
        events = self._begin("message")
        events += self._add_item(message_item(self._head["item_id"], [], "in_progress"), self._head["output_index"])
        return events + self.event("content_part.added", **self._head, content_index=0, part=text_content(""))

    def _open_reasoning(self) -> bytes:
        events = self._begin("reasoning")
        item = reasoning_item(self._head["item_id"], [], summarizes=self._summarizes)
        return events + self._add_item(item, self._head["output_index"]) + self._reasoning_part("added", "")

    def _begin(self, kind: Literal["message", "reasoning"]) -> bytes:
        events = self.close_open_item()
        self._open = kind
        self._head = {"item_id": self._builder.build_id(kind, self._count), "output_index": self._count}
        return events

    def _close_message_part(self, text: str) -> bytes:
        done = self.event("output_text.done", **self._head, content_index=0, text=text, logprobs=[])
        return done + self.event("content_part.done", **self._head, content_index=0, part=text_content(text))

    def _close_reasoning_part(self, text: str) -> bytes:
        if self._summarizes:
            done = self.event("reasoning_summary_text.done", **self._head, summary_index=0, text=text)
        else:
            done = self.event("reasoning_text.done", **self._head, content_index=0, text=text)
        return done + self._reasoning_part("done", text)

    def _reasoning_part(self, what: str, text: str) -> bytes:
        if self._summarizes:
            part = {"type": "summary_text", "text": text}
            return self.event(f"reasoning_summary_part.{what}", **self._head, summary_index=0, part=part)
        part = {"type": "reasoning_text", "text": text}
        return self.event(f"content_part.{what}", **self._head, content_index=0, part=part)

    # Calls

    def start_call(self, call_id: str, name: str) -> bytes:
        """Return the events that begin a call."""
        events = self.close_open_item()
        form = self._builder.find_form(name)
        call = _OpenCall(call_id, form, self._count, self._builder.build_id(form.kind, self._count))
        self._calls[call_id] = call
        return events + self._add_item(form.build_item(call.item_id, call_id, "", "in_progress"), call.index)

    def add_arguments(self, call_id: str, text: str) -> bytes:
        """Return the events of more JSON of a call's arguments. A custom tool's client is sent the text within it."""
        call = self._calls.get(call_id)
        if call is None:
            return b""
        return self._add_call_text(call, text if call.raw is None else call.raw.feed(text))

    def complete_call(self, ready: ToolCall) -> bytes:
        """Return the events that end a call, and those that begin it if it was not begun."""
        if ready.id in self._closed_calls:
            return b""
        events = b"" if ready.id in self._calls else self.start_call(ready.id, ready.name)
        call = self._calls[ready.id]
        if call.raw is not None or not call.texts:
            whole = call.form.encode_arguments(ready)
            if whole.startswith(call.text):
                events += self._add_call_text(call, whole[len(call.text) :])
            call.texts = [whole]
        return events + self._close_call(call, "completed")

    def close_calls(self) -> bytes:
        """Return the events that end calls which were begun and did not become ready."""
        return b"".join(self._close_call(call, "incomplete") for call in [*self._calls.values()])

    def _add_call_text(self, call: _OpenCall, text: str) -> bytes:
        if not text:
            return b""
        call.texts.append(text)
        return self.event(f"{_text_event(call)}.delta", item_id=call.item_id, output_index=call.index, delta=text)

    def _close_call(self, call: _OpenCall, status: str) -> bytes:
        del self._calls[call.call_id]
        self._closed_calls.add(call.call_id)
        whole: dict[str, Any] = {call.form.text_field: call.text}
        head = {"item_id": call.item_id, "output_index": call.index}
        item = call.form.build_item(call.item_id, call.call_id, call.text, status)
        return self.event(f"{_text_event(call)}.done", **head, **whole) + self._end_item(call.index, item)

    # Items

    def _add_item(self, item: dict[str, Any], index: int) -> bytes:
        self._count += 1
        return self.event("output_item.added", output_index=index, item=item)

    def _end_item(self, index: int, item: dict[str, Any]) -> bytes:
        self.items[index] = item
        return self.event("output_item.done", output_index=index, item=item)


def _text_event(call: _OpenCall) -> str:
    return "custom_tool_call_input" if call.form.is_custom else "function_call_arguments"
