"""The client side: writes a `ChatRequest` as the body of a request, and reads answers.

A `Message` may become several messages of the API: each result is a `tool` message with the name of its tool, and the
images of results follow in a user message, together with the rest of the `Message`. Images stand beside the text of a
message, in base64. The API has no field to demand or forbid calls: the choice `none` is made by sending no tools.

A message of this API is a set of fields, not a list. So the parts of an answer are always reasoning, text, calls. Calls
arrive whole, and older servers give them no ids. A whole answer has the form of one object of a stream.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from toolspeak.values.errors import ProviderError
from toolspeak.values.events import FinishReason, Usage
from toolspeak.values.messages import Call, Extra, Media, Message, Part, Text, Thinking
from toolspeak.values.pieces import Answer, ApiCall
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.answers import AnswerDecoder
from toolspeak.wire.chat_request import NO_QUIRKS, ChatRequest, Quirks
from toolspeak.wire.errors import build_error
from toolspeak.wire.framing import NDJSON
from toolspeak.wire.json_data import arguments_as_text, as_count, as_list, as_object, as_text, encode_references
from toolspeak.wire.media import describe_media, explain_no_address, name_kind, show_text, to_base64
from toolspeak.wire.openai_chat.client import request_headers as request_headers
from toolspeak.wire.openai_chat.client import split_results, tool_definitions
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules, fit_schema

# What `api.ClientWire` demands of an API; it says what each of them means.
IS_UNDER_V1: bool = False
FRAMING = NDJSON
VENDOR: str = "ollama"
SAMPLING_FIELDS: frozenset[str] = frozenset(
    "top_k min_p typical_p repeat_penalty presence_penalty frequency_penalty".split()
)

OPTIONS: frozenset[str] = SAMPLING_FIELDS | frozenset(
    "num_ctx num_keep num_batch num_gpu main_gpu num_thread use_mmap repeat_last_n".split()
)
"""Fields that belong into `options`. They may be given as fields of the body, as the other APIs have some of them."""

FINISH_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length"}

encode_message: None = None
"""No message is written by itself: a result names the tool of an earlier call."""


def request_path(request: ChatRequest) -> str:
    """Return the path of a request behind the base address: the same for all."""
    return "/api/chat"


def request_body(
    request: ChatRequest, *, quirks: Quirks = NO_QUIRKS, rules: SchemaRules = NO_CHANGES, vendor: str = VENDOR
) -> dict[str, Any]:
    """Return the body of a request.

    A conversation that is too long is refused by the server, and an answer ends where the context ends (`truncate`,
    `shift`). Otherwise Ollama would drop the oldest messages without notice. Older servers do not know these fields.
    Of `extra`, `num_ctx` and other options are put into `options`, and `reasoning_effort` is written as `think`.
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
        is_any = request.json_schema == {"type": "object"}
        body["format"] = "json" if is_any else fit_schema(request.json_schema, rules)[0]
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


def explain_unsupported(media: Media) -> str | None:
    """Return why the API cannot carry an attachment, as the rest of a sentence about a model; None if it can."""
    if media.data is None:
        return explain_no_address(media)
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
                text = show_text(part)
                texts.append(describe_media(part) if text is None else text)
    message: dict[str, Any] = {"role": "user", "content": "".join(texts)}
    return {**message, "images": images} if images else message


def _assistant_messages(message: Message, quirks: Quirks, vendor: str) -> list[dict[str, Any]]:
    fields: dict[str, Any] = {"role": "assistant", "content": message.text}
    for part in message.parts:
        match part:
            case Thinking(text=text, extra=extra) if quirks.echo_reasoning and extra and extra.vendor == vendor:
                fields["thinking"] = fields.get("thinking", "") + text
            case Call(call=call):
                function = {"name": call.name, "arguments": encode_references(call.arguments)}
                fields.setdefault("tool_calls", []).append({"id": call.id, "function": function})
            case _:
                pass  # the text is written above; reasoning and opaque data of another vendor are left out
    return [fields] if fields["content"] or len(fields) > 2 else []


def _result_messages(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    results, shown = split_results(message)
    written: list[dict[str, Any]] = []
    for call_id, text in results:
        result = {"role": "tool", "content": text, "tool_call_id": call_id}
        written.append({**result, "tool_name": names[call_id]} if call_id in names else result)
    user = _user_message(shown)
    return [*written, user] if user["content"] or "images" in user else written


# Answers


class Decoder(AnswerDecoder):
    """Reads one answer. `tools` are not needed: the arguments of every call are JSON."""

    end_mark = None

    def __init__(self, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> None:
        super().__init__(vendor)
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ApiCall] = []
        self._usage: Usage | None = None

    def close(self) -> Answer:
        """Return the whole message, as far as it arrived."""
        parts: list[Part | ApiCall] = []
        if self._thinking:
            extra = Extra(vendor=self._vendor, data={"field": "thinking"})
            parts.append(Thinking(text="".join(self._thinking), extra=extra))
        if self._text:
            parts.append(Text(text="".join(self._text)))
        return Answer(parts=(*parts, *self._calls), finish=self._finish_reason(), usage=self._usage)

    def read_body(self, body: dict[str, Any]) -> None:
        """Read the body of a whole answer."""
        self._read_event(body)
        if "message" not in body:
            raise ProviderError("the answer is not one of Ollama's API: it has no message")
        self.ended = True

    def _read_event(self, event: dict[str, Any]) -> None:
        if error := event.get("error"):
            raise build_error(error)
        message = as_object(event.get("message"))
        if thought := as_text(message.get("thinking")):
            self._thinking.append(thought)
            self._out.add_thinking(thought)
        if text := as_text(message.get("content")):
            self._text.append(text)
            self._out.add_text(text)
        for call in as_list(message.get("tool_calls")):
            self._read_call(as_object(call))
        if event.get("done") is True:
            self.ended, self.reason = True, as_text(event.get("done_reason"))
            self._usage = _read_usage(event)

    def _read_call(self, call: dict[str, Any]) -> None:
        function = as_object(call.get("function"))
        name, arguments = as_text(function.get("name")), arguments_as_text(function.get("arguments"))
        if not name and not arguments:
            return
        # The place in the message is the index: the field `index` has had several meanings.
        read = ApiCall(index=len(self._calls), id=as_text(call.get("id")), name=name, arguments=arguments)
        self._calls.append(read)
        self._out.add_call(read.index, read.id, read.name, read.arguments)

    def _finish_reason(self) -> FinishReason:
        if not self.ended:
            return "error"
        finish = FINISH_REASONS.get(self.reason, "stop")
        return "tool_calls" if self._calls and finish == "stop" else finish


def read_response(body: Any, vendor: str = VENDOR, tools: Iterable[ToolSpec] = ()) -> Answer:
    """Read a whole answer. Raises `ModelError` if the body is an error or no answer."""
    decoder = Decoder(vendor)
    decoder.read_body(as_object(body))
    return decoder.close()


def _read_usage(event: dict[str, Any]) -> Usage | None:
    if "prompt_eval_count" not in event and "eval_count" not in event:
        return None
    return Usage(input_tokens=as_count(event.get("prompt_eval_count")), output_tokens=as_count(event.get("eval_count")))
