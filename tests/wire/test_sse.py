"""Server-sent events: any chunking gives the same data, and nothing a server sends along gets in the way."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.wire.framing import SseReader, encode_event

STREAMS = {
    "one line": (b'data: {"a":1}\n\n', ['{"a":1}']),
    "two events": (b"data: a\n\ndata: b\n\n", ["a", "b"]),
    "no space": (b"data:a\n\n", ["a"]),
    "two spaces": (b"data:  a\n\n", [" a"]),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
    "CR": (b"data: a\r\rdata: b\r\r", ["a", "b"]),
    "mixed line ends": (b"data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", ["a", "b", "c"]),
    "byte order mark": (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
    "byte order mark before a comment": (b"\xef\xbb\xbf: hi\ndata: a\n\n", ["a"]),
    "comments": (b": ping\n\ndata: a\n: between\n\n:\n\n", ["a"]),
    "other fields": (b"event: x\nid: 7\nretry: 10\ndata: a\n\n", ["a"]),
    "several lines": (b"data: a\ndata: b\ndata:\n\n", ["a\nb\n"]),
    "data without a colon": (b"data\ndata: a\n\n", ["\na"]),
    "many blank lines": (b"\n\n\ndata: a\n\n\n\ndata: b\n\n\n", ["a", "b"]),
    "no blank line at the end": (b"data: a\n\ndata: b\n", ["a", "b"]),
    "no line end at the end": (b"data: a\n\ndata: b", ["a", "b"]),
    "not a field": (b"database: x\nnonsense\ndata: a\n\n", ["a"]),
    "other scripts": ("data: für 日本 🙂\n\n".encode(), ["für 日本 🙂"]),
    "line ends of Unicode": ("data: a\u2028b\u0085c\x0bd\n\n".encode(), ["a\u2028b\u0085c\x0bd"]),
    "not UTF-8": (b"data: a\xff\n\n", ["a\ufffd"]),
    "nothing": (b"", []),
}


def read(chunks: list[bytes]) -> list[str]:
    reader = SseReader()
    return [data for chunk in chunks for data in reader.feed(chunk)] + reader.close()


@pytest.mark.parametrize(("stream", "payloads"), STREAMS.values(), ids=STREAMS)
def test_a_stream_gives_its_data(stream: bytes, payloads: list[str]):
    assert read([stream]) == payloads
    assert read([stream[at : at + 1] for at in range(len(stream))]) == payloads
    for cut in range(len(stream)):  # also in the middle of a character
        assert read([stream[:cut], b"", stream[cut:]]) == payloads


@given(
    st.lists(st.sampled_from([stream for stream, _ in STREAMS.values()]), max_size=4),
    st.lists(st.integers(1, 12), max_size=40),
)
def test_any_chunking_gives_the_same(streams: list[bytes], sizes: list[int]):
    stream = b"".join(streams)
    chunks: list[bytes] = []
    rest = stream
    for size in sizes:
        chunks.append(rest[:size])
        rest = rest[size:]
    assert read([*chunks, rest]) == read([stream])


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1)), st.sampled_from([None, "message_stop"]))
def test_what_is_encoded_is_read(texts: list[str], event: str | None):
    plain = [text.replace("\r\n", "\n").replace("\r", "\n") for text in texts]
    assert read([encode_event(text, event) for text in texts]) == plain


def test_an_event_is_handed_out_when_it_is_whole():
    reader = SseReader()
    assert reader.feed(b"data: a\n") == []
    assert reader.feed(b"\nda") == ["a"]
    assert reader.feed(b"ta: b\r\n\r") == ["b"]
    assert reader.feed(b"\ndata: c\n\n") == ["c"]


@pytest.mark.parametrize("stream", [b'data: "' + b"x" * 1_000_000 + b'"\n\n', b"data: x\n" * 120_000 + b"\n"])
def test_long_events_in_small_chunks_cost_time_that_grows_with_their_length(stream: bytes):
    # Quadratic time would be minutes here; the bound only tells the two apart.
    begin = time.thread_time()
    assert len(read([stream[at : at + 16] for at in range(0, len(stream), 16)])) == 1
    assert time.thread_time() - begin < 5
