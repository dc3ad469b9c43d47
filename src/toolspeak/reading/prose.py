"""Prose on its way from the source to the emitter, and the place in its line."""

from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.source import Reading, Source

MAX_LABEL_CHARS = 80
"""Characters of a line that are remembered: a longer one is no label."""


class ProseEmitter:
    """Emits prose, and remembers the line in which the reader is.

    Attributes:
        line: The beginning of the line, as far as it was emitted.
        fresh: Whether nothing but blanks has been read of the line, so that a call may begin here.
        after_call: Whether a call has just been read.
    """

    def __init__(self, source: Source, emitter: EventEmitter) -> None:
        self.source = source
        self.emitter = emitter
        self.line = ""
        self.fresh = True
        self.after_call = False

    def start_line(self) -> None:
        """Treat what comes next like the beginning of a line: anything may begin there."""
        self.line = ""
        self.fresh = True

    def show(self, text: str) -> None:
        """Emit text as prose, and remember it as part of the line."""
        self.emitter.emit_text(text)
        if len(self.line) <= MAX_LABEL_CHARS:
            self.line += text
        if text.strip():
            self.after_call = False

    def show_next(self, count: int) -> None:
        """Read the next `count` characters as prose."""
        source = self.source
        text = source.text[source.pos : source.pos + count]
        source.pos += count
        self.show(text)

    def skip_next(self, count: int) -> None:
        """Read the next `count` characters and emit nothing."""
        self.source.pos += count

    def show_newline(self) -> None:
        """Read a line end as prose."""
        self.source.pos += 1
        self.emitter.emit_text("\n")
        self.line = ""
        self.fresh = True

    def show_until(self, closer: str) -> Reading[None]:
        """Read as prose up to the end of `closer`. Nothing in that text is a call."""
        source = self.source
        while True:
            found = source.text.find(closer, source.pos)
            if found >= 0:
                self.show_next(found + len(closer) - source.pos)
                return
            if source.ended:
                self.show_next(len(source.text) - source.pos)
                return
            self.show_next(max(0, len(source.text) - len(closer) + 1 - source.pos))
            yield
