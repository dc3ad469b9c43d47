"""The lines of code: where the next statement begins, in which column, and where a broken one ends."""

import re

from toolspeak.reading.cursor import Cursor
from toolspeak.reading.source import Reading

INDENT = re.compile(r"[ \t\u200b\u200c\u200d\u2060\ufeff\u00a0]*")


class LineReader:
    """Finds the beginnings of statements.

    Args:
        cursor: Where code is read.

    Attributes:
        column: The column of the statement at hand, which decides where an indented body ends.
    """

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self.column: int = 0
        self._found_at: int = -1
        self._found_column: int = 0

    def reset(self) -> None:
        """Begin a new piece of code."""
        self.column = 0
        self._found_at = -1

    def find_statement(self) -> Reading[str]:
        """Go to the next statement and set `column`; return its first character, or "" at the end of the block."""
        source = self._source
        if source.here == self._found_at:  # found already, by the body that ended before it
            self.column = self._found_column
            return (yield from source.peek(1))
        column = 0
        while True:
            column += len((yield from source.read_while(INDENT)))
            char = yield from source.peek(1)
            if char == "":
                return ""
            if char in "\r\n;":
                source.pos += 1
                column = self.column if char == ";" else 0
            elif char == "#" or (char == "/" and (yield from source.peek(2)) == "//"):
                yield from source.read_line()
            elif char == "/" and (yield from source.starts_with("/*")):
                yield from self._skip_comment("*/")
            elif (char in "`~" and (yield from source.peek(3)) in ("```", "~~~")) or (
                char == "<" and not (yield from source.starts_with("<!--"))
            ):
                return ""
            elif char == "<":
                yield from self._skip_comment("-->")
            elif char in ">." and (yield from source.peek(4)) in (">>> ", "... "):
                source.pos += 4
                column = 0
            else:
                self.column = self._found_column = column
                self._found_at = source.here
                return char

    def _skip_comment(self, closer: str) -> Reading[None]:
        """Skip a comment with its closer. One that never ends is doubtful: it may be the content of a string."""
        if (yield from self._source.read_until(closer)) is None:
            self._cursor.note_doubt("comment")

    def skip_statement(self, depth: int) -> Reading[None]:
        """Skip the rest of a statement that cannot be read: to the end of its line, or of its `depth` open brackets."""
        source = self._source
        while True:
            char = yield from source.peek(1)
            if char == "" or (char in "`~" and (yield from source.peek(3)) in ("```", "~~~")):
                return
            if char in "\n}" and depth <= 0:
                return
            depth += (char in "([{") - (char in ")]}")
            source.pos += 1
