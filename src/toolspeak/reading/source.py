"""A text that is still arriving, and a place in it.

Readers are generators: they `yield` when they need text that has not arrived yet, and are resumed when it has. So each
reads as if the whole text lay before it, and the size of the chunks cannot make a difference.

Text is dropped as it is read. From the first mark on it is kept, in pieces that are joined once, so that reading stays
linear however small the chunks are. What is read twice, because a reader went back, is counted: a reader that only
hopes for a call asks `may_rewind` before it tries.
"""

import re
from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Reading: TypeAlias = Generator[None, None, T]
"""The reading of a `T`: yields when it needs more text, returns the `T`."""

FREE_REWOUND_CHARS, REWOUND_PER_CHAR = 100_000, 10
"""Characters over which readers may go back: in any message, and in addition for each character that was read."""

MAX_TAG_CHARS = 64
"""How far ahead the end of a tag is looked for."""


def run_to_end(reading: Reading[T]) -> T:
    """Return the result of a reading whose text is all there."""
    while True:
        try:
            next(reading)
        except StopIteration as stop:
            return stop.value


class Source:
    """A text that arrives in chunks, and the place up to which it has been read.

    Attributes:
        text: The text that is held. The unread text begins at `text[pos]`.
        pos: The index in `text` up to which it has been read.
        ended: Whether no more text will come.
        ended_well: Whether the text ended by itself, so that missing closers may be supplied.
        rewound: The number of characters over which readers went back.
        awaited: What the reader waits for: text without it need only be held. None if every text matters.
    """

    __slots__ = ("_base", "_held", "_kept", "_marks", "awaited", "ended", "ended_well", "pos", "rewound", "text")

    def __init__(self) -> None:
        self.text = ""
        self.pos = 0
        self.ended = False
        self.ended_well = True
        self.rewound = 0
        self.awaited: re.Pattern[str] | None = None
        self._base = 0
        self._held: list[str] = []
        self._kept: list[str] = []
        self._marks: list[int] = []

    @classmethod
    def hold_whole(cls, text: str) -> "Source":
        """Return a source with a text that is all there."""
        source = cls()
        source.text = text
        source.ended = True
        return source

    def feed(self, chunk: str) -> None:
        """Add text that has arrived."""
        if self._held:
            chunk = "".join([*self._held, chunk])
            self._held.clear()
        if self.pos:
            if self._marks:
                self._kept.append(self.text[: self.pos])
            self._base += self.pos
            self.text = self.text[self.pos :] + chunk
            self.pos = 0
        else:
            self.text += chunk

    def hold(self, chunk: str) -> None:
        """Keep text that has arrived and does not have what the reader waits for; `feed` adds it."""
        self._held.append(chunk)

    def skip(self, count: int) -> None:
        """Count text that arrived and was read elsewhere; all text before it has been read."""
        self._base += count

    @property
    def here(self) -> int:
        """The number of characters of the message that have been read."""
        return self._base + self.pos

    def mark(self) -> int:
        """Keep the text from here on, until `unmark`; return the place of the mark."""
        if not self._marks:
            self._kept.clear()
        self._marks.append(self.here)
        return self.here

    def unmark(self) -> None:
        """Remove the latest mark."""
        self._marks.pop()

    def since(self, mark: int) -> str:
        """Return the text from a mark to here."""
        length = self.here - mark
        if length <= self.pos:
            return self.text[self.pos - length : self.pos]
        taken = self._take_kept(length - self.pos)
        self._kept.append(taken)
        return taken + self.text[: self.pos]

    def rewind(self, mark: int) -> None:
        """Go back to a mark."""
        length = self.here - mark
        self.rewound += length
        if length <= self.pos:
            self.pos -= length
            return
        self.text = self._take_kept(length - self.pos) + self.text
        self.pos = 0
        self._base = mark

    def return_to(self, mark: int) -> None:
        """Go back to a mark, and remove it: it is the latest one."""
        self.rewind(mark)
        self._marks.pop()

    @property
    def may_rewind(self) -> bool:
        """Whether readers may still go back over text: reading must stay linear in the text."""
        return self.rewound <= FREE_REWOUND_CHARS + REWOUND_PER_CHAR * self.here

    def _take_kept(self, count: int) -> str:
        """Remove the last `count` characters of the text that is kept, and return them."""
        pieces: list[str] = []
        while count > 0:
            piece = self._kept.pop()
            if len(piece) > count:
                self._kept.append(piece[: len(piece) - count])
                piece = piece[len(piece) - count :]
            pieces.append(piece)
            count -= len(piece)
        return "".join(reversed(pieces))

    # Each of these waits until its answer is certain, or until the text has ended.

    def peek(self, count: int) -> Reading[str]:
        """Return the next `count` characters, or all that are left, without reading them."""
        while len(self.text) - self.pos < count and not self.ended:
            yield
        return self.text[self.pos : self.pos + count]

    def is_at_end(self) -> Reading[bool]:
        """Whether all text has been read and has ended."""
        while self.pos >= len(self.text) and not self.ended:
            yield
        return self.pos >= len(self.text)

    def starts_with(self, text: str) -> Reading[bool]:
        """Whether `text` comes next; stops waiting at the first character that differs."""
        while not self.ended and len(self.text) - self.pos < len(text) and text.startswith(self.text[self.pos :]):
            yield
        return self.text.startswith(text, self.pos)

    def read_while(self, pattern: re.Pattern[str]) -> Reading[str]:
        """Read the characters that match a pattern of single characters (`[a-z]*`), however many."""
        pieces: list[str] = []
        while True:
            match = pattern.match(self.text, self.pos)
            end = match.end() if match else self.pos
            pieces.append(self.text[self.pos : end])
            self.pos = end
            if self.ended or end < len(self.text):
                return "".join(pieces)
            yield

    def read_until(self, closer: str) -> Reading[str | None]:
        """Read up to and including `closer`; return the text before it. None, with all text read, if it never comes."""
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

    def wait_for(self, pattern: re.Pattern[str]) -> Reading[None]:
        """Wait until text arrives in which a pattern of a single character is found, or until the text has ended."""
        self.awaited = pattern
        yield
        self.awaited = None

    def has_cut_tag(self) -> Reading[bool]:
        """Whether a tag begins here that the end of the text cuts off."""
        while True:
            rest = self.text[self.pos : self.pos + MAX_TAG_CHARS]
            if self.ended or ">" in rest or len(rest) == MAX_TAG_CHARS or (rest and rest[0] != "<"):
                return rest[:1] == "<" and ">" not in rest and self.ended
            yield

    def read_line(self) -> Reading[str]:
        """Read the rest of the line, but not its line end."""
        return (yield from self.read_while(_LINE))


_LINE = re.compile(r"[^\n]*")
