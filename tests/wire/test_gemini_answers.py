"""Answers in Gemini's API, as its servers send them."""

import json
from typing import Any

import pytest

from tests.wire.reading import STREAMS, read_stream
from toolspeak.values.errors import ModelError, ProviderError, RateLimited
from toolspeak.values.events import CallReady, FinishReason, TextDelta, TurnEnded, Usage
from toolspeak.values.messages import Call, Extra, Media, Message, Opaque, Text, Thinking, ToolCall
from toolspeak.values.pieces import ApiCall
from toolspeak.wire import gemini_content
from toolspeak.wire.chat_request import ChatRequest


def extra(**data: Any) -> Extra:
    return Extra(vendor="gemini", data=data)


def chunk(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **fields}]}


def test_the_recorded_stream():
    _, decoder = read_stream(gemini_content, [STREAMS["gemini"]])
    answer = decoder.close()
    code, output = (
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
    )
    assert answer.parts == (
        Thinking(text="Two towns – one search.", extra=extra(thought=True)),
        Opaque(vendor="gemini", data=code),
        Opaque(vendor="gemini", data=output),
        Text(text="I look in Köln and in Nîmes.", extra=extra(thoughtSignature="dGV4dA==")),
        ApiCall(index=0, id="fc_1", name="get_weather", arguments='{"city":"Köln","days":2}', extra=extra(thoughtSignature="c2lnbmVk")),
        ApiCall(index=1, id="fc_2", name="now", arguments="{}"),
        ApiCall(index=2, id="", name="now", arguments="{}"),
    )  # fmt: skip
    assert (answer.finish, decoder.reason) == ("tool_calls", "STOP")
    assert answer.usage == Usage(input_tokens=40, output_tokens=25, cached_tokens=8, reasoning_tokens=5)


def test_a_signed_text_is_a_part_of_its_own():
    parts = [{"text": "a"}, {"text": "b", "thoughtSignature": "1"}, {"text": "c"}, {"thoughtSignature": "2"}]
    read = gemini_content.read_response(chunk(*parts, {"functionCall": {"name": "f"}}, {"thoughtSignature": "3"}))
    assert read.parts == (
        Text(text="a"),
        Text(text="b", extra=extra(thoughtSignature="1")),
        Text(text="c", extra=extra(thoughtSignature="2")),
        ApiCall(index=0, id="", name="f", arguments="{}"),
        Text(text="", extra=extra(thoughtSignature="3")),
    )


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "refused"),
        ("PROHIBITED_CONTENT", "refused"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("SOMETHING_NEW", "stop"),
    ],
)
def test_why_a_message_ended(reason: str, finish: FinishReason):
    assert gemini_content.read_response(chunk({"text": "x"}, finishReason=reason)).finish == finish


def test_a_blocked_prompt_is_refused():
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}
    answer = gemini_content.read_response(body)
    assert (answer.parts, answer.finish, answer.usage) == ((), "refused", Usage(input_tokens=3))


def test_an_image_and_a_list_of_answers():
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw"}}
    answer = gemini_content.read_response([chunk({"text": "a"}), chunk({"text": "b"}, image, finishReason="STOP")])
    assert answer.parts == (Text(text="ab"), Media(mime="image/png", data=b"\x89PNG"))


def test_errors():
    busy = {"error": {"code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED"}}
    with pytest.raises(RateLimited, match="Quota exceeded"):
        gemini_content.read_response(busy)
    with pytest.raises(ModelError, match=r"Quota exceeded. .RESOURCE_EXHAUSTED.$"):
        gemini_content.Decoder().feed(json.dumps(busy))
    with pytest.raises(ProviderError, match="it has no candidates"):
        gemini_content.read_response({"hello": "world"})


# The server side


def test_calls_are_written_at_the_end_with_their_signatures_and_in_their_place():
    call = ToolCall(id="c1", name="now", arguments={})
    said = Message(role="assistant", parts=(Text(text="ab"), Call(call=call, extra=extra(thoughtSignature="s"))))
    writer = gemini_content.Encoder("m", id="r1")
    first = writer.feed([TextDelta(text="a"), CallReady(call=call), TextDelta(text="b")])
    assert json.loads(first.removeprefix(b"data: "))["candidates"][0]["content"]["parts"] == [{"text": "a"}]
    end = writer.feed([TurnEnded(message=said, finish="tool_calls")]).decode().split("\n\n")
    second, last = [json.loads(event.removeprefix("data: ")) for event in end if event]
    called = {"functionCall": {"id": "c1", "name": "now", "args": {}}, "thoughtSignature": "s"}
    assert second["candidates"][0]["content"]["parts"] == [called]  # each part in an answer of its own
    assert last["candidates"][0]["content"]["parts"] == [{"text": "b"}]
    assert (last["candidates"][0]["finishReason"], last["modelVersion"], last["responseId"]) == ("STOP", "m", "r1")


@pytest.mark.parametrize("texts", [(), ("ab",), ("ab", "cd")])
def test_a_stream_as_an_array(texts: tuple[str, ...]):
    request = ChatRequest(model="m", messages=(), stream=True, stream_form="array")
    writer = gemini_content.Encoder("m", id="r1", request=request)
    assert writer.content_type == "application/json"
    said = Message(role="assistant", parts=(Text(text="".join(texts)),))
    data = writer.start() + b"".join(writer.feed([TextDelta(text=text)]) for text in texts)
    answers = json.loads(data + writer.feed([TurnEnded(message=said, finish="stop")]))
    assert len(answers) == len(texts) + 1
    parts = [part for answer in answers for part in answer["candidates"][0]["content"]["parts"]]
    assert all(part["text"] for part in parts)  # chats of Google's SDKs forget a turn with an empty part
    assert bool(parts) == bool(texts)
    assert gemini_content.read_response(answers).parts == ((Text(text="".join(texts)),) if texts else ())
