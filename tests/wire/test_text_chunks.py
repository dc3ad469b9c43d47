"""Chunks that differ only in their text are read without parsing them, and to the same answer."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolspeak.messages import Text
from toolspeak.pieces import TextDelta
from toolspeak.wire.openai_chat.client_answer import Decoder
from toolspeak.wire.openai_chat.text_chunks import TextChunks

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
    chunks = TextChunks()
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
    chunks = TextChunks()
    data = '{"content":"a","choices":[{"delta":{"content":"a"}}]}'
    chunks.learn(data, "a")
    assert chunks.read(data) is None
