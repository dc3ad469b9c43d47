"""Prose on its way out, and where in it we are."""

from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.source import Reading, Source

LABEL_LENGTH = 80
"""Characters of a line that are remembered: a longer one is no label."""


class ProseReader:
    """Tells prose to a speech, and knows the line it stands in.

    Attributes:
        line: The beginning of the line, as it was shown.
        fresh: Whether nothing but blanks has been read of the line.
        after_call: Whether a call has just been read.
    """

    def __init__(self, source: Source, speech: EventEmitter) -> None:
        self.source = source
        self.speech = speech
        self.line = ""
        self.fresh = True
        self.after_call = False

    def anew(self) -> None:
        """What comes next may begin anything, as at the beginning of a line."""
        self.line = ""
        self.fresh = True

    def say(self, text: str) -> None:
        """Prose: shown, and remembered as the beginning of the line."""
        self.speech.text(text)
        if len(self.line) <= LABEL_LENGTH:
            self.line += text
        if text.strip():
            self.after_call = False

    def say_next(self, count: int) -> None:
        source = self.source
        self.say(source.text[source.pos : source.pos + count])
        source.pos += count

    def newline(self) -> None:
        self.speech.text("\n")
        self.source.pos += 1
        self.line = ""
        self.fresh = True

    def show_until(self, closer: str) -> Reading[None]:
        """Text in which nothing can be a call, up to what closes it."""
        source = self.source
        while True:
            found = source.text.find(closer, source.pos)
            if found >= 0:
                self.say_next(found + len(closer) - source.pos)
                return
            if source.ended:
                self.say_next(len(source.text) - source.pos)
                return
            self.say_next(max(0, len(source.text) - len(closer) + 1 - source.pos))
            yield

    def drop_next(self, count: int) -> None:
        self.source.pos += count
