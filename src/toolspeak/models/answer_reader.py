"""`AnswerReader`: reads the bytes of an answer into pieces, whether the answer is streamed or whole.

What the endpoint sends decides, and not what the request or the content type says: servers stream unasked, send a whole
answer instead of a stream, and label one as the other. Nothing here does I/O.
"""

import json
from collections.abc import Callable
from typing import Any

from toolspeak.errors import ModelError, ProviderError
from toolspeak.pieces import Answer, Piece
from toolspeak.wire.api import AnswerDecoder
from toolspeak.wire.framing import SSE, SSE_PREFIXES, Framing

MAX_ANSWER_BYTES = 64 << 20
"""The most bytes of one answer, streamed or whole: several times the longest answer of any model."""

MAX_QUOTED_CHARS = 80
"""Characters of a body that are quoted in the error if it is not an answer."""


class AnswerReader:
    """Reads one answer.

    Attributes:
        started: Whether a piece of the answer was returned.
        ended: Whether the answer is complete. Only its token counts may still follow.
        failure: The error that the endpoint reported in place of the answer or of its rest.
    """

    def __init__(
        self,
        decoder: AnswerDecoder,
        read_response: Callable[[Any], Answer],
        *,
        streamed: bool,
        framing: Framing = SSE,
    ) -> None:
        """Create a reader.

        Args:
            decoder: Reads a streamed answer.
            read_response: Reads the JSON of a whole answer.
            streamed: Whether the content type says that the answer is streamed.
            framing: How a streamed answer is split into events.
        """
        self.started = self.ended = False
        self.failure: ModelError | None = None
        self._decoder = decoder
        self._read_response = read_response
        self._streamed = streamed
        self._framing = framing
        self._reader = framing.reader()
        self._size = 0
        self._is_refused = False
        self._chunks: list[bytes] = []  # all of them until the first piece: the content type may be wrong

    def feed(self, chunk: bytes) -> list[Piece]:
        """Read bytes that have arrived. An answer that is too long, or has too long a line, is a `failure`."""
        self._size += len(chunk)
        if self._size > MAX_ANSWER_BYTES:
            return self._refuse(ProviderError(f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes"))
        if not self.started:
            self._chunks.append(chunk)
        if not self._streamed:
            return []
        try:
            payloads = self._reader.feed(chunk)
        except ProviderError as error:
            return self._refuse(error)
        return self._decode(payloads)

    def close(self) -> list[Piece]:
        """End the answer. If it is complete, the last piece is the `Answer`."""
        if self._is_refused:
            return []
        body = b"".join(self._chunks)
        text = "" if self.started else body.decode("utf-8-sig", "replace").strip()
        if not self._streamed and not self._framing.is_stream(text):
            return self._read_whole_answer(text)
        try:
            unread = [] if self._streamed else self._reader.feed(body)
        except ProviderError as error:
            return self._refuse(error)
        pieces = self._decode([*unread, *self._reader.close()])
        if self.failure is not None:
            return pieces
        if self.ended:
            return [*pieces, self._decoder.close()]
        return pieces if self.started else self._read_whole_answer(text)

    def _refuse(self, error: ModelError) -> list[Piece]:
        """End the answer with an error, and free what was kept of it."""
        self.failure = error
        self._is_refused = True
        self._chunks.clear()
        return []

    def _decode(self, payloads: list[str]) -> list[Piece]:
        try:
            pieces = self._decoder.feed_all(payloads)
        except ModelError as error:
            self.failure = error
            pieces = self._decoder.feed_all([])  # those that arrived before the error
        if pieces:
            self.started = True
        self.ended = self._decoder.ended
        return pieces

    def _read_whole_answer(self, text: str) -> list[Piece]:
        try:
            answer = self._read_response(json.loads(text))
        except ModelError as error:
            self.failure = error
        except (ValueError, RecursionError):
            if not _may_be_cut(text):
                quoted = text if len(text) <= MAX_QUOTED_CHARS else f"{text[:MAX_QUOTED_CHARS]}…"
                self.failure = ProviderError(f"the answer is not JSON: it begins with {quoted!r}")
        else:
            self.started = self.ended = True
            return [answer]
        return []


def _may_be_cut(text: str) -> bool:
    """Whether a text that could not be read begins like an answer, so that the connection may have cut it."""
    return any(text.startswith(prefix) or prefix.startswith(text) for prefix in ("{", *SSE_PREFIXES))
