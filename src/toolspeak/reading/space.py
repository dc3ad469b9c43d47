"""What means nothing between tokens: blanks, line ends, comments."""

from toolspeak.reading.cursor import Cursor
from toolspeak.reading.rules import SyntaxRules
from toolspeak.reading.source import Reading
from toolspeak.reading.strings import BLANKS, FULL_WIDTH


class SpaceReader:
    """Skips blanks and comments.

    Args:
        cursor: Where space is skipped.
        rules: Whether comments are sound, and whether `//` begins one.
    """

    def __init__(self, cursor: Cursor, rules: SyntaxRules) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._rules = rules
        self._in_code = rules.in_code

    def skip(self) -> Reading[str]:
        """Skip blanks, line ends and comments; return the next character, or "" at the end."""
        source = self._source
        while True:
            match = BLANKS.match(source.text, source.pos)
            source.pos = match.end() if match else source.pos
            if source.pos >= len(source.text):
                if source.ended:
                    return ""
                yield
                continue
            char = source.text[source.pos]
            if char not in "/#\\<" or not (yield from self._skip_comment(char)):
                return FULL_WIDTH.get(char, char)
            if not self._in_code and self._cursor.open:
                self._cursor.note_repair("syntax")

    def _skip_comment(self, char: str) -> Reading[bool]:
        """Skip a comment, or a blank that was written as an escape; whether one began with `char`."""
        source = self._source
        if char == "#":
            yield from source.read_line()
            return True
        if char == "/":
            two = yield from source.peek(2)
            if two == "//" and not self._rules.python:
                yield from source.read_line()
                return True
            if two == "/*":
                yield from source.read_until("*/")
            return two == "/*"
        if char == "\\":
            # A line continued, or an escape for a blank that was written out.
            two = yield from source.peek(2)
            if two[1:] in ("n", "r", "t", "\n"):
                source.pos += 2
                return True
            return False
        if (yield from source.starts_with("<!--")):
            yield from source.read_until("-->")
            return True
        return False
