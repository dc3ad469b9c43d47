"""The server side: reads the body of a request, and writes answers: the reverse of `client.py`.

Reasoning is sent as `reasoning_content`, which most clients know. The caller gives the id and the time of an answer.
"""

import json
from collections.abc import Sequence
from typing import Any

from toolspeak.values.events import FinishReason, ToolChoice, TurnEnded, Usage
from toolspeak.values.messages import Call, Media, Message, Part, Result, Text, Thinking, ToolCall
from toolspeak.values.spec import CUSTOM_PARAMETER, ToolSpec
from toolspeak.wire.answers import AnswerEncoder
from toolspeak.wire.chat_request import ChatRequest, read_answer_format
from toolspeak.wire.errors import ErrorReport
from toolspeak.wire.fields import (
    MAX_STOP_TEXTS,
    Fields,
    check_addresses,
    check_kind,
    check_known_names,
    check_tool_limits,
    check_unique_names,
    is_strict,
    read_allowed_mode,
    read_answer_count,
    read_arguments,
    read_choice_word,
    read_content,
    read_media,
    read_tool,
    read_tools_once,
)
from toolspeak.wire.framing import encode_event
from toolspeak.wire.json_data import as_list, as_text, build_extra, dump_compact, encode_arguments, get_vendor_data
from toolspeak.wire.media import decode_base64
from toolspeak.wire.openai_chat.client import DONE, REASONING_DETAILS, REASONING_FIELDS, TEXT_EXTRA_FIELDS, VENDOR
from toolspeak.wire.raw_text import RawInputReader, is_custom, read_custom_tool

_KNOWN_FIELDS = frozenset(
    "model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens max_completion_tokens "
    "temperature top_p seed stop n".split()
)

_SOUND_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def read_request(body: Any, path: str = "") -> ChatRequest:
    """Read the body of a request; nothing of it is in the path. Raises `UsageError` that names the wrong field."""
    fields = Fields(body)
    for legacy, now in (("functions", "tools"), ("function_call", "tool_choice")):
        if fields.value(legacy) is not None:
            raise fields.error(legacy, f"is not supported; use {now}", "unsupported_parameter")
    offered, strict_tools, vendor_tools = read_tools_once(fields, _read_tools)
    tools, choice = _read_choice(fields, offered)
    allowed = {tool.name for tool in tools}
    extra = fields.other_fields(_KNOWN_FIELDS)
    options = fields.optional_object("stream_options")
    return ChatRequest(
        model=fields.text("model"),
        messages=_ChatReader().read(fields),
        tools=tools,
        strict_tools=strict_tools,
        forbidden_tools=tuple(tool for tool in offered if tool.name not in allowed),
        choice=choice,
        count=read_answer_count(fields, "n"),
        parallel=fields.flag("parallel_tool_calls", True),
        stream=fields.flag("stream", False),
        max_tokens=fields.integer("max_completion_tokens", minimum=1) or fields.integer("max_tokens", minimum=1),
        temperature=fields.number("temperature", maximum=2),
        top_p=fields.number("top_p", maximum=1),
        seed=fields.integer("seed"),
        stop=fields.texts("stop", maximum=MAX_STOP_TEXTS),
        include_usage=options is not None and options.flag("include_usage", False),
        answer_format=read_answer_format(fields.optional_object("response_format"), nested="json_schema"),
        extra={**extra, "tools": vendor_tools} if vendor_tools else extra or None,
    )


def _read_tools(fields: Fields) -> tuple[tuple[ToolSpec, ...], frozenset[str], list[dict[str, Any]]]:
    """Read functions and custom tools, which of them are strict, and the tools that only the vendor knows."""
    check_tool_limits(fields)
    tools: list[ToolSpec] = []
    strict: set[str] = set()
    vendor_tools: list[dict[str, Any]] = []
    for tool in fields.objects("tools"):
        match tool.text("type"):
            case "function":
                function = tool.object("function")
                tools.append(read_tool(function, "parameters"))
                strict |= {tools[-1].name} if is_strict(function) else set()
            case "custom":
                tools.append(read_custom_tool(tool.object("custom"), nested="grammar"))
            case _:
                vendor_tools.append(tool.data)
    check_unique_names(tools)
    return tuple(tools), frozenset(strict), vendor_tools


def _read_choice(fields: Fields, tools: tuple[ToolSpec, ...]) -> tuple[tuple[ToolSpec, ...], ToolChoice]:
    """Return the tools that the choice allows, and the choice."""
    if (choice := read_choice_word(fields, tools)) is not None:
        return tools, choice
    chosen = fields.object("tool_choice")
    match chosen.text("type"):
        case "function" | "custom" as kind:
            name = chosen.object(kind).text("name")
            check_known_names([name], tools, f"tool_choice.{kind}.name")
            return tools, ToolChoice(mode="named", names=(name,))
        case "allowed_tools":
            return _read_allowed_tools(chosen.object("allowed_tools"), tools)
        case other:
            raise chosen.error("type", f"{other!r} is not supported")


def _read_allowed_tools(allowed: Fields, tools: tuple[ToolSpec, ...]) -> tuple[tuple[ToolSpec, ...], ToolChoice]:
    given = allowed.objects("tools", required=True)
    names = {tool.object("custom" if tool.value("type") == "custom" else "function").text("name") for tool in given}
    check_known_names(names, tools, allowed.path_of("tools"))
    choice = read_allowed_mode(allowed)
    return tuple(tool for tool in tools if tool.name in names), choice


class _ChatReader:
    """Reads the messages. Consecutive results become one message, in the order of their calls."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._results: dict[str, Result] = {}  # by the ids of their calls
        self._order: dict[str, int] = {}  # the places of the calls in the last assistant message, by their ids

    def read(self, fields: Fields) -> tuple[Message, ...]:
        for message in fields.objects("messages", required=True):
            role = message.text("role")
            if role == "tool":
                result = self._read_result(message)
                self._results[result.call_id] = result
                continue
            self._flush_results()
            self._messages.append(self._read_message(role, message))
        self._flush_results()
        if not self._messages:
            raise fields.error("messages", "is empty")
        return tuple(self._messages)

    def _read_message(self, role: str, message: Fields) -> Message:
        match role:
            case "system" | "developer":
                return Message(role="system", parts=read_content(message, "content", _read_text_part))
            case "user":
                return Message(role="user", parts=read_content(message, "content", _read_user_part))
            case "assistant":
                assistant = _read_assistant(message)
                self._order = {call.id: place for place, call in enumerate(assistant.calls)}
                return assistant
            case other:
                raise message.error("role", f"{other!r} is none of system, developer, user, assistant, tool")

    def _read_result(self, message: Fields) -> Result:
        call_id = message.text("tool_call_id")
        if call_id not in self._order:
            raise message.error("tool_call_id", f"the message before has no call {call_id!r}")
        if call_id in self._results:
            raise message.error("tool_call_id", f"{call_id!r} has a result already")
        return Result(call_id=call_id, content=read_content(message, "content", _read_user_part))

    def _flush_results(self) -> None:
        if self._results:
            in_order = sorted(self._results.values(), key=lambda result: self._order[result.call_id])
            self._messages.append(Message(role="tool", parts=tuple(in_order)))
            self._results.clear()


_REFUSED = build_extra(VENDOR, {"refusal": True})


def _read_text_part(part: Fields) -> Text:
    if part.text("type") == "refusal":
        return Text(text=part.text("refusal"), extra=_REFUSED)
    if part.text("type") != "text":
        raise part.error("type", f"{part.text('type')!r} is not allowed here; only text is")
    return Text(text=part.text("text"))


def _read_user_part(part: Fields) -> Text | Media:
    match part.text("type"):
        case "image_url":
            image = part.object("image_url")
            check_addresses(image)
            extra = build_extra(VENDOR, image.other_fields({"url"}))
            return read_media(image, "url", extra)
        case "input_audio":
            sound = part.object("input_audio")
            form = sound.text("format")
            if form not in _SOUND_TYPES:
                raise sound.error("format", f"{form!r} is none of {', '.join(_SOUND_TYPES)}")
            if (data := decode_base64(sound.text("data"))) is None:
                raise sound.error("data", "not base64")
            return Media(mime=_SOUND_TYPES[form], data=data)
        case "file":
            file = part.object("file")
            check_addresses(file)
            extra = build_extra(VENDOR, file.other_fields({"file_data", "filename"}))
            return read_media(file, "file_data", extra, file.optional_text("filename") or None)
        case _:
            return _read_text_part(part)


def _read_assistant(message: Fields) -> Message:
    if message.value("function_call") is not None:
        raise message.error("function_call", "is not supported; use tool_calls", "unsupported_parameter")
    parts: list[Part] = [*_read_reasoning(message)]
    if message.value("content") is not None:
        extra = build_extra(VENDOR, message.other_fields(message.data.keys() - {"extra_content"}))
        texts = [part for part in read_content(message, "content", _read_text_part) if part.text]
        parts += [Text(text=text.text, extra=extra) for text in texts] if extra else texts
    if refusal := message.optional_text("refusal"):
        parts.append(Text(text=refusal, extra=_REFUSED))
    parts += [_read_call(call) for call in message.objects("tool_calls")]
    return Message(role="assistant", parts=tuple(parts))


def _read_reasoning(message: Fields) -> list[Thinking]:
    data: dict[str, Any] = {}
    text = ""
    for field in REASONING_FIELDS:
        if text := message.optional_text(field):
            data["field"] = field
            break
    if (details := message.value(REASONING_DETAILS)) is not None:
        data[REASONING_DETAILS] = check_kind(details, list, message.path_of(REASONING_DETAILS))
    return [Thinking(text=text, extra=build_extra(VENDOR, data))] if data else []


def _read_call(call: Fields) -> Call:
    match call.value("type"):
        case None | "function":
            called = call.object("function")
            arguments = read_arguments(called)
        case "custom":
            called = call.object("custom")
            arguments = {CUSTOM_PARAMETER: called.text("input")}
        case _:
            raise call.error("type", "only function calls and custom calls are supported")
    return Call(
        call=ToolCall(id=call.text("id"), name=called.text("name"), arguments=arguments),
        extra=build_extra(VENDOR, call.other_fields({"id", "type", "function", "custom", "index"})),
    )


# Answers

_FINISH_REASONS: dict[FinishReason, str] = {"length": "length", "refused": "content_filter"}


class Encoder(AnswerEncoder):
    """Writes an answer, streamed or whole. It needs of `request` which tools are custom, and how many answers.

    Several answers to one request are streamed one after the other, each up to its `TurnEnded`.
    """

    def __init__(
        self, model: str, *, id: str, created: int, include_usage: bool = False, request: ChatRequest | None = None
    ) -> None:
        super().__init__()
        self._whole = {"id": id, "object": "chat.completion", "created": created, "model": model}
        self._include_usage = include_usage
        self._custom = {spec.name for spec in request.tools if is_custom(spec)} if request is not None else set[str]()
        self._inputs: dict[str, RawInputReader] = {}  # of the calls of custom tools, by their ids
        self._sent_inputs: dict[str, list[str]] = {}
        self._chunk_head: dict[str, Any] = {**self._whole, "object": "chat.completion.chunk"}
        self._index = 0  # of the answer that is being written
        self._last_index = (request.count if request is not None else 1) - 1
        self._usage = Usage()
        self._head = self._build_head()

    def _build_head(self) -> str:
        """Return everything up to the delta, which is the same in every chunk of an answer."""
        return f'{dump_compact(self._chunk_head)[:-1]},"choices":[{{"index":{self._index},"delta":'

    def start(self) -> bytes:
        """Return the beginning of a stream."""
        return self._chunk({"role": "assistant", "content": ""})

    def error(self, report: ErrorReport) -> bytes:
        """Return the end of a stream that failed."""
        return encode_event(dump_compact(error_body(report)))

    def response(
        self, message: Message, finish: FinishReason, usage: Usage | None = None, stop_text: str = ""
    ) -> dict[str, Any]:
        """Return the body of a whole answer. The API has no field for `stop_text`."""
        fields: dict[str, Any] = {"role": "assistant", "content": message.text or None, "refusal": None}
        if thought := "".join(part.text for part in message.parts if isinstance(part, Thinking)):
            fields[REASONING_FIELDS[0]] = thought
        fields |= _extra_fields(message)
        calls = [part for part in message.parts if isinstance(part, Call)]
        if calls:
            fields["tool_calls"] = [_encode_call(part, as_custom=part.call.name in self._custom) for part in calls]
        reason = _finish_reason(finish, bool(calls))
        choice = {"index": 0, "message": fields, "logprobs": None, "finish_reason": reason}
        return {**self._whole, "choices": [choice], "usage": _encode_usage(usage or Usage())}

    def join(self, bodies: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the body with all answers. The prompt was read for each of them."""
        choices = [{**body["choices"][0], "index": index} for index, body in enumerate(bodies)]
        return {**bodies[0], "choices": choices}

    def _add_text(self, text: str) -> bytes:
        return self._chunk({"content": text})

    def _add_thinking(self, text: str) -> bytes:
        return self._chunk({REASONING_FIELDS[0]: text})

    def _start_call(self, call_id: str, name: str) -> bytes:
        index = self._calls[call_id] = len(self._calls)
        if name in self._custom:
            self._inputs[call_id], self._sent_inputs[call_id] = RawInputReader(), []
            return self._call_chunk(index, {"id": call_id, "type": "custom", "custom": {"name": name, "input": ""}})
        function = {"name": name, "arguments": ""}
        return self._call_chunk(index, {"id": call_id, "type": "function", "function": function})

    def _add_arguments(self, call_id: str, text: str) -> bytes:
        if call_id not in self._calls:
            return b""
        self._has_arguments.add(call_id)
        if call_id in self._inputs:  # the client is sent the text within the JSON
            return self._add_input(call_id, self._inputs[call_id].feed(text))
        return self._call_chunk(self._calls[call_id], {"function": {"arguments": text}})

    def _add_input(self, call_id: str, text: str) -> bytes:
        """Return more of the raw text of a call."""
        if not text:
            return b""
        self._sent_inputs[call_id].append(text)
        return self._call_chunk(self._calls[call_id], {"custom": {"input": text}})

    def _complete_call(self, call: ToolCall) -> bytes:
        if call.name not in self._custom:
            return super()._complete_call(call)
        started = b"" if call.id in self._calls else self._start_call(call.id, call.name)
        whole, sent = as_text(call.arguments.get(CUSTOM_PARAMETER)), "".join(self._sent_inputs[call.id])
        return started + self._add_input(call.id, whole[len(sent) :] if whole.startswith(sent) else "")

    def _end(self, ended: TurnEnded) -> bytes:
        # The vendor's data is known only now; in this API its position in the stream does not matter.
        late = b"".join(
            self._call_chunk(self._calls[part.call.id], data)
            for part in ended.message.parts
            if isinstance(part, Call) and (data := get_vendor_data(part.extra, VENDOR)) and part.call.id in self._calls
        )
        if extras := _extra_fields(ended.message):
            late += self._chunk(extras)
        last = self._chunk({}, _finish_reason(ended.finish, bool(self._calls)))
        self._usage += ended.usage
        if self._index < self._last_index:
            self._index += 1
            self._head = self._build_head()
            self._calls, self._has_arguments = {}, set()
            return late + last + self.start()
        usage = b""
        if self._include_usage:
            usage = encode_event(dump_compact({**self._chunk_head, "choices": [], "usage": _encode_usage(self._usage)}))
        return late + last + usage + encode_event(DONE)

    def _call_chunk(self, index: int, data: dict[str, Any]) -> bytes:
        return self._chunk({"tool_calls": [{"index": index, **data}]})

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        last = "null" if reason is None else json.dumps(reason)
        return encode_event(f'{self._head}{dump_compact(delta)},"logprobs":null,"finish_reason":{last}}}]}}')


def error_body(report: ErrorReport) -> dict[str, Any]:
    """Return the body of an answer with an error status."""
    return {"error": report.openai_error()}


def _encode_call(part: Call, *, as_custom: bool) -> dict[str, Any]:
    if as_custom:
        custom = {"name": part.call.name, "input": as_text(part.call.arguments.get(CUSTOM_PARAMETER))}
        return {"id": part.call.id, "type": "custom", "custom": custom}
    function = {"name": part.call.name, "arguments": encode_arguments(part.call.arguments)}
    return {"id": part.call.id, "type": "function", "function": function, **get_vendor_data(part.extra, VENDOR)}


def _extra_fields(message: Message) -> dict[str, Any]:
    """Return the fields for vendor data on the parts of a message."""
    fields: dict[str, Any] = {}
    for part in message.parts:
        data = get_vendor_data(part.extra, VENDOR) if isinstance(part, Thinking | Text) else {}
        if isinstance(part, Thinking) and (details := as_list(data.get(REASONING_DETAILS))):
            fields[REASONING_DETAILS] = [*fields.get(REASONING_DETAILS, ()), *details]
        elif isinstance(part, Text):
            fields |= {key: data[key] for key in data if key in TEXT_EXTRA_FIELDS}
    return fields


def _finish_reason(finish: FinishReason, has_calls: bool) -> str:
    return _FINISH_REASONS.get(finish) or ("tool_calls" if has_calls else "stop")


def _encode_usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
