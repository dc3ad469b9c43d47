"""What means nothing between tokens: blanks, line ends, comments."""

from toolspeak.reading.cursor import Cursor, Truncated
from toolspeak.reading.rules import SyntaxRules
from toolspeak.reading.source import Reading
from toolspeak.reading.string_ends import BLANKS, FULL_WIDTH


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
                self._cursor.note_doubt("comment")

    def _skip_comment(self, char: str) -> Reading[bool]:
        """Skip a comment, or a blank that was written as an escape; whether one began with `char`."""
        source = self._source
        if char == "#":
            return (yield from self._skip_line())
        if char == "/":
            two = yield from source.peek(2)
            if two == "//" and not self._rules.python:
                return (yield from self._skip_line())
            return two == "/*" and (yield from self._skip_to("*/"))
        if char == "\\":
            # A line continued, or an escape for a blank that was written out.
            two = yield from source.peek(2)
            if two[1:] in ("n", "r", "t", "\n"):
                source.pos += 2
                return True
            return False
        return (yield from source.starts_with("<!--")) and (yield from self._skip_to("-->"))

    def _skip_to(self, closer: str) -> Reading[bool]:
        """Skip a comment with its closer; returns True.

        Raises:
            Truncated: The comment does not end, and brackets are open.
        """
        if (yield from self._source.read_until(closer)) is None:
            if self._cursor.open:
                raise Truncated
            self._cursor.note_doubt("comment")
        return True

    def _skip_line(self) -> Reading[bool]:
        """Skip a comment up to the end of its line; returns True.

        Raises:
            Truncated: The text ends in the comment, and brackets are open: they may have been closed in the comment.
        """
        yield from self._source.read_line()
        if self._cursor.open and (yield from self._source.is_at_end()):
            raise Truncated
        return True
