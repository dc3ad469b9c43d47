"""Calls whose strings hold quotes that are not escaped: all readings are tried, and only a single one is taken.

Reading goes on without doubt for as long as each quote that may end a string is followed by what must follow a string
there. A text that is well formed as it stands is never doubted. Otherwise the call is held until its block ends: at a
token that closes calls, at the closing fence, or at the end of the message. Then every quote that could end a string
is tried both ways, as an end and as content. A reading counts if the same readers read it to the end and the result is
a call with all its required arguments. One reading is taken; two different ones, or none, are `Ambiguous`, and the
whole block is malformed, since in another reading its rest may be part of a string.

Each attempt reads the text again, and counts as such (`Source.may_rewind`). What would take too many is `Ambiguous`.
"""

import re
from collections.abc import Callable
from typing import Any, TypeVar

from toolspeak.reading.cursor import UNESCAPED, Ambiguous, Cursor, QuoteRole, ReadError, Truncated
from toolspeak.reading.forms import INLINE_FIRST_CHARS, next_token
from toolspeak.reading.source import Reading, run_to_end
from toolspeak.reading.values import ValueReader
from toolspeak.values.frozen import frozen

T = TypeVar("T")

Reread = Callable[[Cursor], Reading[Any]]
"""Reads a call once more, with a cursor of its own."""

CLOSERS = re.compile(r"[ \t\r,;}\])]*")
"""What may be left over after a call in its line: closers too many, and separators."""

CLOSERS_AND_LINES = re.compile(r"[\s,;}\])]*")

NAMED_CALL = re.compile(r"(?:>>>)?[\w.:\-]+\s*\{\s*[\"'}]")
NAME_LOOKAHEAD_CHARS = 80

QUOTE = re.compile("[\"'`]")
CLOSING_BRACKET = re.compile(r"[)\]}]")

BLOCK_TEXT = re.compile(rf"[^`~{re.escape(''.join(sorted(INLINE_FIRST_CHARS)))}]*")


@frozen
class Meaning:
    """What a reading of a text calls.

    Attributes:
        calls: The calls, in a form that can be compared.
        is_complete: Whether no required argument is missing.
    """

    calls: Any
    is_complete: bool


@frozen
class CallReading:
    """One reading of the text of a call.

    Attributes:
        meaning: What it calls.
        quotes: What its quotes are, by their place.
        repairs: The repairs that it takes, by kind and place.
    """

    meaning: Meaning
    quotes: dict[int, QuoteRole]
    repairs: frozenset[tuple[str, int]]

    def beats(self, other: "CallReading") -> bool:
        """Whether `other` does not count beside this reading: it is the same call, incomplete, or repaired more."""
        if self.meaning.is_complete != other.meaning.is_complete:
            return self.meaning.is_complete
        return self.meaning == other.meaning or self.repairs < other.repairs


class Attempts:
    """The ways to read the quotes of one text. Each attempt follows a path of choices; the paths are tried in turn."""

    def __init__(self) -> None:
        self.quotes: dict[int, QuoteRole] = {}
        self._path: list[tuple[QuoteRole, ...]] = []
        self._next = 0

    def begin(self) -> None:
        self.quotes = {}
        self._next = 0

    def choose(self, place: int, options: tuple[QuoteRole, ...]) -> QuoteRole:
        if place in self.quotes:
            return self.quotes[place]
        role = options[0]
        if options[1:]:
            if self._next == len(self._path):
                self._path.append(options)
            role = self._path[self._next][0]
            self._next += 1
        self.quotes[place] = role
        return role

    def advance(self) -> bool:
        """Go on to the next path; False if there is none."""
        while self._path:
            options = self._path.pop()[1:]
            if options:
                self._path.append(options)
                return True
        return False


class CallDoubt:
    """What is needed to decide the quotes of one call by its whole text.

    The call begins at `start`, where the source has a mark, or before. `find_meaning` returns what a result of `reread`
    calls; None if it is no call. `is_settled` tells whether a call has ended for certain where a cursor is.
    """

    def __init__(
        self,
        cursor: Cursor,
        start: int,
        reread: Reread,
        find_meaning: Callable[[Any], Meaning | None],
        is_settled: Callable[[Cursor], Reading[bool]],
    ) -> None:
        self._cursor = cursor
        self._start = start
        self._reread = reread
        self._find_meaning = find_meaning
        self._is_settled = is_settled

    def read(self, reading: Reading[T], *, may_be_prose: bool = False) -> Reading[T]:
        """Read the call with `reading`, and check that no second reading would end it elsewhere.

        Args:
            reading: Reads the call.
            may_be_prose: Whether what cannot be read is prose, and so is not tried in other ways.
        """
        cursor = self._cursor
        cursor.resolve = self.resolve
        try:
            result = yield from reading
        except Ambiguous:
            raise
        except ReadError:
            if not may_be_prose and cursor.quotes is None and (yield from self.has_reading()):
                raise Ambiguous from None
            raise
        if cursor.quotes is None:
            if not (yield from self._is_settled(cursor)):
                cursor.note_doubt("rest")
            if cursor.doubts:
                yield from self.check(result)
        return result

    def has_reading(self) -> Reading[bool]:
        """Whether there is any reading of the call."""
        return bool((yield from self._find_readings()))

    def resolve(self) -> Reading[None]:
        """Wait for the end of the block, and set the quotes of the cursor to those of the only reading."""
        here = self._cursor.source.here - self._start
        readings = yield from self._find_readings()
        if len(readings) != 1:
            raise Ambiguous
        quotes = readings[0].quotes
        if any(place < here and role != "close" for place, role in quotes.items()):
            raise Ambiguous  # what was read so far may have been emitted, and cannot be taken back
        self._cursor.quotes = {place + self._start: role for place, role in quotes.items()}

    def check(self, result: Any) -> Reading[None]:
        """Check that `result`, which has been read without the help of this object, is the only reading."""
        meaning = self._find_meaning(result)
        repairs = {(kind, max(place - self._start, -1)) for kind, place in self._cursor.doubts}
        for other in (yield from self._find_readings()):
            if (meaning is None or other.meaning.calls != meaning.calls) and not other.repairs > repairs:
                raise Ambiguous

    def _find_readings(self) -> Reading[list[CallReading]]:
        """Return the readings of the block from the beginning of the call, at most two.

        A reading does not count if another one has some of its repairs and no other, or if a required argument is
        missing and another reading has all.
        """
        source = self._cursor.source
        if not source.may_rewind:
            raise Ambiguous
        mark = source.mark()
        yield from skip_block(self._cursor)
        is_end = yield from source.is_at_end()
        text = source.since(self._start)
        source.return_to(mark)
        if is_end and not source.ended_well:
            raise Truncated
        attempts = Attempts()
        found: list[CallReading] = []
        while True:
            if not source.may_rewind:
                raise Ambiguous
            attempts.begin()
            reading = self._attempt(text, attempts)
            if reading is not None and not any(other.beats(reading) for other in found):
                found = [other for other in found if not reading.beats(other)] + [reading]
            # Nothing beats a reading that needs no repair but quotes, or the first attempt does, which takes each
            # quote for an end.
            certain = [each for each in found if each.meaning.is_complete and each.repairs == frozenset({UNESCAPED})]
            if len(certain) > 1 or not attempts.advance():
                return found

    def _attempt(self, text: str, attempts: Attempts) -> CallReading | None:
        """Return one reading of the text; None if it cannot be read so."""
        source = self._cursor.source.open_inner(text)
        cursor = Cursor(source, self._cursor.keys)
        cursor.announced, cursor.block_end = self._cursor.announced, self._cursor.block_end
        cursor.choose = attempts.choose
        try:
            result = run_to_end(self._reread(cursor))
            if not run_to_end(self._is_settled(cursor)):
                if QUOTE.search(source.text, source.pos):
                    return None
                cursor.note_doubt("rest")
            meaning = self._find_meaning(result)
        except (ReadError, RecursionError):
            return None
        is_guess = UNESCAPED in cursor.doubts and ("closer" in {kind for kind, _ in cursor.doubts})
        if meaning is None or is_guess:
            return None  # the brackets that are missing may have been closed in the string
        return CallReading(meaning=meaning, quotes=attempts.quotes, repairs=frozenset(cursor.doubts))


def skip_block(cursor: Cursor) -> Reading[None]:
    """Skip the rest of the block in which a call stands."""
    source = cursor.source
    while True:
        yield from source.read_while(BLOCK_TEXT)
        if (yield from source.is_at_end()):
            return
        if cursor.block_end and (yield from source.starts_with(cursor.block_end)):
            return
        if cursor.announced:
            token = yield from next_token(source)
            if token is not None and token[0] == "close":
                return
        source.pos += 1


def is_call_settled(cursor: Cursor, *, in_list: bool = False) -> Reading[bool]:
    """Whether a call has ended for certain where it was read to: its line ends, or a call, a token or a fence follows.

    Args:
        cursor: Where the call ends.
        in_list: Whether the call is an item of a list, and so a comma or the bracket of the list may follow.
    """
    source = cursor.source
    in_block = cursor.announced or bool(cursor.block_end)
    mark = source.mark()
    try:
        while True:
            gap = (yield from source.read_while(CLOSERS)).strip()
            if gap not in ("", ",", ";") and not (in_list and gap[0] in ",]"):
                return False
            char = yield from source.peek(1)
            is_new_line = char == "\n"
            if is_new_line and in_block:
                yield from source.read_while(CLOSERS_AND_LINES)
                char = yield from source.peek(1)
            if char in ("", "\n"):
                return True
            if char in ("`", "~"):
                three = yield from source.peek(3)
                return three in ("```", "~~~") or three[1:2] in ("", "\n")
            if char in INLINE_FIRST_CHARS and (yield from next_token(source)) is not None:
                return True
            if char == "<":
                return (yield from source.peek(2)) in ("<|", "<｜")
            if char == ">" or char.isalpha():
                # A call whose name stands before its arguments.
                return NAMED_CALL.match((yield from source.peek(NAME_LOOKAHEAD_CHARS))) is not None
            if char not in "{[":
                return False
            if in_list or is_new_line:
                source.pos += 1
                yield from source.read_while(CLOSERS_AND_LINES)
                return (yield from source.peek(1)) in ('"', "'", "{", "")
            # Another value on the same line: it, and what follows it, must be sound, too.
            if not source.may_rewind or not (yield from _can_read_value(cursor)):
                return False
    finally:
        source.return_to(mark)


def may_end_later(cursor: Cursor, start: int) -> Reading[bool]:
    """Whether a string before `start` could end in the rest of the block. `start` must be marked in the source.

    It could if there is a quote, and after it a bracket that closes those of its call.
    """
    source = cursor.source
    if not source.may_rewind:
        return True
    mark = source.mark()
    yield from skip_block(cursor)
    rest = source.since(start)
    source.return_to(mark)
    quote = QUOTE.search(rest)
    return quote is not None and CLOSING_BRACKET.search(rest, quote.end()) is not None


def _can_read_value(cursor: Cursor) -> Reading[bool]:
    """Whether a value follows that leaves no doubt."""
    other = Cursor(cursor.source, cursor.keys)
    try:
        yield from ValueReader(other).read_value()
    except ReadError:
        return False
    return not other.doubts
