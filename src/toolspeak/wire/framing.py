"""`Framing`: how a streamed answer is split into the data of its events. There are two: server-sent events and lines.

The readers share these rules. A line is read once, when it is complete, so that a long line costs the same in many
chunks as in one; a text is decoded when its event is complete, so that no chunk can split a character. Of server-sent
events only the field `data` is read: the APIs repeat the type of an event in its data, and servers send many other
fields. `encode_event` writes an event as a server sends it.
"""

import re
from collections.abc import Callable
from typing import Protocol

from toolspeak.values.errors import ProviderError
from toolspeak.values.frozen import frozen

MAX_LINE_BYTES = 16 << 20
"""The longest line of a stream. An image in an answer is one line, so lines of some megabytes are usual."""

_BOM = b"\xef\xbb\xbf"

_LINE_END = re.compile(r"\r\n|\r|\n")


class StreamReader(Protocol):
    """Splits one stream."""

    def feed(self, chunk: bytes) -> list[str]:
        """Return the data of the events that `chunk` completes. Raises `ProviderError` if a line is too long."""
        ...

    def close(self) -> list[str]:
        """End the stream. Return the data of an event that was not terminated, which may be cut."""
        ...


class _HeldLine:
    """Keeps the beginning of a line until its end arrives. Readers of lines derive it."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._held_bytes = 0

    def _hold(self, chunk: bytes) -> None:
        self._held_bytes += len(chunk)
        if self._held_bytes > MAX_LINE_BYTES:
            self._take_held()
            raise ProviderError(f"a line of the answer is longer than {MAX_LINE_BYTES:,} bytes")
        self._held.append(chunk)

    def _take_held(self) -> bytes:
        held = b"".join(self._held)
        self._held.clear()
        self._held_bytes = 0
        return held


class SseReader(_HeldLine):
    """Reads one stream of server-sent events."""

    def __init__(self) -> None:
        super().__init__()
        self._data: list[bytes] = []  # data lines of an event whose end has not arrived
        self._after_return = False  # the last chunk ended in CR: an LF that follows belongs to it

    def feed(self, chunk: bytes) -> list[str]:
        """Return the data of the events that `chunk` completes."""
        if chunk.endswith(b"\n\n") and self._is_one_event(chunk):
            self._after_return = False
            return [chunk[6:-2].decode("utf-8", "replace")]
        if b"\r" in chunk or self._after_return:
            chunk = self._normalize_line_ends(chunk)
        if b"\n" not in chunk:
            if chunk:
                self._hold(chunk)
            return []
        if self._held:
            chunk = self._take_held() + chunk
        payloads: list[str] = []
        if not self._data:
            end = chunk.rfind(b"\n\n")
            if end >= 0:
                self._read_events(chunk[:end], payloads)
                chunk = chunk[end + 2 :]
        if chunk:
            *lines, rest = chunk.split(b"\n")
            self._read_lines(lines, payloads)
            if rest:
                self._hold(rest)
        return payloads

    def close(self) -> list[str]:
        """End the stream. Return the data of an event that was not terminated, which may be cut."""
        payloads: list[str] = []
        self._read_lines([self._take_held(), b""], payloads)
        return payloads

    def _is_one_event(self, chunk: bytes) -> bool:
        """Whether `chunk` is exactly one event of one line, as nearly all are where tokens are sent one by one."""
        return (
            chunk.startswith(b"data: ")
            and chunk.find(b"\n") == len(chunk) - 2
            and b"\r" not in chunk
            and not self._held
            and not self._data
        )

    def _normalize_line_ends(self, chunk: bytes) -> bytes:
        if not chunk:
            return chunk
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _read_events(self, events: bytes, payloads: list[str]) -> None:
        """Read complete events. If each is one line of data, as nearly all are, they cost one split and one decode."""
        if events.startswith(b"data: "):
            lines = events[6:].decode("utf-8", "replace").split("\n\ndata: ")
            if events.count(b"\n") == 2 * (len(lines) - 1):  # no line end but those between the events
                payloads += lines
                return
        for event in events.split(b"\n\n"):
            if event.startswith(b"data: ") and b"\n" not in event:
                payloads.append(event[6:].decode("utf-8", "replace"))
            else:
                self._read_lines([*event.split(b"\n"), b""], payloads)

    def _read_lines(self, lines: list[bytes], payloads: list[str]) -> None:
        for line in lines:
            if not line:
                if self._data:
                    payloads.append(b"\n".join(self._data).decode("utf-8", "replace"))
                    self._data.clear()
                continue
            field, _, value = line.removeprefix(_BOM).partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))


def encode_event(data: str, event: str | None = None) -> bytes:
    """Return one event as bytes. Data with several lines becomes several `data` fields."""
    name = f"event: {event}\n" if event else ""
    if "\n" in data or "\r" in data:
        data = "\ndata: ".join(_LINE_END.split(data))
    return f"{name}data: {data}\n\n".encode("utf-8", "replace")


SSE_PREFIXES = ("data:", "event:", ":")
"""The beginnings of a stream of server-sent events."""


class NdjsonReader(_HeldLine):
    """Splits a stream of JSON values, one in each line."""

    def feed(self, chunk: bytes) -> list[str]:
        """Return the lines that `chunk` completes."""
        *lines, rest = chunk.split(b"\n")
        if lines and self._held:
            lines[0] = self._take_held() + lines[0]
        if rest:
            self._hold(rest)
        return [text for line in lines if (text := line.decode("utf-8", "replace").strip())]

    def close(self) -> list[str]:
        """End the stream. Return the last line if it was not terminated, which may be cut."""
        return self.feed(b"\n")


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


SSE = Framing(content_type="text/event-stream", reader=SseReader, is_stream=lambda text: text.startswith(SSE_PREFIXES))
"""Server-sent events."""

# Within one JSON value that was written over several lines, lines are indented.
NDJSON = Framing(content_type="application/x-ndjson", reader=NdjsonReader, is_stream=lambda text: "\n{" in text)
"""A JSON object in each line."""
