"""The server side, requests: reads the body of a request.

What refers to an earlier answer is refused here: the gateway puts what it has stored into `input` before a request is
read. The conversation is in the fields `instructions` and `input`. The API does not mark where an answer begins and
ends: items of the assistant that follow each other are one message, up to the next message of somebody else or the next
result. A result stands behind the message with its call, in the order of the calls, wherever the client has put it.
"""

import mimetypes
from copy import copy
from dataclasses import replace
from typing import Any

from toolspeak.values.events import ToolChoice
from toolspeak.values.messages import Call, Media, Message, Part, Result, Text, Thinking, ToolCall
from toolspeak.values.spec import CUSTOM_PARAMETER, ToolSpec
from toolspeak.wire.chat_request import ChatRequest, ToolNamespace, read_answer_format
from toolspeak.wire.fields import (
    MAX_QUOTED_CHARS,
    FieldError,
    Fields,
    check_known_names,
    check_tool_limits,
    check_unique_names,
    is_strict,
    read_address,
    read_allowed_mode,
    read_arguments,
    read_choice_word,
    read_content,
    read_media,
    read_opaque,
    read_tool,
    read_tools_once,
)
from toolspeak.wire.json_data import as_list, as_object, as_text, build_extra, dump_compact
from toolspeak.wire.media import decode_base64, is_data_url
from toolspeak.wire.openai_responses.local_tools import CALL_ITEMS, OUTPUT_ITEMS, read_call, read_result
from toolspeak.wire.openai_responses.names import (
    ENCRYPTED_REASONING,
    VENDOR,
    join_namespace,
)
from toolspeak.wire.raw_text import read_custom_tool
from toolspeak.wire.vendor_tools import RAW_TOOLS, read_client_tool

_KNOWN_FIELDS = frozenset(
    "model input instructions tools tool_choice parallel_tool_calls stream stream_options max_output_tokens "
    "temperature top_p store include background previous_response_id conversation prompt".split()
)

_STORED = {
    "previous_response_id": "nothing is kept here between requests; send the whole conversation in input",
    "conversation": "no conversations are stored here; send the whole one in input, or go on by previous_response_id",
    "prompt": "no prompts are stored here; send the text in instructions and input",
}
"""Fields that refer to something that the server has stored, and what to do instead."""

_MAX_INCLUDES = 32


def read_request(body: Any, path: str = "") -> ChatRequest:
    """Read the body of a request; nothing of it is in the path. Raises `UsageError` that names the wrong field."""
    fields = Fields(body)
    for name, problem in _STORED.items():
        if fields.value(name) is not None:
            raise fields.error(name, problem, "unsupported_parameter")
    if fields.flag("background", False):
        raise fields.error(
            "background", "nothing runs here without a client that waits; leave the field out", "unsupported_value"
        )
    reader = copy(read_tools_once(fields, _read_tools))
    choice = _read_choice(fields, reader)
    remaining = {tool.name for tool in reader.tools}
    extra = fields.other_fields(_KNOWN_FIELDS)
    # Encrypted reasoning is what a client of this API always asks for; reasoning is always sent back whole.
    if others := [each for each in fields.texts("include", maximum=_MAX_INCLUDES) if each != ENCRYPTED_REASONING]:
        extra["include"] = others
    if (cut := fields.optional_text("truncation")) not in ("", "auto", "disabled"):
        raise fields.error("truncation", f"{cut[:MAX_QUOTED_CHARS]!r} is none of auto, disabled")
    text = fields.optional_object("text")
    return ChatRequest(
        model=fields.text("model"),
        messages=read_messages(fields),
        tools=tuple(reader.tools),
        strict_tools=frozenset(reader.strict & remaining),
        forbidden_tools=tuple(reader.forbidden),
        namespaces=tuple(each for each in reader.namespaces if remaining.issuperset(each.tools)),
        choice=choice,
        parallel=fields.flag("parallel_tool_calls", True),
        stream=fields.flag("stream", False),
        max_tokens=fields.integer("max_output_tokens", minimum=1),
        temperature=fields.number("temperature", maximum=2),
        top_p=fields.number("top_p", maximum=1),
        include_usage=True,
        answer_format=read_answer_format(text.optional_object("format")) if text is not None else None,
        store=fields.flag("store", True),
        extra={**extra, "tools": reader.vendor_tools} if reader.vendor_tools else extra or None,
    )


# Tools


class _ToolReader:
    """Reads the tools, those of namespaces as well.

    Attributes:
        tools: The tools that the client runs.
        namespaces: The groups that some of them belong to.
        strict: The names of those tools whose calls must fit their schemas.
        forbidden: The tools that the choice does not allow.
        vendor_tools: All other tools, unchanged.
    """

    def __init__(self) -> None:
        self.tools: list[ToolSpec] = []
        self.strict: set[str] = set()
        self.forbidden: list[ToolSpec] = []
        self.namespaces: list[ToolNamespace] = []
        self.vendor_tools: list[dict[str, Any]] = []

    def read(self, fields: Fields) -> None:
        check_tool_limits(fields)
        for tool in fields.objects("tools"):
            if tool.text("type") == "namespace":
                self._read_namespace(tool)
            elif (spec := self._read_tool(tool)) is not None:
                self.tools.append(spec)
            else:
                self.vendor_tools.append(tool.data)
        check_unique_names(self.tools)

    def _read_namespace(self, fields: Fields) -> None:
        name = fields.text("name")
        if not name:
            raise fields.error("name", "is empty")
        members = [spec for tool in fields.objects("tools") if (spec := self._read_tool(tool, name)) is not None]
        if members:
            names = tuple(spec.name for spec in members)
            description = fields.optional_text("description")
            self.namespaces.append(ToolNamespace(name=name, description=description, tools=names))
            self.tools += members

    def _read_tool(self, tool: Fields, namespace: str = "") -> ToolSpec | None:
        spec = _read_tool(tool, namespace)
        if spec is not None and is_strict(tool):
            self.strict.add(spec.name)
        return spec

    def list_local(self) -> list[ToolSpec]:
        """Return those tools of the vendor that the client runs, as other models are offered them."""
        return [spec for tool in self.vendor_tools if (spec := read_client_tool(tool)) is not None]

    def resolve(self, name: str, namespace: str, path: str) -> str:
        """Return the name of a tool that the client names with or without its namespace."""
        wanted = join_namespace(namespace, name)
        if any(tool.name == wanted for tool in self.tools):
            return wanted
        members = [
            joined
            for each in self.namespaces
            for joined in each.tools
            if not namespace and joined == join_namespace(each.name, name)
        ]
        if len(members) != 1:
            raise FieldError(path, f"there is no tool {wanted[:MAX_QUOTED_CHARS]!r} in tools")
        return members[0]


def _read_tools(fields: Fields) -> _ToolReader:
    reader = _ToolReader()
    reader.read(fields)
    return reader


def _read_tool(tool: Fields, namespace: str = "") -> ToolSpec | None:
    """Read a function or a custom tool; None for any other tool."""
    match tool.text("type"):
        case "function":
            spec = read_tool(tool, "parameters")
        case "custom":
            spec = read_custom_tool(tool)
        case _:
            return None
    return replace(spec, name=join_namespace(namespace, spec.name)) if namespace else spec


# The choice among them


def _read_choice(fields: Fields, reader: _ToolReader) -> ToolChoice:
    """Return the choice. Tools that it does not allow are taken out of `reader`."""
    if (choice := read_choice_word(fields, [*reader.tools, *reader.list_local()])) is not None:
        return choice
    chosen = fields.object("tool_choice")
    match chosen.text("type"):
        case "function" | "custom":
            return ToolChoice(mode="named", names=(_read_tool_name(chosen, reader),))
        case kind if kind in RAW_TOOLS:
            name = RAW_TOOLS[kind].name
            check_known_names([name], reader.list_local(), chosen.path_of("type"))
            return ToolChoice(mode="named", names=(name,))
        case "allowed_tools":
            return _read_allowed_tools(chosen, reader)
        case other:
            raise chosen.error("type", f"{other!r} is a tool of the vendor, which is not run here")


def _read_allowed_tools(allowed: Fields, reader: _ToolReader) -> ToolChoice:
    choice = read_allowed_mode(allowed)
    given = list(allowed.objects("tools", required=True))
    names = {_read_tool_name(tool, reader) for tool in given if tool.text("type") in ("function", "custom")}
    kinds = {tool.text("type") for tool in given}
    reader.forbidden = [tool for tool in reader.tools if tool.name not in names]
    reader.tools = [tool for tool in reader.tools if tool.name in names]
    reader.vendor_tools = [tool for tool in reader.vendor_tools if tool["type"] in kinds]
    if choice.mode == "required" and not reader.tools and not reader.list_local():
        raise allowed.error("tools", "a call is required, but none of these tools is run by the client")
    return choice


def _read_tool_name(fields: Fields, reader: _ToolReader) -> str:
    return reader.resolve(fields.text("name"), fields.optional_text("namespace"), fields.path_of("name"))


# The conversation

_TEXT_TYPES = ("input_text", "output_text", "text")


def read_messages(fields: Fields) -> tuple[Message, ...]:
    """Return the conversation of a request. Raises `UsageError` that names the wrong field."""
    instructions = fields.optional_text("instructions")
    messages = [Message(role="system", parts=(Text(text=instructions),))] if instructions else []
    given = fields.value("input")
    if isinstance(given, str):
        return (*messages, Message(role="user", parts=(Text(text=given),)))
    reader = _ItemReader()
    for item in fields.objects("input", required=True):
        reader.read(item)
    messages += reader.close()
    if not messages:
        raise fields.error("input", "is empty")
    return tuple(messages)


class _ItemReader:
    """Reads items one after the other."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._parts: list[Part] = []  # of the assistant's message that is being read
        self._results: dict[str, dict[str, Result]] = {}  # of the last message with a call of that id, by the ids there
        self._results_of: list[dict[str, Result]] = []  # of each message

    def read(self, item: Fields) -> None:
        """Read one item."""
        match item.optional_text("type") or "message":
            case "message":
                self._read_message(item)
            case "reasoning":
                self._parts.append(_read_reasoning(item))
            case "function_call":
                data = item.other_fields({"type", "status", "call_id", "name", "arguments"})
                self._parts.append(_build_call(item, read_arguments(item), data))
            case "custom_tool_call" as kind:
                data = {**item.other_fields({"status", "call_id", "name", "input"}), "type": kind}
                self._parts.append(_build_call(item, {CUSTOM_PARAMETER: item.text("input")}, data))
            case "function_call_output" | "custom_tool_call_output":
                self._end_message()
                self._read_result(item)
            case kind if kind in CALL_ITEMS:
                self._parts.append(read_call(item))
            case kind if kind in OUTPUT_ITEMS:
                self._end_message()
                self._add_result(item, read_result(item))
            case "item_reference":
                raise item.error("id", "nothing is kept here between requests; send the item itself, with store: false")
            case _:  # of the vendor's own tools
                self._parts.append(read_opaque(item, VENDOR))

    def close(self) -> list[Message]:
        """Return the messages, each result behind its call."""
        self._end_message()
        messages: list[Message] = []
        for message, results in zip(self._messages, self._results_of, strict=True):
            messages.append(message)
            if results:
                in_order = [results[call.id] for call in message.calls if call.id in results]
                messages.append(Message(role="tool", parts=tuple(in_order)))
        return messages

    def _add_message(self, message: Message) -> None:
        results: dict[str, Result] = {}
        self._messages.append(message)
        self._results_of.append(results)
        self._results |= {call.id: results for call in message.calls}  # ids may be used again in a later message

    def _end_message(self) -> None:
        if self._parts:
            self._add_message(Message(role="assistant", parts=tuple(self._parts)))
            self._parts = []

    def _read_message(self, item: Fields) -> None:
        match item.text("role"):
            case "assistant":
                self._parts += _read_assistant_texts(item)
            case "user":
                self._end_message()
                self._add_message(Message(role="user", parts=read_content(item, "content", _read_part)))
            case "system" | "developer":
                self._end_message()
                self._add_message(Message(role="system", parts=read_content(item, "content", _read_part)))
            case other:
                raise item.error("role", f"{other!r} is none of user, assistant, system, developer")

    def _read_result(self, item: Fields) -> None:
        content = read_content(item, "output", _read_result_part)
        self._add_result(item, Result(call_id=item.text("call_id"), content=content))

    def _add_result(self, item: Fields, result: Result) -> None:
        call_id = result.call_id
        results = self._results.get(call_id)
        if results is None:
            raise item.error("call_id", f"no item before has the call {call_id!r}")
        if call_id in results:
            raise item.error("call_id", f"{call_id!r} has a result already")
        results[call_id] = result


def _read_assistant_texts(item: Fields) -> list[Text]:
    """Read the texts of a message. The data of the message is on each of them, its id above all."""
    own = item.other_fields({"type", "role", "status", "content"})
    if isinstance(item.value("content"), str):
        text = item.text("content")
        return [Text(text=text, extra=build_extra(VENDOR, own))] if text else []
    texts: list[Text] = []
    for part in item.objects("content", required=True):
        match part.text("type"):
            case "refusal":
                texts.append(Text(text=part.text("refusal"), extra=build_extra(VENDOR, {**own, "refusal": True})))
            case "output_text" | "input_text" | "text":
                annotations = as_list(part.value("annotations"))
                data = {**own, "annotations": annotations} if annotations else own
                texts.append(Text(text=part.text("text"), extra=build_extra(VENDOR, data)))
            case other:
                raise part.error("type", f"{other!r} is not allowed here; only text is")
    return [text for text in texts if text.text]


def _read_reasoning(item: Fields) -> Thinking:
    content, summary = as_list(item.value("content")), as_list(item.value("summary"))
    texts = [as_text(as_object(part).get("text")) for part in content or summary]
    return Thinking(
        text=("" if content else "\n\n").join(texts), extra=build_extra(VENDOR, item.other_fields({"type", "status"}))
    )


def _build_call(item: Fields, arguments: dict[str, Any], data: dict[str, Any]) -> Call:
    name = join_namespace(item.optional_text("namespace"), item.text("name"))
    return Call(call=ToolCall(id=item.text("call_id"), name=name, arguments=arguments), extra=build_extra(VENDOR, data))


def _read_part(part: Fields) -> Part:
    match part.text("type"):
        case "input_image":
            return _read_image(part)
        case "input_file":
            return _read_file(part)
        case kind if kind in _TEXT_TYPES:
            return Text(text=part.text("text"))
        case other:
            raise part.error("type", f"{other!r} is none of input_text, input_image, input_file")


def _read_result_part(part: Fields) -> Text | Media:
    """Read a part of a result. What only the vendor can read is shown as JSON: a model must see what its call gave."""
    read = _read_part(part)
    return read if isinstance(read, Text | Media) else Text(text=dump_compact(part.data))


def _read_image(part: Fields) -> Part:
    if not part.optional_text("image_url"):
        return read_opaque(part, VENDOR)  # an image that only the vendor has
    detail = part.optional_text("detail")
    extra = build_extra(VENDOR, {"detail": detail} if detail not in ("", "auto") else {})
    return read_media(part, "image_url", extra)


def _read_file(part: Fields) -> Part:
    name = part.optional_text("filename") or None
    guessed = mimetypes.guess_type(name or part.optional_text("file_url"))[0]
    if part.optional_text("file_url"):
        return Media(mime=guessed or "application/pdf", url=read_address(part, "file_url"), name=name)
    data = part.optional_text("file_data")
    if not data:
        return read_opaque(part, VENDOR)  # a file that only the vendor has
    if is_data_url(data):
        return read_media(part, "file_data", None, name)
    if (content := decode_base64(data)) is None:
        raise part.error("file_data", "neither a data URL nor base64")
    return Media(mime=guessed or "application/octet-stream", data=content, name=name)
