"""Requests, as a server reads them: the other side of `client_request`."""

import json
from collections.abc import Callable
from typing import Any

from toolspeak.errors import UsageError
from toolspeak.events import AUTO, ToolChoice
from toolspeak.messages import Call, Extra, Media, Message, Part, Result, Text, Thinking, ToolCall
from toolspeak.spec import ToolSpec
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.fields import Fields, check_names, check_unique, checked, read_tool
from toolspeak.wire.media import bytes_from_base64, from_data_url, mime_of
from toolspeak.wire.openai_chat.names import REASONING_DETAILS, REASONING_FIELDS, VENDOR

_KNOWN = frozenset(
    "model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens max_completion_tokens "
    "temperature top_p seed stop n".split()
)

_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def read_request(body: Any) -> ChatRequest:
    """What a client asks. Raises `UsageError` that names the field, in words for the client."""
    fields = Fields(body)
    if fields.whole("n") not in (None, 1):
        raise fields.refuse("n", "only one answer can be asked for")
    for legacy, now in (("functions", "tools"), ("function_call", "tool_choice")):
        if fields.value(legacy) is not None:
            raise fields.refuse(legacy, f"is not supported; use {now}")
    tools = _tools(fields)
    tools, choice = _choice(fields, tools)
    options = fields.maybe_object("stream_options")
    return ChatRequest(
        model=fields.text("model"),
        messages=_Conversation().read(fields),
        tools=tools,
        choice=choice,
        parallel=fields.flag("parallel_tool_calls", True),
        stream=fields.flag("stream", False),
        max_tokens=fields.whole("max_completion_tokens", least=1) or fields.whole("max_tokens", least=1),
        temperature=fields.number("temperature", most=2),
        top_p=fields.number("top_p", most=1),
        seed=fields.whole("seed"),
        stop=fields.texts("stop"),
        include_usage=options is not None and options.flag("include_usage", False),
        extra=fields.others(_KNOWN) or None,
    )


def _tools(fields: Fields) -> tuple[ToolSpec, ...]:
    tools: list[ToolSpec] = []
    for tool in fields.objects("tools"):
        if tool.text("type") != "function":
            raise tool.refuse("type", f"only function tools are supported, not {tool.text('type')!r}")
        tools.append(read_tool(tool.object("function"), "parameters"))
    check_unique(tools)
    return tuple(tools)


def _choice(fields: Fields, tools: tuple[ToolSpec, ...]) -> tuple[tuple[ToolSpec, ...], ToolChoice]:
    """The choice, and the tools that it leaves."""
    value = fields.value("tool_choice")
    if value is None:
        return tools, AUTO
    if value in ("auto", "none", "required"):
        if value == "required" and not tools:
            raise fields.refuse("tool_choice", "a call is required, but there are no tools")
        return tools, ToolChoice(mode=value)
    if isinstance(value, str):
        raise fields.refuse("tool_choice", f"{value!r} is none of auto, none, required")
    chosen = fields.object("tool_choice")
    match chosen.text("type"):
        case "function":
            name = chosen.object("function").text("name")
            check_names([name], tools, "tool_choice.function.name")
            return tools, ToolChoice(mode="named", names=(name,))
        case "allowed_tools":
            return _allowed(chosen.object("allowed_tools"), tools)
        case other:
            raise chosen.refuse("type", f"{other!r} is not supported")


def _allowed(allowed: Fields, tools: tuple[ToolSpec, ...]) -> tuple[tuple[ToolSpec, ...], ToolChoice]:
    # The API wants one or more of these called; a choice of ours that names several wants all of them. So the others
    # are left out, and any call will do.
    names = [tool.object("function").text("name") for tool in allowed.objects("tools", required=True)]
    check_names(names, tools, allowed.at("tools"))
    mode = allowed.text("mode")
    if mode not in ("auto", "required"):
        raise allowed.refuse("mode", f"{mode!r} is none of auto, required")
    left = tuple(tool for tool in tools if tool.name in names)
    return left, ToolChoice(mode="required") if mode == "required" else AUTO


class _Conversation:
    """Reads the messages. Results that follow each other are one message, in the order of their calls."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._results: list[Result] = []
        self._order: list[str] = []  # ids of the calls of the last answer

    def read(self, fields: Fields) -> tuple[Message, ...]:
        for message in fields.objects("messages", required=True):
            role = message.text("role")
            if role == "tool":
                self._results.append(self._result(message))
                continue
            self._end_results()
            self._messages.append(self._message(role, message))
        self._end_results()
        if not self._messages:
            raise fields.refuse("messages", "is empty")
        return tuple(self._messages)

    def _message(self, role: str, message: Fields) -> Message:
        match role:
            case "system" | "developer":
                return Message(role="system", parts=_content(message, _text_part))
            case "user":
                return Message(role="user", parts=_content(message, _user_part))
            case "assistant":
                said = _assistant(message)
                self._order = [call.id for call in said.calls]
                return said
            case other:
                raise message.refuse("role", f"{other!r} is none of system, developer, user, assistant, tool")

    def _result(self, message: Fields) -> Result:
        call_id = message.text("tool_call_id")
        if call_id not in self._order:
            raise message.refuse("tool_call_id", f"the message before has no call {call_id!r}")
        if any(result.call_id == call_id for result in self._results):
            raise message.refuse("tool_call_id", f"{call_id!r} has a result already")
        return Result(call_id=call_id, content=_content(message, _text_part))

    def _end_results(self) -> None:
        if self._results:
            in_order = sorted(self._results, key=lambda result: self._order.index(result.call_id))
            self._messages.append(Message(role="tool", parts=tuple(in_order)))
            self._results.clear()


def _content(message: Fields, read: Callable[[Fields], Any]) -> tuple[Any, ...]:
    content = message.value("content")
    if isinstance(content, str):
        return (Text(text=content),)
    return tuple(read(part) for part in message.objects("content", required=True))


def _text_part(part: Fields) -> Text:
    if part.text("type") == "refusal":
        return Text(text=part.text("refusal"), extra=Extra(vendor=VENDOR, data={"refusal": True}))
    if part.text("type") != "text":
        raise part.refuse("type", f"{part.text('type')!r} cannot stand here; only text can")
    return Text(text=part.text("text"))


def _user_part(part: Fields) -> Text | Media:
    match part.text("type"):
        case "image_url":
            image = part.object("image_url")
            extra = _extra(image.others({"url"}))
            return _from_url(image.text("url"), image.at("url"), extra)
        case "input_audio":
            sound = part.object("input_audio")
            form = sound.text("format")
            if form not in _SOUNDS:
                raise sound.refuse("format", f"{form!r} is none of {', '.join(_SOUNDS)}")
            if (data := bytes_from_base64(sound.text("data"))) is None:
                raise sound.refuse("data", "not base64")
            return Media(mime=_SOUNDS[form], data=data)
        case "file":
            file = part.object("file")
            extra = _extra(file.others({"file_data"}))
            return _from_url(file.text("file_data"), file.at("file_data"), extra)
        case _:
            return _text_part(part)


def _from_url(url: str, path: str, extra: Extra | None) -> Media:
    if not url.startswith("data:"):
        return Media(mime=mime_of(url, "image/*"), url=url, extra=extra)
    if (held := from_data_url(url)) is None:
        raise UsageError(f"{path}: not a data address that can be read")
    mime, data = held
    return Media(mime=mime, data=data, extra=extra)


def _extra(data: dict[str, Any]) -> Extra | None:
    return Extra(vendor=VENDOR, data=data) if data else None


def _assistant(message: Fields) -> Message:
    parts: list[Part] = [*_reasoning(message)]
    if message.value("content") is not None:
        extra = _extra(message.others(message.data.keys() - {"extra_content"}))
        said = [part for part in _content(message, _text_part) if part.text]
        parts += [Text(text=text.text, extra=extra) for text in said] if extra else said
    if refusal := message.maybe_text("refusal"):
        parts.append(Text(text=refusal, extra=Extra(vendor=VENDOR, data={"refusal": True})))
    parts += [_call(call) for call in message.objects("tool_calls")]
    return Message(role="assistant", parts=tuple(parts))


def _reasoning(message: Fields) -> list[Thinking]:
    data: dict[str, Any] = {}
    text = ""
    for field in REASONING_FIELDS:
        if text := message.maybe_text(field):
            data["field"] = field
            break
    if (details := message.value(REASONING_DETAILS)) is not None:
        data[REASONING_DETAILS] = checked(details, list, message.at(REASONING_DETAILS))
    return [Thinking(text=text, extra=Extra(vendor=VENDOR, data=data))] if data else []


def _call(call: Fields) -> Call:
    if call.value("type") not in (None, "function"):
        raise call.refuse("type", "only function calls are supported")
    function = call.object("function")
    said = function.maybe_text("arguments")
    try:
        arguments: Any = json.loads(said) if said.strip() else {}
    except (ValueError, RecursionError):
        raise function.refuse("arguments", "not JSON") from None
    checked(arguments, dict, function.at("arguments"))
    return Call(
        call=ToolCall(id=call.text("id"), name=function.text("name"), arguments=arguments),
        extra=_extra(call.others({"id", "type", "function", "index"})),
    )
