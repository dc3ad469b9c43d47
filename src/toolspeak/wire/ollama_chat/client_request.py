"""Writes a `ChatRequest` as the body of a request.

A `Message` may become several messages of the API: each result is a `tool` message with the name of its tool, and the
images of results follow in a user message, together with the rest of the `Message`. Images stand beside the text of a
message, in base64. The API has no field to demand or forbid calls: the choice `none` is made by sending no tools.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from toolspeak.messages import Call, Extra, Media, Message, Part, Result, Text, Thinking
from toolspeak.spec import Schema
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.json_data import as_list, as_object, encode_references
from toolspeak.wire.media import decode_text, describe_media, name_kind, to_base64
from toolspeak.wire.ollama_chat.names import OPTIONS, VENDOR
from toolspeak.wire.openai_chat.client_request import request_headers, tool_definitions
from toolspeak.wire.quirks import NO_QUIRKS, Quirks
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules, fit_schema

__all__ = [
    "PATH",
    "encode_message",
    "explain_unsupported",
    "request_body",
    "request_headers",
    "request_path",
    "tool_definitions",
]

PATH: str = "/api/chat"
"""The path of requests behind the base address."""

encode_message: None = None
"""No message is written by itself: a result names the tool of an earlier call."""


def request_path(request: ChatRequest) -> str:
    """Return the path of a request behind the base address: the same for all."""
    return PATH


def request_body(
    request: ChatRequest, *, quirks: Quirks = NO_QUIRKS, rules: SchemaRules = NO_CHANGES, vendor: str = VENDOR
) -> dict[str, Any]:
    """Return the body of a request.

    A conversation that is too long is refused by the server, and an answer ends where the context ends (`truncate`,
    `shift`). Otherwise Ollama would drop the oldest messages without notice. Older servers do not know these fields.

    Args:
        request: The request. In `extra`, `num_ctx` and other options are put into `options`, and `reasoning_effort` is
            written as `think`.
        quirks: What the endpoint supports of the API.
        rules: How the endpoint needs schemas changed.
        vendor: The vendor of the endpoint. `extra` data of other vendors is not sent.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "messages": _messages(request.messages, quirks, vendor),
        "stream": request.stream,  # without the field, the API streams
        "truncate": False,
        "shift": False,
    }
    if request.tools and quirks.tools and request.choice.mode != "none":
        body["tools"] = tool_definitions(request.tools, rules=rules)
    if request.json_schema is not None and quirks.response_format:
        body["format"] = _format(request.json_schema, rules)
    settings = {
        "num_predict": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed,
        "stop": list(request.stop) or None,
    }
    options = {name: value for name, value in settings.items() if value is not None}
    fields, given = _split_extra(request.extra or {})
    options |= given
    if options:
        body["options"] = options
    if vendor_tools := as_list(fields.pop("tools", None)):
        body["tools"] = [*body.get("tools", ()), *vendor_tools]
    return body | fields


def _split_extra(extra: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of the body, and those of `options`."""
    fields = {name: value for name, value in extra.items() if name not in OPTIONS and name != "options"}
    options = {name: value for name, value in extra.items() if name in OPTIONS} | as_object(extra.get("options"))
    effort = fields.pop("reasoning_effort", None)
    if effort is not None:
        fields.setdefault("think", False if effort == "none" else effort)
    return fields, options


def _format(schema: Schema, rules: SchemaRules) -> Any:
    return "json" if schema == {"type": "object"} else fit_schema(schema, rules)[0]


def explain_unsupported(media: Media) -> str | None:
    """Return why the API cannot carry an attachment, as the rest of a sentence about a model; None if it can."""
    if media.data is None:
        return f"takes no {name_kind(media)} by address; pass the file itself: {media.url}"
    if media.mime.startswith(("image/", "text/")):
        return None
    return f"takes no {name_kind(media)} through Ollama's API, only images and text"


# Messages


def _messages(messages: Iterable[Message], quirks: Quirks, vendor: str) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    names: dict[str, str] = {}  # of the tools, by the ids of their calls
    for message in messages:
        match message.role:
            case "system":
                written.append({"role": "system", "content": message.text})
            case "user":
                written.append(_user_message(message.parts))
            case "assistant":
                names |= {call.id: call.name for call in message.calls}
                written += _assistant_messages(message, quirks, vendor)
            case "tool":
                written += _result_messages(message, names)
    return written


def _user_message(parts: Iterable[Part]) -> dict[str, Any]:
    texts: list[str] = []
    images: list[str] = []
    for part in parts:
        if isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, Media):
            if part.mime.startswith("image/") and part.data is not None:
                images.append(to_base64(part))
            else:
                texts.append(_describe(part))
    message: dict[str, Any] = {"role": "user", "content": "".join(texts)}
    return {**message, "images": images} if images else message


def _describe(media: Media) -> str:
    text = decode_text(media)
    if text is None:
        return describe_media(media)
    return f"File {media.name}:\n\n{text}" if media.name else text


def _assistant_messages(message: Message, quirks: Quirks, vendor: str) -> list[dict[str, Any]]:
    fields: dict[str, Any] = {"role": "assistant", "content": message.text}
    for part in message.parts:
        match part:
            case Thinking(text=text, extra=extra) if quirks.echo_reasoning and _is_own(extra, vendor):
                fields["thinking"] = fields.get("thinking", "") + text
            case Call(call=call):
                function = {"name": call.name, "arguments": encode_references(call.arguments)}
                fields.setdefault("tool_calls", []).append({"id": call.id, "function": function})
            case _:
                pass  # the text is written above; reasoning and opaque data of another vendor are left out
    return [fields] if fields["content"] or len(fields) > 2 else []


def _is_own(extra: Extra | None, vendor: str) -> bool:
    return extra is not None and extra.vendor == vendor


def _result_messages(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    shown: list[Part] = []
    for part in message.parts:
        if not isinstance(part, Result):
            shown.append(part)
            continue
        media = [each for each in part.content if isinstance(each, Media)]
        texts = [each.text for each in part.content if isinstance(each, Text)]
        if media:
            texts.append("[what cannot be shown here follows below]")
            shown += [Text(text=f"From the result of {part.call_id}:"), *media]
        result = {"role": "tool", "content": "\n".join(texts), "tool_call_id": part.call_id}
        written.append({**result, "tool_name": names[part.call_id]} if part.call_id in names else result)
    user = _user_message(shown)
    return [*written, user] if user["content"] or "images" in user else written
