"""The server side: reads the path and the body of a request, and writes answers: the reverse of `client.py`.

The API takes the JSON of a request in several forms, since it reads protocol buffers: names are written as
`systemInstruction` or `system_instruction`, a list of one may be its only element, and a schema may be one of OpenAPI,
with types in capitals. So a request is brought into one form before it is read. Calls and results need not have ids: a
call gets one, and a result belongs to the first call of its tool that has none, else to the first call that has none.
Contents of the model that follow each other are one message: clients send an answer that was streamed as its chunks.

A streamed answer is a list of answers with further parts each: server-sent events, or a JSON array if the client asks
for one. The API does not stream the arguments of a call, and the signature of a part is known only at the end of the
message. So everything from the first call on is held until then, and written in its order, each part in an answer of
its own: an SDK of Google mixes up several. The last answer must have a part that is not empty, or chats of Google's
SDKs forget the whole turn. So the last letter of a text is held until something follows it.
"""

import re
from collections import deque
from collections.abc import Collection, Sequence
from typing import Any, cast
from urllib.parse import parse_qs, unquote

from toolspeak.values.events import AUTO, FinishReason, ToolChoice, TurnEnded, Usage
from toolspeak.values.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking, ToolCall
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.answers import AnswerEncoder
from toolspeak.wire.chat_request import AnswerFormat, ChatRequest
from toolspeak.wire.errors import ErrorReport
from toolspeak.wire.fields import (
    MAX_STOP_TEXTS,
    Fields,
    ToolList,
    check_known_names,
    check_tool_limits,
    check_unique_names,
    read_address,
    read_answer_count,
    read_opaque,
    read_tool,
    read_tools_once,
)
from toolspeak.wire.framing import encode_event
from toolspeak.wire.gemini_content.client import (
    BASE_PATH,
    GENERATION_FIELDS,
    PART_FIELDS,
    SAMPLING_NAMES,
    VENDOR,
    part_data,
)
from toolspeak.wire.json_data import (
    as_list,
    as_object,
    build_extra,
    dump_compact,
    encode_arguments,
    encode_references,
    get_vendor_data,
    parse_object,
)
from toolspeak.wire.media import decode_any_base64, guess_image_type, to_base64

_KNOWN_FIELDS = frozenset("model contents systemInstruction tools toolConfig generationConfig".split())

CHOICE_TYPE = "text/x.enum"
"""The `responseMimeType` of an answer that is one of some texts."""

CHOICE_KEY = "choice"

_KNOWN_SETTINGS = frozenset("maxOutputTokens temperature topP seed stopSequences candidateCount".split())


def read_request(body: Any, path: str = "") -> ChatRequest:
    """Read a request; its path holds the name of the model, and how the answer is sent.

    Raises `UsageError` that names the wrong field.
    """
    fields = Fields(normalize_request(body, _KNOWN_FIELDS))
    where, _, query = path.partition("?")
    name, _, method = where.rpartition(":")
    is_stream = method.startswith("stream")
    is_array = is_stream and parse_qs(query).get("alt") != ["sse"]
    tools, vendor_tools = read_tools_once(fields, _read_tools)
    choice, other_choices = _read_choice(fields, tools)
    calling = as_object(as_object(fields.value("toolConfig")).get("functionCallingConfig"))
    is_validated = str(calling.get("mode")).upper() == "VALIDATED"
    config = fields.optional_object("generationConfig") or Fields({}, "generationConfig")
    extra = {
        **fields.other_fields(_KNOWN_FIELDS),
        **_read_other_settings(config),
        **({"toolConfig": other_choices} if other_choices else {}),
        **({"tools": vendor_tools} if vendor_tools else {}),
    }
    return ChatRequest(
        model=_read_name(unquote(name)) if path else _read_name(f"/{fields.text('model')}"),
        messages=(*_read_system(fields), *ContentReader().read(fields)),
        tools=tools,
        strict_tools=frozenset(tool.name for tool in tools) if is_validated else frozenset(),
        choice=choice,
        count=read_answer_count(config, "candidateCount"),
        stream=is_stream,
        stream_form="array" if is_array else "events",
        max_tokens=config.integer("maxOutputTokens", minimum=1),
        temperature=config.number("temperature", maximum=2),
        top_p=config.number("topP", maximum=1),
        seed=config.integer("seed"),
        stop=config.texts("stopSequences", maximum=MAX_STOP_TEXTS),
        include_usage=True,
        answer_format=_read_answer_format(config),
        extra=extra or None,
    )


def _read_name(path: str) -> str:
    """Return the name of the model in a path; one of a folder of its own keeps the name of the folder."""
    _, folder, name = path.partition("/models/")
    return name if folder else path.removeprefix(BASE_PATH).strip("/")


def _read_other_settings(config: Fields) -> dict[str, Any]:
    """Return the settings of the answer that not all APIs have: those that are known by themselves."""
    other = config.other_fields(_KNOWN_SETTINGS)
    sampling = {ours: other.pop(theirs) for ours, theirs in SAMPLING_NAMES.items() if theirs in other}
    known = {name: other.pop(name) for name in GENERATION_FIELDS if name in other}
    return {**sampling, **known, **({"generationConfig": other} if other else {})}


def _read_answer_format(config: Fields) -> AnswerFormat | None:
    kind = config.optional_text("responseMimeType")
    if kind == CHOICE_TYPE:
        return _read_answer_choice(config)
    if (given := config.optional_object("responseJsonSchema")) is not None:
        return AnswerFormat(schema=given.data, path=given.path)
    if (given := config.optional_object("responseSchema")) is not None:
        return AnswerFormat(schema=convert_schema(given.data), path=given.path)
    return AnswerFormat() if kind == "application/json" else None


def _read_answer_choice(config: Fields) -> AnswerFormat:
    """Read the texts of which the answer must be one. It is asked for in an object; the client gets the text in it."""
    given = config.optional_object("responseJsonSchema") or config.optional_object("responseSchema")
    if given is None or not as_list(given.value("enum")):
        problem = f"{CHOICE_TYPE} needs a responseSchema with an enum"
        raise config.error("responseMimeType", problem, "unsupported_value")
    value = convert_schema(given.data)
    schema = {"type": "object", "properties": {CHOICE_KEY: value}, "required": [CHOICE_KEY]}
    return AnswerFormat(schema=schema, path=given.path, is_wrapped=True)


def _read_choice_text(text: str) -> str:
    """Return the text that was chosen; the text itself if an endpoint has answered with it alone."""
    chosen = (parse_object(text) or {}).get(CHOICE_KEY)
    return chosen if isinstance(chosen, str) else text


def _read_tools(fields: Fields) -> tuple[tuple[ToolSpec, ...], list[dict[str, Any]]]:
    """Return the functions, and the tools that run on servers of the vendor."""
    check_tool_limits(fields)
    tools: list[ToolSpec] = []
    vendor_tools: list[dict[str, Any]] = []
    for group in fields.objects("tools"):
        tools += [_read_function(each) for each in group.objects("functionDeclarations")]
        hosted = group.other_fields({"functionDeclarations"})
        vendor_tools += [{name: value} for name, value in hosted.items()]
    check_unique_names(tools)
    return tuple(tools), vendor_tools


def _read_function(function: Fields) -> ToolSpec:
    schema = function.optional_object("parameters")
    if schema is None:
        return read_tool(function, "parametersJsonSchema")
    return read_tool(Fields({**function.data, "parameters": convert_schema(schema.data)}, function.path), "parameters")


def _read_choice(fields: Fields, tools: tuple[ToolSpec, ...]) -> tuple[ToolChoice, dict[str, Any]]:
    """Return the choice of tools, and what else is configured about tools."""
    config = fields.optional_object("toolConfig")
    if config is None:
        return AUTO, {}
    other = config.other_fields({"functionCallingConfig"})
    chosen = config.optional_object("functionCallingConfig")
    if chosen is None:
        return AUTO, other
    names = chosen.texts("allowedFunctionNames", maximum=len(tools))
    match chosen.optional_text("mode").upper():
        case "NONE":
            return ToolChoice(mode="none"), other
        case "ANY":
            check_known_names(names, tools, chosen.path_of("allowedFunctionNames"))
            return ToolChoice(mode="named", names=names) if names else ToolChoice(mode="required"), other
        case "" | "AUTO" | "VALIDATED" | "MODE_UNSPECIFIED":
            return AUTO, other
        case mode:
            raise chosen.error("mode", f"{mode!r} is none of AUTO, ANY, NONE, VALIDATED")


def _read_system(fields: Fields) -> list[Message]:
    content = fields.optional_object("systemInstruction")
    if content is None:
        return []
    parts = tuple(Text(text=part.text("text")) for part in content.objects("parts"))
    return [Message(role="system", parts=parts)] if parts else []


# The form of a request

_OPAQUE_FIELDS = frozenset(
    "args response parameters parametersJsonSchema responseSchema responseJsonSchema partMetadata labels".split()
)
"""Fields whose content belongs to the client: its names are left as they are."""

_LIST_FIELDS = frozenset({"contents", "parts", "tools", "functionDeclarations"})

_COUNT_KEYWORDS = frozenset("minItems maxItems minProperties maxProperties minLength maxLength".split())
"""Keywords of a schema whose numbers may be written as text, since they have 64 bits."""

_UNDERSCORE = re.compile(r"(?<=[a-z])_([a-z])")


def normalize_request(body: Any, fields: Collection[str]) -> Any:
    """Return a body with names in one form, and lists where the API has lists. Only `fields` are read, and changed."""
    return _normalize_object(cast("dict[str, Any]", body), fields) if isinstance(body, dict) else body


def _normalize_object(given: dict[str, Any], fields: Collection[str] | None = None) -> dict[str, Any]:
    normalized: dict[str, Any] = {}
    for written, value in given.items():
        name = _camel_case(written)
        if name in _LIST_FIELDS and isinstance(value, dict):
            value = [cast("dict[str, Any]", value)]
        is_opaque = name in _OPAQUE_FIELDS or (fields is not None and name not in fields)
        normalized[name] = value if is_opaque else _normalize(value)
    return normalized


def _normalize_tools(tools: ToolList) -> ToolList:
    return ToolList([_normalize(each) for each in tools])


def _normalize(value: Any) -> Any:
    if type(value) is ToolList:
        return value.derive(_normalize_tools, value)
    if isinstance(value, list):
        return [_normalize(each) for each in cast("list[Any]", value)]
    return _normalize_object(cast("dict[str, Any]", value)) if isinstance(value, dict) else value


def convert_schema(schema: Any) -> dict[str, Any]:
    """Return a schema of OpenAPI, as the API writes it, as a JSON schema."""
    given = {_camel_case(name): value for name, value in as_object(schema).items()}
    is_nullable = given.pop("nullable", False) is True
    given.pop("propertyOrdering", None)
    converted: dict[str, Any] = {}
    for name, value in given.items():
        if name == "type" and isinstance(value, str):
            if value != "TYPE_UNSPECIFIED":
                converted["type"] = value.lower()
        elif name in ("properties", "$defs") and isinstance(value, dict):
            inner = cast("dict[str, Any]", value)
            converted[name] = {key: convert_schema(each) for key, each in inner.items()}
        elif isinstance(value, dict) and name in ("items", "additionalProperties"):
            converted[name] = convert_schema(value)
        elif isinstance(value, list) and name in ("anyOf", "oneOf", "prefixItems"):
            converted[name] = [convert_schema(each) for each in cast("list[Any]", value)]
        elif name in _COUNT_KEYWORDS and isinstance(value, str) and value.isdecimal():
            converted[name] = int(value)
        elif not (name == "format" and value == "enum"):
            converted[name] = value
    return _add_null(converted) if is_nullable else converted


def _add_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if isinstance(schema.get("type"), str):
        schema = {**schema, "type": [schema["type"], "null"]}
    return {**schema, "enum": [*schema["enum"], None]} if isinstance(schema.get("enum"), list) else schema


def _camel_case(name: str) -> str:
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)


# The conversation

_TEXT_KEYS = {"output": False, "result": False, "error": True}
"""The keys under which a result is the text of a result, and whether that is an error."""


class ContentReader:
    """Reads the contents of a request. Contents with results become a tool message; other parts follow the results."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}  # the tools of the calls of the last answer, by their ids
        self._open: dict[str, deque[str]] = {}  # the ids of these calls by their tools, those with a result too
        self._in_order: deque[str] = deque()  # the ids of all these calls
        self._answered: set[str] = set()  # those of them that have a result
        self._places: dict[str, int] = {}  # of all calls in the conversation, by their ids
        self._last_number = 0  # of an id that was made here
        self._after_user = True

    def read(self, fields: Fields) -> tuple[Message, ...]:
        """Return the messages. Raises `UsageError` that names the wrong field."""
        messages: list[Message] = []
        results: list[Part] = []  # the parts of contents with results that follow each other
        chunks: list[Message] = []  # of one answer
        for content in fields.objects("contents", required=True):
            message = self._read_content(content)
            if message.role != "tool" and results:
                messages.append(self._build_tool_message(results))
                results = []
            if message.role == "assistant":
                chunks.append(message)
                continue
            messages += _join_chunks(chunks)
            chunks = []
            if message.role == "tool":
                results += message.parts
            else:
                messages.append(message)
        messages += _join_chunks(chunks)
        if results:
            messages.append(self._build_tool_message(results))
        if not messages:
            raise fields.error("contents", "is empty")
        return tuple(messages)

    def _read_content(self, content: Fields) -> Message:
        match content.optional_text("role"):
            case "model":
                if self._after_user:
                    self._calls, self._open, self._in_order, self._answered = {}, {}, deque(), set()
                self._after_user = False
                return Message(role="assistant", parts=tuple(map(self._read_answer_part, content.objects("parts"))))
            case "" | "user" | "function" | "tool":
                self._after_user = True
                parts = tuple(map(self._read_user_part, content.objects("parts")))
                has_results = any(isinstance(part, Result) for part in parts)
                return Message(role="tool" if has_results else "user", parts=parts)
            case other:
                raise content.error("role", f"{other!r} is none of user, model")

    def _build_tool_message(self, parts: list[Part]) -> Message:
        results: list[Result] = [part for part in parts if isinstance(part, Result)]
        results.sort(key=lambda result: self._places[result.call_id])
        return Message(role="tool", parts=(*results, *(part for part in parts if not isinstance(part, Result))))

    def _read_answer_part(self, part: Fields) -> Part:
        if part.value("functionCall") is not None:
            return self._read_call(part, part.object("functionCall"))
        return _read_content(part, Thinking if part.value("text") is not None and part.flag("thought", False) else Text)

    def _read_call(self, part: Fields, given: Fields) -> Call:
        call_id = given.optional_text("id") or self._make_id()
        self._places[call_id] = len(self._places)
        name = given.text("name")
        self._calls[call_id] = name
        self._open.setdefault(name, deque()).append(call_id)
        self._in_order.append(call_id)
        arguments = given.optional_object("args")
        call = ToolCall(id=call_id, name=name, arguments=arguments.data if arguments else {})
        return Call(call=call, extra=build_extra(VENDOR, part_data(part.data)))

    def _make_id(self) -> str:
        number = max(len(self._places), self._last_number) + 1
        while (call_id := f"call_{number}") in self._places:
            number += 1
        self._last_number = number
        return call_id

    def _read_user_part(self, part: Fields) -> Part:
        if part.value("functionResponse") is not None:
            return self._read_result(part, part.object("functionResponse"))
        return _read_content(part, Text)

    def _skip_answered(self, calls: deque[str]) -> deque[str]:
        while calls and calls[0] in self._answered:
            calls.popleft()
        return calls

    def _read_result(self, part: Fields, given: Fields) -> Result:
        call_id, name = given.optional_text("id"), given.optional_text("name")
        if call_id not in self._calls:
            of_tool = self._skip_answered(self._open.get(name, deque()))
            if not of_tool and not call_id:  # some clients write another name than that of the tool
                of_tool = self._skip_answered(self._in_order)
            if not of_tool:
                problem = f"the message before has no call {call_id!r}" if call_id else f"no call of {name!r} is open"
                raise given.error("id" if call_id else "name", problem)
            call_id = of_tool[0]
        if call_id in self._answered:
            raise given.error("id", f"the call {call_id!r} has two results")
        self._answered.add(call_id)
        text, is_error, is_plain = _read_response(given)
        data = part_data(part.data) if is_plain else {**part_data(part.data), "response": given.value("response")}
        media = [_read_media(inner) or Text(text=dump_compact(inner.data)) for inner in given.objects("parts")]
        texts = (Text(text=text),) if text or not media else ()
        return Result(call_id=call_id, content=(*texts, *media), is_error=is_error, extra=build_extra(VENDOR, data))


def _read_content(part: Fields, text_type: type[Text] | type[Thinking]) -> Part:
    if part.value("text") is not None:
        return text_type(text=part.text("text"), extra=build_extra(VENDOR, part_data(part.data)))
    return _read_media(part) or read_opaque(part, VENDOR)


def _join_chunks(chunks: list[Message]) -> list[Message]:
    """Return the chunks of an answer as one message, if there are any. A text that was split is one again."""
    parts: list[Part] = []
    pieces: list[str] = []  # of the text at the end
    for chunk in chunks:
        given = chunk.parts
        if pieces and given and isinstance(first := given[0], Text) and first.extra is None:
            pieces.append(first.text)
            given = given[1:]
            if not given:
                continue
        if pieces:
            parts.append(Text(text="".join(pieces)))
            pieces = []
        parts += given
        if parts and isinstance(last := parts[-1], Text) and last.extra is None:
            pieces = [last.text]
            parts.pop()
    if pieces:
        parts.append(Text(text="".join(pieces)))
    return [Message(role="assistant", parts=tuple(parts))] if chunks else []


def _read_response(given: Fields) -> tuple[str, bool, bool]:
    """Return the text of a result, whether it is an error, and whether that is all that the result says."""
    fields = given.optional_object("response")
    response = fields.data if fields is not None else {}
    if len(response) == 1:
        ((key, value),) = response.items()
        if key in _TEXT_KEYS:
            is_text = isinstance(value, str)
            text = value if is_text else encode_arguments(value)
            return text, _TEXT_KEYS[key], is_text and key != "result"
    return (encode_arguments(response) if response else ""), False, not response


def _read_media(part: Fields) -> Media | None:
    """Return the image or file of a part; None if it has none."""
    extra = build_extra(VENDOR, {name: part.data[name] for name in part.data if name in PART_FIELDS})
    if (blob := part.optional_object("inlineData")) is not None:
        data = decode_any_base64(blob.text("data"))
        if not data:
            raise blob.error("data", "not base64" if data is None else "is empty")
        return Media(mime=blob.text("mimeType"), data=data, extra=extra, name=blob.optional_text("displayName") or None)
    if (file := part.optional_object("fileData")) is not None:
        url = read_address(file, "fileUri")
        mime = file.optional_text("mimeType") or guess_image_type(url, "application/octet-stream")
        return Media(mime=mime, url=url, extra=extra, name=file.optional_text("displayName") or None)
    return None


# Answers

_FINISH_REASONS: dict[FinishReason, str] = {"length": "MAX_TOKENS", "refused": "SAFETY", "error": "OTHER"}


class Encoder(AnswerEncoder):
    """Writes an answer, streamed or whole. `created` and `include_usage` are not used: counts are always sent.

    Reasoning is written only if the request asks for it, with `includeThoughts`. Several answers to one request are
    streamed one after the other, each up to its `TurnEnded`.
    """

    def __init__(
        self, model: str, *, id: str, created: int = 0, include_usage: bool = True, request: ChatRequest | None = None
    ) -> None:
        super().__init__()
        self._whole: dict[str, Any] = {"modelVersion": model, "responseId": id}
        self._is_array = request is not None and request.stream and request.stream_form == "array"
        self._is_first = True
        self._held: dict[str, None] = {}  # the ids of the calls so far, in their order
        self._held_texts: list[tuple[int, dict[str, Any]]] = []  # parts behind a call, with the number of calls before
        self._tail: dict[str, Any] | None = None  # the last letter of the text so far, as a part
        self.content_type = "application/json" if self._is_array else "text/event-stream"
        self._choice_texts: list[str] | None = None  # of an answer that is one of some texts
        self._index = 0  # of the answer that is being written
        self._last_index = (request.count if request is not None else 1) - 1
        self._usage = Usage()
        self._is_choice = False
        if request is not None:
            self._is_choice = request.answer_format is not None and request.answer_format.is_wrapped
            self._choice_texts = [] if self._is_choice else None
            self._shows_thinking = as_object((request.extra or {}).get("thinkingConfig")).get("includeThoughts") is True

    def start(self) -> bytes:
        """Return the beginning of a stream."""
        return b"[" if self._is_array else b""

    def error(self, report: ErrorReport) -> bytes:
        """Return the end of a stream that failed."""
        return self._write_tail() + self._write(error_body(report)) + (b"]" if self._is_array else b"")

    def repeat_error(self, report: ErrorReport) -> bytes:
        """Return the error as bare JSON: Google's clients in JavaScript do not see one in the form of an event."""
        return b"" if self._is_array else dump_compact(error_body(report)).encode()

    def ping(self) -> bytes:
        """Return white space: Google's clients in JavaScript know no comments in a stream."""
        return b"\n"

    def response(
        self, message: Message, finish: FinishReason, usage: Usage | None = None, stop_text: str = ""
    ) -> dict[str, Any]:
        """Return the body of a whole answer. The API has no field for `stop_text`."""
        shown = [part for part in message.parts if self._shows_thinking or not isinstance(part, Thinking)]
        if self._choice_texts is not None:
            shown = [Text(text=_read_choice_text(part.text)) if isinstance(part, Text) else part for part in shown]
        parts = [written for part in shown if (written := _encode_part(part)) is not None]
        return self._answer(parts, finish, usage or Usage())

    def join(self, bodies: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the body with all answers. The prompt was read for each of them."""
        candidates = [{**body["candidates"][0], "index": index} for index, body in enumerate(bodies)]
        return {**bodies[0], "candidates": candidates}

    def _add_text(self, text: str) -> bytes:
        if self._choice_texts is not None:
            self._choice_texts.append(text)
            return b""
        return self._add_part({"text": text})

    def _add_thinking(self, text: str) -> bytes:
        return self._add_part({"text": text, "thought": True})

    def _add_part(self, part: dict[str, Any]) -> bytes:
        if self._held:
            self._held_texts.append((len(self._held), part))
            return b""
        written = b""
        if self._tail is not None and self._tail.get("thought") == part.get("thought"):
            part = {**part, "text": self._tail["text"] + part["text"]}
        else:
            written = self._write_tail()
        self._tail = {**part, "text": part["text"][-1:]}
        ready = part["text"][:-1]
        return written + (self._write(self._answer([{**part, "text": ready}])) if ready else b"")

    def _write_tail(self) -> bytes:
        tail, self._tail = self._tail, None
        return b"" if tail is None else self._write(self._answer([tail]))

    def _start_call(self, call_id: str, name: str) -> bytes:
        self._held[call_id] = None
        return self._write_tail()

    def _add_arguments(self, call_id: str, text: str) -> bytes:
        return b""

    def _complete_call(self, call: ToolCall) -> bytes:
        return self._start_call(call.id, call.name)

    def _end(self, ended: TurnEnded) -> bytes:
        if self._choice_texts:
            chosen, self._choice_texts = _read_choice_text("".join(self._choice_texts)), None
            return self._add_text(chosen) + self._end(ended)
        parts: list[dict[str, Any]] = [self._tail] if self._tail is not None else []
        calls: dict[str, Call] = {}
        for part in ended.message.parts:
            if isinstance(part, Call):
                calls[part.call.id] = part
            elif isinstance(part, Thinking) and not self._shows_thinking:
                continue
            elif isinstance(part, Text | Thinking) and _vendor_data(part.extra).get("thoughtSignature"):
                thought = {"thought": True} if isinstance(part, Thinking) else {}
                parts.append({"text": "", **_vendor_data(part.extra), **thought})
        for number, call_id in enumerate(self._held):
            parts += [text for place, text in self._held_texts if place == number]
            parts += [_encode_call(calls[call_id])] if call_id in calls else []
        parts += [text for place, text in self._held_texts if place == len(self._held)]
        earlier = b"".join(self._write(self._answer([part])) for part in parts[:-1])
        self._usage += ended.usage
        is_last = self._index >= self._last_index
        last = self._write(self._answer(parts[-1:], ended.finish, self._usage if is_last else None))
        if is_last:
            return earlier + last + (b"]" if self._is_array else b"")
        self._index += 1
        self._held, self._held_texts, self._tail = {}, [], None
        self._calls, self._has_arguments = {}, set()
        self._choice_texts = [] if self._is_choice else None
        return earlier + last

    def _answer(
        self, parts: list[dict[str, Any]], finish: FinishReason | None = None, usage: Usage | None = None
    ) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": self._index}
        if finish is not None:
            candidate["finishReason"] = _FINISH_REASONS.get(finish, "STOP")
        counts = {} if usage is None else {"usageMetadata": _encode_usage(usage)}
        return {"candidates": [candidate], **counts, **self._whole}

    def _write(self, answer: dict[str, Any]) -> bytes:
        if not self._is_array:
            return encode_event(dump_compact(answer))
        separator = "" if self._is_first else ",\n"
        self._is_first = False
        return f"{separator}{dump_compact(answer)}".encode()


def error_body(report: ErrorReport) -> dict[str, Any]:
    """Return the body of an answer with an error status."""
    return {"error": report.google_error()}


def _encode_part(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text=text, extra=extra) if text or extra:
            return {"text": text, **_vendor_data(extra)}
        case Thinking(text=text, extra=extra) if text or extra:
            return {"text": text, **_vendor_data(extra), "thought": True}
        case Call():
            return _encode_call(part)
        case Media(data=bytes()):
            return {"inlineData": {"mimeType": part.mime, "data": to_base64(part)}, **_vendor_data(part.extra)}
        case Opaque(data=data) if part.vendor == VENDOR:
            return as_object(data)
        case _:
            return None


def _encode_call(part: Call) -> dict[str, Any]:
    call = {"id": part.call.id, "name": part.call.name, "args": encode_references(part.call.arguments)}
    return {"functionCall": call, **_vendor_data(part.extra)}


def _vendor_data(extra: Extra | None) -> dict[str, Any]:
    return part_data(get_vendor_data(extra, VENDOR))


def _encode_usage(usage: Usage) -> dict[str, Any]:
    """Write the token counts. The API counts reasoning apart from the rest of an answer."""
    thoughts = min(usage.reasoning_tokens, usage.output_tokens)
    return {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - thoughts,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
        **({"cachedContentTokenCount": usage.cached_tokens} if usage.cached_tokens else {}),
        **({"thoughtsTokenCount": thoughts} if thoughts else {}),
    }
