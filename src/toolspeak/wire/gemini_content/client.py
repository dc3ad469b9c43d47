"""Writes a `ChatRequest` as the path, the headers and the body of a request.

The model and whether the answer is streamed are in the path, everything else in the body. System messages are a field
of their own. A result names the tool as well as the call. A model that signs its calls wants the signatures back, each
on the part that it came with, and refuses a message whose first call has none.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from toolspeak.values.errors import ProviderError
from toolspeak.values.events import FinishReason, ToolChoice, Usage
from toolspeak.values.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.values.pieces import Answer, ApiCall, Piece
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.chat_request import NO_QUIRKS, ChatRequest, Quirks
from toolspeak.wire.errors import build_error
from toolspeak.wire.gemini_content.names import (
    FINISH_REASONS,
    GENERATION_FIELDS,
    OLDER_MODELS,
    SAMPLING_NAMES,
    SIGNING_MODELS,
    VENDOR,
    part_data,
)
from toolspeak.wire.json_data import (
    PieceBuffer,
    as_count,
    as_list,
    as_object,
    as_text,
    encode_arguments,
    encode_references,
    parse_object,
)
from toolspeak.wire.media import decode_any_base64, to_base64
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules, fit_schema

# Reads answers, streamed or whole. A stream is a list of answers, each with further parts of the message.
#
# Neighbouring texts of one sort are one part. A signature ends its part; in a stream it may come with an empty text,
# behind the text that it belongs to. Parts of the API's own tools become `Opaque` parts.


class _TextPart:
    """A part of text or reasoning, while it arrives."""

    __slots__ = ("data", "is_thought", "texts")

    def __init__(self, is_thought: bool) -> None:
        self.is_thought = is_thought
        self.texts: list[str] = []
        self.data: dict[str, Any] = {}


class Decoder:
    """Reads one streamed answer. `tools` are not needed: the arguments of every call are an object.

    Attributes:
        ended: Whether the API has marked the end of the message. Otherwise the stream was cut.
        reason: The API's own word for why the message ended; empty until the API gave it.
        skipped: The number of events that were not JSON objects, and so were skipped.
    """

    def __init__(self, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> None:
        self.ended = False
        self.reason = ""
        self.skipped = 0
        self._is_blocked = False
        self._vendor = vendor
        self._out = PieceBuffer()
        self._parts: list[_TextPart | ApiCall | Part] = []
        self._calls = 0
        self._usage: dict[str, Any] = {}

    def feed(self, data: str) -> list[Piece]:
        """Read the data of one event."""
        return self.feed_all([data])

    def feed_all(self, payloads: list[str]) -> list[Piece]:
        """Read the data of events that arrived together; neighbouring pieces of one kind are joined.

        Raises `ModelError` when the API reports an error; `close` still returns what arrived before it.
        """
        for data in payloads:
            chunk = parse_object(data)
            if chunk is not None:
                self.read_chunk(chunk)
            elif data.strip() != "[DONE]":  # some servers end the stream as OpenAI does
                self.skipped += 1
        return self._out.take()

    def close(self) -> Answer:
        """Return the whole message, as far as it arrived."""
        parts = [self._build_text(part) if isinstance(part, _TextPart) else part for part in self._parts]
        return Answer(parts=tuple(parts), finish=self._finish_reason(), usage=_read_usage(self._usage))

    def read_chunk(self, chunk: dict[str, Any]) -> None:
        """Read one answer of a stream, or a whole answer."""
        if error := chunk.get("error"):
            raise build_error(error)
        candidate = as_object(next(iter(as_list(chunk.get("candidates"))), None))
        for part in as_list(as_object(candidate.get("content")).get("parts")):
            self._read_part(as_object(part))
        # Counts are totals: a later one replaces an earlier one, and one that is left out stays.
        self._usage |= as_object(chunk.get("usageMetadata"))
        if blocked := as_text(as_object(chunk.get("promptFeedback")).get("blockReason")):
            self.ended, self.reason, self._is_blocked = True, blocked, True
        if reason := as_text(candidate.get("finishReason")):
            self.ended, self.reason = True, reason

    def _read_part(self, part: dict[str, Any]) -> None:
        data = part_data(part)
        if isinstance(part.get("text"), str):
            self._add_text(part["text"], data)
        elif call := as_object(part.get("functionCall")):
            self._add_call(call, data)
        elif (media := self._read_media(part, data)) is not None:
            self._parts.append(media)
        elif rest := {name: value for name, value in part.items() if name not in data and value}:
            self._parts.append(Opaque(vendor=self._vendor, data={**rest, **data}))
        elif data.get("thoughtSignature"):
            self._add_text("", data)

    def _add_text(self, text: str, data: dict[str, Any]) -> None:
        is_thought = data.get("thought") is True
        last = self._parts[-1] if self._parts else None
        joins = isinstance(last, _TextPart) and last.is_thought == is_thought and "thoughtSignature" not in last.data
        if not isinstance(last, _TextPart) or not joins or (text and "thoughtSignature" in data and last.texts):
            if not text and not data.get("thoughtSignature"):
                return
            last = _TextPart(is_thought)
            self._parts.append(last)
        last.data |= data
        if text:
            last.texts.append(text)
            if is_thought:
                self._out.add_thinking(text)
            else:
                self._out.add_text(text)

    def _add_call(self, call: dict[str, Any], data: dict[str, Any]) -> None:
        call_id, name = as_text(call.get("id")), as_text(call.get("name"))
        arguments = encode_arguments(as_object(call.get("args")))
        extra = Extra(vendor=self._vendor, data=data) if data else None
        self._parts.append(ApiCall(index=self._calls, id=call_id, name=name, arguments=arguments, extra=extra))
        self._out.add_call(self._calls, call_id, name, arguments)
        self._calls += 1

    def _read_media(self, part: dict[str, Any], data: dict[str, Any]) -> Media | None:
        blob = as_object(part.get("inlineData"))
        content = decode_any_base64(as_text(blob.get("data")))
        mime = as_text(blob.get("mimeType"))
        if not content or not mime:
            return None
        return Media(mime=mime, data=content, extra=Extra(vendor=self._vendor, data=data) if data else None)

    def _build_text(self, part: _TextPart) -> Part:
        text = "".join(part.texts)
        extra = Extra(vendor=self._vendor, data=part.data) if part.data else None
        return Thinking(text=text, extra=extra) if part.is_thought else Text(text=text, extra=extra)

    def _finish_reason(self) -> FinishReason:
        if not self.ended:
            return "error"
        finish = "refused" if self._is_blocked else FINISH_REASONS.get(self.reason, "stop")
        return "tool_calls" if finish == "stop" and self._calls else finish  # the API gives one reason for both


def read_response(body: Any, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> Answer:
    """Read a whole answer. Raises `ModelError` if the body is an error or no answer."""
    decoder = Decoder(vendor)
    # Without `alt=sse`, a stream is a list of answers.
    chunks = [as_object(each) for each in as_list(body)] if isinstance(body, list) else [as_object(body)]
    for chunk in chunks:
        decoder.read_chunk(chunk)
    if not decoder.ended and not any(chunk.get("candidates") for chunk in chunks):
        raise ProviderError("the answer is not a message: it has no candidates")
    decoder.ended = True
    return decoder.close()


def _read_usage(usage: dict[str, Any]) -> Usage | None:
    """Read the token counts. The API counts reasoning apart from the rest of an answer."""
    if not usage:
        return None
    thoughts = as_count(usage.get("thoughtsTokenCount"))
    return Usage(
        input_tokens=as_count(usage.get("promptTokenCount")) + as_count(usage.get("toolUsePromptTokenCount")),
        output_tokens=as_count(usage.get("candidatesTokenCount")) + thoughts,
        cached_tokens=as_count(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )


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
