"""The client side: writes a `ChatRequest` as the headers and the body of a request, and reads answers.

A conversation is a list of items: a message, a call, a result and reasoning are items of their own. The first system
message is the field `instructions`. The endpoint is asked to keep nothing, and to encrypt reasoning, so that the items
of an answer can be sent back to it. The API has no stop texts, no seed and no grammar for an answer: they are left out.

A whole answer is read as a stream of items that arrive complete. Messages, reasoning and calls are read. Every other
item (of the API's own tools) becomes an `Opaque` part in its place. What an item holds may arrive as deltas, as a whole
text after them, with the whole item, or with the whole answer, and servers leave out any of these but the last. So of
each text, only what is new is emitted.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from toolspeak.values.errors import ProviderError
from toolspeak.values.events import FinishReason, ToolChoice, Usage
from toolspeak.values.messages import Call, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.values.pieces import Answer, ApiCall
from toolspeak.values.spec import CUSTOM_PARAMETER, ToolSpec
from toolspeak.wire.answers import AnswerDecoder
from toolspeak.wire.chat_request import NO_QUIRKS, ChatRequest, Quirks, ToolNamespace
from toolspeak.wire.errors import build_error
from toolspeak.wire.json_data import (
    arguments_as_text,
    as_count,
    as_list,
    as_object,
    as_text,
    build_extra,
    encode_arguments,
    get_vendor_data,
)
from toolspeak.wire.media import describe_media, explain_no_address, name_kind, show_text, to_url
from toolspeak.wire.openai_chat.client import request_headers as request_headers
from toolspeak.wire.openai_responses.local_tools import CALL_ITEMS
from toolspeak.wire.openai_responses.names import (
    CUSTOM_CALL,
    ENCRYPTED_REASONING,
    FUNCTION_CALL,
    PATHS,
    VENDOR,
    join_namespace,
    split_namespace,
)
from toolspeak.wire.raw_text import (
    CLOSE_ARGUMENTS,
    GRAMMAR_KEYWORD,
    describe_grammar,
    escape_text,
    is_custom,
    open_arguments,
    raw_schema,
)
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules, fit_schema
from toolspeak.wire.vendor_tools import RAW_TOOLS

_WITHOUT_REASONING = re.compile(r"gpt-[34]|chatgpt-4")
"""Models of OpenAI that do not reason, and refuse a request for encrypted reasoning."""

encode_message: None = None
"""No message is written by itself: a result depends on the sort of an earlier call."""


def request_path(request: ChatRequest) -> str:
    """Return the path of a request behind the base address: the same for all."""
    return PATHS[0]


def request_body(
    request: ChatRequest, *, quirks: Quirks = NO_QUIRKS, rules: SchemaRules = NO_CHANGES, vendor: str = VENDOR
) -> dict[str, Any]:
    """Return the body of a request."""
    extra = dict(request.extra or {})
    messages = list(request.messages)
    body: dict[str, Any] = {"model": request.model}
    if messages and messages[0].role == "system":
        body["instructions"] = messages.pop(0).text
    body["input"] = ItemWriter(request.tools, quirks, vendor).write(messages)
    body |= _tool_fields(request, rules, quirks)
    if request.stream:
        body["stream"] = True
    text = dict(as_object(extra.pop("text", None)))
    if request.json_schema is not None and quirks.response_format:
        schema, strict = fit_schema(request.json_schema, rules)
        text["format"] = {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict}
    if text:
        body["text"] = text
    settings = {"max_output_tokens": request.max_tokens, "temperature": request.temperature, "top_p": request.top_p}
    body |= {name: value for name, value in settings.items() if value is not None}
    body["store"] = False
    if quirks.echo_reasoning and not _WITHOUT_REASONING.match(request.model):
        body["include"] = [ENCRYPTED_REASONING, *as_list(extra.pop("include", None))]
    vendor_tools = as_list(extra.pop("tools", None))
    body |= extra
    if vendor_tools:
        body["tools"] = [*body.get("tools", ()), *vendor_tools]
    return body


# Tools


def tool_definitions(
    specs: Iterable[ToolSpec], *, strict: bool = False, rules: SchemaRules = NO_CHANGES
) -> list[dict[str, Any]]:
    """Return the `tools` field of a request."""
    rules = SchemaRules(strict=True) if strict else rules
    return [_definition(spec, rules, NO_QUIRKS) for spec in specs]


def group_definitions(
    specs: Iterable[ToolSpec],
    namespaces: Iterable[ToolNamespace],
    rules: SchemaRules = NO_CHANGES,
    quirks: Quirks = NO_QUIRKS,
    strict: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the `tools` field of a request with each namespace at the place of its first tool.

    Functions whose names are in `strict` are marked so, whatever `rules` say.
    """
    by_tool = {name: namespace for namespace in namespaces for name in namespace.tools}
    groups: dict[str, list[dict[str, Any]]] = {}
    definitions: list[dict[str, Any]] = []
    for spec in specs:
        definition = _definition(spec, rules, quirks)
        if spec.name in strict and "strict" in definition:
            definition["strict"] = True
        namespace = by_tool.get(spec.name)
        if namespace is None:
            definitions.append(definition)
            continue
        if namespace.name not in groups:
            members = groups[namespace.name] = []
            group = {"type": "namespace", "name": namespace.name, "description": namespace.description}
            definitions.append({**group, "tools": members})
        groups[namespace.name].append({**definition, "name": split_namespace(namespace.name, spec.name)})
    return definitions


def _definition(spec: ToolSpec, rules: SchemaRules, quirks: Quirks) -> dict[str, Any]:
    if is_custom(spec) and quirks.custom_tools:
        grammar = as_object(raw_schema(spec).get(GRAMMAR_KEYWORD))
        custom = {"type": "custom", "name": spec.name}
        if not grammar:
            return {**custom, "description": spec.description, "format": {"type": "text"}}
        description = spec.description.removesuffix(describe_grammar(grammar))
        return {**custom, "description": description, "format": {"type": "grammar", **grammar}}
    parameters, strict = fit_schema(spec.parameters, rules)
    function = {"type": "function", "name": spec.name, "description": spec.description}
    return {**function, "parameters": parameters, "strict": strict}  # left out, it would be true


def _tool_fields(request: ChatRequest, rules: SchemaRules, quirks: Quirks) -> dict[str, Any]:
    choice = request.choice
    if not request.tools or not quirks.tools or (choice.mode == "none" and not quirks.tool_choice):
        return {}
    fields: dict[str, Any] = {"tools": group_definitions(request.tools, request.namespaces, rules, quirks)}
    if quirks.tool_choice and choice.mode != "auto":
        fields["tool_choice"] = encode_choice(choice, request.tools, quirks)
    if quirks.parallel_tool_calls and (not request.parallel or quirks.parallel_always_sent):
        fields["parallel_tool_calls"] = request.parallel
    return fields


def encode_choice(choice: ToolChoice, tools: Iterable[ToolSpec], quirks: Quirks = NO_QUIRKS) -> Any:
    """Return the `tool_choice` field of a request."""
    if choice.mode != "named":
        return choice.mode
    by_name = {spec.name: spec for spec in tools}
    named = [_name_choice(name, by_name.get(name), quirks) for name in choice.names]
    if len(named) == 1 and quirks.named_choice:
        return named[0]
    if len(named) > 1 and quirks.allowed_tools:
        return {"type": "allowed_tools", "mode": "required", "tools": named}
    return "required"


def _name_choice(name: str, spec: ToolSpec | None, quirks: Quirks) -> dict[str, Any]:
    for kind, tool in RAW_TOOLS.items():
        if spec is None and tool.name == name:
            return {"type": kind}
    is_raw = spec is not None and is_custom(spec) and quirks.custom_tools
    return {"type": "custom" if is_raw else "function", "name": name}


# Items


class ItemWriter:
    """Writes a conversation as items."""

    def __init__(self, tools: Iterable[ToolSpec], quirks: Quirks, vendor: str) -> None:
        self._quirks = quirks
        self._vendor = vendor
        self._raw = {spec.name: spec.raw for spec in tools if is_custom(spec) and quirks.custom_tools}
        self._custom_calls: set[str] = set()  # the ids of calls of custom tools so far
        self._items: list[dict[str, Any]] = []

    def write(self, messages: Iterable[Message]) -> list[dict[str, Any]]:
        """Return the items of a conversation."""
        for message in messages:
            match message.role:
                case "system":
                    role = "developer" if self._quirks.developer_role else "system"
                    self._items.append(_message(role, message.text))
                case "user":
                    self._items.append(_message("user", self._content(message.parts)))
                case "assistant":
                    for part in message.parts:
                        self._write_part(part)
                case "tool":
                    self._write_results(message)
        return self._items

    def _write_part(self, part: Part) -> None:
        match part:
            case Text(text=text, extra=extra) if text:
                self._write_text(text, get_vendor_data(extra, self._vendor))
            case Thinking(extra=extra) if self._quirks.echo_reasoning:
                data = get_vendor_data(extra, self._vendor)
                if data.get("encrypted_content") or data.get("content"):  # a summary alone is of no use to an endpoint
                    self._items.append({"type": "reasoning", "summary": [], **data})
            case Call():
                self._items.append(self._call(part))
            case Opaque(data=data) if part.vendor == self._vendor:
                self._items.append(as_object(data))
            case _:
                pass  # empty text, the opaque data of another vendor, or reasoning that the endpoint does not take back

    def _write_text(self, text: str, data: dict[str, Any]) -> None:
        if not as_text(data.get("id")):  # of another vendor, or written by hand
            self._items.append(_message("assistant", text))
            return
        known = {"refusal", "annotations"}
        if data.get("refusal") is True:
            content: dict[str, Any] = {"type": "refusal", "refusal": text}
        else:
            content = {"type": "output_text", "text": text, "annotations": as_list(data.get("annotations"))}
        last = self._items[-1] if self._items else {}
        if last.get("id") == data["id"]:
            last["content"].append(content)
            return
        rest = {key: value for key, value in data.items() if key not in known}
        message = {"type": "message", "role": "assistant", "status": "completed"}
        self._items.append({**message, **rest, "content": [content]})

    def _call(self, part: Call) -> dict[str, Any]:
        call, data = part.call, get_vendor_data(part.extra, self._vendor)
        if data.get("type") in CALL_ITEMS:
            return data
        name = split_namespace(as_text(data.get("namespace")), call.name)
        item: dict[str, Any] = {"type": FUNCTION_CALL, "call_id": call.id, "name": name}
        if call.name in self._raw or data.get("type") == CUSTOM_CALL:
            text = call.arguments.get(self._raw.get(call.name) or CUSTOM_PARAMETER)
            if isinstance(text, str):
                self._custom_calls.add(call.id)
                return {**item, "type": CUSTOM_CALL, "input": text, **_without_type(data)}
        return {**item, "arguments": encode_arguments(call.arguments), **_without_type(data)}

    def _write_results(self, message: Message) -> None:
        for part in message.parts:
            if isinstance(part, Result) and (data := get_vendor_data(part.extra, self._vendor)):
                self._items.append(data)  # of a tool that the vendor defines
            elif isinstance(part, Result):
                kind = CUSTOM_CALL if part.call_id in self._custom_calls else FUNCTION_CALL
                output = self._content(part.content, separator="\n")
                self._items.append({"type": f"{kind}_output", "call_id": part.call_id, "output": output})
        if note := self._content([part for part in message.parts if not isinstance(part, Result)]):
            self._items.append(_message("user", note))

    def _content(self, parts: Iterable[Part], separator: str = "") -> str | list[dict[str, Any]]:
        shown = list(parts)
        if all(isinstance(part, Text) for part in shown):
            return separator.join(part.text for part in shown if isinstance(part, Text))
        content: list[dict[str, Any]] = []
        for part in shown:
            match part:
                case Text(text=text) if text:
                    content.append({"type": "input_text", "text": text})
                case Media(extra=extra):
                    content.append({**_media(part), **get_vendor_data(extra, self._vendor)})
                case Opaque(data=data) if part.vendor == self._vendor:
                    content.append(as_object(data))
                case _:
                    pass
        return content


def _message(role: str, content: str | list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def _without_type(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != "type"}


def _media(media: Media) -> dict[str, Any]:
    if media.mime.startswith("image/"):
        return {"type": "input_image", "image_url": to_url(media), "detail": "auto"}
    if media.data is None:
        is_document = media.mime == "application/pdf" and media.url
        return {"type": "input_file", "file_url": media.url} if is_document else _text(describe_media(media))
    if (text := show_text(media)) is not None:
        return _text(text)
    if media.mime.startswith(("audio/", "video/")):
        return _text(describe_media(media))
    name = media.name or f"file.{media.mime.rpartition('/')[2]}"
    return {"type": "input_file", "filename": name, "file_data": to_url(media)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def explain_unsupported(media: Media) -> str | None:
    """Return why the API cannot carry an attachment, as the rest of a sentence about a model; None if it can."""
    if media.mime.startswith(("audio/", "video/")):
        return f"takes no {name_kind(media)} through this API"
    takes_address = media.mime.startswith("image/") or media.mime == "application/pdf"
    return explain_no_address(media) if media.data is None and not takes_address else None


# Answers

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


class Decoder(AnswerDecoder):
    """Reads one answer. The reason is the status of the answer, or why it is incomplete."""

    def __init__(self, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> None:
        super().__init__(vendor)
        self._raw = {spec.name: spec.raw or CUSTOM_PARAMETER for spec in tools if is_custom(spec)}
        self._items: dict[int, _AnswerItem] = {}  # by their indexes in the output
        self._calls = 0
        self._usage: Usage | None = None
        self._status = ""

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
        index = event.get("content_index", event.get("summary_index"))
        part = index if isinstance(index, int) else 0
        match kind.removeprefix("response."):
            case "output_text.delta" | "refusal.delta" if item.kind == "message":
                self._add_text(item, part, as_text(event.get("delta")))
            case "refusal.done" | "output_text.done" if item.kind == "message":
                self._catch_up(item, part, as_text(event.get("text")) or as_text(event.get("refusal")))
            case "content_part.added" | "content_part.done" if item.kind == "message":
                self._keep_content(item, part, as_object(event.get("part")))
            case "reasoning_text.delta" | "reasoning_summary_text.delta" if item.kind == "reasoning":
                self._add_thinking(item, kind, part, as_text(event.get("delta")))
            case "function_call_arguments.done" if item.kind == FUNCTION_CALL:
                self._catch_up(item, 0, arguments_as_text(event.get("arguments")))
            case "custom_tool_call_input.done" if item.kind == CUSTOM_CALL:
                self._catch_up(item, 0, as_text(event.get("input")))
            case "function_call_arguments.delta" | "custom_tool_call_input.delta" as name:
                if item.kind == (FUNCTION_CALL if name.startswith("function") else CUSTOM_CALL):
                    self._add_text(item, 0, as_text(event.get("delta")))
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
        """End the arguments of a custom tool's call, if all of its text has arrived.

        Whether it was cut is said by its own status, or else by that of the answer.
        """
        is_cut = (item.status or self._status) == "incomplete"
        if item.kind == CUSTOM_CALL and item.is_done and not item.closing and not is_cut:
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
                return [Thinking(text="".join(map(str, item.texts.values())), extra=build_extra(self._vendor, data))]
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
            texts.append(Text(text=str(text), extra=build_extra(self._vendor, {**fields, **own, **refusal})))
        return texts

    def _build_call(self, item: _AnswerItem) -> ApiCall:
        text = str(item.texts.get(0, ""))
        fields = _other_fields(item.data, _CALL_FIELDS)
        if item.kind == CUSTOM_CALL:
            fields["type"] = CUSTOM_CALL
            text = f"{open_arguments(self._parameter(item))}{escape_text(text)}{item.closing}"
        return ApiCall(
            index=item.call, id=item.call_id, name=item.name, arguments=text, extra=build_extra(self._vendor, fields)
        )

    def _parameter(self, item: _AnswerItem) -> str:
        return self._raw.get(item.name, CUSTOM_PARAMETER)

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
