"""Writes a `ChatRequest` as the headers and the body of a request.

A `Message` may become several messages of the API: each result is a `tool` message, and since those hold only text, the
media of results follow in a user message, together with the rest of the `Message`. The texts of one message are joined
into one: every server accepts a text, and not all accept a list.
"""

from collections.abc import Iterable
from typing import Any

from toolspeak.events import ToolChoice
from toolspeak.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.spec import Schema, ToolSpec
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.json_data import as_list, as_object, as_text, encode_arguments
from toolspeak.wire.media import decode_text, describe_media, name_kind, to_base64, to_url
from toolspeak.wire.openai_chat.names import REASONING_DETAILS, REASONING_FIELDS, VENDOR
from toolspeak.wire.quirks import NO_QUIRKS, Quirks
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules, fit_schema

PATH: str = "/chat/completions"
"""The path of requests behind the base address, which ends in `/v1`."""

PATHS: tuple[str, ...] = (PATH,)
"""The paths of requests behind the base address, as patterns."""

_FIELDS_WITHOUT_CONTENT = {"role", "content", "extra_content", REASONING_DETAILS, *REASONING_FIELDS}
"""Fields that do not count as content: the API refuses an assistant message without text, calls or a refusal."""

_SOUND_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


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
    body: dict[str, Any] = {"model": request.model, "messages": _messages(request.messages, quirks, vendor)}
    body |= _tool_fields(request, rules, quirks)
    if request.stream:
        body["stream"] = True
        if request.include_usage and quirks.stream_options:
            body["stream_options"] = {"include_usage": True}
    body |= _answer_format(request.json_schema, request.grammar, rules, quirks)
    settings = {
        "max_completion_tokens" if quirks.max_completion_tokens else "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed if quirks.seed else None,
        "stop": list(request.stop) or None,
    }
    body |= {name: value for name, value in settings.items() if value is not None}
    if request.extra:
        body |= request.extra
        if vendor_tools := as_list(request.extra.get("tools")):
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
    return [{"type": "function", "function": _function(spec, rules)} for spec in specs]


def _function(spec: ToolSpec, rules: SchemaRules) -> dict[str, Any]:
    parameters, strict = fit_schema(spec.parameters, rules)
    function: dict[str, Any] = {"name": spec.name, "description": spec.description}
    return {**function, "strict": True, "parameters": parameters} if strict else {**function, "parameters": parameters}


def _tool_fields(request: ChatRequest, rules: SchemaRules, quirks: Quirks) -> dict[str, Any]:
    choice = request.choice
    if not request.tools or not quirks.tools or (choice.mode == "none" and not quirks.tool_choice):
        return {}  # without tools the API refuses `tool_choice` and `parallel_tool_calls`
    fields: dict[str, Any] = {"tools": _definitions(request.tools, rules)}
    if quirks.tool_choice and choice.mode != "auto":
        fields["tool_choice"] = _choice(choice, quirks)
    if quirks.parallel_tool_calls and (not request.parallel or quirks.parallel_always_sent):
        fields["parallel_tool_calls"] = request.parallel
    return fields


def _choice(choice: ToolChoice, quirks: Quirks) -> Any:
    if choice.mode != "named":
        return choice.mode
    named = [{"type": "function", "function": {"name": name}} for name in choice.names]
    if len(named) == 1 and quirks.named_choice:
        return named[0]
    if len(named) > 1 and quirks.allowed_tools:
        return {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": named}}
    return "required"


def _answer_format(schema: Schema | None, grammar: str | None, rules: SchemaRules, quirks: Quirks) -> dict[str, Any]:
    # Only one of the two: llama.cpp, which supports both, refuses them together.
    if schema is not None and quirks.response_format:
        if schema == {"type": "object"}:
            return {"response_format": {"type": "json_object"}}
        fitted, strict = fit_schema(schema, rules)
        form = {"name": "answer", "schema": fitted, **({"strict": True} if strict else {})}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    return {"grammar": grammar} if grammar is not None and quirks.grammar else {}


# Messages


def _messages(messages: Iterable[Message], quirks: Quirks, vendor: str) -> list[dict[str, Any]]:
    return [written for message in messages for written in write_message(message, quirks, vendor)]


def write_message(message: Message, quirks: Quirks, vendor: str) -> list[dict[str, Any]]:
    """Return the messages of the API that a message becomes."""
    match message.role:
        case "system":
            role = "developer" if quirks.developer_role else "system"
            return [{"role": role, "content": message.text}]
        case "user":
            return [{"role": "user", "content": _content(message.parts, vendor)}]
        case "assistant":
            return _assistant_messages(message, quirks, vendor)
        case "tool":
            return _result_messages(message, vendor)


def _content(parts: Iterable[Part], vendor: str) -> str | list[dict[str, Any]]:
    shown = [part for part in parts if isinstance(part, Text | Media)]
    texts = [part.text for part in shown if isinstance(part, Text)]
    if len(texts) == len(shown):
        return "".join(texts)
    return [
        _media(part, vendor) if isinstance(part, Media) else _text(part.text)
        for part in shown
        if isinstance(part, Media) or part.text
    ]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _media(media: Media, vendor: str) -> dict[str, Any]:
    own = _vendor_data(media.extra, vendor)
    if media.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": to_url(media), **own}}
    if media.data is None:
        return _text(describe_media(media))
    if sound := _SOUND_FORMATS.get(media.mime):
        return {"type": "input_audio", "input_audio": {"data": to_base64(media), "format": sound}}
    if (text := decode_text(media)) is not None:
        return _text(f"File {media.name}:\n\n{text}" if media.name else text)
    name = media.name or f"file.{media.mime.rpartition('/')[2]}"
    return {"type": "file", "file": {"filename": name, "file_data": to_url(media), **own}}


def explain_unsupported(media: Media) -> str | None:
    """Return why the API cannot carry an attachment, as the rest of a sentence about a model; None if it can."""
    if media.data is None and not media.mime.startswith("image/"):
        return f"takes no {name_kind(media)} by address; pass the file itself: {media.url}"
    return None


def _assistant_messages(message: Message, quirks: Quirks, vendor: str) -> list[dict[str, Any]]:
    fields: dict[str, Any] = {"role": "assistant", "content": None}
    for part in message.parts:
        match part:
            case Text(text=text, extra=extra):
                own = _vendor_data(extra, vendor)
                field = "refusal" if own.get("refusal") is True else "content"
                fields[field] = (fields.get(field) or "") + text
                if "extra_content" in own:
                    fields["extra_content"] = own["extra_content"]
            case Thinking() if quirks.echo_reasoning:
                _add_reasoning(fields, part, vendor)
            case Call(call=call, extra=extra):
                function = {"name": call.name, "arguments": encode_arguments(call.arguments)}
                written = {"id": call.id, "type": "function", "function": function, **_vendor_data(extra, vendor)}
                fields.setdefault("tool_calls", []).append(written)
            case Opaque(data=data) if part.vendor == vendor:
                fields |= as_object(data)
            case _:
                pass  # the opaque data of another vendor, or reasoning that the endpoint does not take back
    return [fields] if fields["content"] or fields.keys() - _FIELDS_WITHOUT_CONTENT else []


def _add_reasoning(fields: dict[str, Any], part: Thinking, vendor: str) -> None:
    own = _vendor_data(part.extra, vendor)
    if (field := as_text(own.get("field"))) in REASONING_FIELDS and part.text:
        fields[field] = fields.get(field, "") + part.text
    if details := as_list(own.get(REASONING_DETAILS)):
        fields[REASONING_DETAILS] = [*fields.get(REASONING_DETAILS, ()), *details]


def _result_messages(message: Message, vendor: str) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    shown: list[Part] = []
    for part in message.parts:
        if isinstance(part, Result):
            media = [each for each in part.content if isinstance(each, Media)]
            texts = [each.text for each in part.content if isinstance(each, Text)]
            if media:
                texts.append("[what cannot be shown here follows below]")
                shown += [Text(text=f"From the result of {part.call_id}:"), *media]
            written.append({"role": "tool", "tool_call_id": part.call_id, "content": "\n".join(texts)})
    shown += [part for part in message.parts if not isinstance(part, Result)]
    if content := _content(shown, vendor):
        written.append({"role": "user", "content": content})
    return written


def _vendor_data(extra: Extra | None, vendor: str) -> dict[str, Any]:
    return as_object(extra.data) if extra is not None and extra.vendor == vendor else {}
