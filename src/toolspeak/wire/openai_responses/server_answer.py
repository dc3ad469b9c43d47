"""The server side, answers: writes them, streamed or whole.

An answer repeats the options of its request. Reasoning is written as its text, or as its summary if the request asks
for one. Data that a vendor puts on reasoning is known only at the end of a message: in a stream it is in the whole
answer, which ends the stream.

In a stream, an item begins with `output_item.added` and ends with `output_item.done`. Between the two its parts do the
same: a part of a message or of reasoning is added, grows by deltas, and is done. A message or reasoning ends where
another item begins; a call ends when it is ready, so that several calls may be open at the same time. What a client has
been sent of an item is what the item in the whole answer says, its ids included.
"""

import secrets
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal

from toolspeak.values.events import FinishReason, TurnEnded, Usage
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Call, Message, Opaque, Part, Text, Thinking, ToolCall
from toolspeak.values.recent import RecentValues
from toolspeak.values.spec import CUSTOM_PARAMETER, ToolSpec
from toolspeak.wire.answers import AnswerEncoder
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.errors import ErrorReport
from toolspeak.wire.framing import encode_event
from toolspeak.wire.json_data import as_list, as_object, as_text, dump_compact, encode_arguments, get_vendor_data
from toolspeak.wire.openai_chat.server import error_body as error_body
from toolspeak.wire.openai_responses.client import encode_choice, group_definitions
from toolspeak.wire.openai_responses.local_tools import CALL_ITEMS, ITEM_TYPES, build_actions
from toolspeak.wire.openai_responses.local_tools import ID_PREFIXES as LOCAL_ID_PREFIXES
from toolspeak.wire.openai_responses.names import (
    CUSTOM_CALL,
    FUNCTION_CALL,
    ID_PREFIX,
    VENDOR,
    split_namespace,
)
from toolspeak.wire.raw_text import RawInputReader, is_custom
from toolspeak.wire.vendor_tools import get_text_form, read_client_tool

ID_PREFIXES = {"message": "msg", "reasoning": "rs", FUNCTION_CALL: "fc", CUSTOM_CALL: "ctc", **LOCAL_ID_PREFIXES}
"""The beginning of the ids of items, by their types."""


@frozen
class CallForm:
    """How a client has offered a tool, and so how a call of that tool is written.

    Attributes:
        name: The name of the tool within its namespace.
        namespace: The namespace; empty if there is none.
        is_custom: Whether the tool takes one raw text instead of JSON.
        local: The type of a tool that the vendor defines and the client runs; empty for all others.
    """

    name: str
    namespace: str = ""
    is_custom: bool = False
    local: str = ""

    @property
    def kind(self) -> str:
        """The type of the item of a call."""
        if self.local:
            return ITEM_TYPES[self.local]
        return CUSTOM_CALL if self.is_custom else FUNCTION_CALL

    @property
    def text_field(self) -> str:
        """The field of the item with the raw text or the JSON of the arguments."""
        return "input" if self.is_custom else "arguments"

    def encode_arguments(self, call: ToolCall) -> str:
        """Return the arguments of a call as the text that the client expects."""
        return as_text(call.arguments.get(CUSTOM_PARAMETER)) if self.is_custom else encode_arguments(call.arguments)

    def build_item(self, item_id: str, call_id: str, text: str, status: str) -> dict[str, Any]:
        """Return the item of a call."""
        item: dict[str, Any] = {"type": self.kind, "id": item_id, "call_id": call_id, "name": self.name}
        item |= {"namespace": self.namespace} if self.namespace else {}
        return {**item, self.text_field: text, "status": status}

    def build_local_items(self, call: ToolCall, build_id: Callable[[int], str], status: str) -> list[dict[str, Any]]:
        """Return the items of a call of a tool that the vendor defines. `build_id` gives the id of the nth of them."""
        return [
            {
                "type": self.kind,
                "id": build_id(number),
                "call_id": f"{call.id}_{number + 1}" if number else call.id,
                **action,
                "status": status,
            }
            for number, action in enumerate(build_actions(self.local, call))
        ]


def find_call_forms(request: ChatRequest | None) -> dict[str, CallForm]:
    """Return how each tool of a request was offered, by the name that models are shown."""
    if request is None:
        return {}
    namespaces = {name: each.name for each in request.namespaces for name in each.tools}
    forms: dict[str, CallForm] = {}
    for spec in request.tools:
        namespace = namespaces.get(spec.name, "")
        name = split_namespace(namespace, spec.name)
        forms[spec.name] = CallForm(name=name, namespace=namespace, is_custom=is_custom(spec))
    for definition in map(as_object, as_list((request.extra or {}).get("tools"))):
        if (spec := read_client_tool(definition)) is not None:
            forms.setdefault(spec.name, CallForm(name=spec.name, local=get_text_form(spec)))
    return forms


def _text_content(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message_item(item_id: str, content: list[dict[str, Any]], status: str) -> dict[str, Any]:
    return {"type": "message", "id": item_id, "role": "assistant", "status": status, "content": content}


def _reasoning_item(item_id: str, texts: list[str], *, summarizes: bool) -> dict[str, Any]:
    """Return the item of reasoning, as a summary if the client has asked for one."""
    parts = [_reasoning_part(text, summarizes=summarizes) for text in texts]
    item: dict[str, Any] = {"type": "reasoning", "id": item_id}
    return {**item, "summary": parts} if summarizes else {**item, "summary": [], "content": parts}


def _reasoning_part(text: str, *, summarizes: bool) -> dict[str, Any]:
    return {"type": "summary_text" if summarizes else "reasoning_text", "text": text}


class ItemBuilder:
    """Builds the items of a whole answer out of its message. The ids of all items have `answer_id` in common."""

    def __init__(self, answer_id: str, forms: Mapping[str, CallForm], *, summarizes: bool) -> None:
        self._answer_id = answer_id
        self._forms = forms
        self.summarizes = summarizes

    def build(self, message: Message, status: str) -> list[dict[str, Any]]:
        """Return the items of a message. `status` is that of its last item."""
        items: list[dict[str, Any]] = []
        for part in message.parts:
            self._add(items, part)
        if items and "status" in items[-1] and items[-1]["type"] not in CALL_ITEMS:
            items[-1]["status"] = status
        return items

    def build_id(self, kind: str, index: int) -> str:
        """Return the id of an item."""
        return f"{ID_PREFIXES[kind]}_{self._answer_id}_{index}"

    def find_form(self, name: str) -> CallForm:
        """Return how a tool was offered."""
        return self._forms.get(name) or CallForm(name=name)

    def _add(self, items: list[dict[str, Any]], part: Part) -> None:
        index = len(items)
        match part:
            case Text(text=text) if text:
                self._add_text(items, part)
            case Thinking(text=text, extra=extra):
                item_id, texts = self.build_id("reasoning", index), [text] if text else []
                item = _reasoning_item(item_id, texts, summarizes=self.summarizes)
                items.append(item | get_vendor_data(extra, VENDOR))
            case Call(call=call, extra=extra):
                form = self.find_form(call.name)
                if form.local:
                    items += form.build_local_items(
                        call, lambda number: self.build_id(form.kind, index + number), "completed"
                    )
                    return
                item_id = as_text(get_vendor_data(extra, VENDOR).get("id")) or self.build_id(form.kind, index)
                items.append(form.build_item(item_id, call.id, form.encode_arguments(call), "completed"))
            case Opaque(data=data) if part.vendor == VENDOR:
                items.append(as_object(data))
            case _:
                pass

    def _add_text(self, items: list[dict[str, Any]], part: Text) -> None:
        data = get_vendor_data(part.extra, VENDOR)
        if data.get("refusal") is True:
            content: dict[str, Any] = {"type": "refusal", "refusal": part.text}
        else:
            content = {**_text_content(part.text), "annotations": as_list(data.get("annotations"))}
        item_id = as_text(data.get("id"))
        if items and item_id and items[-1].get("id") == item_id:
            items[-1]["content"].append(content)
            return
        own = {key: value for key, value in data.items() if key not in ("refusal", "annotations")}
        items.append(_message_item(self.build_id("message", len(items)), [content], "completed") | own)


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


class ItemStream(AnswerEncoder):
    """Writes the items of a streamed answer."""

    def __init__(self, builder: ItemBuilder) -> None:
        super().__init__()
        self._builder = builder
        self._summarizes = builder.summarizes
        self._items: dict[int, dict[str, Any]] = {}  # as they are in the whole answer, if complete, by their indexes
        self._sequence = -1
        self._count = 0
        self._open: Literal["message", "reasoning", ""] = ""
        self._texts: list[str] = []  # of the open item
        self._head: dict[str, Any] = {}  # the fields of all events of the open item
        self._open_calls: dict[str, _OpenCall] = {}
        self._closed_calls: set[str] = set()

    def _event(self, kind: str, **fields: Any) -> bytes:
        """Return an event of the stream, with its number."""
        return self._write_event(kind, f",{dump_compact(fields)[1:-1]}" if fields else "")

    def _write_event(self, kind: str, fields: str) -> bytes:
        """Return an event of the stream, with its number. `fields` is JSON that begins with a comma, or empty."""
        self._sequence += 1
        name = kind if kind == "error" else f"response.{kind}"
        return encode_event(f'{{"type":"{name}","sequence_number":{self._sequence}{fields}}}', name)

    @property
    def _output(self) -> list[dict[str, Any]]:
        """The complete items, in order."""
        return [item for _, item in sorted(self._items.items())]

    # Messages and reasoning

    def _add_text(self, text: str) -> bytes:
        return self._add("message", text)

    def _add_thinking(self, text: str) -> bytes:
        return self._add("reasoning", text)

    def _add(self, kind: Literal["message", "reasoning"], text: str) -> bytes:
        start = b"" if self._open == kind else self._open_item(kind)
        self._texts.append(text)
        return start + self._text_event("delta", delta=text)

    def _open_item(self, kind: Literal["message", "reasoning"]) -> bytes:
        events = self._close_open_item()
        self._open, index = kind, self._count
        place = "summary_index" if kind == "reasoning" and self._summarizes else "content_index"
        self._head = {"item_id": self._builder.build_id(kind, index), "output_index": index, place: 0}
        return events + self._add_item(self._build_item([], "in_progress"), index) + self._part_event("added", "")

    def _close_open_item(self, status: str = "completed") -> bytes:
        """Return the events that end the message or the reasoning that is open."""
        if not self._open:
            return b""
        text = "".join(self._texts)
        events = self._text_event("done", text=text) + self._part_event("done", text)
        item = self._build_item([text], status)
        self._open, self._texts = "", []
        return events + self._end_item(self._head["output_index"], item)

    def _build_item(self, texts: list[str], status: str) -> dict[str, Any]:
        if self._open == "message":
            return _message_item(self._head["item_id"], [_text_content(text) for text in texts], status)
        return _reasoning_item(self._head["item_id"], texts, summarizes=self._summarizes)

    def _text_event(self, what: str, **fields: Any) -> bytes:
        if self._open == "message":
            return self._event(f"output_text.{what}", **self._head, **fields, logprobs=[])
        kind = "reasoning_summary_text" if self._summarizes else "reasoning_text"
        return self._event(f"{kind}.{what}", **self._head, **fields)

    def _part_event(self, what: str, text: str) -> bytes:
        if self._open == "message":
            return self._event(f"content_part.{what}", **self._head, part=_text_content(text))
        kind = "reasoning_summary_part" if self._summarizes else "content_part"
        return self._event(f"{kind}.{what}", **self._head, part=_reasoning_part(text, summarizes=self._summarizes))

    # Calls

    def _start_call(self, call_id: str, name: str) -> bytes:
        form = self._builder.find_form(name)
        if form.local:  # its items are written when the call is ready
            return b""
        events = self._close_open_item()
        call = _OpenCall(call_id, form, self._count, self._builder.build_id(form.kind, self._count))
        self._open_calls[call_id] = call
        return events + self._add_item(form.build_item(call.item_id, call_id, "", "in_progress"), call.index)

    def _add_arguments(self, call_id: str, text: str) -> bytes:
        """Return the events of more JSON of a call's arguments. A custom tool's client is sent the text within it."""
        call = self._open_calls.get(call_id)
        if call is None:
            return b""
        return self._add_call_text(call, text if call.raw is None else call.raw.feed(text))

    def _complete_call(self, call: ToolCall) -> bytes:
        if call.id in self._closed_calls:
            return b""
        if (form := self._builder.find_form(call.name)).local:
            return self._write_local_items(form, call)
        events = b"" if call.id in self._open_calls else self._start_call(call.id, call.name)
        opened = self._open_calls[call.id]
        if opened.raw is not None or not opened.texts:
            whole = opened.form.encode_arguments(call)
            if whole.startswith(opened.text):
                events += self._add_call_text(opened, whole[len(opened.text) :])
            opened.texts = [whole]
        return events + self._close_call(opened, "completed")

    def _write_local_items(self, form: CallForm, call: ToolCall) -> bytes:
        self._closed_calls.add(call.id)
        events = self._close_open_item()
        first = self._count
        items = form.build_local_items(
            call, lambda number: self._builder.build_id(form.kind, first + number), "completed"
        )
        for item in items:
            index = self._count
            events += self._add_item({**item, "status": "in_progress"}, index) + self._end_item(index, item)
        return events

    def _close_calls(self) -> bytes:
        """Return the events that end calls which were begun and did not become ready."""
        return b"".join(self._close_call(call, "incomplete") for call in [*self._open_calls.values()])

    def _add_call_text(self, call: _OpenCall, text: str) -> bytes:
        if not text:
            return b""
        call.texts.append(text)
        return self._event(f"{_text_event(call)}.delta", item_id=call.item_id, output_index=call.index, delta=text)

    def _close_call(self, call: _OpenCall, status: str) -> bytes:
        del self._open_calls[call.call_id]
        self._closed_calls.add(call.call_id)
        whole: dict[str, Any] = {call.form.text_field: call.text}
        head = {"item_id": call.item_id, "output_index": call.index}
        item = call.form.build_item(call.item_id, call.call_id, call.text, status)
        return self._event(f"{_text_event(call)}.done", **head, **whole) + self._end_item(call.index, item)

    # Items

    def _add_item(self, item: dict[str, Any], index: int) -> bytes:
        self._count += 1
        return self._event("output_item.added", output_index=index, item=item)

    def _end_item(self, index: int, item: dict[str, Any]) -> bytes:
        self._items[index] = item
        return self._event("output_item.done", output_index=index, item=item)


def _text_event(call: _OpenCall) -> str:
    return "custom_tool_call_input" if call.form.is_custom else "function_call_arguments"


_INCOMPLETE_REASONS: dict[FinishReason, str] = {"length": "max_output_tokens", "refused": "content_filter"}

_REPEATED_FIELDS = ("metadata", "reasoning", "service_tier", "truncation", "user", "prompt_cache_key")
"""Fields of a request that an answer repeats unchanged."""


class Encoder(ItemStream):
    """Writes one answer, streamed or whole. `include_usage` is not used: this API always sends token counts."""

    def __init__(
        self, model: str, *, id: str, created: int, include_usage: bool = True, request: ChatRequest | None = None
    ) -> None:
        head = {"id": id, "object": "response", "created_at": created, "model": model}
        definitions = _define_tools(request)
        self._written_tools = definitions.written
        self._response: dict[str, Any] = {**head, **_repeat_options(request), "tools": definitions.listed}
        summarizes = bool(as_object((request.extra or {}).get("reasoning")).get("summary")) if request else False
        super().__init__(ItemBuilder(id.removeprefix(ID_PREFIX), definitions.forms, summarizes=summarizes))

    def start(self) -> bytes:
        """Return the beginning of a stream."""
        output: list[dict[str, Any]] = []
        # Both events hold the same answer.
        written = self._write_response({**self._response, "status": "in_progress", "output": output, "usage": None})
        return b"".join(self._write_event(name, f',"response":{written}') for name in ("created", "in_progress"))

    def _write_response(self, response: dict[str, Any]) -> str:
        """Return an answer as JSON. It repeats all tools, whose JSON is there already."""
        written = dump_compact({**response, "tools": _TOOLS_MARK})
        return written.replace(_WRITTEN_MARK, self._written_tools, 1)

    def error(self, report: ErrorReport) -> bytes:
        """Return the end of a stream that failed.

        Some clients see only `response.failed`. OpenAI's own SDKs raise an exception for an `error` event with the
        error in it, so that all clients built upon them see it. The fields beside it are those that the API documents.
        """
        closed = self._close_open_item("incomplete") + self._close_calls()
        error = {**report.openai_error(), "code": report.form.responses_code}
        response = {**self._response, "status": "failed", "error": error, "output": self._output, "usage": None}
        told = {"code": error["code"], "message": error["message"], "param": report.param}
        return (
            closed
            + self._event("error", **told, error=error)
            + self._write_event("failed", f',"response":{self._write_response(response)}')
        )

    def response(
        self, message: Message, finish: FinishReason, usage: Usage | None = None, stop_text: str = ""
    ) -> dict[str, Any]:
        """Return the body of a whole answer. The API has no field for `stop_text`."""
        status = "incomplete" if finish in _INCOMPLETE_REASONS else "completed"
        return self._end_response(self._builder.build(message, status), finish, usage or Usage())

    def _end(self, ended: TurnEnded) -> bytes:
        status = "incomplete" if ended.finish in _INCOMPLETE_REASONS else "completed"
        closed = self._close_open_item(status) + self._close_calls()
        output = _add_vendor_data(self._output, ended.message)
        response = self._end_response(output, ended.finish, ended.usage)
        self.written_body = self._write_response(response)
        return closed + self._write_event(response["status"], f',"response":{self.written_body}')

    def _end_response(self, output: list[dict[str, Any]], finish: FinishReason, usage: Usage) -> dict[str, Any]:
        response = {**self._response, "output": output, "usage": _encode_usage(usage), "status": "completed"}
        if reason := _INCOMPLETE_REASONS.get(finish):
            response |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
        self.body = response
        return response


def _add_vendor_data(output: list[dict[str, Any]], message: Message) -> list[dict[str, Any]]:
    """Return streamed items with the data that the vendor has put on reasoning. Ids stay as they were sent."""
    thoughts = [part for part in message.parts if isinstance(part, Thinking)]
    items = [item for item in output if item["type"] == "reasoning"]
    if len(thoughts) == len(items):  # otherwise the item of the data is not known
        for part, item in zip(thoughts, items, strict=True):
            data = get_vendor_data(part.extra, VENDOR)
            item |= {key: value for key, value in data.items() if key not in ("id", "summary", "content")}
    return output


_TOOLS_MARK = secrets.token_hex(16)
"""What stands for the tools while the rest of an answer is written. No model and no client knows it."""

_WRITTEN_MARK = f'"{_TOOLS_MARK}"'


@frozen
class _Definitions:
    """The tools of a request: as an answer repeats them, the same as JSON, and how each was offered."""

    tools: tuple[ToolSpec, ...]
    listed: list[Any]
    written: str
    forms: Mapping[str, CallForm]


LEAST_DEFINITIONS_SIZE = 20_000
"""What definitions count at least, so that fifty of them are kept at most."""

_recent_definitions = RecentValues[tuple[Hashable, ...], _Definitions](
    max_size=50 * LEAST_DEFINITIONS_SIZE, seconds=600
)
"""The definitions of the last requests. Tools are told apart by their ids, and are kept, so that no other tool gets the
id of one of them."""


def _define_tools(request: ChatRequest | None) -> _Definitions:
    """Return the definitions of the tools of a request. They must not be changed."""
    if request is None:
        return _Definitions(tools=(), listed=[], written="[]", forms={})
    vendor_tools = as_list((request.extra or {}).get("tools"))
    key = tuple(map(id, request.tools)), request.strict_tools, request.namespaces
    if not vendor_tools and (found := _recent_definitions.find(key)) is not None:
        return found
    listed = [
        *group_definitions(request.tools, request.namespaces, strict=request.strict_tools),
        *vendor_tools,
    ]
    made = _Definitions(
        tools=request.tools, listed=listed, written=dump_compact(listed), forms=find_call_forms(request)
    )
    if not vendor_tools:
        _recent_definitions.add(key, made, max(len(made.written), LEAST_DEFINITIONS_SIZE))
    return made


def _repeat_options(request: ChatRequest | None) -> dict[str, Any]:
    """Return the fields of an answer that say how it was asked for, but for its tools."""
    options: dict[str, Any] = {
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": False,
        "temperature": None,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "top_p": None,
        "truncation": "disabled",
    }
    if request is None:
        return options
    extra = request.extra or {}
    options |= {
        "max_output_tokens": request.max_tokens,
        "parallel_tool_calls": request.parallel,
        "previous_response_id": request.previous_id or None,
        "store": request.store,
        "temperature": request.temperature,
        "tool_choice": encode_choice(request.choice, request.tools),
        "top_p": request.top_p,
    }
    options |= {name: extra[name] for name in _REPEATED_FIELDS if extra.get(name) is not None}
    options["text"] |= as_object(extra.get("text"))
    return options


def _encode_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
