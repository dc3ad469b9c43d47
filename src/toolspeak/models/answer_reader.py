"""`AnswerReader`: reads the bytes of an answer into pieces, whether the answer is streamed or whole.

What the endpoint sends decides, and not what the request or the content type says: servers stream unasked, send a whole
answer instead of a stream, and label one as the other. Nothing here does I/O.
"""

import codecs
from collections.abc import Iterable
from typing import NamedTuple

from toolspeak.values.errors import ModelError, ProviderError
from toolspeak.values.pieces import Piece
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.api import AnswerDecoder, ClientWire
from toolspeak.wire.framing import SSE_PREFIXES, StreamReader
from toolspeak.wire.json_data import parse_json

MAX_ANSWER_BYTES = 64 << 20
"""The most bytes of one answer, streamed or whole: several times the longest answer of any model."""


class _EventStream(NamedTuple):
    splitter: StreamReader  # splits the stream into events
    decoder: AnswerDecoder


class AnswerReader:
    """Reads one answer.

    Attributes:
        started: Whether a piece of the answer was returned.
        ended: Whether the answer is complete. Only its token counts may still follow.
        failure: The error that the endpoint reported in place of the answer or of its rest.
        skipped: The number of events of a stream that were not JSON objects, and so were skipped.
    """

    def __init__(self, wire: ClientWire, vendor: str = "", tools: Iterable[ToolSpec] = (), *, streamed: bool) -> None:
        """Create a reader for the API of an endpoint. `streamed` is whether the content type says so.

        The vendor is by default that of the API; `tools` are those of the request.
        """
        self.started = self.ended = False
        self.failure: ModelError | None = None
        self._wire = wire
        self._vendor = vendor or wire.VENDOR
        self._tools = tools
        self._stream = self._open_stream() if streamed else None
        self._size = 0
        self._is_refused = False
        self._chunks: list[bytes] = []  # all of them until the first piece: the content type may be wrong

    @property
    def skipped(self) -> int:
        return 0 if self._stream is None else self._stream.decoder.skipped

    def feed(self, chunk: bytes) -> list[Piece]:
        """Read bytes that have arrived. An answer that is too long, or has too long a line, is a `failure`."""
        self._size += len(chunk)
        if self._size > MAX_ANSWER_BYTES:
            return self._refuse(ProviderError(f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes"))
        if not self.started:
            self._chunks.append(chunk)
        return [] if self._stream is None else self._feed_stream(self._stream, chunk)

    def close(self) -> list[Piece]:
        """End the answer. If it is complete, the last piece is the `Answer`."""
        if self._is_refused:
            return []
        body = b"".join(self._chunks)
        text = "" if self.started else body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace").strip()
        pieces: list[Piece] = []
        if self._stream is None:
            if not self._wire.FRAMING.is_stream(text):
                return self._read_whole_answer(text)
            self._stream = self._open_stream()
            pieces = self._feed_stream(self._stream, body)
            if self.failure is not None:
                return pieces
        pieces += self._decode(self._stream, self._stream.splitter.close())
        if self.failure is not None:
            return pieces
        if self.ended:
            return [*pieces, self._stream.decoder.close()]
        return pieces if self.started else self._read_whole_answer(text)

    def _open_stream(self) -> _EventStream:
        return _EventStream(self._wire.FRAMING.reader(), self._wire.Decoder(self._vendor, self._tools))

    def _feed_stream(self, stream: _EventStream, chunk: bytes) -> list[Piece]:
        try:
            payloads = stream.splitter.feed(chunk)
        except ProviderError as error:
            return self._refuse(error)
        return self._decode(stream, payloads)

    def _refuse(self, error: ModelError) -> list[Piece]:
        """End the answer with an error, and free what was kept of it."""
        self.failure = error
        self._is_refused = True
        self._chunks.clear()
        return []

    def _decode(self, stream: _EventStream, payloads: list[str]) -> list[Piece]:
        decoder = stream.decoder
        try:
            pieces = decoder.feed_all(payloads)
        except ModelError as error:
            self.failure = error
            pieces = decoder.feed_all([])  # those that arrived before the error
        if pieces:
            self.started = True
        self.ended = decoder.ended
        return pieces

    def _read_whole_answer(self, text: str) -> list[Piece]:
        try:
            answer = self._wire.read_response(parse_json(text), self._vendor, self._tools)
        except ModelError as error:
            self.failure = error
        except (ValueError, RecursionError):
            beginnings = ("{", *SSE_PREFIXES)
            # What begins like an answer was perhaps cut by the connection.
            if not any(text.startswith(each) or each.startswith(text) for each in beginnings):
                quoted = text if len(text) <= 80 else f"{text[:80]}…"
                self.failure = ProviderError(f"the answer is not JSON: it begins with {quoted!r}")
        else:
            self.started = self.ended = True
            return [answer]
        return []
