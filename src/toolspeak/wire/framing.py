"""`Framing`: how a streamed answer is split into the data of its events. There are two: server-sent events and lines.

A reader of lines follows the rules of `sse.py`: a line is read once, when it is complete, and is decoded then.
"""

from collections.abc import Callable
from typing import Protocol

from toolspeak._frozen import frozen
from toolspeak.errors import ProviderError
from toolspeak.wire.sse import MAX_LINE_BYTES, SseReader

SSE_PREFIXES = ("data:", "event:", ":")
"""The beginnings of a stream of server-sent events."""


class StreamReader(Protocol):
    """Splits one stream."""

    def feed(self, chunk: bytes) -> list[str]:
        """Return the data of the events that `chunk` completes. Raises `ProviderError` if a line is too long."""
        ...

    def close(self) -> list[str]:
        """End the stream. Return the data of an event that was not terminated, which may be cut."""
        ...


class NdjsonReader:
    """Splits a stream of JSON values, one in each line."""

    def __init__(self) -> None:
        self._held: list[bytes] = []  # chunks of a line whose end has not arrived
        self._held_bytes = 0

    def feed(self, chunk: bytes) -> list[str]:
        """Return the lines that `chunk` completes.

        Raises:
            ProviderError: A line has not ended after `MAX_LINE_BYTES`.
        """
        *lines, rest = chunk.split(b"\n")
        if lines and self._held:
            lines[0] = b"".join((*self._held, lines[0]))
            self._drop_held()
        if rest:
            self._hold(rest)
        return [text for line in lines if (text := _decode(line))]

    def close(self) -> list[str]:
        """End the stream. Return the last line if it was not terminated, which may be cut."""
        text = _decode(b"".join(self._held))
        self._drop_held()
        return [text] if text else []

    def _hold(self, chunk: bytes) -> None:
        self._held_bytes += len(chunk)
        if self._held_bytes > MAX_LINE_BYTES:
            self._drop_held()
            raise ProviderError(f"a line of the answer is longer than {MAX_LINE_BYTES:,} bytes")
        self._held.append(chunk)

    def _drop_held(self) -> None:
        self._held.clear()
        self._held_bytes = 0


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "replace").strip()


def _is_sse(text: str) -> bool:
    return text.startswith(SSE_PREFIXES)


def _is_ndjson(text: str) -> bool:
    return "\n{" in text  # within one JSON value that was written over several lines, lines are indented


@frozen
class Framing:
    """How an API frames the events of a stream.

    Attributes:
        content_type: The content type of a streamed answer.
        reader: Creates the reader of a stream.
        is_stream: Whether a text is a stream, though its content type says that it is a whole answer.
    """

    content_type: str
    reader: Callable[[], StreamReader]
    is_stream: Callable[[str], bool]


SSE = Framing(content_type="text/event-stream", reader=SseReader, is_stream=_is_sse)
"""Server-sent events."""

NDJSON = Framing(content_type="application/x-ndjson", reader=NdjsonReader, is_stream=_is_ndjson)
"""A JSON object in each line."""
