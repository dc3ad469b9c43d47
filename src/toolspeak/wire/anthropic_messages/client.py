"""The client side: writes a `ChatRequest` as the headers and the body of a request, and reads answers.

The API is strict. System messages are a field of their own; results are the first blocks of a user message; blank text
is refused, and so is white space at the end of an assistant message that the model continues; ids are limited to 64
letters, digits, `_` and `-`. Blocks of an answer are sent back in their order, reasoning only with its signature.

An answer is a list of blocks, each streamed as a start, deltas and a stop. Text, reasoning and calls are read. Every
other block (of the API's own tools, or redacted reasoning) becomes an `Opaque` part in its place.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolspeak.values.errors import ProviderError
from toolspeak.values.events import FinishReason, ToolChoice, Usage
from toolspeak.values.messages import Call, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.values.pieces import Answer, ApiCall
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.answers import AnswerDecoder
from toolspeak.wire.chat_request import NO_QUIRKS, ChatRequest, Quirks
from toolspeak.wire.errors import build_error
from toolspeak.wire.framing import SSE
from toolspeak.wire.json_data import (
    as_count,
    as_list,
    as_object,
    as_text,
    build_extra,
    encode_arguments,
    encode_references,
    get_vendor_data,
    parse_object,
)
from toolspeak.wire.media import decode_text, describe_media, explain_no_address, name_kind, to_base64
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules, fit_schema

# What `api.Wire` demands of an API; it says what each of them means.
BASE_PATH: str = "/v1"
PATHS: tuple[str, ...] = ("/messages",)
IS_UNDER_V1: bool = True
FRAMING = SSE
VENDOR: str = "anthropic"
ID_PREFIX: str = "msg_"
SAMPLING_FIELDS: frozenset[str] = frozenset({"top_k"})

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""The types of images that the API accepts as bytes."""

FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    # A turn with the API's own tools that is paused: the client must send it back for the rest, so it is cut short.
    "pause_turn": "length",
    "refusal": "refused",
}

DEFAULT_MAX_TOKENS = 4096
"""The limit of an answer if the request has none: the API requires one."""

_MAX_ID_CHARS = 64

_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")

_REASONING_TYPES = ("thinking", "redacted_thinking")

encode_message: None = None
"""No message is written by itself: neighbouring messages of one role become one."""


def request_path(request: ChatRequest) -> str:
    """Return the path of a request behind the base address: the same for all."""
    return PATHS[0]


def request_headers(key: str | None) -> dict[str, str]:
    """Return the headers that the API requires, with the key if there is one."""
    version = {"anthropic-version": "2023-06-01"}
    return {**version, "x-api-key": key} if key else version


def request_body(
    request: ChatRequest, *, quirks: Quirks = NO_QUIRKS, rules: SchemaRules = NO_CHANGES, vendor: str = VENDOR
) -> dict[str, Any]:
    """Return the body of a request. The API has neither a seed nor grammars: both are left out."""
    extra = request.extra or {}
    max_tokens = DEFAULT_MAX_TOKENS if request.max_tokens is None else request.max_tokens
    body: dict[str, Any] = {"model": request.model, "max_tokens": max_tokens}
    if system := _system(request.messages, vendor):
        body["system"] = system
    body["messages"] = _BlockWriter(quirks, vendor).write(request.messages)
    body |= _tool_fields(request, rules, quirks, extra)
    if request.stream:
        body["stream"] = True
    if request.json_schema is not None and quirks.response_format:
        schema, _ = fit_schema(request.json_schema, rules)
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    stop = [text for text in request.stop if text.strip()]  # the API refuses blank texts
    settings = {"temperature": request.temperature, "top_p": request.top_p, "stop_sequences": stop or None}
    body |= {name: value for name, value in settings.items() if value is not None}
    body |= extra
    if vendor_tools := as_list(extra.get("tools")):
        body["tools"] = [*tool_definitions(request.tools, rules=rules), *vendor_tools]
    return body


def tool_definitions(
    specs: Iterable[ToolSpec], *, strict: bool = False, rules: SchemaRules = NO_CHANGES
) -> list[dict[str, Any]]:
    """Return the `tools` field of a request."""
    rules = SchemaRules(strict=True) if strict else rules
    definitions: list[dict[str, Any]] = []
    for spec in specs:
        schema, is_strict = fit_schema(spec.parameters, rules)
        flag = {"strict": True} if is_strict else {}
        definitions.append({"name": spec.name, "description": spec.description, **flag, "input_schema": schema})
    return definitions


def _tool_fields(request: ChatRequest, rules: SchemaRules, quirks: Quirks, extra: Mapping[str, Any]) -> dict[str, Any]:
    choice = request.choice
    if not request.tools or not quirks.tools or (choice.mode == "none" and not quirks.tool_choice):
        return {}
    fields: dict[str, Any] = {"tools": tool_definitions(request.tools, rules=rules)}
    if quirks.tool_choice:
        thinks = as_object(extra.get("thinking")).get("type") in ("enabled", "adaptive")
        chosen = _choice(choice, quirks, thinks=thinks)
        if not request.parallel and quirks.parallel_tool_calls and chosen["type"] != "none":
            chosen["disable_parallel_tool_use"] = True
        if chosen != {"type": "auto"}:
            fields["tool_choice"] = chosen
    return fields


def _choice(choice: ToolChoice, quirks: Quirks, *, thinks: bool) -> dict[str, Any]:
    if choice.mode in ("auto", "none"):
        return {"type": choice.mode}
    if thinks:
        return {"type": "auto"}  # with reasoning on, the API refuses a forced call
    if choice.mode == "named" and len(choice.names) == 1 and quirks.named_choice:
        return {"type": "tool", "name": choice.names[0]}
    return {"type": "any"}


def _system(messages: Sequence[Message], vendor: str) -> str | list[dict[str, Any]]:
    texts = [
        part
        for message in messages
        if message.role == "system"
        for part in message.parts
        if isinstance(part, Text) and part.text.strip()
    ]
    if any(get_vendor_data(text.extra, vendor) for text in texts):
        return [_text_block(text, vendor) for text in texts]
    return "\n\n".join(text.text for text in texts)


def _text_block(text: Text, vendor: str) -> dict[str, Any]:
    """Write a text; one that stands for a block of the vendor is written as that block."""
    data = get_vendor_data(text.extra, vendor)
    return data if "type" in data else {"type": "text", "text": text.text, **data}


class _BlockWriter:
    """Writes the messages of one request as blocks. A call and its result get the same id."""

    def __init__(self, quirks: Quirks, vendor: str) -> None:
        self._vendor = vendor
        self._echo = quirks.echo_reasoning
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        written: list[dict[str, Any]] = []
        for message in messages:
            if message.role == "system":
                continue
            role = "assistant" if message.role == "assistant" else "user"
            blocks = self._assistant_blocks(message) if role == "assistant" else self._user_blocks(message)
            if not blocks:
                continue
            if written and role == "user" and written[-1]["role"] == "user":
                together = [*written[-1]["content"], *blocks]
                written[-1]["content"] = sorted(together, key=lambda block: block["type"] != "tool_result")
            else:
                written.append({"role": role, "content": blocks})
        if written and written[-1]["role"] == "assistant":
            last = written[-1]["content"]
            if last[-1].get("type") == "text":
                last[-1] = {**last[-1], "text": last[-1]["text"].rstrip()}
        for message in written:
            message["content"] = _shorten(message["content"])
        return written

    def _assistant_blocks(self, message: Message) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for part in message.parts:
            match part:
                case Text(text=text, extra=extra) if text.strip():
                    blocks.append({"type": "text", "text": text, **get_vendor_data(extra, self._vendor)})
                case Thinking(text=text, extra=extra):
                    data = get_vendor_data(extra, self._vendor)
                    if self._echo and data.get("signature"):
                        blocks.append({"type": "thinking", "thinking": text, **data})
                case Call(call=call, extra=extra):
                    block: dict[str, Any] = {"type": "tool_use", "id": self._id(call.id), "name": call.name}
                    block["input"] = encode_references(call.arguments)
                    blocks.append(block | get_vendor_data(extra, self._vendor))
                case Opaque(data=data) if part.vendor == self._vendor:
                    blocks.append(as_object(data))
                case _:
                    pass  # blank text, or the opaque data of another vendor
        return [] if all(block.get("type") in _REASONING_TYPES for block in blocks) else blocks

    def _user_blocks(self, message: Message) -> list[dict[str, Any]]:
        results = [self._result_block(part) for part in message.parts if isinstance(part, Result)]
        return [*results, *self._content_blocks(message.parts)]

    def _result_block(self, result: Result) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": self._id(result.call_id)}
        if content := self._content_blocks(result.content):
            block["content"] = _shorten(content)
        if result.is_error:
            block["is_error"] = True
        return {**block, **get_vendor_data(result.extra, self._vendor)}

    def _content_blocks(self, parts: Iterable[Part]) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, Media):
                blocks.append({**_media_block(part), **get_vendor_data(part.extra, self._vendor)})
            elif isinstance(part, Text) and part.text.strip():
                blocks.append(_text_block(part, self._vendor))
            elif isinstance(part, Opaque) and part.vendor == self._vendor:
                blocks.append(as_object(part.data))
        return blocks

    def _id(self, call_id: str) -> str:
        """Return an id that the API accepts: always the same for one `call_id`, and different for two."""
        if call_id not in self._ids:
            allowed = unique = _NOT_IN_IDS.sub("_", call_id)[:_MAX_ID_CHARS] or "call"
            number = 2
            while unique in self._taken:
                end = f"_{number}"
                unique = allowed[: _MAX_ID_CHARS - len(end)] + end
                number += 1
            self._taken.add(unique)
            self._ids[call_id] = unique
        return self._ids[call_id]


def explain_unsupported(media: Media) -> str | None:
    """Return why the API cannot carry an attachment, as the rest of a sentence about a model; None if it can."""
    is_document = media.mime == "application/pdf"
    if media.data is None:
        takes = is_document or media.mime.startswith("image/")
        return None if takes else explain_no_address(media)
    takes = is_document or media.mime in IMAGE_TYPES or media.mime.startswith("text/")
    return None if takes else f"takes no {name_kind(media)} of the type {media.mime}"


def _media_block(media: Media) -> dict[str, Any]:
    title = {"title": media.name} if media.name else {}
    is_image, is_document = media.mime.startswith("image/"), media.mime == "application/pdf"
    source: dict[str, Any] | None = None
    if media.data is None and media.url is not None and (is_image or is_document):
        source = {"type": "url", "url": media.url}
    elif media.data is not None and (media.mime in IMAGE_TYPES or is_document):
        source = {"type": "base64", "media_type": media.mime, "data": to_base64(media)}
    if source is not None:
        return {"type": "image", "source": source} if is_image else {"type": "document", "source": source, **title}
    if text := (decode_text(media) or "").strip():
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, **title}
    return {"type": "text", "text": describe_media(media)}


def _shorten(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Return a single block of plain text as text."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks


# Answers

_KNOWN_FIELDS = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
}
"""The fields of a block that are read; the others are kept as `extra`, and sent back."""


class _AnswerBlock:
    """A block: `data` is its start, `texts` its deltas so far, `call` the number of its call if it is one."""

    __slots__ = ("call", "data", "kind", "stopped", "texts")

    def __init__(self, data: dict[str, Any], call: int) -> None:
        self.data = data
        self.kind = as_text(data.get("type"))
        self.call = call
        self.texts: list[str] = []
        self.stopped = False


class Decoder(AnswerDecoder):
    """Reads one answer. `tools` are not needed: the arguments of every call are JSON.

    After the reason `pause_turn` the client must send the message back for the rest.
    """

    def __init__(self, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> None:
        super().__init__(vendor)
        self._stop_text = ""
        self._blocks: list[_AnswerBlock] = []
        self._by_index: dict[int, _AnswerBlock] = {}
        self._calls = 0
        self._usage: dict[str, Any] = {}

    def close(self) -> Answer:
        """Return the whole message, as far as it arrived."""
        parts = [part for block in self._blocks if (part := self._build_part(block)) is not None]
        usage = _read_usage(self._usage)
        return Answer(parts=tuple(parts), finish=self._finish_reason(), usage=usage, stop_text=self._stop_text)

    def read_body(self, message: dict[str, Any]) -> None:
        """Read the body of a whole answer."""
        for index, block in enumerate(as_list(message.get("content"))):
            self._start_block(index, dict(as_object(block)))
            self._stop_block(index)
        self._usage |= as_object(message.get("usage"))
        self.ended, self.reason = True, as_text(message.get("stop_reason"))
        self._stop_text = as_text(message.get("stop_sequence"))

    def _read_event(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "content_block_delta":
                self._add_delta(_index(event), as_object(event.get("delta")))
            case "content_block_start":
                self._start_block(_index(event), dict(as_object(event.get("content_block"))))
            case "content_block_stop":
                self._stop_block(_index(event))
            case "message_start":
                self._add_usage(as_object(event.get("message")).get("usage"))
            case "message_delta":
                self._add_usage(event.get("usage"))
                delta = as_object(event.get("delta"))
                if reason := as_text(delta.get("stop_reason")):
                    self.ended, self.reason = True, reason
                    self._stop_text = as_text(delta.get("stop_sequence"))
            case "message_stop":
                self.ended = True
            case _:
                if error := event.get("error"):
                    raise build_error(error)

    def _add_usage(self, usage: Any) -> None:
        # Counts are totals: a later one replaces an earlier one, and one that is left out stays.
        self._usage |= {name: figure for name, figure in as_object(usage).items() if figure is not None}

    def _start_block(self, index: int, data: dict[str, Any]) -> None:
        block = _AnswerBlock(data, self._calls)
        self._blocks.append(block)
        self._by_index[index] = block
        if block.kind == "tool_use":
            self._calls += 1
            self._out.add_call(block.call, as_text(data.get("id")), as_text(data.get("name")), "")
        elif block.kind in ("text", "thinking") and (text := as_text(data.get(block.kind))):
            self._emit(block, text)

    def _add_delta(self, index: int, delta: dict[str, Any]) -> None:
        block = self._by_index.get(index)
        if block is None:
            return
        match delta.get("type"):
            case "text_delta" | "thinking_delta":
                if text := as_text(delta.get("text") or delta.get("thinking")):
                    self._emit(block, text)
            case "input_json_delta":
                if text := as_text(delta.get("partial_json")):
                    block.texts.append(text)
                    if block.kind == "tool_use":
                        self._out.add_call(block.call, "", "", text)
            case "citations_delta":
                block.data["citations"] = [*as_list(block.data.get("citations")), delta.get("citation")]
            case _:  # a signature, or a delta of an opaque block
                block.data |= {key: value for key, value in delta.items() if key != "type"}

    def _emit(self, block: _AnswerBlock, text: str) -> None:
        block.texts.append(text)
        if block.kind == "text":
            self._out.add_text(text)
        elif block.kind == "thinking":
            self._out.add_thinking(text)

    def _stop_block(self, index: int) -> None:
        block = self._by_index.get(index)
        if block is None or block.stopped:
            return
        block.stopped = True
        if block.kind == "tool_use" and not block.texts:
            # The arguments were in the start of the block, or there are none.
            arguments = encode_arguments(as_object(block.data.get("input")))
            block.texts.append(arguments)
            self._out.add_call(block.call, "", "", arguments)

    def _build_part(self, block: _AnswerBlock) -> Part | ApiCall | None:
        text, data = "".join(block.texts), block.data
        known = _KNOWN_FIELDS.get(block.kind, ())
        rest = {key: value for key, value in data.items() if key not in known and value is not None}
        extra = build_extra(self._vendor, rest)
        match block.kind:
            case "text":
                return Text(text=text, extra=extra) if text or extra else None
            case "thinking":
                return Thinking(text=text, extra=extra) if text or extra else None
            case "tool_use":
                call_id, name = as_text(data.get("id")), as_text(data.get("name"))
                return ApiCall(index=block.call, id=call_id, name=name, arguments=text, extra=extra)
            case "":
                return None
            case _ if not block.stopped:
                return None  # cut: the API would refuse it
            case _:
                whole = {**data, "input": parse_object(text) or {}} if text else data
                return Opaque(vendor=self._vendor, data=whole)

    def _finish_reason(self) -> FinishReason:
        if not self.ended:
            return "error"
        finish = FINISH_REASONS.get(self.reason, "stop")
        if finish in ("stop", "tool_calls"):
            return "tool_calls" if self._calls else "stop"  # some servers give the same reason for both
        return finish


def read_response(body: Any, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> Answer:
    """Read a whole answer. Raises `ModelError` if the body is an error or no answer."""
    message = as_object(body)
    if error := message.get("error"):
        raise build_error(error)
    if not isinstance(message.get("content"), list):
        raise ProviderError("the answer is not a message: it has no content")
    decoder = Decoder(vendor)
    decoder.read_body(message)
    return decoder.close()


def _index(event: dict[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else -1


def _read_usage(usage: dict[str, Any]) -> Usage | None:
    """Read the token counts. `input_tokens` of the API leaves out tokens that a cache had or has stored."""
    if not usage:
        return None
    cached = as_count(usage.get("cache_read_input_tokens"))
    written = as_count(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")) + cached + written,
        output_tokens=as_count(usage.get("output_tokens")),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=as_count(as_object(usage.get("output_tokens_details")).get("thinking_tokens")),
    )
