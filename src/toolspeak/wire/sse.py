"""Server-sent events: bytes in any chunks to the data of whole events, and back.

Only `data` is read: both APIs say in the data what an event is. Rules of this file: a line is looked at once, when it
is whole, so that a long line in small chunks costs what it costs in one; text is decoded when its event is whole, so
that no chunk can split a character; and whatever is not `data` is passed over, for servers send all sorts of things.
"""

import re

_BOM = b"\xef\xbb\xbf"

_LINE_END = re.compile(r"\r\n|\r|\n")


class SseReader:
    """Reads one stream."""

    def __init__(self) -> None:
        self._held: list[bytes] = []  # chunks of a line whose end has not come
        self._data: list[bytes] = []  # data lines of an event whose end has not come
        self._after_return = False  # the last chunk ended in CR: an LF that follows belongs to it

    def feed(self, chunk: bytes) -> list[str]:
        """The data of the events that are whole now."""
        if chunk.endswith(b"\n\n") and self._is_one_event(chunk):
            self._after_return = False
            return [chunk[6:-2].decode("utf-8", "replace")]
        if b"\r" in chunk or self._after_return:
            chunk = self._with_plain_line_ends(chunk)
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
        """The stream has ended: the data of an event that nothing closed, which may be cut."""
        payloads: list[str] = []
        self._read_lines([b"".join(self._held), b""], payloads)
        self._held.clear()
        return payloads

    def _is_one_event(self, chunk: bytes) -> bool:
        """Whether a chunk is one line of data and its end, as nearly all are where tokens are sent one by one."""
        return (
            chunk.startswith(b"data: ")
            and chunk.find(b"\n") == len(chunk) - 2
            and b"\r" not in chunk
            and not self._held
            and not self._data
        )

    def _with_plain_line_ends(self, chunk: bytes) -> bytes:
        if not chunk:
            return chunk
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _read_events(self, events: bytes, payloads: list[str]) -> None:
        """Whole events. Nearly all are one line of data, and cost a split and a decode."""
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


def encode(data: str, event: str | None = None) -> bytes:
    """One event as bytes. Data of several lines is sent as several."""
    name = f"event: {event}\n" if event else ""
    if "\n" in data or "\r" in data:
        data = "\ndata: ".join(_LINE_END.split(data))
    return f"{name}data: {data}\n\n".encode("utf-8", "replace")
