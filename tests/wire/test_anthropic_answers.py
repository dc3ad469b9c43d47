"""Answers of the messages API: blocks in their order, each as it must go back."""

import json
from typing import Any

import pytest

from tests.wire.reading import STREAMS, assert_told, read_stream
from toolspeak.values.errors import EndpointDown, ModelError, ProviderError, RateLimited
from toolspeak.values.events import TextDelta, ThinkingDelta, Usage
from toolspeak.values.messages import Extra, Opaque, Text, Thinking
from toolspeak.values.pieces import ApiCall, CallPiece
from toolspeak.wire import anthropic_messages
from toolspeak.wire.anthropic_messages import Decoder, read_response

CITATION = {
    "type": "web_search_result_location", "url": "https://example.org", "title": "Köln", "encrypted_index": "eQ==", "cited_text": "Rhein",
}  # fmt: skip
FOUND = [
    {"type": "web_search_result", "url": "https://example.org", "title": "Köln", "encrypted_content": "eA==", "page_age": None}
]  # fmt: skip
BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "Two towns – one search.", "signature": "c2lnbmVk"},
    {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Köln"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": FOUND},
    {"type": "text", "text": "Köln liegt am Rhein 🙂.", "citations": [CITATION]},
    {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Köln"}},
    {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
]


def own(**data: Any) -> Extra:
    return Extra(vendor="anthropic", data=data)


def test_the_recorded_stream():
    pieces, decoder = read_stream(anthropic_messages, [STREAMS["anthropic"]])
    assert pieces == [
        ThinkingDelta(text="Two towns – one search."),
        TextDelta(text="Köln liegt am Rhein 🙂."),
        CallPiece(index=0, id="toolu_1", name="weather", arguments='{"city":"Köln"}'),
        CallPiece(index=1, id="toolu_2", name="now", arguments="{}"),
    ]
    answer = decoder.close()
    assert answer.parts == (
        Thinking(text="Two towns – one search.", extra=own(signature="c2lnbmVk")),
        Opaque(vendor="anthropic", data=BLOCKS[1]),
        Opaque(vendor="anthropic", data=BLOCKS[2]),
        Opaque(vendor="anthropic", data=BLOCKS[3]),
        Text(text="Köln liegt am Rhein 🙂.", extra=own(citations=[CITATION])),
        ApiCall(index=0, id="toolu_1", name="weather", arguments='{"city":"Köln"}'),
        ApiCall(index=1, id="toolu_2", name="now", arguments="{}"),
    )
    usage = Usage(input_tokens=40, output_tokens=50, cached_tokens=8, cache_write_tokens=2)
    assert (answer.finish, answer.usage) == ("tool_calls", usage)
    assert (decoder.ended, decoder.reason, decoder.skipped) == (True, "tool_use", 0)
    assert_told(pieces, answer)


def test_a_plain_answer_is_the_streamed_one():
    usage = {"input_tokens": 30, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 8, "output_tokens": 50}
    body = {"type": "message", "role": "assistant", "content": BLOCKS, "stop_reason": "tool_use", "usage": usage}
    _, decoder = read_stream(anthropic_messages, [STREAMS["anthropic"]])
    plain, streamed = read_response(body), decoder.close()
    assert (plain.finish, plain.usage) == (streamed.finish, streamed.usage)
    for one, other in zip(plain.parts, streamed.parts, strict=True):
        if isinstance(one, ApiCall):  # what the stream spelled out, the plain answer has as an object
            assert isinstance(other, ApiCall)
            assert json.loads(one.arguments) == json.loads(other.arguments)
            assert (one.index, one.id, one.name, one.extra) == (other.index, other.id, other.name, other.extra)
        else:
            assert one == other


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("refusal", "refused"),
        ("model_context_window_exceeded", "length"), ("pause_turn", "length"), ("tool_use", "stop"), ("new", "stop"),
    ],
)  # fmt: skip
def test_how_a_message_ended(reason: str, finish: str):
    body = {"content": [{"type": "text", "text": "a"}], "stop_reason": reason}
    assert read_response(body).finish == finish
    decoder = Decoder()
    decoder.feed(json.dumps({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {}}))
    assert (decoder.ended, decoder.reason, decoder.close().finish) == (True, reason, finish)


def events(*given: dict[str, Any]) -> list[str]:
    return [json.dumps(event) for event in given]


def test_a_block_that_was_cut_is_not_taken_for_a_whole_one():
    decoder = Decoder()
    decoder.feed_all(
        events(
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " there"}},
            {"type": "content_block_start", "index": 1, "content_block": BLOCKS[2]},
            {"type": "content_block_start", "index": 2, "content_block": BLOCKS[6]},
        )
    )
    answer = decoder.close()
    assert answer.parts == (Text(text="Hi there"), ApiCall(index=0, id="toolu_2", name="now", arguments=""))
    assert (decoder.ended, answer.finish, answer.usage) == (False, "error", None)


def test_calls_may_be_interleaved_and_given_whole():
    decoder = Decoder()
    pieces = decoder.feed_all(
        events(
            {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}}},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "b", "name": "g", "input": {"y": 2}}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"x"'}},
            {"type": "content_block_stop", "index": 1},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ":1}"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_stop"},
        )
    )  # fmt: skip
    answer = decoder.close()
    assert [(part.id, part.arguments) for part in answer.parts if isinstance(part, ApiCall)] == [
        ("a", '{"x":1}'),
        ("b", '{"y":2}'),
    ]
    assert answer.finish == "tool_calls"
    assert_told(pieces, answer)


def test_who_called_goes_back_with_the_call():
    block = {**BLOCKS[5], "caller": {"type": "direct"}}
    (part,) = read_response({"content": [block]}).parts
    assert isinstance(part, ApiCall)
    assert part.extra == own(caller={"type": "direct"})


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, RateLimited, "Overloaded (overloaded_error)"),
        ({"type": "rate_limit_error", "message": "Slow down"}, RateLimited, "Slow down (rate_limit_error)"),
        ({"type": "api_error", "message": "Internal"}, EndpointDown, "Internal (api_error)"),
        ({"type": "invalid_request_error", "message": "Too long"}, ProviderError, "Too long (invalid_request_error)"),
    ],
)
def test_an_error_in_a_stream(error: dict[str, Any], kind: type[ModelError], said: str):
    decoder = Decoder()
    given = events(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "partial"}},
        {"type": "error", "error": error},
    )
    with pytest.raises(kind) as raised:
        decoder.feed_all(given)
    assert (type(raised.value), str(raised.value)) == (kind, said)
    assert decoder.close().parts == (Text(text="partial"),)
    with pytest.raises(kind):
        read_response({"type": "error", "error": error})


@pytest.mark.parametrize("body", [None, [], "x", {}, {"content": "text"}])
def test_what_is_no_answer_is_an_error(body: Any):
    with pytest.raises(ProviderError):
        read_response(body)
