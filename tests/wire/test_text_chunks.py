"""Chunks that differ only in their text are read without parsing them, and to the same answer."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.values.messages import Text
from toolspeak.values.pieces import ApiCall, TextDelta
from toolspeak.wire.openai_chat.client import Decoder, TextChunks

texts = st.text(st.sampled_from('ab"\\\né😀\ud800{}:,'), max_size=6) | st.just('"content": "x"')
deltas = texts.map(lambda text: {"content": text}) | texts.map(lambda text: {"role": "assistant", "content": text})
chunks = st.tuples(
    deltas, st.sampled_from(({}, {"logprobs": None}, {"content": "other"})), st.booleans(), st.booleans()
)


def write_chunk(delta: dict[str, str], further: dict[str, Any], ascii_only: bool, compact: bool) -> str:
    chunk = {"id": "c", "choices": [{"index": 0, "delta": delta, **further}], "model": "m"}
    return json.dumps(chunk, ensure_ascii=ascii_only, separators=(",", ":") if compact else None)


@given(st.lists(chunks, max_size=12))
def test_every_text_of_a_stream_is_read(stream: list[tuple[dict[str, str], dict[str, Any], bool, bool]]) -> None:
    decoder = Decoder()
    pieces = [piece for chunk in stream for piece in decoder.feed(write_chunk(*chunk))]
    written = "".join(delta["content"] for delta, *_ in stream)
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == written
    assert "".join(part.text for part in decoder.close().parts if isinstance(part, Text)) == written


def test_a_chunk_that_differs_in_more_than_its_text_is_not_read() -> None:
    chunks = TextChunks("content")
    first = '{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}'
    chunks.learn(first, "a")
    assert chunks.read(first.replace('"a"', r'"b\n"')) == "b\n"
    for other in (
        first.replace("null", '"stop"'),
        first.replace('"a"', '"a","refusal":"no"'),
        first.replace('"a"', '"a'),
        first.replace('"a"', "null"),
        first.replace('"a"', '"a" '),
    ):
        assert chunks.read(other) is None, other


def test_a_chunk_with_the_key_twice_is_not_remembered() -> None:
    chunks = TextChunks("content")
    data = '{"content":"a","choices":[{"delta":{"content":"a"}}]}'
    chunks.learn(data, "a")
    assert chunks.read(data) is None


# The arguments of calls

JsonObjects = st.SearchStrategy[dict[str, Any]]


def write_beginning(index: int, name: str, text: str) -> dict[str, Any]:
    return {"index": index, "id": f"{name}{index}", "function": {"name": name, "arguments": text}}


def write_calls(calls: list[dict[str, Any]], **further: str) -> dict[str, Any]:
    return {"tool_calls": calls, **further}


arguments: JsonObjects = texts.map(lambda text: {"arguments": text})
further_pieces: JsonObjects = st.fixed_dictionaries(
    {"index": st.integers(0, 1), "function": arguments},
    optional={"id": st.sampled_from(["c1", "c2"]), "type": st.just("function"), "more": st.just(1)},
)
first_pieces: JsonObjects = st.builds(write_beginning, st.integers(0, 1), st.sampled_from(["f", "g"]), texts)
call_pieces = st.lists(first_pieces | further_pieces | further_pieces, min_size=1, max_size=2)
call_deltas: JsonObjects = st.builds(write_calls, call_pieces) | st.builds(write_calls, call_pieces, content=texts)
call_chunks = st.tuples(
    call_deltas | deltas,
    st.sampled_from(({}, {"logprobs": None}, {"finish_reason": None}, {"finish_reason": "tool_calls"})),
    st.booleans(),
    st.just(True),
)


@given(st.lists(call_chunks, max_size=12))
def test_calls_are_the_same_however_their_chunks_are_written(
    stream: list[tuple[dict[str, Any], dict[str, Any], bool, bool]],
) -> None:
    """Blanks before each chunk, one more each time, make sure that no chunk begins as another one does."""
    decoder, plain = Decoder(), Decoder()
    written = [write_chunk(*chunk) for chunk in stream]
    pieces = [piece for data in written for piece in decoder.feed(data)]
    assert pieces == [piece for place, data in enumerate(written) for piece in plain.feed(" " * (place + 1) + data)]
    assert decoder.close() == plain.close()


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [
        ([(0, "f"), (0, ""), (0, ""), (0, "g"), (0, ""), (0, "")], ["12", "45"]),
        ([(0, "f"), (0, ""), (0, ""), (1, "g"), (1, ""), (1, "")], ["12", "45"]),
        ([(0, "f"), (0, ""), (1, "g"), (0, ""), (1, ""), (0, "")], ["135", "4"]),
    ],
    ids=["each numbered 0", "one after the other", "by turns"],
)
def test_the_arguments_of_two_calls_are_kept_apart(pieces: list[tuple[int, str]], arguments: list[str]) -> None:
    decoder = Decoder()
    for place, (index, name) in enumerate(pieces):
        function = {"name": name, "arguments": ""} if name else {"arguments": str(place)}
        decoder.feed(json.dumps({"choices": [{"delta": {"tool_calls": [{"index": index, "function": function}]}}]}))
    calls = [part for part in decoder.close().parts if isinstance(part, ApiCall)]
    assert [call.arguments for call in calls] == arguments
