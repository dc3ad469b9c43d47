"""Space in code: line ends end a statement, but not inside brackets."""

import re

from toolspeak.reading.code.rules import CodeRules
from toolspeak.reading.cursor import Cursor, Truncated
from toolspeak.reading.source import Reading
from toolspeak.reading.space import SpaceReader
from toolspeak.reading.string_ends import FULL_WIDTH

INLINE_BLANKS = re.compile(r"[^\S\n]*[\u200b-\u200f\u2060\ufeff]*[^\S\n]*")


class CodeSpaceReader:
    """Skips blanks, comments and words between the tokens of code.

    Attributes:
        everywhere: Skips line ends too, inside and outside of brackets.
    """

    def __init__(self, cursor: Cursor, rules: CodeRules) -> None:
        self.everywhere = SpaceReader(cursor, rules)
        self._cursor = cursor
        self._source = cursor.source
        self._rules = rules

    def skip_all(self) -> Reading[str]:
        """Skip blanks, line ends and comments; return the next character, or "" at the end."""
        return self.everywhere.skip()

    def skip(self) -> Reading[str]:
        """Skip blanks and comments, and line ends inside brackets; return the next character, or "" at the end."""
        if self._cursor.open:
            return (yield from self.everywhere.skip())
        source = self._source
        while True:
            match = INLINE_BLANKS.match(source.text, source.pos)
            source.pos = match.end() if match else source.pos
            if source.pos >= len(source.text):
                if source.ended:
                    return ""
                yield
                continue
            char = source.text[source.pos]
            if char == "\\":
                if (yield from source.peek(2))[1:] not in ("\n", "\r"):
                    return char
                source.pos += 2
                if (yield from source.starts_with("\n")):
                    source.pos += 1
                continue
            if char == "#" or (char == "/" and not self._rules.python and (yield from source.peek(2)) == "//"):
                yield from source.read_line()
                continue
            if char == "/" and (yield from source.peek(2)) == "/*":
                if (yield from source.read_until("*/")) is None:
                    raise Truncated
                continue
            return FULL_WIDTH.get(char, char)

    def skip_words(self, *words: str) -> Reading[bool]:
        """Skip space, and the first of `words` that comes next; whether one came."""
        yield from self.skip()
        for word in words:
            if (yield from self._source.starts_with(f"{word} ")):
                self._source.pos += len(word)
                yield from self.skip()
                return True
        return False
