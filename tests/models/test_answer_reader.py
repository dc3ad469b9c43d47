"""Hearing an answer: however it is cut into chunks, and whatever it is."""

import gzip
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.models.answer_reader import AnswerReader
from toolspeak.values.errors import ProviderError
from toolspeak.values.events import TextDelta, ThinkingDelta
from toolspeak.values.pieces import Answer, CallPiece

from .asking import answer, at
from .recorded import RECORDED, STREAMS, events, read_simply
from .server import WIRES, Api, Server, answers, streams


def read_answer(api: Api, chunks: Sequence[bytes], *, streamed: bool = True) -> tuple[Any, ...]:
    """All that was told of an answer, however it was told."""
    wire = WIRES[api]
    reader = AnswerReader(wire, streamed=streamed)
    pieces: list[Any] = []
    for chunk in chunks:
        if reader.failure is None:
            pieces += reader.feed(chunk)
    pieces += reader.close() if reader.failure is None else []
    said = {
        sort: "".join(piece.text for piece in pieces if isinstance(piece, sort)) for sort in (TextDelta, ThinkingDelta)
    }
    calls: dict[int, str] = {}
    for piece in pieces:
        if isinstance(piece, CallPiece):
            calls[piece.index] = calls.get(piece.index, "") + piece.arguments
    whole = pieces[-1] if pieces and isinstance(pieces[-1], Answer) else None
    assert (whole is not None) == (reader.ended and reader.failure is None)
    return *said.values(), calls, whole, reader.started, reader.ended, repr(reader.failure)


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(bounds)]


PLACES = st.lists(st.integers(0, 5000), max_size=8)
GARBAGE = st.sampled_from(
    [
        b": x\n\n",
        b"data: {\n\n",
        b"\xff\xfe\n",
        b"data: 7\n\n",
        b"\r\n",
        b"<p>\n\n",
        events({"error": {"message": "no"}}),
        events({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}),
    ]
)


@given(
    st.sampled_from(STREAMS), st.integers(0, 5000), PLACES, st.lists(st.tuples(st.integers(0, 40), GARBAGE), max_size=3)
)
def test_chunks_make_no_difference(
    stream: tuple[Api, str], end: int, places: list[int], garbage: list[tuple[int, bytes]]
):
    api, name = stream
    parts = RECORDED[api][name].split(b"\n\n")
    for place, rubbish in garbage:
        parts.insert(place % len(parts), rubbish.rstrip(b"\n"))
    data = b"\n\n".join(parts)[: end or None]
    whole = read_answer(api, [data])
    assert read_answer(api, cut(data, places)) == whole
    assert read_answer(api, cut(data, places), streamed=False)[3] == whole[3] or not data.lstrip().startswith(
        (b"data:", b"event:")
    )
    if not garbage:
        expected = read_simply(api, data)
        assert (whole[0], whole[5]) == (expected.text, expected.ended)


BYTES = st.binary(max_size=200) | st.lists(
    st.sampled_from([b"data:", b" ", b"{", b"}", b'"', b"error", b":", b"choices", b"[", b"]", b"\n", b"\r", b"null", b"\xff", b"type"])
).map(b"".join)  # fmt: skip


@given(st.sampled_from(["openai", "anthropic"]), BYTES, PLACES, st.booleans())
def test_whatever_it_is_it_has_an_end(api: Api, data: bytes, places: list[int], streamed: bool):
    assert read_answer(api, cut(data, places), streamed=streamed) == read_answer(api, [data], streamed=streamed)


# Limits

MEGABYTE = b"x" * (1 << 20)


def feed_until_failure(reader: AnswerReader, first: bytes, chunk: bytes) -> int:
    """Feed the same chunk again and again, as an endless answer does; return how often it was taken."""
    reader.feed(first)
    count = 0
    while reader.failure is None:
        reader.feed(chunk)
        count += 1
    assert reader.close() == []
    return count


@pytest.mark.parametrize(
    ("first", "chunk", "streamed", "chunks", "problem"),
    [
        (b"data: ", MEGABYTE, True, 16, "a line of the answer is longer than 16,777,216 bytes"),
        (b"", MEGABYTE[:-1] + b"\n", True, 65, "the answer is longer than 67,108,864 bytes"),
        (b"", b"data: " + MEGABYTE[:-7] + b"\n", True, 65, "the answer is longer than 67,108,864 bytes"),
        (b"{", MEGABYTE, False, 64, "the answer is longer than 67,108,864 bytes"),
    ],
    ids=["line", "lines", "event", "whole"],
)
def test_an_answer_without_end_is_given_up(first: bytes, chunk: bytes, streamed: bool, chunks: int, problem: str):
    wire = WIRES["openai"]
    reader = AnswerReader(wire, streamed=streamed)
    assert feed_until_failure(reader, first, chunk) == chunks
    assert str(reader.failure) == problem


def test_a_stream_that_is_labelled_as_a_whole_answer_has_the_same_limit():
    wire = WIRES["openai"]
    reader = AnswerReader(wire, streamed=False)
    for chunk in (b"data: ", *[MEGABYTE] * 17):
        reader.feed(chunk)
    assert reader.close() == []
    assert "a line of the answer is longer than" in str(reader.failure)


def test_the_error_names_the_endpoint(server: Server):
    server.plays(streams(b"data: ", *[MEGABYTE] * 40))
    with pytest.raises(ProviderError, match=r"home at http://.*: a line of the answer is longer than 16,777,216 bytes"):
        answer(at(server))
    assert len(server.posts) == 1  # the same would come again


def test_of_an_error_only_the_beginning_is_read(server: Server):
    server.plays(answers(400, gzip.compress(b"no " + b"x" * (64 << 20)), content_encoding="gzip"))
    with pytest.raises(ProviderError, match="answered 400: no xxx") as caught:
        answer(at(server))
    assert len(str(caught.value)) < 70_000
