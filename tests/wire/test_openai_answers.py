"""Answers of chat completions, as OpenAI gives them and as all the others do."""

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.wire.reading import STREAMS, assert_told, read_stream
from toolspeak.values.errors import EndpointDown, ModelError, ProviderError, RateLimited
from toolspeak.values.events import TextDelta, ThinkingDelta, Usage
from toolspeak.values.messages import Extra, Text, Thinking
from toolspeak.values.pieces import ApiCall, CallPiece
from toolspeak.wire import openai_chat


def own(**data: Any) -> Extra:
    return Extra(vendor="openai", data=data)


def call(index: int, call_id: str, name: str, arguments: str, extra: Extra | None = None) -> ApiCall:
    return ApiCall(index=index, id=call_id, name=name, arguments=arguments, extra=extra)


def piece(
    index: int | None, call_id: str | None = None, name: str | None = None, arguments: Any = None
) -> dict[str, Any]:
    """A delta with a piece of a call; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    given = {
        "index": index,
        "id": call_id,
        "function": {key: value for key, value in function.items() if value is not None},
    }
    return {"tool_calls": [{key: value for key, value in given.items() if value is not None}]}


def payload(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


AB = (call(0, "a", "f", '{"x":1}'), call(1, "b", "g", '{"y":2}'))
NO_IDS = (call(0, "", "f", '{"x":1}'), call(1, "", "g", '{"y":2}'))
TWICE = (call(0, "", "f", '{"x":1}'), call(1, "", "f", '{"x":2}'))

DELTAS: dict[str, tuple[list[dict[str, Any]], tuple[Any, ...]]] = {
    "text": ([{"role": "assistant", "content": ""}, {"content": "a"}, {"content": "b"}], (Text(text="ab"),)),
    "role in each": ([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}], (Text(text="ab"),)),
    "reasoning_content": (
        [{"reasoning_content": "t", "content": None}, {"reasoning_content": None, "content": "a"}],
        (Thinking(text="t", extra=own(field="reasoning_content")), Text(text="a")),
    ),
    "reasoning": ([{"reasoning": "t"}, {"content": "a"}], (Thinking(text="t", extra=own(field="reasoning")), Text(text="a"))),
    "reasoning said twice": (
        [{"reasoning": "t", "reasoning_content": "t"}],
        (Thinking(text="t", extra=own(field="reasoning_content")),),
    ),
    "reasoning_details": (
        [
            {"reasoning": "t", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "t"}]},
            {"reasoning": "u", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "u", "signature": "s"}]},
            {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "e"}]},
        ],
        (
            Thinking(
                text="tu",
                extra=own(
                    field="reasoning",
                    reasoning_details=[
                        {"type": "reasoning.text", "index": 0, "text": "tu", "signature": "s"},
                        {"type": "reasoning.encrypted", "index": 1, "data": "e"},
                    ],
                ),
            ),
        ),
    ),
    "reasoning_details alone": (
        [{"reasoning_details": [{"type": "reasoning.text", "text": "t"}]}],
        (Thinking(text="t", extra=own(reasoning_details=[{"type": "reasoning.text", "text": "t"}])),),
    ),
    "blocks": (
        [
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}]},
            {"content": [{"type": "text", "text": "a"}]},
        ],
        (Thinking(text="t", extra=own(field="reasoning_content")), Text(text="a")),
    ),
    "annotations": (
        [{"content": "a"}, {"annotations": [{"n": 1}]}, {"annotations": [{"n": 2}]}],
        (Text(text="a", extra=own(annotations=[{"n": 1}, {"n": 2}])),),
    ),
    "calls": (
        [piece(0, "a", "f", ""), piece(0, arguments='{"x"'), piece(0, arguments=":1}"), piece(1, "b", "g", '{"y":2}')],
        AB,
    ),
    "calls between each other": (
        [piece(0, "a", "f", '{"x"'), piece(1, "b", "g", '{"y"'), piece(0, arguments=":1}"), piece(1, arguments=":2}")],
        AB,
    ),
    "two calls in a delta": (
        [{"tool_calls": [*piece(0, "a", "f", '{"x":1}')["tool_calls"], *piece(1, "b", "g", '{"y":2}')["tool_calls"]]}],
        AB,
    ),
    "no index": ([piece(None, "a", "f", '{"x"'), piece(None, "a", None, ":1}"), piece(None, "b", "g", '{"y":2}')], AB),
    "no index, id once": ([piece(None, "a", "f", '{"x"'), piece(None, None, None, ":1}"), piece(None, "b", "g", '{"y":2}')], AB),
    "no index and no id": ([piece(None, None, "f", '{"x":1}'), piece(None, None, "g", '{"y":2}')], NO_IDS),
    "no index and no id, the same tool": ([piece(None, None, "f", '{"x":1}'), piece(None, None, "f", '{"x":2}')], TWICE),
    "no index and no id, the name in each": (
        [piece(None, None, "f", '{"x"'), piece(None, None, "f", ":1}"), piece(None, None, "g", '{"y":2}')],
        NO_IDS,
    ),
    "index always 0": ([piece(0, "a", "f", '{"x":1}'), piece(0, "b", "g", '{"y":2}')], AB),
    "index always 0, the same tool": (
        [piece(0, "a", "f", '{"x":1}'), piece(0, "b", "f", '{"x":2}')],
        (call(0, "a", "f", '{"x":1}'), call(1, "b", "f", '{"x":2}')),
    ),
    "index always 0, no ids": ([piece(0, None, "f", '{"x":1}'), piece(0, None, "g", '{"y":2}')], NO_IDS),
    "index from 1": ([piece(1, "a", "f", '{"x":1}'), piece(2, "b", "g", '{"y":2}')], AB),
    "no ids": ([piece(0, None, "f", '{"x":1}'), piece(1, None, "g", '{"y":2}')], NO_IDS),
    "id and name in each": (
        [piece(0, "a", "f", '{"x"'), piece(0, "a", "f", ":1}"), piece(1, "b", "g", '{"y":2'), piece(1, "b", "g", "}")],
        AB,
    ),
    "another id in each": ([piece(0, "a", "f", '{"x"'), piece(0, "a2", None, ":1}"), piece(1, "b", "g", '{"y":2}')], AB),
    "a name in pieces": ([piece(0, "a", "get_"), piece(0, None, "weather", ""), piece(0, arguments="{}")], (call(0, "a", "get_weather", "{}"),)),
    "an id that comes late": ([piece(0, None, "f"), piece(0, "a", None, "{}")], (call(0, "a", "f", "{}"),)),
    "no arguments": ([piece(0, "a", "f", ""), piece(1, "b", "g")], (call(0, "a", "f", ""), call(1, "b", "g", ""))),
    "arguments as an object": ([piece(0, "a", "f", {"x": 1}), piece(1, "b", "g", {"y": 2})], AB),
    "arguments as a list": ([piece(0, "a", "f", [1])], (call(0, "a", "f", "[1]"),)),
    "data of a vendor": (
        [{"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}, "extra_content": {"google": {"thought_signature": "s"}}}]}],
        (call(0, "a", "f", "{}", own(extra_content={"google": {"thought_signature": "s"}})),),
    ),
    "function_call": (
        [{"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"arguments": "{}"}}],
        (call(0, "", "f", "{}"),),
    ),
    "text after calls": ([piece(0, "a", "f", "{}"), {"content": "t"}], (Text(text="t"), call(0, "a", "f", "{}"))),
    "a refusal": ([{"refusal": "I "}, {"refusal": "can't."}], (Text(text="I can't.", extra=own(refusal=True)),)),
    "nothing": ([{}], ()),
}  # fmt: skip


@pytest.mark.parametrize(("deltas", "parts"), DELTAS.values(), ids=DELTAS)
def test_a_streamed_answer(deltas: list[dict[str, Any]], parts: tuple[Any, ...]):
    decoder = openai_chat.Decoder()
    pieces = [told for delta in deltas for told in decoder.feed(payload(delta))]
    assert not decoder.ended
    assert decoder.close().finish == "error"
    pieces += decoder.feed(payload({}, "stop"))
    answer = decoder.close()
    assert decoder.ended
    assert answer.parts == parts
    has_calls = any(isinstance(part, ApiCall) for part in parts)
    refused = any(part.extra == own(refusal=True) for part in parts)
    assert answer.finish == ("refused" if refused else "tool_calls" if has_calls else "stop")
    assert_told(pieces, answer)
    together = openai_chat.Decoder()
    joined = together.feed_all([payload(delta) for delta in deltas])
    together.feed(payload({}, "stop"))
    assert together.close() == answer
    assert not any(type(a) is type(b) and not isinstance(a, CallPiece) for a, b in pairwise(joined))


def test_the_recorded_stream():
    pieces, decoder = read_stream(openai_chat, [STREAMS["openai"]])
    assert pieces == [
        ThinkingDelta(text="Two towns – two calls."),
        TextDelta(text="Ich sehe für 東京 nach. 🙂"),
        CallPiece(index=0, id="call_a", name="weather", arguments='{"city":'),
        CallPiece(index=1, id="call_b", name="weather", arguments='{"city":"Köln"'),
        CallPiece(index=0, arguments='"東京"}'),
        CallPiece(index=1, arguments="}"),
    ]
    answer = decoder.close()
    assert answer.parts == (
        Thinking(text="Two towns – two calls.", extra=own(field="reasoning_content")),
        Text(text="Ich sehe für 東京 nach. 🙂"),
        call(0, "call_a", "weather", '{"city":"東京"}'),
        call(1, "call_b", "weather", '{"city":"Köln"}'),
    )
    assert (answer.finish, answer.usage) == ("tool_calls", Usage(input_tokens=40, output_tokens=30, cached_tokens=8))
    assert (decoder.ended, decoder.reason, decoder.skipped) == (True, "tool_calls", 0)


def test_a_plain_answer_is_the_streamed_one():
    message = {
        "role": "assistant",
        "content": "Ich sehe für 東京 nach. 🙂",
        "reasoning_content": "Two towns – two calls.",
        "refusal": None,
        "tool_calls": [
            {"id": "call_a", "type": "function", "function": {"name": "weather", "arguments": '{"city":"東京"}'}},
            {"id": "call_b", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Köln"}'}},
        ],
    }
    body = {
        "id": "chatcmpl-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 8}},
    }
    _, decoder = read_stream(openai_chat, [STREAMS["openai"]])
    assert openai_chat.read_response(body) == decoder.close()


def test_calls_of_a_plain_answer_may_share_an_id():
    calls = [{"id": "a", "function": {"name": name, "arguments": {}}} for name in ("f", "g")]
    answer = openai_chat.read_response({"choices": [{"message": {"tool_calls": calls}}]})
    assert answer.parts == (call(0, "a", "f", "{}"), call(1, "a", "g", "{}"))
    assert (answer.finish, answer.usage) == ("tool_calls", None)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"), ("length", "length"), ("content_filter", "refused"), ("tool_calls", "stop"),
        ("model_length", "length"), ("error", "error"), ("STOP", "stop"), ("eos", "stop"), ("SAFETY", "refused"),
    ],
)  # fmt: skip
def test_how_a_message_ended(reason: str, finish: str):
    decoder = openai_chat.Decoder()
    decoder.feed(payload({"content": "a"}, reason))
    assert (decoder.close().finish, decoder.reason) == (finish, reason)


def test_a_cut_call_keeps_its_finish():
    decoder = openai_chat.Decoder()
    decoder.feed_all([payload(piece(0, "a", "f", '{"x":')), payload({}, "length")])
    assert decoder.close().finish == "length"


def test_done_alone_is_an_end():
    decoder = openai_chat.Decoder()
    pieces = decoder.feed_all([payload({"content": "a"}), payload(piece(0, "a", "f")), "[DONE]"])
    assert pieces == [TextDelta(text="a"), CallPiece(index=0, id="a", name="f")]
    assert (decoder.ended, decoder.close().finish, decoder.skipped) == (True, "tool_calls", 0)


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens": 1, "completion_tokens": 2}, Usage(input_tokens=1, output_tokens=2)),
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 3}, Usage(input_tokens=5, cached_tokens=3)),
        ({"prompt_tokens": None, "completion_tokens": "x"}, Usage()),
        (None, None),
    ],
)
def test_usage(usage: Any, read: Usage | None):
    decoder = openai_chat.Decoder()
    decoder.feed(payload({}, "stop", usage=usage))
    assert decoder.close().usage == read


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        ({"error": {"message": "Out of memory", "type": "server_error"}}, EndpointDown, "Out of memory (server_error)"),
        ({"error": "it broke"}, EndpointDown, "it broke"),
        ({"error": {"code": 502, "message": "Bad", "metadata": {"raw": "upstream died"}}}, EndpointDown, "Bad upstream died"),
        ({"error": {"message": "Slow down", "code": 429}}, RateLimited, "Slow down"),
        ({"error": {"message": "Slow down", "type": "rate_limit_exceeded"}}, RateLimited, "Slow down (rate_limit_exceeded)"),
        ({"error": {"message": "Pay", "code": "insufficient_quota"}}, ProviderError, "Pay (insufficient_quota)"),
        ({"object": "error", "message": "bad schema", "type": "BadRequestError"}, ProviderError, "bad schema (BadRequestError)"),
        ({"error": {"x": 1}}, EndpointDown, "the endpoint reported an error without a cause"),
    ],
)  # fmt: skip
def test_an_error_in_a_stream(error: dict[str, Any], kind: type[ModelError], said: str):
    decoder = openai_chat.Decoder()
    with pytest.raises(kind) as raised:
        decoder.feed_all([payload({"content": "partial"}), json.dumps(error)])
    assert (type(raised.value), str(raised.value)) == (kind, said)
    answer = decoder.close()
    assert (answer.parts, answer.finish) == ((Text(text="partial"),), "error")


@pytest.mark.parametrize("body", [None, [], "x", {}, {"choices": []}, {"error": {"message": "no"}}])
def test_what_is_no_answer_is_an_error(body: Any):
    with pytest.raises(ProviderError):
        openai_chat.read_response(body)
