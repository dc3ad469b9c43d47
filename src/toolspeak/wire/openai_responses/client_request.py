"""Writes a `ChatRequest` as the headers and the body of a request.

A conversation is a list of items: a message, a call, a result and reasoning are items of their own. The first system
message is the field `instructions`. The endpoint is asked to keep nothing, and to encrypt reasoning, so that the items
of an answer can be sent back to it. The API has no stop texts, no seed and no grammar for an answer: they are left out.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from toolspeak.definitions import CUSTOM_PARAMETER
from toolspeak.events import ToolChoice
from toolspeak.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.spec import ToolSpec
from toolspeak.wire.chat_request import ChatRequest, ToolNamespace
from toolspeak.wire.json_data import as_list, as_object, as_text, encode_arguments
from toolspeak.wire.media import decode_text, describe_media, name_kind, to_url
from toolspeak.wire.openai_responses.names import (
    CUSTOM_CALL,
    ENCRYPTED_REASONING,
    FUNCTION_CALL,
    GRAMMAR_KEYWORD,
    VENDOR,
    describe_grammar,
    is_custom,
    raw_schema,
    split_namespace,
)
from toolspeak.wire.quirks import NO_QUIRKS, Quirks
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules, fit_schema

PATH: str = "/responses"
"""The path of requests behind the base address, which ends in `/v1`."""

PATHS: tuple[str, ...] = (PATH,)
"""The paths of requests behind the base address, as patterns."""

_WITHOUT_REASONING = re.compile(r"gpt-[34]|chatgpt-4")
"""Models of OpenAI that do not reason, and refuse a request for encrypted reasoning."""

encode_message: None = None
"""No message is written by itself: a result depends on the sort of an earlier call."""


def request_path(request: ChatRequest) -> str:
    """Return the path of a request behind the base address: the same for all."""
    return PATH


def request_headers(key: str | None) -> dict[str, str]:
    """Return the headers that the API requires, with the key if there is one."""
    return {"authorization": f"Bearer {key}"} if key else {}


def request_body(
    request: ChatRequest, *, quirks: Quirks = NO_QUIRKS, rules: SchemaRules = NO_CHANGES, vendor: str = VENDOR
) -> dict[str, Any]:
    """Return the body of a request.

    Args:
        request: The request.
        quirks: What the endpoint supports of the API.
        rules: How the endpoint needs schemas changed.
        vendor: The vendor of the endpoint. `extra` data of other vendors is not sent.
    """
    extra = dict(request.extra or {})
    messages = list(request.messages)
    body: dict[str, Any] = {"model": request.model}
    if messages and messages[0].role == "system":
        body["instructions"] = messages.pop(0).text
    body["input"] = ItemWriter(request.tools, quirks, vendor).write(messages)
    body |= _tool_fields(request, rules, quirks)
    if request.stream:
        body["stream"] = True
    if text := _text_options(request, rules, quirks, extra):
        body["text"] = text
    settings = {
        "max_output_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
    }
    body |= {name: value for name, value in settings.items() if value is not None}
    body["store"] = False
    if quirks.echo_reasoning and not _WITHOUT_REASONING.match(request.model):
        body["include"] = [ENCRYPTED_REASONING, *as_list(extra.pop("include", None))]
    vendor_tools = as_list(extra.pop("tools", None))
    body |= extra
    if vendor_tools:
        body["tools"] = [*body.get("tools", ()), *vendor_tools]
    return body


def _text_options(request: ChatRequest, rules: SchemaRules, quirks: Quirks, extra: dict[str, Any]) -> dict[str, Any]:
    """Return the field `text`, and take out of `extra` what belongs into it."""
    text = dict(as_object(extra.pop("text", None)))
    if request.json_schema is not None and quirks.response_format:
        schema, strict = fit_schema(request.json_schema, rules)
        text["format"] = {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict}
    return text


# Tools


def tool_definitions(
    specs: Iterable[ToolSpec], *, strict: bool = False, rules: SchemaRules = NO_CHANGES
) -> list[dict[str, Any]]:
    """Return the `tools` field of a request. A tool without a strict variant is sent with its schema unchanged.

    Args:
        specs: The tools.
        strict: Whether schemas are made strict. Then `rules` is not used.
        rules: How the endpoint needs schemas changed.
    """
    rules = SchemaRules(strict=True) if strict else rules
    return [_definition(spec, rules, NO_QUIRKS) for spec in specs]


def group_definitions(
    specs: Iterable[ToolSpec],
    namespaces: Iterable[ToolNamespace],
    rules: SchemaRules = NO_CHANGES,
    quirks: Quirks = NO_QUIRKS,
) -> list[dict[str, Any]]:
    """Return the `tools` field of a request with each namespace at the place of its first tool."""
    by_tool = {name: namespace for namespace in namespaces for name in namespace.tools}
    groups: dict[str, list[dict[str, Any]]] = {}
    definitions: list[dict[str, Any]] = []
    for spec in specs:
        definition = _definition(spec, rules, quirks)
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
    custom = {spec.name for spec in tools if is_custom(spec) and quirks.custom_tools}
    named = [{"type": "custom" if name in custom else "function", "name": name} for name in choice.names]
    if len(named) == 1 and quirks.named_choice:
        return named[0]
    if len(named) > 1 and quirks.allowed_tools:
        return {"type": "allowed_tools", "mode": "required", "tools": named}
    return "required"


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
                self._write_text(text, self._vendor_data(extra))
            case Thinking(extra=extra) if self._quirks.echo_reasoning:
                data = self._vendor_data(extra)
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
        call, data = part.call, self._vendor_data(part.extra)
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
            if isinstance(part, Result):
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
                    content.append({**_media(part), **self._vendor_data(extra)})
                case Opaque(data=data) if part.vendor == self._vendor:
                    content.append(as_object(data))
                case _:
                    pass
        return content

    def _vendor_data(self, extra: Extra | None) -> dict[str, Any]:
        return as_object(extra.data) if extra is not None and extra.vendor == self._vendor else {}


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
    if (text := decode_text(media)) is not None:
        return _text(f"File {media.name}:\n\n{text}" if media.name else text)
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
    if media.data is None and not takes_address:
        return f"takes no {name_kind(media)} by address; pass the file itself: {media.url}"
    return None
