"""Ollama's own API: the client side, joined with a server of the tests."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.conversations import (
    ARGUMENTS,
    NOTES,
    PDF,
    PHOTO,
    PNG,
    SOUND,
    TEXTS,
    TOOLS,
    body_of,
    call,
    everything,
    message,
    result,
    understood,
)
from tests.wire.ollama_server import read_messages, write_answer, write_stream
from tests.wire.reading import assert_told, read_stream
from toolspeak.values.errors import ContextExceeded, EndpointDown, ModelError, ProviderError
from toolspeak.values.events import FinishReason, TextDelta, ToolChoice, Usage
from toolspeak.values.messages import Call, Extra, Media, Message, Part, Result, Text, Thinking, ToolCall, system, user
from toolspeak.values.pieces import ApiCall
from toolspeak.wire import ollama_chat
from toolspeak.wire.chat_request import Quirks

OWN = Extra(vendor="ollama", data={"field": "thinking"})


@st.composite
def answers(draw: st.DrawFn, first_id: int = 0) -> Message:
    parts: list[Part] = []
    if draw(st.booleans()):
        parts.append(Thinking(text=draw(TEXTS), extra=OWN))
    count = draw(st.integers(0, 3))
    if draw(st.booleans()) or not count:
        parts.append(Text(text=draw(TEXTS)))
    for number in range(first_id, first_id + count):
        name = draw(st.sampled_from([tool.name for tool in TOOLS]))
        parts.append(Call(call=ToolCall(id=f"call_{number}", name=name, arguments=draw(ARGUMENTS))))
    return Message(role="assistant", parts=tuple(parts))


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages = [system(draw(TEXTS))] if draw(st.booleans()) else []
    image = Media(mime="image/png", data=draw(st.binary(min_size=1, max_size=8)))
    messages.append(message("user", draw(TEXTS), image) if draw(st.booleans()) else user(draw(TEXTS)))
    calls = 0
    for _ in range(draw(st.integers(0, 3))):
        said = draw(answers(calls))
        calls += len(said.calls)
        messages.append(said)
        results = tuple(Result(call_id=each.id, content=(Text(text=draw(TEXTS)),)) for each in said.calls)
        messages.append(Message(role="tool", parts=results) if results else user(draw(TEXTS)))
    return messages


@given(conversations())
def test_a_request_is_read_as_it_was_meant(messages: list[Message]):
    body = json.loads(json.dumps(body_of(ollama_chat, messages, tools=TOOLS)))
    assert read_messages(body) == messages
    assert [tool["function"]["name"] for tool in body["tools"]] == [tool.name for tool in TOOLS]


FINISHES: list[FinishReason] = ["stop", "length"]
USAGES = st.builds(Usage, input_tokens=st.integers(1, 999), output_tokens=st.integers(0, 99))


@given(st.data(), answers(), USAGES, st.sampled_from(FINISHES))
def test_a_streamed_answer_is_read_as_it_was_told(data: st.DataObject, said: Message, usage: Usage, finish: Any):
    stream = write_stream(said, finish, usage, data.draw(st.integers(1, 5)))
    size = data.draw(st.integers(1, 200))
    pieces, decoder = read_stream(ollama_chat, [stream[at : at + size] for at in range(0, len(stream), size)])
    answer = decoder.close()
    assert_told(pieces, answer)
    assert (decoder.ended, decoder.skipped) == (True, 0)
    assert understood(answer.parts) == said.parts
    assert answer.finish == ("tool_calls" if said.calls and finish == "stop" else finish)
    assert answer.usage == usage


@given(answers(), USAGES, st.sampled_from(FINISHES))
def test_a_plain_answer_is_read_as_a_streamed_one(said: Message, usage: Usage, finish: Any):
    answer = ollama_chat.read_response(json.loads(json.dumps(write_answer(said, finish, usage))))
    assert understood(answer.parts) == said.parts
    _, decoder = read_stream(ollama_chat, [write_stream(said, finish, usage, 3)])
    assert decoder.close() == answer


@given(conversations(), answers(100))
def test_an_answer_goes_back_as_it_came(messages: list[Message], said: Message):
    answer = ollama_chat.read_response(write_answer(said, "stop", Usage()))
    heard = Message(role="assistant", parts=understood(answer.parts))
    assert read_messages(body_of(ollama_chat, [*messages, heard, user("Go on.")]))[-2] == said


def test_a_conversation_with_everything():
    written = body_of(ollama_chat, everything("ollama"))["messages"]
    assert [each["role"] for each in written] == [
        *("system", "system", "user", "assistant", "tool", "tool", "user", "assistant", "user", "user")
    ]
    assert written[2]["images"] == ["iVBORw=="]
    assert written[2]["content"] == (
        "What is this?[image/jpeg: https://example.org/photo.jpg][application/pdf, which cannot be shown here]"
        "Straße[audio/wav, which cannot be shown here]"
    )
    calls = [each["function"] for each in written[3]["tool_calls"]]
    assert calls == [{"name": "get_weather", "arguments": {"city": "Köln"}}, {"name": "now", "arguments": {}}]
    assert "thinking" not in written[3]  # it is another vendor's, or nobody's
    assert (written[4]["tool_name"], written[5]["tool_name"]) == ("get_weather", "now")
    assert written[6] == {"role": "user", "content": "From the result of call_1:Be quick.", "images": ["iVBORw=="]}


def test_settings_are_options():
    body = body_of(
        ollama_chat,
        [user("Hi")],
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        seed=7,
        stop=("a",),
        extra={"num_ctx": 8192, "top_k": 3, "think": "low", "keep_alive": "1h", "options": {"mirostat": 1}},
    )
    assert body["options"] == {
        "num_predict": 5,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "stop": ["a"],
        "num_ctx": 8192,
        "top_k": 3,
        "mirostat": 1,
    }
    assert (body["think"], body["keep_alive"], body["stream"]) == ("low", "1h", False)
    assert "num_ctx" not in body


def test_a_conversation_is_never_cut_by_the_server():
    assert {key: body_of(ollama_chat, [user("Hi")])[key] for key in ("truncate", "shift")} == {
        "truncate": False,
        "shift": False,
    }
    assert body_of(ollama_chat, [user("Hi")], extra={"truncate": True})["truncate"] is True


@pytest.mark.parametrize(("effort", "think"), [("none", False), ("high", "high")])
def test_the_effort_of_other_apis_is_how_much_it_thinks(effort: str, think: Any):
    body = body_of(ollama_chat, [user("Hi")], extra={"reasoning_effort": effort})
    assert body["think"] == think
    assert "reasoning_effort" not in body
    assert body_of(ollama_chat, [user("Hi")], extra={"reasoning_effort": effort, "think": True})["think"] is True


def test_tools_and_formats():
    assert "tools" not in body_of(ollama_chat, [user("Hi")], tools=TOOLS, choice=ToolChoice(mode="none"))
    assert "tools" not in body_of(ollama_chat, [user("Hi")], tools=TOOLS, quirks=Quirks(tools=False))
    assert body_of(ollama_chat, [user("Hi")], json_schema={"type": "object"})["format"] == "json"
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert body_of(ollama_chat, [user("Hi")], json_schema=schema)["format"] == schema
    assert "format" not in body_of(ollama_chat, [user("Hi")], json_schema=schema, quirks=Quirks(response_format=False))
    own = {"type": "function", "function": {"name": "theirs"}}
    tools = body_of(ollama_chat, [user("Hi")], tools=TOOLS, extra={"tools": [own]})["tools"]
    assert [tool["function"]["name"] for tool in tools] == ["get_weather", "now", "theirs"]


def test_a_result_without_its_call_has_no_name():
    written = body_of(ollama_chat, [message("tool", result("call_9", "12"))])["messages"]
    assert written == [{"role": "tool", "content": "12", "tool_call_id": "call_9"}]


def test_reasoning_goes_back_only_where_it_is_taken():
    said = message("assistant", Thinking(text="Hm.", extra=OWN), call("call_1", city="Oslo"))
    assert body_of(ollama_chat, [said])["messages"][0]["thinking"] == "Hm."
    assert "thinking" not in body_of(ollama_chat, [said], quirks=Quirks(echo_reasoning=False))["messages"][0]
    assert "thinking" not in body_of(ollama_chat, [said], vendor="work")["messages"][0]


@pytest.mark.parametrize(
    ("media", "reason"),
    [
        (PNG, None),
        (NOTES, None),
        (PHOTO, "takes no images by address; pass the file itself: https://example.org/photo.jpg"),
        (PDF, "takes no PDF documents through Ollama's API, only images and text"),
        (SOUND, "takes no sounds through Ollama's API, only images and text"),
    ],
)
def test_attachments_that_the_api_cannot_carry(media: Media, reason: str | None):
    assert ollama_chat.explain_unsupported(media) == reason


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ("an error was encountered while running the model", EndpointDown, "while running the model"),
        ("the input length exceeds the context length", ContextExceeded, "exceeds the context length"),
        ({"message": "no such model", "code": "not_found"}, ProviderError, "no such model"),
    ],
)
def test_an_error_within_a_stream(error: Any, kind: type[ModelError], words: str):
    decoder = ollama_chat.Decoder()
    assert decoder.feed('{"message":{"content":"Half"},"done":false}') == [TextDelta(text="Half")]
    with pytest.raises(kind, match=words):
        decoder.feed(json.dumps({"error": error}))
    answer = decoder.close()
    assert (answer.parts, answer.finish) == ((Text(text="Half"),), "error")


def test_a_body_that_is_no_answer():
    with pytest.raises(ProviderError, match="it has no message"):
        ollama_chat.read_response({"choices": []})
    with pytest.raises(EndpointDown, match="out of memory"):
        ollama_chat.read_response({"error": "out of memory"})


def test_calls_of_older_servers_have_no_ids_and_counts_may_be_missing():
    function = {"name": "now", "arguments": {}}
    said = {"content": "", "tool_calls": [{"function": function}, {"function": {**function, "index": 0}}, {}]}
    answer = ollama_chat.read_response({"message": said, "done": True})
    calls = tuple(ApiCall(index=index, id="", name="now", arguments="{}") for index in range(2))
    assert (answer.parts, answer.finish, answer.usage) == (calls, "tool_calls", None)
