"""A text that is still arriving, and a place in it.

Readers are generators: they `yield` when they need text that is not here yet, and are resumed when it is. So each reads
as if the whole text lay before it, and whether it came in one piece or letter by letter cannot make a difference.

Text is dropped as it is read. Only from a mark on it is kept, in pieces that are joined once, so that reading stays
linear however small the chunks are.
"""

import re
from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Reading: TypeAlias = Generator[None, None, T]
"""A reader of a `T`: yields when it needs more text, returns what it read."""


class Source:
    """The unread text begins at `text[pos]`; after `ended`, no more will come.

    Attributes:
        well: Whether it ended by itself, so that missing closers may be supplied.
    """

    __slots__ = ("_base", "_kept", "_marks", "ended", "pos", "text", "well")

    def __init__(self) -> None:
        self.text = ""
        self.pos = 0
        self.ended = False
        self.well = True
        self._base = 0
        self._kept: list[str] = []
        self._marks: list[int] = []

    def feed(self, chunk: str) -> None:
        """Add text that has arrived."""
        if self.pos:
            if self._marks:
                self._kept.append(self.text[: self.pos])
            self._base += self.pos
            self.text = self.text[self.pos :] + chunk
            self.pos = 0
        else:
            self.text += chunk

    @property
    def here(self) -> int:
        """The place, counted from the beginning of the message."""
        return self._base + self.pos

    def mark(self) -> int:
        """Keep the text from here on, until `unmark`."""
        if not self._marks:
            self._kept.clear()
        self._marks.append(self.here)
        return self.here

    def unmark(self) -> None:
        """Give up the latest mark."""
        self._marks.pop()

    def since(self, mark: int) -> str:
        """The text from a mark to here."""
        length = self.here - mark
        if length <= self.pos:
            return self.text[self.pos - length : self.pos]
        return ("".join(self._kept) + self.text[: self.pos])[-length:]

    def rewind(self, mark: int) -> None:
        """Go back to a mark."""
        length = self.here - mark
        if length <= self.pos:
            self.pos -= length
            return
        kept = "".join(self._kept)
        outer = len(kept) + self.pos - length
        self.text = kept[outer:] + self.text
        self.pos = 0
        self._base = mark
        self._kept = [kept[:outer]]

    # What every reader needs. Each waits until it can be sure, or until the text has ended.

    def ahead(self, count: int) -> Reading[str]:
        """The next `count` characters, or all that are left."""
        while len(self.text) - self.pos < count and not self.ended:
            yield
        return self.text[self.pos : self.pos + count]

    def at_end(self) -> Reading[bool]:
        """Whether nothing is left."""
        while self.pos >= len(self.text) and not self.ended:
            yield
        return self.pos >= len(self.text)

    def starts_with(self, text: str) -> Reading[bool]:
        """Whether `text` comes next; waits only as long as it can."""
        while not self.ended and len(self.text) - self.pos < len(text) and text.startswith(self.text[self.pos :]):
            yield
        return self.text.startswith(text, self.pos)

    def run(self, pattern: re.Pattern[str]) -> Reading[str]:
        """All that matches a pattern of single characters (`[a-z]*`), however long."""
        pieces: list[str] = []
        while True:
            match = pattern.match(self.text, self.pos)
            end = match.end() if match else self.pos
            pieces.append(self.text[self.pos : end])
            self.pos = end
            if self.ended or end < len(self.text):
                return "".join(pieces)
            yield

    def until(self, closer: str) -> Reading[str | None]:
        """The text before `closer`, which is read too; None, with all text read, if it never comes."""
        pieces: list[str] = []
        overlap = len(closer) - 1
        while True:
            found = self.text.find(closer, self.pos)
            if found >= 0:
                pieces.append(self.text[self.pos : found])
                self.pos = found + len(closer)
                return "".join(pieces)
            if self.ended:
                self.pos = len(self.text)
                return None
            end = max(self.pos, len(self.text) - overlap)
            pieces.append(self.text[self.pos : end])
            self.pos = end
            yield

    def cut_tag(self) -> Reading[bool]:
        """Whether a tag has begun here that the end of the text cuts off."""
        while True:
            rest = self.text[self.pos : self.pos + 64]
            if self.ended or ">" in rest or len(rest) == 64 or (rest and rest[0] != "<"):
                return rest[:1] == "<" and ">" not in rest and self.ended
            yield

    def line(self) -> Reading[str]:
        """The rest of the line, without its end, which is not read."""
        return (yield from self.run(_LINE))


_LINE = re.compile(r"[^\n]*")
