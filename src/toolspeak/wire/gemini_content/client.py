"""The client side: writes a `ChatRequest` as the path, the headers and the body of a request, and reads answers.

The model and whether the answer is streamed are in the path, everything else in the body. System messages are a field
of their own. A result names the tool as well as the call. A model that signs its calls wants the signatures back, each
on the part that it came with, and refuses a message whose first call has none.

A stream is a list of answers, each with further parts of the message. Neighbouring texts of one sort are one part. A
signature ends its part; in a stream it may come with an empty text, behind the text that it belongs to. Parts of the
API's own tools become `Opaque` parts.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from toolspeak.values.errors import ProviderError
from toolspeak.values.events import FinishReason, ToolChoice, Usage
from toolspeak.values.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking
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
)
from toolspeak.wire.media import decode_any_base64, to_base64
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules, fit_schema

SAMPLING_NAMES = {"top_k": "topK", "presence_penalty": "presencePenalty", "frequency_penalty": "frequencyPenalty"}
"""Fields that only control sampling: the names that all other APIs have for them, and those of this API."""

# What `api.Wire` demands of an API; it says what each of them means.
BASE_PATH: str = "/v1beta"
PATHS: tuple[str, ...] = ("/models/{model:path}:generateContent", "/models/{model:path}:streamGenerateContent")
IS_UNDER_V1: bool = True
FRAMING = SSE
VENDOR: str = "gemini"
ID_PREFIX: str = ""
SAMPLING_FIELDS: frozenset[str] = frozenset(SAMPLING_NAMES)

GENERATION_FIELDS = frozenset(
    "candidateCount responseMimeType responseSchema responseJsonSchema responseModalities responseLogprobs logprobs "
    "speechConfig imageConfig thinkingConfig mediaResolution enableEnhancedCivicAnswers".split()
)
"""Fields of `generationConfig`, besides those for sampling. In `ChatRequest.extra` they stand by themselves."""

PART_FIELDS = frozenset("thought thoughtSignature partMetadata videoMetadata mediaResolution".split())
"""Fields of a part besides its content. They are kept as `extra`, and sent back."""

OLDER_MODELS = r"gemini-[12]\b"
"""What the names of models contain that sign no calls and take no images in results."""

SIGNING_MODELS = r"gemini-(?:[3-9]|\d\d)"
"""What the names of models contain that refuse a call without a signature."""

FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT "
        "IMAGE_RECITATION".split(),
        "refused",
    ),
    **dict.fromkeys(
        "OTHER MALFORMED_FUNCTION_CALL MALFORMED_RESPONSE UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS "
        "MISSING_THOUGHT_SIGNATURE".split(),
        "error",
    ),
}

UNSIGNED = "skip_thought_signature_validator"
"""The signature that the API defines for a call of another model, which has none."""

_MODEL_FOLDERS = ("models/", "tunedModels/")

encode_message: None = None
"""No message is written by itself: a result names the tool of an earlier call."""


def part_data(part: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a part besides its content."""
    return {name: part[name] for name in part if name in PART_FIELDS and part[name] is not None}


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
    """Return the body of a request. Left out: grammars and what forbids parallel calls, which the API does not have."""
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
    """Return the `tools` field of a request: one group of functions."""
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
        own = get_vendor_data(result.extra, self._vendor)
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

    def _data(self, extra: Extra | None) -> dict[str, Any]:
        return part_data(get_vendor_data(extra, self._vendor))


def explain_unsupported(media: Media) -> str | None:
    """Return why the API cannot carry an attachment: it carries all sorts, by content and by address."""
    return None


# Answers


class _TextPart:
    """A part of text or reasoning, while it arrives."""

    __slots__ = ("data", "is_thought", "texts")

    def __init__(self, is_thought: bool) -> None:
        self.is_thought = is_thought
        self.texts: list[str] = []
        self.data: dict[str, Any] = {}

    def build(self, vendor: str) -> Part:
        text, extra = "".join(self.texts), build_extra(vendor, self.data)
        return Thinking(text=text, extra=extra) if self.is_thought else Text(text=text, extra=extra)


class Decoder(AnswerDecoder):
    """Reads one answer. `tools` are not needed: the arguments of every call are an object."""

    def __init__(self, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> None:
        super().__init__(vendor)
        self._is_blocked = False
        self._parts: list[_TextPart | ApiCall | Part] = []
        self._calls = 0
        self._usage: dict[str, Any] = {}

    def read_chunks(self, chunks: list[dict[str, Any]]) -> None:
        """Read a whole answer, or the answers of a stream that is a list."""
        for chunk in chunks:
            self._read_event(chunk)
        if not self.ended and not any(chunk.get("candidates") for chunk in chunks):
            raise ProviderError("the answer is not a message: it has no candidates")
        self.ended = True

    def close(self) -> Answer:
        """Return the whole message, as far as it arrived."""
        parts = [part.build(self._vendor) if isinstance(part, _TextPart) else part for part in self._parts]
        return Answer(parts=tuple(parts), finish=self._finish_reason(), usage=_read_usage(self._usage))

    def _read_event(self, event: dict[str, Any]) -> None:
        if error := event.get("error"):
            raise build_error(error)
        candidate = as_object(next(iter(as_list(event.get("candidates"))), None))
        for part in as_list(as_object(candidate.get("content")).get("parts")):
            self._read_part(as_object(part))
        # Counts are totals: a later one replaces an earlier one, and one that is left out stays.
        self._usage |= as_object(event.get("usageMetadata"))
        if blocked := as_text(as_object(event.get("promptFeedback")).get("blockReason")):
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
        extra = build_extra(self._vendor, data)
        self._parts.append(ApiCall(index=self._calls, id=call_id, name=name, arguments=arguments, extra=extra))
        self._out.add_call(self._calls, call_id, name, arguments)
        self._calls += 1

    def _read_media(self, part: dict[str, Any], data: dict[str, Any]) -> Media | None:
        blob = as_object(part.get("inlineData"))
        content = decode_any_base64(as_text(blob.get("data")))
        mime = as_text(blob.get("mimeType"))
        if not content or not mime:
            return None
        return Media(mime=mime, data=content, extra=build_extra(self._vendor, data))

    def _finish_reason(self) -> FinishReason:
        if not self.ended:
            return "error"
        finish = "refused" if self._is_blocked else FINISH_REASONS.get(self.reason, "stop")
        return "tool_calls" if finish == "stop" and self._calls else finish  # the API gives one reason for both


def read_response(body: Any, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> Answer:
    """Read a whole answer. Raises `ModelError` if the body is an error or no answer."""
    decoder = Decoder(vendor)
    # Without `alt=sse`, a stream is a list of answers.
    decoder.read_chunks([as_object(each) for each in (as_list(body) if isinstance(body, list) else [body])])
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
