"""Streams that are cut, chopped or full of garbage: nothing is taken for whole that is not, and nothing is lost."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case, sample
from tests.wire.reading import CLIENT_WIRES, GARBAGE, ODDITIES, STREAMS, assert_told, frame, frame_end, read_stream
from toolspeak.values.messages import Text, Thinking
from toolspeak.values.pieces import ApiCall

ENDS = {
    "openai": b'"finish_reason":"tool_calls"}]}',
    "anthropic": b'"stop_reason":"tool_use"',
    "openai-responses": b'data: {"type":"response.completed"',
    "ollama": b'"done":true',
    "gemini": b'"finishReason":"STOP"',
}
"""What a stream holds once its message is over."""


@pytest.fixture(params=CLIENT_WIRES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def said(parts: Any, sort: type[Any]) -> str:
    return "".join(part.text for part in parts if isinstance(part, sort))


def test_a_stream_cut_at_every_byte(name: str):
    wire, stream = CLIENT_WIRES[name], STREAMS[name]
    _, decoder = read_stream(wire, [stream])
    whole = decoder.close()
    calls = [part for part in whole.parts if isinstance(part, ApiCall)]
    end = stream.index(ENDS[name]) + len(ENDS[name])
    for cut in sample(range(len(stream)), 300):
        pieces, decoder = read_stream(wire, [stream[:cut]])
        answer = decoder.close()
        assert_told(pieces, answer)
        assert decoder.skipped <= 1
        assert said(whole.parts, Text).startswith(said(answer.parts, Text))
        assert said(whole.parts, Thinking).startswith(said(answer.parts, Thinking))
        if decoder.ended:
            assert cut >= end
            assert (answer.parts, answer.finish) == (whole.parts, whole.finish)
        else:
            assert answer.finish == "error"
            heard = [part for part in answer.parts if isinstance(part, ApiCall)]
            for part, true in zip(heard, calls, strict=False):
                assert (part.id, part.name) == (true.id, true.name)
                assert true.arguments.startswith(part.arguments)


def test_a_stream_split_at_every_byte(name: str):
    wire, stream = CLIENT_WIRES[name], STREAMS[name]
    pieces, decoder = read_stream(wire, [stream])
    for cut in sample(range(len(stream)), 300):
        split, again = read_stream(wire, [stream[:cut], stream[cut:]])
        assert again.close() == decoder.close()
        assert again.skipped == 0
        assert_told(split, decoder.close())
    bytewise, again = read_stream(wire, [stream[at : at + 1] for at in range(len(stream))])
    assert again.close() == decoder.close()
    assert_told(bytewise, decoder.close())
    assert len(pieces) < len(bytewise)


@each_case("garbage", GARBAGE)
def test_garbage_is_skipped_and_counted(name: str, garbage: str):
    wire, stream = CLIENT_WIRES[name], STREAMS[name]
    _, decoder = read_stream(wire, [stream])
    bad, end = frame(name, garbage), frame_end(name)
    littered = bad + stream.replace(end, end + bad)
    _, again = read_stream(wire, [littered])
    assert again.close() == decoder.close()
    assert again.skipped == littered.count(bad)
    assert again.ended


@each_case("odd", ODDITIES)
def test_odd_objects_change_nothing(name: str, odd: str):
    wire, stream = CLIENT_WIRES[name], STREAMS[name]
    _, decoder = read_stream(wire, [stream])
    added, end = frame(name, odd), frame_end(name)
    _, again = read_stream(wire, [added + stream.replace(end, end + added, 5)])
    assert again.close() == decoder.close()
    assert again.skipped == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "choices delta message content tool_calls function name arguments index id usage finish_reason type text "
                "content_block input partial_json thinking signature stop_reason reasoning_details prompt_tokens_details "
                "citations citation refusal function_call annotations item output response status call_id summary part "
                "namespace encrypted_content candidates parts thought thoughtSignature functionCall args inlineData mimeType "
                "data promptFeedback blockReason finishReason usageMetadata".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


RESPONSES_EVENTS = (
    "output_item.added content_part.added output_text.delta output_text.done reasoning_text.delta "
    "reasoning_summary_text.delta function_call_arguments.delta function_call_arguments.done "
    "custom_tool_call_input.delta custom_tool_call_input.done refusal.delta output_item.done"
).split()
RESPONSES_ITEMS = ("message", "reasoning", "function_call", "custom_tool_call")


@given(st.lists(JSON, max_size=6), st.sampled_from(sorted(CLIENT_WIRES)))
def test_nothing_that_is_json_breaks_a_decoder(values: list[Any], name: str):
    decoder = CLIENT_WIRES[name].Decoder()
    pieces = decoder.feed_all([json.dumps(value) for value in values])
    for index, value in enumerate(values):
        for sort in ("content_block_start", "content_block_delta", "content_block_stop", "message_delta"):
            block = {"type": sort, "index": index, "delta": value, "content_block": value, "usage": value}
            pieces += decoder.feed(json.dumps(block))
        for sort in RESPONSES_EVENTS:
            event = {"output_index": index, "delta": value, "text": value, "part": value, "input": value}
            event |= {"item": {"type": RESPONSES_ITEMS[index % 4], **value} if isinstance(value, dict) else value}
            pieces += decoder.feed(json.dumps({**event, "type": f"response.{sort}"}))
        pieces += decoder.feed(json.dumps({"message": value, "done": value}))
        pieces += decoder.feed(json.dumps({"choices": [{"delta": value, "finish_reason": value}], "usage": value}))
        content = {"content": {"parts": [value, {"functionCall": value}, {"inlineData": value}, {"text": value}]}}
        pieces += decoder.feed(json.dumps({"candidates": [content, value], "usageMetadata": value}))
    pieces += decoder.feed("[DONE]")
    assert_told(pieces, decoder.close())
