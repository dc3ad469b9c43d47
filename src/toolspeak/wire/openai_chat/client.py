"""The client side: writes a `ChatRequest` as the headers and the body of a request, and reads answers.

A `Message` may become several messages of the API: each result is a `tool` message, and since those hold only text, the
media of results follow in a user message, together with the rest of the `Message`. The texts of one message are joined
into one: every server accepts a text, and not all accept a list.

A message of this API is a set of fields, not a list: reasoning, text and calls have no order among each other. So the
parts of an answer are always reasoning, text, refusal, calls. A whole answer is read as a stream of one chunk, so that
both give the same parts; only its calls need not be put together (`PartialCalls`).
"""

import json
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring_ascii as quote
from typing import Any

from toolspeak.values.errors import ProviderError
from toolspeak.values.events import FinishReason, ToolChoice, Usage
from toolspeak.values.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.values.pieces import Answer, ApiCall, Piece
from toolspeak.values.spec import Schema, ToolSpec
from toolspeak.wire.answers import AnswerDecoder, PieceBuffer
from toolspeak.wire.chat_request import NO_QUIRKS, ChatRequest, Quirks
from toolspeak.wire.errors import build_error
from toolspeak.wire.framing import SSE
from toolspeak.wire.json_data import (
    arguments_as_text,
    as_count,
    as_list,
    as_object,
    as_text,
    build_extra,
    encode_arguments,
    get_vendor_data,
    parse_object,
)
from toolspeak.wire.media import describe_media, explain_no_address, show_text, to_base64, to_url
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules, fit_schema

# What `api.Wire` demands of an API; it says what each of them means.
BASE_PATH: str = "/v1"
PATHS: tuple[str, ...] = ("/chat/completions",)
IS_UNDER_V1: bool = True
FRAMING = SSE
VENDOR: str = "openai"
ID_PREFIX: str = "chatcmpl-"
SAMPLING_FIELDS: frozenset[str] = frozenset(
    "top_k min_p presence_penalty frequency_penalty repeat_penalty repetition_penalty logit_bias "
    "chat_template_kwargs".split()
)

DONE = "[DONE]"
"""The data of the last event of a stream."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Fields in which servers put reasoning: the API itself has none. Only the first field that is present is read."""

REASONING_DETAILS = "reasoning_details"
"""The field for reasoning in blocks, some of them signed, which must be sent back unchanged."""

TEXT_EXTRA_FIELDS = ("annotations", "extra_content")
"""Fields of a message that are kept as the `extra` of its text."""

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "refused",
    # Values of servers, which are not in the API:
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_length": "length",
    "refusal": "refused",
    "safety": "refused",
    "error": "error",
    "insufficient_system_resource": "error",
    "abort": "error",
}

_FIELDS_WITHOUT_CONTENT = {"role", "content", "extra_content", REASONING_DETAILS, *REASONING_FIELDS}
"""Fields that do not count as content: the API refuses an assistant message without text, calls or a refusal."""

_SOUND_FORMATS = {
    **dict.fromkeys(("audio/wav", "audio/x-wav", "audio/wave"), "wav"),
    **dict.fromkeys(("audio/mpeg", "audio/mp3"), "mp3"),
}


def request_path(request: ChatRequest) -> str:
    """Return the path of a request behind the base address: the same for all."""
    return PATHS[0]


def request_headers(key: str | None) -> dict[str, str]:
    """Return the headers that the API requires, with the key if there is one."""
    return {"authorization": f"Bearer {key}"} if key else {}


def request_body(
    request: ChatRequest, *, quirks: Quirks = NO_QUIRKS, rules: SchemaRules = NO_CHANGES, vendor: str = VENDOR
) -> dict[str, Any]:
    """Return the body of a request."""
    messages = [written for message in request.messages for written in write_message(message, quirks, vendor)]
    body: dict[str, Any] = {"model": request.model, "messages": messages}
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
            body["tools"] = [*tool_definitions(request.tools, rules=rules), *vendor_tools]
    return body


def tool_definitions(
    specs: Iterable[ToolSpec], *, strict: bool = False, rules: SchemaRules = NO_CHANGES
) -> list[dict[str, Any]]:
    """Return the `tools` field of a request."""
    rules = SchemaRules(strict=True) if strict else rules
    definitions: list[dict[str, Any]] = []
    for spec in specs:
        parameters, is_strict = fit_schema(spec.parameters, rules)
        flag = {"strict": True} if is_strict else {}
        function = {"name": spec.name, "description": spec.description, **flag, "parameters": parameters}
        definitions.append({"type": "function", "function": function})
    return definitions


def _tool_fields(request: ChatRequest, rules: SchemaRules, quirks: Quirks) -> dict[str, Any]:
    choice = request.choice
    if not request.tools or not quirks.tools or (choice.mode == "none" and not quirks.tool_choice):
        return {}  # without tools the API refuses `tool_choice` and `parallel_tool_calls`
    fields: dict[str, Any] = {"tools": tool_definitions(request.tools, rules=rules)}
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
    own = get_vendor_data(media.extra, vendor)
    if media.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": to_url(media), **own}}
    if media.data is None:
        return _text(describe_media(media))
    if sound := _SOUND_FORMATS.get(media.mime):
        return {"type": "input_audio", "input_audio": {"data": to_base64(media), "format": sound}}
    if (text := show_text(media)) is not None:
        return _text(text)
    name = media.name or f"file.{media.mime.rpartition('/')[2]}"
    return {"type": "file", "file": {"filename": name, "file_data": to_url(media), **own}}


def explain_unsupported(media: Media) -> str | None:
    """Return why the API cannot carry an attachment, as the rest of a sentence about a model; None if it can."""
    return explain_no_address(media) if media.data is None and not media.mime.startswith("image/") else None


def _assistant_messages(message: Message, quirks: Quirks, vendor: str) -> list[dict[str, Any]]:
    fields: dict[str, Any] = {"role": "assistant", "content": None}
    for part in message.parts:
        match part:
            case Text(text=text, extra=extra):
                own = get_vendor_data(extra, vendor)
                field = "refusal" if own.get("refusal") is True else "content"
                fields[field] = (fields.get(field) or "") + text
                if "extra_content" in own:
                    fields["extra_content"] = own["extra_content"]
            case Thinking() if quirks.echo_reasoning:
                _add_reasoning(fields, part, vendor)
            case Call(call=call, extra=extra):
                function = {"name": call.name, "arguments": encode_arguments(call.arguments)}
                written = {"id": call.id, "type": "function", "function": function, **get_vendor_data(extra, vendor)}
                fields.setdefault("tool_calls", []).append(written)
            case Opaque(data=data) if part.vendor == vendor:
                fields |= as_object(data)
            case _:
                pass  # the opaque data of another vendor, or reasoning that the endpoint does not take back
    return [fields] if fields["content"] or fields.keys() - _FIELDS_WITHOUT_CONTENT else []


def _add_reasoning(fields: dict[str, Any], part: Thinking, vendor: str) -> None:
    own = get_vendor_data(part.extra, vendor)
    if (field := as_text(own.get("field"))) in REASONING_FIELDS and part.text:
        fields[field] = fields.get(field, "") + part.text
    if details := as_list(own.get(REASONING_DETAILS)):
        fields[REASONING_DETAILS] = [*fields.get(REASONING_DETAILS, ()), *details]


def _result_messages(message: Message, vendor: str) -> list[dict[str, Any]]:
    results, shown = split_results(message)
    written = [{"role": "tool", "tool_call_id": call_id, "content": text} for call_id, text in results]
    content = _content(shown, vendor)
    return [*written, {"role": "user", "content": content}] if content else written


def split_results(message: Message) -> tuple[list[tuple[str, str]], list[Part]]:
    """Return the id and the text of each result, and what a user message must show: media of results and the rest."""
    results: list[tuple[str, str]] = []
    shown: list[Part] = []
    for part in message.parts:
        if isinstance(part, Result):
            media = [each for each in part.content if isinstance(each, Media)]
            texts = [each.text for each in part.content if isinstance(each, Text)]
            if media:
                texts.append("[what cannot be shown here follows below]")
                shown += [Text(text=f"From the result of {part.call_id}:"), *media]
            results.append((part.call_id, "\n".join(texts)))
    return results, shown + [part for part in message.parts if not isinstance(part, Result)]


def encode_message(message: Message, quirks: Quirks, vendor: str) -> str:
    """Return the JSON of the messages of the API that a message becomes, with commas between them.

    Nearly all messages of a run are calls, results of text, and texts of the user. They are written as JSON text
    directly, which takes a third of the time. `write_message` writes all others, and would write these the same.
    """
    text: str | None = None
    match message.role:
        case "assistant":
            text = _encode_answer(message.parts)
        case "tool":
            text = _encode_results(message.parts)
        case "user" if len(message.parts) == 1 and isinstance(only := message.parts[0], Text):
            text = f'{{"role": "user", "content": {quote(only.text)}}}'
        case _:
            pass
    return json.dumps(write_message(message, quirks, vendor))[1:-1] if text is None else text


def _encode_answer(parts: Sequence[Part]) -> str | None:
    """Return the JSON of an answer of calls, which may also have text; None if it has anything else."""
    texts: list[str] = []
    calls: list[str] = []
    for part in parts:
        if isinstance(part, Call) and part.extra is None:
            called = quote(encode_arguments(part.call.arguments))
            function = f'{{"name": {quote(part.call.name)}, "arguments": {called}}}'
            calls.append(f'{{"id": {quote(part.call.id)}, "type": "function", "function": {function}}}')
        elif isinstance(part, Text) and part.extra is None:
            texts.append(part.text)
        else:
            return None
    if not calls:
        return None
    content = quote("".join(texts)) if texts else "null"
    return f'{{"role": "assistant", "content": {content}, "tool_calls": [{", ".join(calls)}]}}'


def _encode_results(parts: Sequence[Part]) -> str | None:
    """Return the JSON of results of text; None if there is anything else."""
    results: list[str] = []
    for part in parts:
        if not isinstance(part, Result):
            return None
        texts: list[str] = []
        for each in part.content:
            if not isinstance(each, Text):
                return None
            texts.append(each.text)
        content = quote("\n".join(texts))
        results.append(f'{{"role": "tool", "tool_call_id": {quote(part.call_id)}, "content": {content}}}')
    return ", ".join(results)


# Answers

_raw_decode = json.JSONDecoder().raw_decode


class TextChunks:
    """Reads a chunk of a stream that differs from an earlier chunk only in the text of one field.

    Servers write a chunk for each token, of the answer or of the arguments of a call, and repeat everything else in it:
    id, time, model, empty fields. So the JSON before the text and the JSON after it are compared as they stand, and
    only the text between them is decoded.
    """

    def __init__(self, field: str) -> None:
        self._key = f'"{field}"'
        self._head = ""  # up to the quote before the text
        self._tail = ""  # from behind the quote after it

    def learn(self, data: str, text: str) -> None:
        """Remember how a chunk was written that had this text and nothing else to read."""
        if data.count(self._key) != 1:
            return
        quote = data.find('"', data.find(self._key) + len(self._key))
        found, end = _raw_decode(data, quote)
        if found == text:
            self._head, self._tail = data[: quote + 1], data[end:]

    def forget(self) -> None:
        """Forget how a chunk was written."""
        self._head = ""

    def read(self, data: str) -> str | None:
        """Return the text of a chunk that is written in the same way; None if it is not."""
        if not self._head or not data.startswith(self._head) or not data.endswith(self._tail):
            return None
        try:
            text, end = _raw_decode(data, len(self._head) - 1)
        except ValueError:
            return None
        return text if end + len(self._tail) == len(data) else None


_CALL_FIELDS = frozenset({"index", "id", "type", "function"})
"""The fields of a call that are read; the others are kept for the vendor."""


class PartialCall:
    """A call of which pieces are still arriving. `is_emitted` once its id and name have been handed on."""

    __slots__ = ("arguments", "extra", "id", "index", "is_emitted", "name")

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.extra: dict[str, Any] = {}
        self.is_emitted = False

    @property
    def is_complete(self) -> bool:
        """Whether the arguments are complete JSON."""
        if not self.arguments or not self.arguments[-1].rstrip().endswith("}"):
            return False
        try:
            json.loads("".join(self.arguments))
        except (ValueError, RecursionError):
            return False
        return True


_NO_CALL = PartialCall(-1)


class PartialCalls:
    """Puts the calls of a streamed answer together from pieces, which servers number and name in different ways.

    A piece belongs to the call with the same `index`; without an index, to the call with the same id; without both, to
    the last call. But where a server numbers every call 0 or gives no ids, a piece starts a new call if it brings a
    name that does not fit the call that was found. A name may arrive in pieces, or be repeated in each piece. So a call
    is emitted with its first arguments, when its name is complete.
    """

    def __init__(self, out: PieceBuffer) -> None:
        self._out = out
        self._calls: list[PartialCall] = []
        self._by_index: dict[int, PartialCall] = {}
        self._last = _NO_CALL

    def read(self, piece: dict[str, Any]) -> str:
        """Read one piece of a call, and emit it. If it has nothing but arguments, return them; else an empty text."""
        given, function = piece.get("id"), as_object(piece.get("function"))
        call_id = as_text(given) if given else ""
        name = as_text(function["name"]) if "name" in function else ""
        call = self._find_call(piece.get("index"), call_id, name)
        call.id = call.id or call_id
        if name != call.name:
            call.name += name
        if has_extra := not piece.keys() <= _CALL_FIELDS:
            call.extra |= _find_extra(piece)
        self._last = call
        if arguments := arguments_as_text(function.get("arguments")):
            self.add_arguments(arguments)
        return "" if call_id or name or has_extra else arguments

    def add_arguments(self, arguments: str) -> None:
        """Add arguments to the call that was read last, and emit them."""
        call = self._last
        call.arguments.append(arguments)
        if call.is_emitted:
            self._out.add_call(call.index, "", "", arguments)
        else:
            self._emit(call, arguments)

    def end(self) -> None:
        """End the message: emit the calls that have no arguments."""
        for call in self._calls:
            if not call.is_emitted:
                self._emit(call, "")

    def build(self, vendor: str) -> list[ApiCall]:
        """Return the calls, as far as they arrived."""
        return [
            ApiCall(
                index=call.index,
                id=call.id,
                name=call.name,
                arguments="".join(call.arguments),
                extra=build_extra(vendor, call.extra),
            )
            for call in self._calls
        ]

    def _emit(self, call: PartialCall, arguments: str) -> None:
        call.is_emitted = True
        self._out.add_call(call.index, call.id, call.name, arguments)

    def _find_call(self, index: Any, call_id: str, name: str) -> PartialCall:
        if isinstance(index, int):
            call = self._by_index.get(index)
            if call is None or (name and self._is_other_call(call, call_id, name)):
                call = self._by_index[index] = self._add_call()
            return call
        if call_id:
            known = next((call for call in self._calls if call.id == call_id), None)
            return known or self._add_call()
        if not self._calls:
            return self._add_call()
        last = self._calls[-1]
        return self._add_call() if name and (self._is_other_call(last, "", name) or last.is_complete) else last

    def _is_other_call(self, call: PartialCall, call_id: str, name: str) -> bool:
        """Whether a piece with this id and name cannot belong to `call`."""
        if call_id and call.id and call_id != call.id:
            return True
        return bool(call.arguments) and name != call.name

    def _add_call(self) -> PartialCall:
        call = PartialCall(len(self._calls))
        self._calls.append(call)
        return call


def read_whole_call(call: dict[str, Any], index: int, vendor: str) -> ApiCall:
    """Read a call of a whole answer. Its place in the list of calls is its index."""
    function = as_object(call.get("function"))
    return ApiCall(
        index=index,
        id=as_text(call.get("id")),
        name=as_text(function.get("name")),
        arguments=arguments_as_text(function.get("arguments")),
        extra=build_extra(vendor, _find_extra(call)),
    )


def _find_extra(call: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in call.items() if key not in _CALL_FIELDS and value is not None}


_PLAIN_COUNTS = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
"""The token counts that every server sends."""

_COMMON_FIELDS = frozenset({"role", "content", "refusal", "tool_calls"})
"""Fields of a message that nearly every server sends, and most servers no others."""


class Decoder(AnswerDecoder):
    """Reads one answer. `tools` are not needed: the arguments of every call are JSON."""

    def __init__(self, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> None:
        super().__init__(vendor)
        self._stop_text = ""
        self._text: list[str] = []
        self._text_extra: dict[str, Any] = {}
        self._refusal: list[str] = []
        self._thinking: list[str] = []
        self._thinking_field = ""
        self._details: list[dict[str, Any]] = []
        self._calls = PartialCalls(self._out)
        self._is_whole = False
        self._whole_calls: list[ApiCall] = []
        self._text_chunks = TextChunks("content")
        self._argument_chunks = TextChunks("arguments")  # of the call that was read last
        self._lone_arguments = ""  # those of the last chunk, if there was nothing else to read in it
        self._usage: Usage | None = None

    def feed_all(self, payloads: list[str]) -> list[Piece]:
        """Read the data of events that arrived together, as all decoders do, but the usual chunks by `TextChunks`."""
        for data in payloads:
            if text := self._text_chunks.read(data):
                self._add_text(text)
            elif arguments := self._argument_chunks.read(data):
                self._calls.add_arguments(arguments)
            elif data.strip() == DONE:
                self.ended = True
                self._calls.end()
            elif (chunk := parse_object(data)) is None:
                self.skipped += 1
            elif text := self._read_event(chunk):
                self._text_chunks.learn(data, text)
            elif self._lone_arguments:
                self._argument_chunks.learn(data, self._lone_arguments)
            else:
                self._argument_chunks.forget()  # the next arguments may be those of another call
        return self._out.take()

    def close(self) -> Answer:
        """Return the whole message, as far as it arrived."""
        calls = self._whole_calls or self._calls.build(self._vendor)
        parts: list[Part | ApiCall] = [*self._build_parts(), *calls]
        finish = self._finish_reason(bool(calls))
        return Answer(parts=tuple(parts), finish=finish, usage=self._usage, stop_text=self._stop_text)

    def read_body(self, body: dict[str, Any]) -> None:
        """Read the body of a whole answer."""
        self._is_whole = True
        self._read_event(body)
        if not as_list(body.get("choices")):
            raise ProviderError("the answer is not a chat completion: it has no choices")
        self.ended = True
        self._calls.end()

    def _read_event(self, event: dict[str, Any]) -> str:
        """Read a chunk, and return its text if there was nothing else to read in it; else an empty text."""
        self._lone_arguments = ""
        if error := event.get("error"):
            raise build_error(error)
        usage = event.get("usage")
        if usage and (usage := as_object(usage)):
            self._usage = _read_usage(usage, as_object(event.get("timings")))
        choices = as_list(event.get("choices"))
        if not choices:
            if event.get("object") == "error":
                raise build_error(event)
            return ""
        choice = as_object(choices[0])
        delta = as_object(choice.get("delta") or choice.get("message"))
        content = delta.get("content")
        if type(content) is str:
            self._add_text(content)
        elif content:
            self._read_blocks(content)
        has_other = (len(delta) > 1 or not content) and self._read_other_fields(delta)
        reason = choice.get("finish_reason")
        if reason and (reason := as_text(reason)):
            self.ended, self.reason = True, reason
            self._stop_text = as_text(choice.get("stop_reason"))  # vLLM and SGLang; for a token it is a number
            self._calls.end()
        if content or reason or usage:
            self._lone_arguments = ""
        return content if type(content) is str and not (reason or usage or has_other) else ""

    def _add_text(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._out.add_text(text)

    def _read_blocks(self, content: Any) -> None:
        """Read content that is a list of blocks, some of them reasoning, as Mistral sends it."""
        for block in map(as_object, as_list(content)):
            self._add_text(as_text(block.get("text")))
            for thought in map(as_object, as_list(block.get("thinking"))):
                self._add_thinking(REASONING_FIELDS[0], as_text(thought.get("text")))

    def _read_other_fields(self, delta: dict[str, Any]) -> bool:
        """Read everything but the text, and return whether there was anything. Most chunks have only text."""
        refusal, calls = delta.get("refusal"), delta.get("tool_calls")
        is_common = delta.keys() <= _COMMON_FIELDS
        if not is_common:
            self._read_reasoning(delta)
        if refusal and (text := as_text(refusal)):
            self._refusal.append(text)
            self._out.add_text(text)
        if calls and self._is_whole:
            self._whole_calls = [
                read_whole_call(as_object(call), place, self._vendor) for place, call in enumerate(as_list(calls))
            ]
        elif calls:
            read = [self._calls.read(as_object(piece)) for piece in as_list(calls)]
            self._lone_arguments = read[0] if len(read) == 1 and is_common and not refusal else ""
        if is_common:
            return bool(refusal or calls)
        if legacy := delta.get("function_call"):
            self._calls.read({"index": 0, "function": legacy})
        for field in TEXT_EXTRA_FIELDS:
            if value := delta.get(field):
                kept = self._text_extra.get(field)
                self._text_extra[field] = [*as_list(kept), *as_list(value)] if isinstance(kept, list) else value
        return any(delta[field] for field in delta if field not in ("role", "content"))

    def _read_reasoning(self, delta: dict[str, Any]) -> None:
        details = as_list(delta.get(REASONING_DETAILS))
        for field in REASONING_FIELDS:
            if thought := as_text(delta.get(field)):
                self._add_thinking(field, thought)
                break
        else:
            for detail in map(as_object, details):
                self._add_thinking("", as_text(detail.get("text")) or as_text(detail.get("summary")))
        for detail in map(as_object, details):
            self._add_detail(detail)

    def _add_thinking(self, field: str, text: str) -> None:
        if text:
            self._thinking_field = self._thinking_field or field
            self._thinking.append(text)
            self._out.add_thinking(text)

    def _add_detail(self, detail: dict[str, Any]) -> None:
        last = self._details[-1] if self._details else {}
        if "index" not in detail or (last.get("index"), last.get("type")) != (detail["index"], detail.get("type")):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in ("text", "summary") and isinstance(last.get(key), str) and isinstance(value, str):
                last[key] += value
            elif value is not None:
                last[key] = value

    def _build_parts(self) -> list[Part]:
        parts: list[Part] = []
        if self._thinking or self._details:
            data: dict[str, Any] = {"field": self._thinking_field} if self._thinking_field else {}
            data |= {REASONING_DETAILS: self._details} if self._details else {}
            parts.append(Thinking(text="".join(self._thinking), extra=Extra(vendor=self._vendor, data=data)))
        if self._text or self._text_extra:
            parts.append(Text(text="".join(self._text), extra=build_extra(self._vendor, self._text_extra)))
        if self._refusal:
            parts.append(Text(text="".join(self._refusal), extra=build_extra(self._vendor, {"refusal": True})))
        return parts

    def _finish_reason(self, has_calls: bool) -> FinishReason:
        if not self.ended:
            return "error"
        finish = FINISH_REASONS.get(self.reason.lower(), "stop")
        if finish not in ("stop", "tool_calls"):
            return finish
        if self._refusal:
            return "refused"
        return "tool_calls" if has_calls else "stop"  # some servers give the same reason for both


def read_response(body: Any, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> Answer:
    """Read a whole answer. Raises `ModelError` if the body is an error or no answer."""
    decoder = Decoder(vendor)
    decoder.read_body(as_object(body))
    return decoder.close()


def _read_usage(usage: dict[str, Any], timings: dict[str, Any]) -> Usage:
    """Read the token counts. In `timings` servers of llama.cpp say what their cache had."""
    input_tokens, output_tokens = as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens"))
    if not timings and usage.keys() <= _PLAIN_COUNTS:
        return Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    details = as_object(usage.get("prompt_tokens_details"))
    output_details = as_object(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=as_count(details.get("cached_tokens"))
        or as_count(usage.get("prompt_cache_hit_tokens"))
        or as_count(timings.get("cache_n")),
        cache_write_tokens=as_count(details.get("cache_write_tokens")),
        reasoning_tokens=as_count(output_details.get("reasoning_tokens")),
    )
