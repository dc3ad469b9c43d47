"""Writes a `ChatRequest` as the path, the headers and the body of a request.

The model and whether the answer is streamed are in the path, everything else in the body. System messages are a field
of their own. A result names the tool as well as the call. A model that signs its calls wants the signatures back, each
on the part that it came with, and refuses a message whose first call has none.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from toolspeak.events import ToolChoice
from toolspeak.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.spec import ToolSpec
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.gemini_content.names import (
    GENERATION_FIELDS,
    OLDER_MODELS,
    SAMPLING_NAMES,
    SIGNING_MODELS,
    VENDOR,
    part_data,
)
from toolspeak.wire.json_data import as_list, as_object, encode_references
from toolspeak.wire.media import to_base64
from toolspeak.wire.quirks import NO_QUIRKS, Quirks
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules, fit_schema

PATHS: tuple[str, ...] = ("/models/{model:path}:generateContent", "/models/{model:path}:streamGenerateContent")
"""The paths of requests behind the base address, as patterns."""

UNSIGNED = "skip_thought_signature_validator"
"""The signature that the API defines for a call of another model, which has none."""

_MODEL_FOLDERS = ("models/", "tunedModels/")

encode_message: None = None
"""No message is written by itself: a result names the tool of an earlier call."""


def request_path(request: ChatRequest) -> str:
    """Return the path of a request behind the base address. It holds the name of the model, and never the key."""
    name = request.model if request.model.startswith(_MODEL_FOLDERS) else f"models/{request.model}"
    method = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    return f"/{quote(name, safe='/:')}:{method}"


def request_headers(key: str | None) -> dict[str, str]:
    """Return the headers that the API requires, with the key if there is one."""
    return {"x-goog-api-key": key} if key else {}


def request_body(
    request: ChatRequest, *, quirks: Quirks = NO_QUIRKS, rules: SchemaRules = NO_CHANGES, vendor: str = VENDOR
) -> dict[str, Any]:
    """Return the body of a request. The API has neither grammars nor a field against parallel calls: both are left out.

    Args:
        request: The request.
        quirks: What the endpoint supports of the API.
        rules: How the endpoint needs schemas changed.
        vendor: The vendor of the endpoint. `extra` data of other vendors is not sent.
    """
    extra = dict(request.extra or {})
    body: dict[str, Any] = {"contents": _PartWriter(request, quirks, vendor).write(request.messages)}
    if system := _system_parts(request.messages):
        body["systemInstruction"] = {"parts": system}
    body |= _tool_fields(request, rules, quirks)
    if vendor_tools := as_list(extra.pop("tools", None)):
        body["tools"] = [*body.get("tools", ()), *vendor_tools]
    if more := as_object(extra.pop("toolConfig", None)):
        body["toolConfig"] = {**body.get("toolConfig", {}), **more}
    if config := _generation_config(request, extra, rules, quirks):
        body["generationConfig"] = config
    return {**body, **extra}


def _generation_config(
    request: ChatRequest, extra: dict[str, Any], rules: SchemaRules, quirks: Quirks
) -> dict[str, Any]:
    """Return the settings of the answer. Those in `extra` are taken out of it."""
    stop = [text for text in request.stop if text]
    config: dict[str, Any] = {
        "maxOutputTokens": request.max_tokens,
        "temperature": request.temperature,
        "topP": request.top_p,
        "seed": request.seed if quirks.seed else None,
        "stopSequences": stop or None,
    }
    config = {name: value for name, value in config.items() if value is not None}
    if request.json_schema is not None and quirks.response_format:
        schema, _ = fit_schema(request.json_schema, rules)
        config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
    for name in [*extra]:
        if name in GENERATION_FIELDS or name in SAMPLING_NAMES:
            config[SAMPLING_NAMES.get(name, name)] = extra.pop(name)
    return config | as_object(extra.pop("generationConfig", None))


# Tools


def tool_definitions(
    specs: Iterable[ToolSpec], *, strict: bool = False, rules: SchemaRules = NO_CHANGES
) -> list[dict[str, Any]]:
    """Return the `tools` field of a request: one group of functions.

    Args:
        specs: The tools.
        strict: Whether schemas are made strict, where that is possible. Then `rules` is not used.
        rules: How the endpoint needs schemas changed.
    """
    used = SchemaRules(strict=True) if strict else rules
    functions = [
        {
            "name": spec.name,
            "description": spec.description,
            "parametersJsonSchema": fit_schema(spec.parameters, used)[0],
        }
        for spec in specs
    ]
    return [{"functionDeclarations": functions}] if functions else []


def _tool_fields(request: ChatRequest, rules: SchemaRules, quirks: Quirks) -> dict[str, Any]:
    choice = request.choice
    if not request.tools or not quirks.tools or (choice.mode == "none" and not quirks.tool_choice):
        return {}
    fields: dict[str, Any] = {"tools": tool_definitions(request.tools, rules=rules)}
    if quirks.tool_choice and choice.mode != "auto":
        fields["toolConfig"] = {"functionCallingConfig": _choice(choice, quirks)}
    return fields


def _choice(choice: ToolChoice, quirks: Quirks) -> dict[str, Any]:
    if choice.mode == "none":
        return {"mode": "NONE"}
    if choice.mode == "named" and quirks.named_choice:
        return {"mode": "ANY", "allowedFunctionNames": list(choice.names)}
    return {"mode": "ANY"}


# Messages


def _system_parts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [
        {"text": part.text}
        for message in messages
        if message.role == "system"
        for part in message.parts
        if isinstance(part, Text) and part.text
    ]


class _PartWriter:
    """Writes the messages of one request. It knows the tools of the calls so far, which results must name."""

    def __init__(self, request: ChatRequest, quirks: Quirks, vendor: str) -> None:
        self._vendor = vendor
        self._echo = quirks.echo_reasoning
        self._must_sign = re.search(SIGNING_MODELS, request.model) is not None
        self._nests_media = re.search(OLDER_MODELS, request.model) is None
        self._tools: dict[str, str] = {}  # names, by the ids of calls

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        written: list[dict[str, Any]] = []
        for message in messages:
            if message.role == "system":
                continue
            is_answer = message.role == "assistant"
            parts = self._answer_parts(message) if is_answer else self._user_parts(message)
            if parts:
                written.append({"role": "model" if is_answer else "user", "parts": parts})
        return written

    def _answer_parts(self, message: Message) -> list[dict[str, Any]]:
        written: list[dict[str, Any]] = []
        needs_signature = self._must_sign
        for part in message.parts:
            match part:
                case Text(text=text, extra=extra):
                    data = self._data(extra)
                    written += [{"text": text, **data}] if text or data else []
                case Thinking(text=text, extra=extra):
                    data = self._data(extra)
                    written += [{"text": text, **data, "thought": True}] if self._echo and data else []
                case Call(call=call, extra=extra):
                    self._tools[call.id] = call.name
                    called = {"id": call.id, "name": call.name, "args": encode_references(call.arguments)}
                    data = self._data(extra)
                    if needs_signature:
                        data.setdefault("thoughtSignature", UNSIGNED)
                    needs_signature = False  # of calls that were made together, only the first is signed
                    written.append({"functionCall": called, **data})
                case Media():
                    written.append(self._media(part))
                case Opaque(data=data) if part.vendor == self._vendor:
                    written.append(as_object(data))
                case _:
                    pass  # the opaque data of another vendor
        return written

    def _user_parts(self, message: Message) -> list[dict[str, Any]]:
        written: list[dict[str, Any]] = []
        others: list[Part] = []
        for part in message.parts:
            if isinstance(part, Result):
                written.append(self._result(part))
                if not self._nests_media:
                    others += [each for each in part.content if isinstance(each, Media)]
            else:
                others.append(part)
        return [*written, *self._content_parts(others)]

    def _content_parts(self, parts: Iterable[Part]) -> list[dict[str, Any]]:
        written: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, Media):
                written += [{"text": f"File {part.name}:"}] if part.name else []
                written.append(self._media(part))
            elif isinstance(part, Text) and part.text:
                written.append({"text": part.text, **self._data(part.extra)})
            elif isinstance(part, Opaque) and part.vendor == self._vendor:
                written.append(as_object(part.data))
        return written

    def _result(self, result: Result) -> dict[str, Any]:
        own = self._own(result.extra)
        text = "\n".join(each.text for each in result.content if isinstance(each, Text))
        response: dict[str, Any] = {"id": result.call_id, "name": self._tools.get(result.call_id, "unknown")}
        given = own.get("response")
        response["response"] = given if isinstance(given, dict) else {"error" if result.is_error else "output": text}
        media = [self._media(each) for each in result.content if isinstance(each, Media)]
        if media and self._nests_media:
            response["parts"] = media
        return {"functionResponse": response, **part_data(own)}

    def _media(self, media: Media) -> dict[str, Any]:
        data = self._data(media.extra)
        if media.data is not None:
            return {"inlineData": {"mimeType": media.mime, "data": to_base64(media)}, **data}
        kind = {} if "*" in media.mime else {"mimeType": media.mime}
        return {"fileData": {**kind, "fileUri": media.url}, **data}

    def _own(self, extra: Extra | None) -> dict[str, Any]:
        return as_object(extra.data) if extra is not None and extra.vendor == self._vendor else {}

    def _data(self, extra: Extra | None) -> dict[str, Any]:
        return part_data(self._own(extra))


def explain_unsupported(media: Media) -> str | None:
    """Return why the API cannot carry an attachment: it carries all sorts, by content and by address."""
    return None
