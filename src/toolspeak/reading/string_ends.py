"""Where a string between quotes may end, judged by what follows a quote.

Offsets are relative to the quote: `source.pos` changes when more text arrives. How far ahead is looked is bounded, so
that waiting for text is, too.
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from toolspeak.reading.cursor import Cursor
from toolspeak.reading.rules import SyntaxRules, can_follow_after_repair
from toolspeak.reading.source import Reading

Role: TypeAlias = Literal["key", "value"]
"""What a string is in its object, which decides what may follow it."""

LOOKAHEAD_CHARS = 72
"""How far a doubtful quote is judged by what follows the blanks after it. Waiting for text stays bounded."""

KEY_LOOKAHEAD_CHARS = 256
"""How far the closing quote of a key is looked for, behind a comma."""

COMMENT_LOOKAHEAD_CHARS = 256
"""How far the end of a comment is looked for, behind a string of code."""

BLANK_LOOKAHEAD_CHARS = 400
"""How many blanks after a quote are looked over."""

FULL_WIDTH = dict(zip("｛｝［］（）：，；＝", "{}[]():,;=", strict=True))
"""Full-width punctuation, and the ASCII sign that has the same meaning between tokens."""

BLANK = r"[\s\u200b-\u200f\u2060\ufeff]"
BLANKS = re.compile(f"{BLANK}*")
QUOTED_KEY = re.compile(rf"""(["'])(?:(?!\1)[^\\]|\\.)*\1{BLANK}*(?:[:：]|=(?!=))""", re.S)
QUOTED_OTHER = re.compile(rf"""(["'])(?:(?!\1)[^\\]|\\.)*\1{BLANK}*(?!{BLANK}|[:：=]).""", re.S)
QUOTED_ITEM = re.compile(r"""(["'])(?:(?!\1)[^\\]|\\.)*\1\s*[,\]"']""", re.S)
KEY_AFTER_QUOTE = re.compile(r"""([\w$\-]{1,64})["']\s*[:：]""")
NAMED = re.compile(r"""([\w$\-]{1,64})\s*(?:[:：]|=(?!=))""")
ITEM_STARTS = frozenset("\"'{[-0123456789tfnTFN")
"""Characters with which an item of a list of data begins."""


class StringEnds:
    """Judges quotes inside strings.

    Args:
        cursor: Where strings are read.
        rules: What may follow a string there.
    """

    def __init__(self, cursor: Cursor, rules: SyntaxRules) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._rules = rules
        self._in_code = rules.in_code

    def is_end(self, role: Role) -> Reading[bool]:
        """Whether the quote here ends its string without doubt: what must follow a string at this place follows it."""
        source = self._source
        offset = yield from self._skip_blanks(1)
        at = source.pos + offset
        if at >= len(source.text):
            return True
        if offset > BLANK_LOOKAHEAD_CHARS:
            return False
        char = FULL_WIDTH.get(source.text[at], source.text[at])
        if role == "key":
            return char == ":"
        if not self._cursor.open:
            return self._rules.can_follow_outside_brackets(char, source.text[source.pos + 1 : at])
        if char in self._cursor.open:
            return True
        inner = self._cursor.open[-1]
        if char == ",":
            return (yield from self._is_sound_separator(offset + 1, inner))
        if not self._in_code:
            return False
        if char in "#/" and offset > 1:
            # The end of the line ends a comment. Without it, the comment may be a part of the string.
            return "\n" in (yield from source.peek(offset + COMMENT_LOOKAHEAD_CHARS))[offset:]
        if char == "\\":
            return (yield from source.peek(offset + 2))[offset:] in ("\\\n", "\\\r")  # a line continued
        yield from source.peek(offset + LOOKAHEAD_CHARS)
        at = source.pos + offset
        return self._rules.can_follow_in_brackets(char, source.text[source.pos + 1 : at], at)

    def _is_sound_separator(self, offset: int, inner: str) -> Reading[bool]:
        """Whether an item follows the comma before `offset`, in the spelling of the items before it."""
        source = self._source
        offset = yield from self._skip_blanks(offset)
        at = source.pos + offset
        if at >= len(source.text):
            return True
        char = source.text[at]
        if self._in_code or char == inner:
            return True
        if inner != "}":
            return char in ITEM_STARTS
        if self._cursor.key_quote and char != self._cursor.key_quote:
            return False
        return (yield from self._is_separator(offset, inner))

    def can_close(self, role: Role) -> Reading[bool]:
        """Whether the quote here can end its string in some reading: what follows the quote could follow a string."""
        source = self._source
        offset = yield from self._skip_blanks(1)
        at = source.pos + offset
        if at >= len(source.text) or offset > BLANK_LOOKAHEAD_CHARS:
            return True
        gap = source.text[source.pos + 1 : at]
        char = FULL_WIDTH.get(source.text[at], source.text[at])
        if role == "key":
            return char in ":=" or char in "," + "".join(self._cursor.open)
        if not self._cursor.open:
            return self._rules.can_follow_outside_brackets(char, gap)
        if char in self._cursor.open:
            return True
        inner = self._cursor.open[-1]
        if char == ",":
            return (yield from self._is_separator(offset + 1, inner))
        yield from source.peek(offset + LOOKAHEAD_CHARS)
        at = source.pos + offset
        if self._rules.can_follow_in_brackets(char, gap, at) or can_follow_after_repair(source.text, char, gap, at):
            return True
        if inner == "}" and QUOTED_KEY.match(source.text, at, at + LOOKAHEAD_CHARS):
            return True
        if inner == "]" and gap and QUOTED_ITEM.match(source.text, at, at + LOOKAHEAD_CHARS):
            return True
        named = NAMED.match(source.text, at, at + LOOKAHEAD_CHARS)
        return named is not None and bool(gap) and (named[1] in self._cursor.keys or "\n" in gap) and inner in "})"

    def _skip_blanks(self, offset: int) -> Reading[int]:
        """Return the first offset from `offset` on where no blank stands; waits for a bounded number of blanks."""
        source = self._source
        while True:
            match = BLANKS.match(source.text, source.pos + offset)
            beyond = match.end() - source.pos if match else offset
            if source.pos + beyond < len(source.text) or source.ended or beyond > BLANK_LOOKAHEAD_CHARS:
                return beyond
            yield

    def _is_separator(self, offset: int, inner: str) -> Reading[bool]:
        """Whether the comma before `offset` separates items: in an object, a key must follow the comma."""
        source = self._source
        offset = yield from self._skip_blanks(offset)
        at = source.pos + offset
        if at >= len(source.text) or inner != "}" or offset > BLANK_LOOKAHEAD_CHARS:
            return True
        char = source.text[at]
        if char in "\"'":
            while True:
                at = source.pos + offset
                if QUOTED_OTHER.match(source.text, at, at + KEY_LOOKAHEAD_CHARS):
                    return False
                if (
                    source.ended
                    or len(source.text) - at >= KEY_LOOKAHEAD_CHARS
                    or QUOTED_KEY.match(source.text, at, at + KEY_LOOKAHEAD_CHARS)
                ):
                    return True
                yield
        if char.isalnum() or char in "_$":
            yield from source.peek(offset + LOOKAHEAD_CHARS)
            at = source.pos + offset
            return self._in_code or NAMED.match(source.text, at, at + LOOKAHEAD_CHARS) is not None
        return True

    def is_end_forgotten(self, pieces: Sequence[object]) -> Reading[bool]:
        """Whether a known key may open here, behind a comma: then the string ended before it, without its quote."""
        source = self._source
        before = "".join(piece for piece in pieces[-3:] if isinstance(piece, str)).rstrip()
        if not before.endswith(",") or before[:-1].rstrip()[-1:] == source.text[source.pos]:
            return False  # a quote before the comma is not forgotten
        yield from source.peek(LOOKAHEAD_CHARS)
        key = KEY_AFTER_QUOTE.match(source.text, source.pos + 1, source.pos + LOOKAHEAD_CHARS)
        return key is not None and key[1] in self._cursor.keys
