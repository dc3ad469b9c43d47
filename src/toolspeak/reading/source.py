"""A text that is still arriving, and a place in it.

Readers are generators: they `yield` when they need text that has not arrived yet, and are resumed when it has. So each
reads as if the whole text lay before it, and the size of the chunks cannot make a difference.

Text is dropped as it is read. From the first mark on it is kept, in pieces that are joined once, so that reading stays
linear however small the chunks are.

**One `Budget` bounds the work of one message**, whatever forms are nested in it. It is made where a message begins to
be read, and reaches every reader through its source: a text inside the message (the value of a tag, the rest of a line,
a call that is tried in another way) is read from an inner source with the same budget (`Source.open_inner`). No reader
makes a budget of its own. What is read more than once is counted. A reader that only hopes for a call, or would try
another reading, asks `may_rewind` first, and takes the text for words or refuses the call if the answer is no. So calls
that were complete before stay. Should a reader go back without asking, and far beyond what is allowed, `OutOfBudget`
ends the reading of calls: the rest of the message is words.
"""

import re
from collections.abc import Generator
from typing import TypeAlias, TypeVar

from toolspeak.values.work_budget import WorkBudget

T = TypeVar("T")

Reading: TypeAlias = Generator[None, None, T]
"""The reading of a `T`: yields when it needs more text, returns the `T`."""

FREE_REWOUND_CHARS, REWOUND_PER_CHAR = 30_000, 10
"""Characters over which readers may go back: in any message, and in addition for each character that was read."""

INNER_SOURCE_CHARS = 32
"""Characters that an inner source counts besides its text: its readers have to be built."""

MAX_TAG_CHARS = 64
"""How far ahead the end of a tag is looked for."""


class ReadError(Exception):
    """The text is not a value, a call or a statement that can be read. `hint` tells a model what to write instead."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason, hint)
        self.reason, self.hint = reason, hint


class OutOfBudget(Exception):
    """Reading the message takes far more work than its length allows."""


MIN_UNITS = 200_000
"""What code may compute whatever its length."""

UNITS_PER_CHAR = 20
"""What each character of code allows in addition."""

ITEMS_PER_STEP = 16
"""Characters or items that are copied in one step."""

CALL_UNITS = 40
"""What a call counts besides its arguments. A call that is written out has brought more: `f()` and its line end."""

MAX_STATEMENTS, CHARS_PER_STATEMENT = 2_000, 16
"""Statements that are followed in any message, and the characters of code that allow one more."""


class Budget:
    """Counts the work of reading one message, against limits that grow with the message and with nothing else.

    Attributes:
        free_chars: Characters that may be read again whatever the length of the message.
        chars: Characters of the message that have been read.
        rewound: Characters that were read again: readers went back over them, or read them from an inner source.
        copied: Characters that were moved in memory while text arrived, or was taken out as a whole.
        refusals: How often a reader did without a reading, or code without a value, since it would take too much.
        limit: The units that code may compute: of steps, of characters given to calls, and of the size of one value.
        steps: Expressions that were evaluated, nodes that were visited, and values that were copied.
        emitted: Characters that code gave to calls, or that its calls were refused with.
        coercion: The steps in which arguments are coerced. A schema may take many for each argument.
    """

    __slots__ = (
        "_is_refused", "_statements", "chars", "coercion", "copied", "emitted", "free_chars", "limit", "refusals",
        "rewound", "steps",
    )  # fmt: skip

    def __init__(self, free_chars: int = FREE_REWOUND_CHARS) -> None:
        """Prepare to count. `free_chars`: the characters that may be read again whatever the length of the message."""
        self.free_chars = free_chars
        self.chars = 0
        self.rewound = 0
        self.copied = 0
        self.refusals = 0
        self.limit = MIN_UNITS
        self.steps = 0
        self.emitted = 0
        self.coercion = WorkBudget()
        self._statements = 0
        self._is_refused = False

    @property
    def may_rewind(self) -> bool:
        """Whether text may still be read again. A reader that is told no does without."""
        if self.rewound <= self.free_chars + REWOUND_PER_CHAR * self.chars:
            return True
        self.refusals += 1
        return False

    def count_rewound(self, chars: int) -> None:
        """Count characters that are read again. Raises `OutOfBudget` at twice what is allowed."""
        self.rewound += chars
        if self.rewound > 2 * (self.free_chars + REWOUND_PER_CHAR * self.chars) + chars:
            self.refusals += 1
            raise OutOfBudget

    # What code computes

    def extend(self, chars: int) -> None:
        """Allow more, since this many characters of code were read."""
        self.limit += UNITS_PER_CHAR * chars

    def count_statement(self) -> None:
        """Count a statement that is followed. Like `count_steps`, raises `ReadError` if the code does too much."""
        self._statements += 1
        code_chars = (self.limit - MIN_UNITS) // UNITS_PER_CHAR
        if self._is_refused or self._statements > MAX_STATEMENTS + code_chars // CHARS_PER_STATEMENT:
            raise self._refuse()

    def count_steps(self, count: int = 1) -> None:
        self.steps += count
        if self.steps > self.limit:
            raise self._refuse()

    def can_build(self, size: int) -> bool:
        """Whether a value of `size` characters or items may be built; counts the steps for it if so."""
        steps = size // ITEMS_PER_STEP
        if size > self.limit or self.steps + steps > self.limit:
            self.refusals += 1
            return False
        self.steps += steps
        return True

    def can_emit(self, chars: int) -> bool:
        """Whether a call may be given this many more characters; counts them if so."""
        if self.emitted + chars + CALL_UNITS > self.limit:
            self.refusals += 1
            return False
        self.emitted += chars + CALL_UNITS
        return True

    def count_refusal(self, chars: int) -> None:
        """Count a call that is refused with this many characters of code and of reason; raises as the others do."""
        if not self.can_emit(chars):
            raise self._refuse()

    def _refuse(self) -> ReadError:
        """Return the error for code that does too much. Whatever code follows is refused with it too."""
        self._is_refused = True
        self.refusals += 1
        return ReadError("the code does too much", "Write the calls out, one per line.")


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
        budget: What counts the work of reading the message that the text belongs to.
        awaited: What the reader waits for: text without it need only be held. None if every text matters.
    """

    __slots__ = (
        "_base", "_counted", "_held", "_kept", "_marks", "awaited", "budget", "ended", "ended_well", "pos", "text",
    )  # fmt: skip

    def __init__(self, budget: Budget, *, is_inner: bool = False) -> None:
        """Prepare for text.

        Args:
            budget: What counts the work.
            is_inner: Whether the text was read before, so that it allows no more work.
        """
        self.text = ""
        self.pos = 0
        self.ended = False
        self.ended_well = True
        self.budget = budget
        self._counted: int | None = None if is_inner else 0  # how many characters the budget knows to be read
        self.awaited: re.Pattern[str] | None = None
        self._base = 0
        self._held: list[str] = []
        self._kept: list[str] = []
        self._marks: list[int] = []

    @classmethod
    def hold_whole(cls, text: str) -> "Source":
        """Return a source with a message that is all there, and a budget for it."""
        source = cls(Budget())
        source.text = text
        source.ended = True
        return source

    def open_inner(self, text: str) -> "Source":
        """Return a source with a whole text that was taken from this one, to read it again. It has the same budget."""
        self._count_read()
        self.budget.count_rewound(len(text) + INNER_SOURCE_CHARS)
        source = Source(self.budget, is_inner=True)
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
            elif self._kept:
                self._kept.clear()
            self._base += self.pos
            self.text = self.text[self.pos :] + chunk
            self.pos = 0
        else:
            self.text += chunk
        self.budget.copied += len(self.text)

    def hold(self, chunk: str) -> None:
        """Keep text that has arrived and does not have what the reader waits for; `feed` adds it."""
        self._held.append(chunk)

    def skip(self, count: int) -> None:
        """Count text that arrived and was read elsewhere; all text before it has been read."""
        self._kept.clear()
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
        self.budget.copied += length
        if length <= self.pos:
            return self.text[self.pos - length : self.pos]
        taken = self._take_kept(length - self.pos)
        self._kept.append(taken)
        return taken + self.text[: self.pos]

    def recover(self, place: int) -> str:
        """Return the text from a place to here, as far as it is still held: for a reading that was broken off."""
        held = self.pos + sum(map(len, self._kept))
        return self.since(max(place, self.here - held))

    def rewind(self, mark: int) -> None:
        """Go back to a mark."""
        length = self.here - mark
        self._count_read()
        self.budget.count_rewound(length)
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
        """Whether readers may still go back over text: reading must stay linear in the message."""
        self._count_read()
        return self.budget.may_rewind

    def _count_read(self) -> None:
        """Tell the budget how far the message has been read. What an inner source has was read before."""
        counted = self._counted
        if counted is not None and (here := self._base + self.pos) > counted:
            self.budget.chars += here - counted
            self._counted = here

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
