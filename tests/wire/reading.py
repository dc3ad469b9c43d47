"""What the tests of answers share: streams read to their end."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolspeak.values.events import TextDelta, ThinkingDelta
from toolspeak.values.messages import Text, Thinking
from toolspeak.values.pieces import Answer, ApiCall, CallPiece, Piece
from toolspeak.wire import api
from toolspeak.wire.framing import SSE, encode_event

WIRES: dict[str, Any] = dict(api.WIRES)

CLIENT_WIRES: dict[str, Any] = dict(api.CLIENT_WIRES)


def frame(name: str, data: str) -> bytes:
    """An event of a stream, as an API frames it."""
    return encode_event(data) if CLIENT_WIRES[name].FRAMING is SSE else data.encode() + b"\n"


def frame_end(name: str) -> bytes:
    """What ends an event of a stream."""
    return b"\n\n" if CLIENT_WIRES[name].FRAMING is SSE else b"\n"


def _read_recorded(name: str) -> bytes:
    kind = "sse" if CLIENT_WIRES[name].FRAMING is SSE else "ndjson"
    return (Path(__file__).parent / "streams" / f"{name}.{kind}").read_bytes()


STREAMS = {name: _read_recorded(name) for name in CLIENT_WIRES}

GARBAGE = {
    "not JSON": "hello",
    "cut JSON": '{"choices":[{"delta":{"cont',
    "half a string": '{"type":"',
    "a number": "42",
    "a list": "[1, 2]",
    "text": '"text"',
    "null": "null",
    "two objects": "{}{}",
    "HTML": "<html><body>502 Bad Gateway</body></html>",
    "a bare word": "undefined",
    "deep nesting": "[" * 100_000,
    "control characters": "\x00\x01{}",
    "single quotes": "{'choices': []}",
    "replacement characters": "\ufffd\ufffd",
}
"""Lines that are no object of any API."""

ODDITIES = [
    "{}",
    '{"choices":null}',
    '{"choices":[]}',
    '{"choices":{}}',
    '{"choices":[null]}',
    '{"choices":[{}]}',
    '{"choices":[{"delta":null}]}',
    '{"choices":[{"delta":[]}]}',
    '{"choices":[{"delta":{"content":5}}]}',
    '{"choices":[{"delta":{"content":[null,1,{"text":2}]}}]}',
    '{"choices":[{"delta":{"tool_calls":{}}}]}',
    '{"choices":[{"delta":{"reasoning_details":"x"}}]}',
    '{"usage":"many"}',
    '{"usage":{"prompt_tokens":"five","prompt_tokens_details":7}}',
    '{"message":null}',
    '{"message":{"content":5,"thinking":[],"tool_calls":{}}}',
    '{"message":{"tool_calls":[null,{"function":5}]}}',
    '{"done":"yes","done_reason":7}',
    '{"type":"ping"}',
    '{"type":7}',
    '{"type":"content_block_start"}',
    '{"type":"content_block_start","index":90,"content_block":7}',
    '{"type":"content_block_delta"}',
    '{"type":"content_block_delta","index":91,"delta":{"type":"text_delta","text":"lost"}}',
    '{"type":"content_block_delta","index":[],"delta":7}',
    '{"type":"content_block_stop","index":92}',
    '{"type":"message_start","message":7}',
    '{"type":"message_delta","delta":7}',
    '{"type":"something_new","data":1}',
    '{"type":"response.output_item.added"}',
    '{"type":"response.output_item.added","output_index":90,"item":7}',
    '{"type":"response.output_item.added","output_index":90,"item":{"type":null}}',
    '{"type":"response.output_item.done","output_index":"x","item":{"type":"message"}}',
    '{"type":"response.output_text.delta","output_index":91,"delta":"lost"}',
    '{"type":"response.output_text.delta","output_index":[],"delta":7}',
    '{"type":"response.something_new","output_index":92}',
    '{"candidates":null}',
    '{"candidates":[7]}',
    '{"candidates":[{"content":[]}]}',
    '{"candidates":[{"content":{"role":"model","parts":{}}}]}',
    '{"candidates":[{"content":{"parts":[null,{},{"text":null},{"text":""},{"functionCall":{}}]}}]}',
    '{"candidates":[{"content":{"parts":[{"thought":true}]},"finishReason":7}]}',
    '{"promptFeedback":{"safetyRatings":[]},"usageMetadata":[]}',
]
"""Objects that say nothing that counts."""


def read_stream(wire: Any, chunks: Iterable[bytes]) -> tuple[list[Piece], Any]:
    """All pieces of a stream, and the decoder that read it."""
    reader, decoder = wire.FRAMING.reader(), wire.Decoder()
    pieces: list[Piece] = []
    for chunk in chunks:
        pieces += decoder.feed_all(reader.feed(chunk))
    pieces += decoder.feed_all(reader.close())
    return pieces, decoder


def assert_told(pieces: Iterable[Piece], answer: Answer) -> None:
    """The pieces that were told, joined, are what the answer says."""
    pieces = list(pieces)
    texts = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
    assert texts == "".join(part.text for part in answer.parts if isinstance(part, Text))
    thoughts = "".join(piece.text for piece in pieces if isinstance(piece, ThinkingDelta))
    assert thoughts == "".join(part.text for part in answer.parts if isinstance(part, Thinking))
    for part in answer.parts:
        if isinstance(part, ApiCall):
            own = [piece for piece in pieces if isinstance(piece, CallPiece) and piece.index == part.index]
            if not own:  # the name of a call is told when it is known to be whole
                assert (answer.finish, part.arguments) == ("error", "")
                continue
            assert "".join(piece.arguments for piece in own) == part.arguments
            assert "".join(piece.name for piece in own) == part.name
            assert "".join(piece.id for piece in own) == part.id
