"""Requests, as a server reads them: the other side of `client_request`."""

from collections.abc import Callable
from typing import Any

from toolspeak.events import AUTO, ToolChoice
from toolspeak.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking, ToolCall
from toolspeak.spec import ToolSpec
from toolspeak.wire.anthropic_messages.names import VENDOR
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.fields import Fields, check_names, check_unique, read_tool
from toolspeak.wire.media import bytes_from_base64, mime_of

_KNOWN = frozenset("model messages system tools tool_choice stream max_tokens temperature top_p stop_sequences".split())


def read_request(body: Any) -> ChatRequest:
    """What a client asks. Raises `UsageError` that names the field, in words for the client."""
    fields = Fields(body)
    model = fields.text("model")
    max_tokens = fields.whole("max_tokens", least=1)
    if max_tokens is None:
        raise fields.refuse("max_tokens", "is missing")
    tools, of_vendor = _tools(fields)
    choice, parallel = _choice(fields, tools)
    extra = fields.others(_KNOWN)
    return ChatRequest(
        model=model,
        messages=(*_system(fields), *_Conversation().read(fields)),
        tools=tools,
        choice=choice,
        parallel=parallel,
        stream=fields.flag("stream", False),
        max_tokens=max_tokens,
        temperature=fields.number("temperature", most=1),
        top_p=fields.number("top_p", most=1),
        stop=fields.texts("stop_sequences"),
        include_usage=True,
        extra={**extra, "tools": of_vendor} if of_vendor else extra or None,
    )


def _tools(fields: Fields) -> tuple[tuple[ToolSpec, ...], list[dict[str, Any]]]:
    tools: list[ToolSpec] = []
    of_vendor: list[dict[str, Any]] = []
    for tool in fields.objects("tools"):
        if tool.maybe_text("type") in ("", "custom"):
            tool.object("input_schema")
            tools.append(read_tool(tool, "input_schema"))
        else:
            of_vendor.append(tool.data)
    check_unique(tools)
    return tuple(tools), of_vendor


def _choice(fields: Fields, tools: tuple[ToolSpec, ...]) -> tuple[ToolChoice, bool]:
    chosen = fields.maybe_object("tool_choice")
    if chosen is None:
        return AUTO, True
    parallel = not chosen.flag("disable_parallel_tool_use", False)
    match chosen.text("type"):
        case "auto":
            return AUTO, parallel
        case "none":
            return ToolChoice(mode="none"), parallel
        case "any":
            return ToolChoice(mode="required"), parallel
        case "tool":
            name = chosen.text("name")
            check_names([name], tools, "tool_choice.name")
            return ToolChoice(mode="named", names=(name,)), parallel
        case other:
            raise chosen.refuse("type", f"{other!r} is none of auto, any, tool, none")


def _system(fields: Fields) -> list[Message]:
    parts = _content(fields, "system", _text) if fields.value("system") else ()
    return [Message(role="system", parts=parts)] if parts else []


class _Conversation:
    """Reads the messages. A user message that holds results is a tool message, and its text the note of that."""

    def __init__(self) -> None:
        self._calls: list[str] = []  # ids of the calls of the last answer

    def read(self, fields: Fields) -> tuple[Message, ...]:
        messages: list[Message] = []
        for given in fields.objects("messages", required=True):
            message = self._message(given)
            if message.role == "tool" and messages and messages[-1].role == "tool":
                message = self._tool_message((*messages.pop().parts, *message.parts), given)
            messages.append(message)
        if not messages:
            raise fields.refuse("messages", "is empty")
        return tuple(messages)

    def _message(self, message: Fields) -> Message:
        match message.text("role"):
            case "assistant":
                parts = _content(message, "content", _assistant_block)
                self._calls = [part.call.id for part in parts if isinstance(part, Call)]
                return Message(role="assistant", parts=parts)
            case "user":
                parts = _content(message, "content", self._user_block)
                if any(isinstance(part, Result) for part in parts):
                    return self._tool_message(parts, message)
                return Message(role="user", parts=parts)
            case "system":
                return Message(role="system", parts=_content(message, "content", _text))
            case other:
                raise message.refuse("role", f"{other!r} is none of user, assistant, system")

    def _tool_message(self, parts: tuple[Part, ...], given: Fields) -> Message:
        results = {part.call_id: part for part in parts if isinstance(part, Result)}
        note = [part for part in parts if not isinstance(part, Result)]
        if len(results) + len(note) < len(parts):
            raise given.refuse("content", "a call has two results")
        in_order = sorted(results.values(), key=lambda result: self._calls.index(result.call_id))
        return Message(role="tool", parts=(*in_order, *note))

    def _user_block(self, block: Fields) -> Part:
        return self._result(block) if block.text("type") == "tool_result" else _shown(block)

    def _result(self, block: Fields) -> Result:
        call_id = block.text("tool_use_id")
        if call_id not in self._calls:
            raise block.refuse("tool_use_id", f"the message before has no call {call_id!r}")
        given = block.value("content") is not None
        return Result(
            call_id=call_id,
            content=_content(block, "content", _shown_in_result) if given else (),
            is_error=block.flag("is_error", False),
            extra=_extra(block, {"type", "tool_use_id", "content", "is_error"}),
        )


def _content(fields: Fields, name: str, read: Callable[[Fields], Any]) -> tuple[Any, ...]:
    value = fields.value(name)
    if isinstance(value, str):
        return (Text(text=value),)
    return tuple(read(block) for block in fields.objects(name, required=True))


def _extra(block: Fields, known: set[str]) -> Extra | None:
    data = block.others(known)
    return Extra(vendor=VENDOR, data=data) if data else None


def _text(block: Fields) -> Text:
    if block.text("type") != "text":
        raise block.refuse("type", f"{block.text('type')!r} cannot stand here; only text can")
    return Text(text=block.text("text"), extra=_extra(block, {"type", "text"}))


def _assistant_block(block: Fields) -> Part:
    match block.text("type"):
        case "text":
            return _text(block)
        case "thinking":
            return Thinking(text=block.text("thinking"), extra=_extra(block, {"type", "thinking"}))
        case "tool_use":
            call = ToolCall(id=block.text("id"), name=block.text("name"), arguments=block.object("input").data)
            return Call(call=call, extra=_extra(block, {"type", "id", "name", "input"}))
        case _:
            return Opaque(vendor=VENDOR, data=block.data)


def _shown(block: Fields) -> Part:
    match block.text("type"):
        case "text":
            return _text(block)
        case "image" | "document" as sort:
            return _media(block, sort)
        case _:
            return Opaque(vendor=VENDOR, data=block.data)


def _shown_in_result(block: Fields) -> Text | Media:
    shown = _shown(block)
    if isinstance(shown, Text | Media):
        return shown
    raise block.refuse("type", f"{block.text('type')!r} in a result is not supported")


def _media(block: Fields, sort: str) -> Part:
    source = block.object("source")
    extra = _extra(block, {"type", "source"})
    match source.text("type"):
        case "url":
            url = source.text("url")
            mime = mime_of(url, "image/*") if sort == "image" else "application/pdf"
            return Media(mime=mime, url=url, extra=extra)
        case "base64":
            if (data := bytes_from_base64(source.text("data"))) is None:
                raise source.refuse("data", "not base64")
            return Media(mime=source.text("media_type"), data=data, extra=extra)
        case "text":
            return Media(mime="text/plain", data=source.text("data").encode("utf-8", "replace"), extra=extra)
        case _:
            return Opaque(vendor=VENDOR, data=block.data)  # a file that only the API's maker has
