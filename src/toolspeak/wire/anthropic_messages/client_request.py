"""Writes a `ChatRequest` as the headers and the body of a request.

The API is strict. System messages are a field of their own; results are the first blocks of a user message; blank text
is refused, and so is white space at the end of an assistant message that the model continues; ids are limited to 64
letters, digits, `_` and `-`. Blocks of an answer are sent back in their order, reasoning only with its signature.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolspeak.events import ToolChoice
from toolspeak.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.spec import ToolSpec
from toolspeak.wire.anthropic_messages.names import IMAGE_TYPES, VENDOR
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.json_data import as_list, as_object, encode_references
from toolspeak.wire.media import decode_text, describe_media, name_kind, to_base64
from toolspeak.wire.quirks import NO_QUIRKS, Quirks
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules, fit_schema

PATH: str = "/messages"
"""The path of requests behind the base address, which ends in `/v1`."""

PATHS: tuple[str, ...] = (PATH,)
"""The paths of requests behind the base address, as patterns."""

API_VERSION = "2023-06-01"

DEFAULT_MAX_TOKENS = 4096
"""The limit of an answer if the request has none: the API requires one."""

_MAX_ID_CHARS = 64

_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")

_REASONING_TYPES = ("thinking", "redacted_thinking")

encode_message: None = None
"""No message is written by itself: neighbouring messages of one role become one."""


def request_path(request: ChatRequest) -> str:
    """Return the path of a request behind the base address: the same for all."""
    return PATH


def request_headers(key: str | None) -> dict[str, str]:
    """Return the headers that the API requires, with the key if there is one."""
    version = {"anthropic-version": API_VERSION}
    return {**version, "x-api-key": key} if key else version


def request_body(
    request: ChatRequest, *, quirks: Quirks = NO_QUIRKS, rules: SchemaRules = NO_CHANGES, vendor: str = VENDOR
) -> dict[str, Any]:
    """Return the body of a request. The API has neither a seed nor grammars: both are left out.

    Args:
        request: The request.
        quirks: What the endpoint supports of the API.
        rules: How the endpoint needs schemas changed.
        vendor: The vendor of the endpoint. `extra` data of other vendors is not sent.
    """
    extra = request.extra or {}
    max_tokens = DEFAULT_MAX_TOKENS if request.max_tokens is None else request.max_tokens
    body: dict[str, Any] = {"model": request.model, "max_tokens": max_tokens}
    if system := _system(request.messages, vendor):
        body["system"] = system
    body["messages"] = _BlockWriter(quirks, vendor).write(request.messages)
    body |= _tool_fields(request, rules, quirks, thinks=_thinks(extra))
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
        body["tools"] = [*_definitions(request.tools, rules), *vendor_tools]
    return body


def tool_definitions(
    specs: Iterable[ToolSpec], *, strict: bool = False, rules: SchemaRules = NO_CHANGES
) -> list[dict[str, Any]]:
    """Return the `tools` field of a request. A tool without a strict variant is sent with its schema unchanged.

    Args:
        specs: The tools.
        strict: Whether schemas are made strict. Then `rules` is not used.
        rules: How the endpoint needs schemas changed.
    """
    return _definitions(specs, SchemaRules(strict=True) if strict else rules)


def _definitions(specs: Iterable[ToolSpec], rules: SchemaRules) -> list[dict[str, Any]]:
    return [_definition(spec, rules) for spec in specs]


def _definition(spec: ToolSpec, rules: SchemaRules) -> dict[str, Any]:
    schema, strict = fit_schema(spec.parameters, rules)
    tool: dict[str, Any] = {"name": spec.name, "description": spec.description}
    return {**tool, "strict": True, "input_schema": schema} if strict else {**tool, "input_schema": schema}


def _thinks(extra: Mapping[str, Any]) -> bool:
    return as_object(extra.get("thinking")).get("type") in ("enabled", "adaptive")


def _tool_fields(request: ChatRequest, rules: SchemaRules, quirks: Quirks, *, thinks: bool) -> dict[str, Any]:
    choice = request.choice
    if not request.tools or not quirks.tools or (choice.mode == "none" and not quirks.tool_choice):
        return {}
    fields: dict[str, Any] = {"tools": _definitions(request.tools, rules)}
    if quirks.tool_choice:
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
    if any(_vendor_data(text.extra, vendor) for text in texts):
        return [_text_block(text, vendor) for text in texts]
    return "\n\n".join(text.text for text in texts)


def _vendor_data(extra: Extra | None, vendor: str) -> dict[str, Any]:
    return as_object(extra.data) if extra is not None and extra.vendor == vendor else {}


def _text_block(text: Text, vendor: str) -> dict[str, Any]:
    """Write a text; one that stands for a block of the vendor is written as that block."""
    data = _vendor_data(text.extra, vendor)
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
            _trim_end(written[-1]["content"])
        for message in written:
            message["content"] = _shorten(message["content"])
        return written

    def _assistant_blocks(self, message: Message) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for part in message.parts:
            match part:
                case Text(text=text, extra=extra) if text.strip():
                    blocks.append({"type": "text", "text": text, **_vendor_data(extra, self._vendor)})
                case Thinking(text=text, extra=extra):
                    data = _vendor_data(extra, self._vendor)
                    if self._echo and data.get("signature"):
                        blocks.append({"type": "thinking", "thinking": text, **data})
                case Call(call=call, extra=extra):
                    block: dict[str, Any] = {"type": "tool_use", "id": self._id(call.id), "name": call.name}
                    block["input"] = encode_references(call.arguments)
                    blocks.append(block | _vendor_data(extra, self._vendor))
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
        return {**block, **_vendor_data(result.extra, self._vendor)}

    def _content_blocks(self, parts: Iterable[Part]) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, Media):
                blocks.append({**_media_block(part), **_vendor_data(part.extra, self._vendor)})
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
        return None if takes else f"takes no {name_kind(media)} by address; pass the file itself: {media.url}"
    takes = is_document or media.mime in IMAGE_TYPES or media.mime.startswith("text/")
    return None if takes else f"takes no {name_kind(media)} of the type {media.mime}"


def _media_block(media: Media) -> dict[str, Any]:
    title = {"title": media.name} if media.name else {}
    is_image = media.mime.startswith("image/")
    if media.data is None and media.url is not None and (is_image or media.mime == "application/pdf"):
        source = {"type": "url", "url": media.url}
        return {"type": "image", "source": source} if is_image else {"type": "document", "source": source, **title}
    if media.data is not None and (media.mime in IMAGE_TYPES or media.mime == "application/pdf"):
        source = {"type": "base64", "media_type": media.mime, "data": to_base64(media)}
        return {"type": "image", "source": source} if is_image else {"type": "document", "source": source, **title}
    if text := (decode_text(media) or "").strip():
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, **title}
    return {"type": "text", "text": describe_media(media)}


def _shorten(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Return a single block of plain text as text."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks


def _trim_end(blocks: list[dict[str, Any]]) -> None:
    if blocks[-1].get("type") == "text":
        blocks[-1] = {**blocks[-1], "text": blocks[-1]["text"].rstrip()}
