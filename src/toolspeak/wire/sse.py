"""Server-sent events: reads chunks of bytes into the data of events, and writes events as bytes.

Only the field `data` is read: both APIs repeat the type of an event in its data. Rules of this file: a line is read
once, when it is complete, so that a long line costs the same in many chunks as in one; text is decoded when its event
is complete, so that no chunk can split a character; and every other field is skipped, since servers send many.
"""

import re

_BOM = b"\xef\xbb\xbf"

_LINE_END = re.compile(r"\r\n|\r|\n")


class SseReader:
    """Reads one stream of events."""

    def __init__(self) -> None:
        self._held: list[bytes] = []  # chunks of a line whose end has not arrived
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
                self._held.append(chunk)
            return []
        if self._held:
            chunk = b"".join((*self._held, chunk))
            self._held.clear()
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
                self._held.append(rest)
        return payloads

    def close(self) -> list[str]:
        """End the stream. Return the data of an event that was not terminated, which may be cut."""
        payloads: list[str] = []
        self._read_lines([b"".join(self._held), b""], payloads)
        self._held.clear()
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
        """Read complete events. Nearly all are one line of data, and cost a split and a decode."""
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
