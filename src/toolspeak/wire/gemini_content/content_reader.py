"""`ContentReader`: reads the conversation of a request.

Calls and results need not have ids: a call gets one, and a result belongs to the first call of its tool that has none.
Contents of the model that follow each other are one message: clients send an answer that was streamed as its chunks.
"""

from typing import Any

from toolspeak.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking, ToolCall
from toolspeak.wire.fields import Fields
from toolspeak.wire.gemini_content.names import PART_FIELDS, VENDOR, part_data
from toolspeak.wire.json_data import encode_arguments
from toolspeak.wire.media import decode_any_base64, guess_image_type

_TEXT_KEYS = {"output": False, "result": False, "error": True}
"""The keys under which a result is the text of a result, and whether that is an error."""


class ContentReader:
    """Reads the contents of a request. Contents with results become a tool message; other parts follow the results."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}  # the tools of the calls of the last answer, by their ids
        self._answered: set[str] = set()  # those of them that have a result
        self._places: dict[str, int] = {}  # of all calls in the conversation, by their ids
        self._after_user = True

    def read(self, fields: Fields) -> tuple[Message, ...]:
        """Return the messages. Raises `UsageError` that names the wrong field."""
        messages: list[Message] = []
        results: list[Part] = []  # the parts of contents with results that follow each other
        for content in fields.objects("contents", required=True):
            message = self._read_content(content)
            if message.role == "tool":
                results += message.parts
                continue
            if results:
                messages.append(self._build_tool_message(results))
                results = []
            if message.role == "assistant" and messages and messages[-1].role == "assistant":
                message = Message(role="assistant", parts=_join_parts(messages.pop().parts, message.parts))
            messages.append(message)
        if results:
            messages.append(self._build_tool_message(results))
        if not messages:
            raise fields.error("contents", "is empty")
        return tuple(messages)

    def _read_content(self, content: Fields) -> Message:
        match content.optional_text("role"):
            case "model":
                if self._after_user:
                    self._calls, self._answered = {}, set()
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
        if part.value("text") is not None:
            is_thought = part.flag("thought", False)
            return (Thinking if is_thought else Text)(text=part.text("text"), extra=_build_extra(part_data(part.data)))
        return _read_media(part) or Opaque(vendor=VENDOR, data=part.data)

    def _read_call(self, part: Fields, given: Fields) -> Call:
        call_id = given.optional_text("id") or self._make_id()
        self._places[call_id] = len(self._places)
        name = given.text("name")
        self._calls[call_id] = name
        arguments = given.optional_object("args")
        call = ToolCall(id=call_id, name=name, arguments=arguments.data if arguments else {})
        return Call(call=call, extra=_build_extra(part_data(part.data)))

    def _make_id(self) -> str:
        number = len(self._places) + 1
        while (call_id := f"call_{number}") in self._places:
            number += 1
        return call_id

    def _read_user_part(self, part: Fields) -> Part:
        if part.value("functionResponse") is not None:
            return self._read_result(part, part.object("functionResponse"))
        if part.value("text") is not None:
            return Text(text=part.text("text"), extra=_build_extra(part_data(part.data)))
        return _read_media(part) or Opaque(vendor=VENDOR, data=part.data)

    def _read_result(self, part: Fields, given: Fields) -> Result:
        call_id, name = given.optional_text("id"), given.optional_text("name")
        if call_id not in self._calls:
            of_tool = (each for each, tool in self._calls.items() if tool == name and each not in self._answered)
            found = next(of_tool, None)
            if found is None:
                problem = f"the message before has no call {call_id!r}" if call_id else f"no call of {name!r} is open"
                raise given.error("id" if call_id else "name", problem)
            call_id = found
        if call_id in self._answered:
            raise given.error("id", f"the call {call_id!r} has two results")
        self._answered.add(call_id)
        text, is_error, is_plain = _read_response(given)
        data = part_data(part.data) if is_plain else {**part_data(part.data), "response": given.value("response")}
        media = [each for inner in given.objects("parts") if (each := _read_media(inner)) is not None]
        texts = (Text(text=text),) if text or not media else ()
        return Result(call_id=call_id, content=(*texts, *media), is_error=is_error, extra=_build_extra(data))


def _join_parts(before: tuple[Part, ...], after: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts of two chunks of an answer. A text that was split between them is one again."""
    match (*before[-1:], *after[:1]):
        case (Text(text=head, extra=None), Text(text=rest, extra=None)):
            return (*before[:-1], Text(text=head + rest), *after[1:])
        case _:
            return (*before, *after)


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


def _build_extra(data: dict[str, Any]) -> Extra | None:
    return Extra(vendor=VENDOR, data=data) if data else None


def _read_media(part: Fields) -> Media | None:
    """Return the image or file of a part; None if it has none."""
    extra = _build_extra({name: part.data[name] for name in part.data if name in PART_FIELDS})
    if (blob := part.optional_object("inlineData")) is not None:
        data = decode_any_base64(blob.text("data"))
        if not data:
            raise blob.error("data", "not base64" if data is None else "is empty")
        return Media(mime=blob.text("mimeType"), data=data, extra=extra, name=blob.optional_text("displayName") or None)
    if (file := part.optional_object("fileData")) is not None:
        url = file.text("fileUri")
        mime = file.optional_text("mimeType") or guess_image_type(url, "application/octet-stream")
        return Media(mime=mime, url=url, extra=extra, name=file.optional_text("displayName") or None)
    return None
