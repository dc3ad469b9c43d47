"""Client side and server side joined: what goes in at one end comes out at the other."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.conversations import (
    TOOLS,
    answers,
    body_of,
    conversations,
    everything,
    read_back,
    tellings,
    tools_of,
    understood,
    without_ids,
)
from tests.wire.reading import WIRES, assert_told, read_stream
from toolspeak.values.events import AUTO, ArgsDelta, CallReady, CallStarted, Event, TextDelta, ToolChoice, TurnEnded
from toolspeak.values.messages import Call, Message, Text, ToolCall, user
from toolspeak.wire.chat_request import ChatRequest

CHOICES = [
    AUTO,
    ToolChoice(mode="none"),
    ToolChoice(mode="required"),
    ToolChoice(mode="named", names=("now",)),
]

BOTH = st.sampled_from(sorted(WIRES))


def encoder(wire: Any) -> Any:
    tools = tools_of(wire.VENDOR)
    asking = {"thinking": {"type": "enabled"}, "thinkingConfig": {"includeThoughts": True}}  # for reasoning
    request = ChatRequest(model="a-model", messages=(), tools=tools, extra=asking)
    return wire.Encoder("a-model", id="answer_1", created=1_700_000_000, include_usage=True, request=request)


@given(st.data(), BOTH)
def test_a_request_is_read_as_it_was_meant(data: st.DataObject, name: str):
    wire = WIRES[name]
    messages = data.draw(conversations(name))
    stream = data.draw(st.booleans())
    request = ChatRequest(
        model="a-model",
        messages=messages,
        tools=tools_of(name),
        choice=data.draw(st.sampled_from(CHOICES)),
        parallel=data.draw(st.booleans()),
        stream=stream,
        include_usage=name != "openai" or (stream and data.draw(st.booleans())),
        max_tokens=data.draw(st.integers(1, 9999)),
        temperature=data.draw(st.none() | st.floats(0, 1)),
        top_p=data.draw(st.none() | st.floats(0, 1)),
        stop=() if name == "openai-responses" else data.draw(st.sampled_from([(), ("a",), ("a", "b")])),
        extra=data.draw(st.sampled_from([None, {"metadata": {"user_id": "1"}}])),
    )
    read = read_back(wire, request)
    if name == "gemini":
        request = replace(request, parallel=True)  # it has no field for it
    if request.choice.mode == "none" and name == "anthropic":
        request = replace(request, parallel=True)  # Anthropic has no field for it where no call is allowed
    assert read == request


@given(st.data(), BOTH)
def test_a_streamed_answer_is_read_as_it_was_told(data: st.DataObject, name: str):
    wire = WIRES[name]
    said, events = data.draw(tellings(name))
    ended = events[-1]
    assert isinstance(ended, TurnEnded)
    speaking = encoder(wire)
    stream = speaking.start() + told(speaking, events, data.draw(st.integers(1, 9)))
    size = data.draw(st.integers(1, 200))
    pieces, decoder = read_stream(wire, [stream[at : at + size] for at in range(0, len(stream), size)])
    answer = decoder.close()
    assert_told(pieces, answer)
    assert (decoder.ended, decoder.skipped) == (True, 0)
    assert without_ids(understood(answer.parts)) == without_ids(said.parts)
    assert answer.finish == (ended.finish if ended.finish != "closed" else "stop")
    assert answer.usage == ended.usage


def told(speaking: Any, events: list[Event], size: int) -> bytes:
    return b"".join(speaking.feed(events[at : at + size]) for at in range(0, len(events), size))


@given(st.data(), BOTH)
def test_a_plain_answer_is_read_as_it_was_told(data: st.DataObject, name: str):
    wire = WIRES[name]
    said, events = data.draw(tellings(name))
    ended = events[-1]
    assert isinstance(ended, TurnEnded)
    answer = wire.read_response(json.loads(json.dumps(encoder(wire).response(said, ended.finish, ended.usage))))
    assert understood(answer.parts) == said.parts
    assert answer.finish == (ended.finish if ended.finish != "closed" else "stop")
    assert answer.usage == ended.usage


@given(st.data(), BOTH)
def test_an_answer_goes_back_as_it_came(data: st.DataObject, name: str):
    """What a client of ours heard, and sends back in the next request, is what a server of ours reads."""
    wire = WIRES[name]
    said = data.draw(answers(name))
    heard = Message(role="assistant", parts=understood(wire.read_response(encoder(wire).response(said, "stop")).parts))
    body = body_of(wire, [*data.draw(conversations(name)), heard, user("Go on.")])
    assert wire.read_request(json.loads(json.dumps(body)), "/models/m:generateContent").messages[-2] == said


@pytest.mark.parametrize("name", WIRES)
def test_interleaved_calls_keep_apart(name: str):
    one = ToolCall(id="call_1", name="now", arguments={"a": 1})
    two = ToolCall(id="call_2", name="now", arguments={"b": 2})
    said = Message(role="assistant", parts=(Text(text="Hi"), Call(call=one), Call(call=two)))
    events: list[Event] = [
        TextDelta(text="Hi"),
        CallStarted(call_id="call_1", name="now"),
        ArgsDelta(call_id="call_1", text='{"a":'),
        CallStarted(call_id="call_2", name="now"),
        ArgsDelta(call_id="call_2", text='{"b": 2}'),
        CallReady(call=two),
        ArgsDelta(call_id="call_1", text=" 1}"),
        CallReady(call=one),
        TurnEnded(message=said, finish="tool_calls"),
    ]
    speaking = encoder(WIRES[name])
    _, decoder = read_stream(WIRES[name], [speaking.start(), speaking.feed(events)])
    assert without_ids(understood(decoder.close().parts)) == said.parts


@pytest.mark.parametrize("name", WIRES)
def test_one_side_of_one_api_speaks_to_the_other_side_of_the_other(name: str):
    """A gateway: what is asked in one API is asked in the other."""
    other = next(wire for key, wire in WIRES.items() if key != name)
    body = body_of(WIRES[name], everything(name), tools=TOOLS)
    asked = WIRES[name].read_request(json.loads(json.dumps(body)), "/models/m:generateContent")
    again = read_back(other, asked)
    assert again.tools == TOOLS
    calls = [call for message in again.messages for call in message.calls]
    assert [(call.id, call.name, call.arguments) for call in calls] == [("call_1", "get_weather", {"city": "Köln"}), ("call_2", "now", {})]  # fmt: skip
    assert replace(again, messages=()) == replace(asked, messages=(), max_tokens=again.max_tokens, include_usage=again.include_usage)  # fmt: skip
