"""Hearing an answer: bytes in, pieces out, whole or streamed, as the endpoint chose to give it.

What was asked for does not decide, nor quite what the answer is labelled: servers stream though nobody asked, give all
at once though a stream was asked for, and mistake one for the other. Nothing here does I/O.
"""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from toolspeak.errors import ModelError, ProviderError
from toolspeak.pieces import Answer, Piece
from toolspeak.wire import anthropic_messages, openai_chat
from toolspeak.wire.sse import SseReader

Decoder: TypeAlias = openai_chat.Decoder | anthropic_messages.Decoder

STREAM_BEGINNINGS = ("data:", "event:", ":")

LONGEST_BEGINNING = 80
"""Characters that are told of an answer that is none."""


class AnswerReader:
    """Hears one answer.

    Attributes:
        begun: Whether something of it was told.
        ended: Whether all of it is there; only what it took may still be said.
        failure: What the endpoint reported instead of an answer, or of its rest; what came before it was told.
    """

    def __init__(self, decoder: Decoder, read_whole: Callable[[Any], Answer], *, streamed: bool) -> None:
        self.begun = self.ended = False
        self.failure: ModelError | None = None
        self._decoder = decoder
        self._read_whole = read_whole
        self._streamed = streamed
        self._reader = SseReader()
        self._unheard: list[bytes] = []  # until something was told, it may turn out not to be what it was labelled

    def feed(self, chunk: bytes) -> list[Piece]:
        """More of it has come."""
        if not self.begun:
            self._unheard.append(chunk)
        return self._told(self._reader.feed(chunk)) if self._streamed else []

    def close(self) -> list[Piece]:
        """No more of it will come. If all of it was there, the last piece is the `Answer`."""
        body = b"".join(self._unheard)
        text = "" if self.begun else body.decode("utf-8-sig", "replace").strip()
        late = self._reader.feed(body) if not self._streamed and text.startswith(STREAM_BEGINNINGS) else []
        pieces = self._told([*late, *self._reader.close()])
        if self.failure is not None:
            return pieces
        if self.ended:
            return [*pieces, self._decoder.close()]
        return pieces if self.begun else self._whole(text)

    def _told(self, payloads: list[str]) -> list[Piece]:
        try:
            pieces = self._decoder.feed_all(payloads)
        except ModelError as error:
            self.failure = error
            pieces = self._decoder.feed_all([])  # what came with the error, and before it
        if pieces:
            self.begun = True
        self.ended = self._decoder.ended
        return pieces

    def _whole(self, text: str) -> list[Piece]:
        try:
            answer = self._read_whole(json.loads(text))
        except ModelError as error:
            self.failure = error
        except (ValueError, RecursionError):
            if not _may_be_cut(text):
                start = text if len(text) <= LONGEST_BEGINNING else f"{text[:LONGEST_BEGINNING]}…"
                self.failure = ProviderError(f"the answer is not JSON: it begins with {start!r}")
        else:
            self.begun = self.ended = True
            return [answer]
        return []


def _may_be_cut(text: str) -> bool:
    """Whether it begins as an answer does."""
    return any(text.startswith(start) or start.startswith(text) for start in ("{", *STREAM_BEGINNINGS))
