"""Reads the conversation of a request: the field `instructions`, and the items of the field `input`.

The API does not mark where an answer begins and ends. So items of the assistant that follow each other are one message,
up to the next message of somebody else or the next result. A result stands behind the message with its call, in the
order of the calls, wherever the client has put it.
"""

import json
import mimetypes
from typing import Any

from toolspeak.definitions import CUSTOM_PARAMETER
from toolspeak.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking, ToolCall
from toolspeak.wire.fields import Fields, check_kind
from toolspeak.wire.json_data import as_list, as_object, as_text
from toolspeak.wire.media import decode_base64, decode_data_url, guess_image_type
from toolspeak.wire.openai_responses.names import CUSTOM_CALL, VENDOR, join_namespace

_TEXT_TYPES = ("input_text", "output_text", "text")


def read_messages(fields: Fields) -> tuple[Message, ...]:
    """Return the conversation of a request. Raises `UsageError` that names the wrong field."""
    instructions = fields.optional_text("instructions")
    messages = [Message(role="system", parts=(Text(text=instructions),))] if instructions else []
    given = fields.value("input")
    if isinstance(given, str):
        return (*messages, Message(role="user", parts=(Text(text=given),)))
    reader = _ItemReader()
    for item in fields.objects("input", required=True):
        reader.read(item)
    messages += reader.close()
    if not messages:
        raise fields.error("input", "is empty")
    return tuple(messages)


class _ItemReader:
    """Reads items one after the other."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._parts: list[Part] = []  # of the assistant's message that is being read
        self._results: dict[str, dict[str, Result]] = {}  # of the last message with a call of that id, by the ids there
        self._results_of: list[dict[str, Result]] = []  # of each message

    def read(self, item: Fields) -> None:
        """Read one item."""
        match item.optional_text("type") or "message":
            case "message":
                self._read_message(item)
            case "reasoning":
                self._parts.append(_read_reasoning(item))
            case "function_call" | "custom_tool_call" as kind:
                call = _read_function_call(item) if kind == "function_call" else _read_custom_call(item)
                self._parts.append(call)
            case "function_call_output" | "custom_tool_call_output":
                self._end_message()
                self._read_result(item)
            case "item_reference":
                raise item.error("id", "nothing is kept here between requests; send the item itself, with store: false")
            case _:  # of the vendor's own tools
                self._parts.append(Opaque(vendor=VENDOR, data=item.data))

    def close(self) -> list[Message]:
        """Return the messages, each result behind its call."""
        self._end_message()
        messages: list[Message] = []
        for message, results in zip(self._messages, self._results_of, strict=True):
            messages.append(message)
            if results:
                in_order = [results[call.id] for call in message.calls if call.id in results]
                messages.append(Message(role="tool", parts=tuple(in_order)))
        return messages

    def _add_message(self, message: Message) -> None:
        results: dict[str, Result] = {}
        self._messages.append(message)
        self._results_of.append(results)
        self._results |= {call.id: results for call in message.calls}  # ids may be used again in a later message

    def _end_message(self) -> None:
        if self._parts:
            self._add_message(Message(role="assistant", parts=tuple(self._parts)))
            self._parts = []

    def _read_message(self, item: Fields) -> None:
        match item.text("role"):
            case "assistant":
                self._parts += _read_assistant_texts(item)
            case "user":
                self._end_message()
                self._add_message(Message(role="user", parts=_read_content(item, "content")))
            case "system" | "developer":
                self._end_message()
                self._add_message(Message(role="system", parts=_read_content(item, "content")))
            case other:
                raise item.error("role", f"{other!r} is none of user, assistant, system, developer")

    def _read_result(self, item: Fields) -> None:
        call_id = item.text("call_id")
        results = self._results.get(call_id)
        if results is None:
            raise item.error("call_id", f"no item before has the call {call_id!r}")
        if call_id in results:
            raise item.error("call_id", f"{call_id!r} has a result already")
        shown = [part for part in _read_content(item, "output") if isinstance(part, Text | Media)]
        results[call_id] = Result(call_id=call_id, content=tuple(shown))


def _read_assistant_texts(item: Fields) -> list[Text]:
    """Read the texts of a message. The data of the message is on each of them, its id above all."""
    own = item.other_fields({"type", "role", "status", "content"})
    if isinstance(item.value("content"), str):
        text = item.text("content")
        return [Text(text=text, extra=_build_extra(own))] if text else []
    texts: list[Text] = []
    for part in item.objects("content", required=True):
        match part.text("type"):
            case "refusal":
                texts.append(Text(text=part.text("refusal"), extra=_build_extra({**own, "refusal": True})))
            case "output_text" | "input_text" | "text":
                annotations = as_list(part.value("annotations"))
                data = {**own, "annotations": annotations} if annotations else own
                texts.append(Text(text=part.text("text"), extra=_build_extra(data)))
            case other:
                raise part.error("type", f"{other!r} is not allowed here; only text is")
    return [text for text in texts if text.text]


def _read_reasoning(item: Fields) -> Thinking:
    content, summary = as_list(item.value("content")), as_list(item.value("summary"))
    texts = [as_text(as_object(part).get("text")) for part in content or summary]
    return Thinking(
        text=("" if content else "\n\n").join(texts), extra=_build_extra(item.other_fields({"type", "status"}))
    )


def _read_function_call(item: Fields) -> Call:
    encoded = item.optional_text("arguments")
    try:
        arguments: Any = json.loads(encoded) if encoded.strip() else {}
    except (ValueError, RecursionError):
        raise item.error("arguments", "not JSON") from None
    check_kind(arguments, dict, item.path_of("arguments"))
    return _build_call(item, arguments, item.other_fields({"type", "status", "call_id", "name", "arguments"}))


def _read_custom_call(item: Fields) -> Call:
    data = item.other_fields({"status", "call_id", "name", "input"})
    return _build_call(item, {CUSTOM_PARAMETER: item.text("input")}, {**data, "type": CUSTOM_CALL})


def _build_call(item: Fields, arguments: dict[str, Any], data: dict[str, Any]) -> Call:
    name = join_namespace(item.optional_text("namespace"), item.text("name"))
    return Call(call=ToolCall(id=item.text("call_id"), name=name, arguments=arguments), extra=_build_extra(data))


def _read_content(item: Fields, name: str) -> tuple[Part, ...]:
    value = item.value(name)
    if isinstance(value, str):
        return (Text(text=value),)
    return tuple(_read_part(part) for part in item.objects(name, required=True))


def _read_part(part: Fields) -> Part:
    match part.text("type"):
        case "input_image":
            return _read_image(part)
        case "input_file":
            return _read_file(part)
        case kind if kind in _TEXT_TYPES:
            return Text(text=part.text("text"))
        case other:
            raise part.error("type", f"{other!r} is none of input_text, input_image, input_file")


def _read_image(part: Fields) -> Part:
    url = part.optional_text("image_url")
    if not url:
        return Opaque(vendor=VENDOR, data=part.data)  # an image that only the vendor has
    detail = part.optional_text("detail")
    extra = _build_extra({"detail": detail} if detail not in ("", "auto") else {})
    if not url.startswith("data:"):
        return Media(mime=guess_image_type(url, "image/*"), url=url, extra=extra)
    return _read_data_url(part, "image_url", extra)


def _read_file(part: Fields) -> Part:
    name = part.optional_text("filename") or None
    guessed = mimetypes.guess_type(name or part.optional_text("file_url"))[0]
    if url := part.optional_text("file_url"):
        return Media(mime=guessed or "application/pdf", url=url, name=name)
    data = part.optional_text("file_data")
    if not data:
        return Opaque(vendor=VENDOR, data=part.data)  # a file that only the vendor has
    if data.startswith("data:"):
        return _read_data_url(part, "file_data", None, name)
    if (content := decode_base64(data)) is None:
        raise part.error("file_data", "neither a data URL nor base64")
    return Media(mime=guessed or "application/octet-stream", data=content, name=name)


def _read_data_url(part: Fields, field: str, extra: Extra | None, name: str | None = None) -> Media:
    if (decoded := decode_data_url(part.text(field))) is None:
        raise part.error(field, "not a valid data URL")
    mime, data = decoded
    return Media(mime=mime, data=data, extra=extra, name=name)


def _build_extra(data: dict[str, Any]) -> Extra | None:
    return Extra(vendor=VENDOR, data=data) if data else None
