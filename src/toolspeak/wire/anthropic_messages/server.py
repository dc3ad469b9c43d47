"""The server side: reads the body of a request, and writes answers: the reverse of `client.py`.

A streamed answer is a list of blocks. A block of text or reasoning is closed when another block starts; the block of a
call when the call is ready, so that the blocks of interleaved calls may be open at the same time. The signature of
reasoning is known only at the end of the message: it is sent then, for the block that it belongs to. Opaque blocks are
sent only in a whole answer, because in a stream they are known too late for their place.
"""

from collections.abc import Sequence
from typing import Any, Literal

from toolspeak.values.events import AUTO, FinishReason, ToolChoice, TurnEnded, Usage
from toolspeak.values.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking, ToolCall
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.answers import AnswerEncoder
from toolspeak.wire.anthropic_messages.client import VENDOR
from toolspeak.wire.chat_request import ChatRequest, read_answer_format
from toolspeak.wire.errors import ErrorReport
from toolspeak.wire.fields import (
    MAX_STOP_TEXTS,
    FieldError,
    Fields,
    check_known_names,
    check_tool_limits,
    check_unique_names,
    is_strict,
    read_address,
    read_content,
    read_opaque,
    read_tool,
    read_tools_once,
)
from toolspeak.wire.framing import encode_event
from toolspeak.wire.json_data import (
    as_list,
    as_object,
    as_text,
    build_extra,
    dump_compact,
    encode_references,
    get_vendor_data,
)
from toolspeak.wire.media import decode_base64, guess_image_type
from toolspeak.wire.vendor_tools import name_vendor_tool

_KNOWN_FIELDS = frozenset(
    "model messages system tools tool_choice stream max_tokens temperature top_p stop_sequences".split()
)


def read_request(body: Any, path: str = "") -> ChatRequest:
    """Read the body of a request; nothing of it is in the path. Raises `UsageError` that names the wrong field."""
    fields = Fields(body)
    if fields.value("thread") is not None:  # the tool runners of the vendor's SDKs go on without, if it is refused so
        problem = "no conversation is kept here; send the whole one without it"
        raise FieldError("thread", problem, failure="thread_unsupported")
    model = fields.text("model")
    max_tokens = fields.integer("max_tokens", minimum=1)
    if max_tokens is None:
        raise fields.error("max_tokens", "is missing")
    own_tools, strict_tools, vendor_tools = read_tools_once(fields, _read_tools)
    tools = _add_inline_tools(fields, own_tools)
    choice, parallel = _read_choice(fields, tools, vendor_tools)
    extra = fields.other_fields(_KNOWN_FIELDS)
    parts = read_content(fields, "system", _read_text) if fields.value("system") else ()
    system = [Message(role="system", parts=parts)] if parts else []
    config = fields.optional_object("output_config")
    answer_format = config.optional_object("format") if config is not None else None
    return ChatRequest(
        model=model,
        messages=(*system, *_BlockReader().read(fields)),
        tools=tools,
        strict_tools=strict_tools,
        choice=choice,
        parallel=parallel,
        stream=fields.flag("stream", False),
        max_tokens=max_tokens,
        temperature=fields.number("temperature", maximum=1),
        top_p=fields.number("top_p", maximum=1),
        stop=fields.texts("stop_sequences", maximum=MAX_STOP_TEXTS),
        include_usage=True,
        # `output_config` has replaced `output_format`.
        answer_format=read_answer_format(answer_format or fields.optional_object("output_format")),
        extra={**extra, "tools": vendor_tools} if vendor_tools else extra or None,
    )


def _read_tools(fields: Fields) -> tuple[tuple[ToolSpec, ...], frozenset[str], list[dict[str, Any]]]:
    """Read the tools of the client, which of them are strict, and the tools that the vendor defines."""
    check_tool_limits(fields)
    tools: list[ToolSpec] = []
    strict: set[str] = set()
    vendor_tools: list[dict[str, Any]] = []
    for tool in fields.objects("tools"):
        if tool.optional_text("type") in ("", "custom"):
            tool.object("input_schema")
            tools.append(read_tool(tool, "input_schema"))
            strict |= {tools[-1].name} if is_strict(tool) else set()
        else:
            vendor_tools.append(tool.data)
    check_unique_names(tools)
    return tuple(tools), frozenset(strict), vendor_tools


def _add_inline_tools(fields: Fields, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    """Return the tools, with those that messages of the system define in the middle of the conversation."""
    added = [
        Fields(definition, f"{block.path}.tool.definition")
        for message in fields.objects("messages")
        if message.value("role") == "system" and isinstance(message.value("content"), list)
        for block in message.objects("content")
        if block.value("type") == "tool_addition"
        and (definition := as_object(as_object(block.value("tool")).get("definition")))
        and definition.get("type", "custom") == "custom"
    ]
    if not added:
        return tools
    check_tool_limits(Fields({"tools": [*as_list(fields.value("tools")), *(each.data for each in added)]}))
    found = {tool.name: tool for tool in tools}
    for each in added:
        tool = read_tool(each, "input_schema")
        found.setdefault(tool.name, tool)
    return tuple(found.values())


def _read_choice(
    fields: Fields, tools: tuple[ToolSpec, ...], vendor_tools: list[dict[str, Any]]
) -> tuple[ToolChoice, bool]:
    chosen = fields.optional_object("tool_choice")
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
            if name not in map(name_vendor_tool, vendor_tools):
                check_known_names([name], tools, "tool_choice.name")
            return ToolChoice(mode="named", names=(name,)), parallel
        case other:
            raise chosen.error("type", f"{other!r} is none of auto, any, tool, none")


class _BlockReader:
    """Reads the messages. A user message with results becomes a tool message; its other blocks follow the results."""

    def __init__(self) -> None:
        self._calls: dict[str, int] = {}  # the places of the calls in the last assistant message, by their ids

    def read(self, fields: Fields) -> tuple[Message, ...]:
        messages: list[Message] = []
        results: list[Part] = []  # the parts of tool messages that follow each other
        for given in fields.objects("messages", required=True):
            if results and given.value("role") != "user":
                messages.append(self._build_tool_message(results, given))
                results = []
            message = self._read_message(given)
            if message.role == "tool":
                results += message.parts
                continue
            if results:  # a message of the user, without results
                messages.append(self._build_tool_message(results, given))
                results = []
            messages.append(message)
        if results:
            messages.append(self._build_tool_message(results, fields))
        if not messages:
            raise fields.error("messages", "is empty")
        return tuple(messages)

    def _read_message(self, message: Fields) -> Message:
        match message.text("role"):
            case "assistant":
                parts = read_content(message, "content", _read_assistant_block)
                calls = [part.call.id for part in parts if isinstance(part, Call)]
                self._calls = {call_id: place for place, call_id in enumerate(calls)}
                return Message(role="assistant", parts=parts)
            case "user":
                parts = read_content(message, "content", self._read_user_block)
                if any(isinstance(part, Result) for part in parts):
                    return self._build_tool_message(parts, message)
                return Message(role="user", parts=parts)
            case "system":
                return Message(role="system", parts=read_content(message, "content", _read_system_block))
            case other:
                raise message.error("role", f"{other!r} is none of user, assistant, system")

    def _build_tool_message(self, parts: Sequence[Part], given: Fields) -> Message:
        results = {part.call_id: part for part in parts if isinstance(part, Result)}
        others = [part for part in parts if not isinstance(part, Result)]
        if len(results) + len(others) < len(parts):
            raise given.error("content", "a call has two results")
        in_order = sorted(results.values(), key=lambda result: self._calls[result.call_id])
        return Message(role="tool", parts=(*in_order, *others))

    def _read_user_block(self, block: Fields) -> Part:
        return self._read_result(block) if block.text("type") == "tool_result" else _read_content_block(block)

    def _read_result(self, block: Fields) -> Result:
        call_id = block.text("tool_use_id")
        if call_id not in self._calls:
            raise block.error("tool_use_id", f"the message before has no call {call_id!r}")
        given = block.value("content") is not None
        return Result(
            call_id=call_id,
            content=read_content(block, "content", _read_result_block) if given else (),
            is_error=block.flag("is_error", False),
            extra=_build_extra(block, "type", "tool_use_id", "content", "is_error"),
        )


def _build_extra(block: Fields, *known: str) -> Extra | None:
    return build_extra(VENDOR, block.other_fields(known))


def _read_text(block: Fields) -> Text:
    if block.text("type") != "text":
        raise block.error("type", f"{block.text('type')!r} is not allowed here; only text is")
    return Text(text=block.text("text"), extra=_build_extra(block, "type", "text"))


def _read_system_block(block: Fields) -> Text:
    """Read a block of a message of the system. A change of the tools becomes a sentence about it."""
    kind = block.text("type")
    if kind not in ("tool_addition", "tool_removal"):
        return _read_text(block)
    change = block.object("tool").data
    named = as_object(change.get("definition")) or change
    name = as_text(named.get("name")) or as_text(named.get("server_name")) or "of another server"
    can_be = "can be" if kind == "tool_addition" else "cannot be"
    return _stand_in(block, f"From here on the tool {name} {can_be} called.")


def _stand_in(block: Fields, text: str) -> Text:
    """Return a text in place of a block that only this API has. The block is sent on to the vendor's own servers."""
    return Text(text=text, extra=Extra(vendor=VENDOR, data=block.data))


def _read_assistant_block(block: Fields) -> Part:
    match block.text("type"):
        case "text":
            return _read_text(block)
        case "thinking":
            return Thinking(text=block.text("thinking"), extra=_build_extra(block, "type", "thinking"))
        case "tool_use":
            call = ToolCall(id=block.text("id"), name=block.text("name"), arguments=block.object("input").data)
            return Call(call=call, extra=_build_extra(block, "type", "id", "name", "input"))
        case _:
            return Opaque(vendor=VENDOR, data=block.data)


def _read_content_block(block: Fields) -> Part:
    match block.text("type"):
        case "text":
            return _read_text(block)
        case "image" | "document" as kind:
            return _read_media(block, kind)
        case "search_result":
            texts = [each.text("text") for each in block.objects("content", required=True)]
            return _stand_in(block, "\n".join((f"{block.text('title')} ({block.text('source')})", *texts)))
        case _:
            return read_opaque(block, VENDOR)


def _read_result_block(block: Fields) -> Text | Media:
    """Read a block of a result. A block that is not known is shown as JSON: a model must see what its call gave."""
    if block.text("type") == "tool_reference":
        return _stand_in(block, f"The tool {block.text('tool_name')} can be called.")
    content = _read_content_block(block)
    return content if isinstance(content, Text | Media) else _stand_in(block, dump_compact(block.data))


def _read_media(block: Fields, kind: str) -> Part:
    source = block.object("source")
    extra = _build_extra(block, "type", "source", "title")
    name = block.optional_text("title") or None
    match source.text("type"):
        case "url":
            url = read_address(source, "url")
            mime = guess_image_type(url, "image/*") if kind == "image" else "application/pdf"
            return Media(mime=mime, url=url, extra=extra, name=name)
        case "base64":
            if (data := decode_base64(source.text("data"))) is None:
                raise source.error("data", "not base64")
            return Media(mime=source.text("media_type"), data=data, extra=extra, name=name)
        case "text":
            data = source.text("data").encode("utf-8", "replace")
            return Media(mime="text/plain", data=data, extra=extra, name=name)
        case "content":
            texts = [part.text for part in read_content(source, "content", _read_text)]
            context = block.optional_text("context")
            return _stand_in(block, "\n".join(filter(None, (name or "", context, *texts))))
        case _:
            return read_opaque(block, VENDOR)  # a file that only the vendor has


# Answers

_STOP_REASONS: dict[FinishReason, str] = {"length": "max_tokens", "refused": "refusal"}


class Encoder(AnswerEncoder):
    """Writes one answer, streamed or whole.

    `created` and `include_usage` are not used: this API has no times, and always sends token counts. Reasoning is
    written only if the request asks for it: clients that did not ask expect text in the first block.
    """

    def __init__(
        self, model: str, *, id: str, created: int = 0, include_usage: bool = True, request: ChatRequest | None = None
    ) -> None:
        super().__init__()
        self._whole: dict[str, Any] = {"id": id, "type": "message", "role": "assistant", "model": model}
        self._blocks = 0
        self._open: tuple[int, Literal["text", "thinking", ""]] = (0, "")
        self._thinking_blocks: list[int] = []
        self._unready: set[str] = set()
        if request is not None:
            asked = as_object((request.extra or {}).get("thinking")).get("type")
            self._shows_thinking = asked not in (None, "disabled")

    def start(self) -> bytes:
        """Return the beginning of a stream."""
        stop: dict[str, Any] = {"content": [], "stop_reason": None, "stop_sequence": None}
        message = {**self._whole, **stop, "usage": _encode_usage(Usage())}
        return _sse({"type": "message_start", "message": message})

    def ping(self) -> bytes:
        """Return an event of the API that has no content."""
        return encode_event('{"type":"ping"}', "ping")

    def error(self, report: ErrorReport) -> bytes:
        """Return the end of a stream that failed."""
        return _sse(error_body(report))

    def response(
        self, message: Message, finish: FinishReason, usage: Usage | None = None, stop_text: str = ""
    ) -> dict[str, Any]:
        """Return the body of a whole answer. `stop_text` is the stop text that ended the answer, if that is known."""
        parts = [part for part in message.parts if self._shows_thinking or not isinstance(part, Thinking)]
        blocks = [block for part in parts if (block := _encode_part(part)) is not None]
        stop = _stop_fields(finish, bool(message.calls), stop_text)
        return {**self._whole, "content": blocks, **stop, "usage": _encode_usage(usage or Usage())}

    def _add_text(self, text: str) -> bytes:
        return self._add_delta("text", {"type": "text_delta", "text": text})

    def _add_thinking(self, text: str) -> bytes:
        return self._add_delta("thinking", {"type": "thinking_delta", "thinking": text})

    def _add_delta(self, kind: Literal["text", "thinking"], delta: dict[str, Any]) -> bytes:
        start = b""
        if self._open[1] != kind:
            empty = {"type": "text", "text": ""} if kind == "text" else _thinking_block("", None)
            start = self._close_open_block() + self._start_block(empty)
            self._open = (self._blocks - 1, kind)
            if kind == "thinking":
                self._thinking_blocks.append(self._open[0])
        return start + _delta(self._open[0], delta)

    def _start_call(self, call_id: str, name: str) -> bytes:
        closed = self._close_open_block()
        self._calls[call_id] = self._blocks
        self._unready.add(call_id)
        return closed + self._start_block({"type": "tool_use", "id": call_id, "name": name, "input": {}})

    def _add_arguments(self, call_id: str, text: str) -> bytes:
        if call_id not in self._unready:
            return b""
        self._has_arguments.add(call_id)
        return _delta(self._calls[call_id], {"type": "input_json_delta", "partial_json": text})

    def _complete_call(self, call: ToolCall) -> bytes:
        return super()._complete_call(call) + self._close_call(call.id)

    def _end(self, ended: TurnEnded) -> bytes:
        data = self._close_open_block() + b"".join(self._close_call(call_id) for call_id in self._calls)
        thoughts = [part for part in ended.message.parts if isinstance(part, Thinking) and part.text]
        if len(thoughts) == len(self._thinking_blocks):  # otherwise the block of a signature is not known
            for index, part in zip(self._thinking_blocks, thoughts, strict=True):
                if signature := as_text(get_vendor_data(part.extra, VENDOR).get("signature")):
                    data += _delta(index, {"type": "signature_delta", "signature": signature})
        delta = _stop_fields(ended.finish, bool(self._calls), ended.stop_text)
        data += _sse({"type": "message_delta", "delta": delta, "usage": _encode_usage(ended.usage)})
        return data + _sse({"type": "message_stop"})

    def _start_block(self, block: dict[str, Any]) -> bytes:
        start = _sse({"type": "content_block_start", "index": self._blocks, "content_block": block})
        self._blocks += 1
        return start

    def _close_open_block(self) -> bytes:
        """Close the block of text or reasoning, if one is open."""
        index, kind = self._open
        self._open = (0, "")
        return _sse({"type": "content_block_stop", "index": index}) if kind else b""

    def _close_call(self, call_id: str) -> bytes:
        if call_id not in self._unready:
            return b""
        self._unready.remove(call_id)
        return _sse({"type": "content_block_stop", "index": self._calls[call_id]})


def error_body(report: ErrorReport) -> dict[str, Any]:
    """Return the body of an answer with an error status."""
    return {"type": "error", "error": report.anthropic_error()}


def _sse(data: dict[str, Any]) -> bytes:
    return encode_event(dump_compact(data), data["type"])


def _delta(index: int, delta: dict[str, Any]) -> bytes:
    return _sse({"type": "content_block_delta", "index": index, "delta": delta})


def _encode_part(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text=text, extra=extra) if text:
            return {"type": "text", "text": text, **get_vendor_data(extra, VENDOR)}
        case Thinking(text=text, extra=extra):
            return _thinking_block(text, extra)
        case Call(call=call, extra=extra):
            block = {"type": "tool_use", "id": call.id, "name": call.name, "input": encode_references(call.arguments)}
            return {**block, **get_vendor_data(extra, VENDOR)}
        case Opaque(data=data) if part.vendor == VENDOR:
            return as_object(data)
        case _:
            return None


def _thinking_block(text: str, extra: Extra | None) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "", **get_vendor_data(extra, VENDOR)}


def _stop_fields(finish: FinishReason, has_calls: bool, stop_text: str) -> dict[str, Any]:
    """Return the fields that say why an answer ended."""
    if finish == "stop" and stop_text and not has_calls:
        return {"stop_reason": "stop_sequence", "stop_sequence": stop_text}
    reason = _STOP_REASONS.get(finish) or ("tool_use" if has_calls else "end_turn")
    return {"stop_reason": reason, "stop_sequence": None}


def _encode_usage(usage: Usage) -> dict[str, Any]:
    """Write the token counts. `input_tokens` of the API leaves out tokens that a cache had or has stored."""
    return {
        "input_tokens": max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    }
