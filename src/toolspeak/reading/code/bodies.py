"""The bodies of functions, loops and conditions, and the headers before them."""

import re
from collections.abc import Callable

from toolspeak.reading.code.lines import LineReader
from toolspeak.reading.code.rules import HINT, UNSUPPORTED
from toolspeak.reading.code.space import CodeSpaceReader
from toolspeak.reading.code.syntax import Statement
from toolspeak.reading.cursor import Cursor, ReadError, Truncated
from toolspeak.reading.source import Reading

CONDITION_WORD = re.compile(r"(?:and|or|in|is|not|if)\b")
UNTIL_QUOTE = {quote: re.compile(rf"[^{quote}\n]*") for quote in "\"'`"}


class BodyReader:
    """Reads headers and bodies.

    Args:
        cursor: Where code is read.
        space: Skips space between tokens.
        lines: Finds the statements of a body.
        read_statement: Reads the next statement; None at the end of the block.
    """

    def __init__(
        self,
        cursor: Cursor,
        space: CodeSpaceReader,
        lines: LineReader,
        read_statement: Callable[[], Reading[Statement | None]],
    ) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._space = space
        self._lines = lines
        self._read_statement = read_statement

    def read_header(self, *, opened: bool = False) -> Reading[tuple[str, str]]:
        """Read the header before a body.

        Args:
            opened: Whether the opening parenthesis of the header has been read.

        Returns:
            The text of the header, and the `:` or `{` that opens the body and is next; "" for a body of one statement.
        """
        source = self._source
        pieces: list[str] = []
        depth = int(opened)
        while True:
            char = yield from source.peek(1)
            if char == "":
                raise Truncated
            if char == "`" and (yield from source.peek(3)) == "```":
                raise ReadError(UNSUPPORTED, HINT)
            if depth <= 0 and char in ":{\n;":
                return "".join(pieces), char if char in ":{" else ""
            source.pos += 1
            pieces.append(char)
            if char in "\"'`":
                pieces.append((yield from source.read_while(UNTIL_QUOTE[char])))
                if (yield from source.peek(1)) == char:
                    source.pos += 1
                    pieces.append(char)
                continue
            depth += (char in "([{") - (char in ")]}")
            # `if (condition) statement`: the parenthesis that opened the header closes it.
            is_closed = char == ")" and depth == 0 and (opened or pieces[0] == "(")
            if is_closed and not (yield from self._has_more_condition()):
                return "".join(pieces), ""

    def _has_more_condition(self) -> Reading[bool]:
        """Whether a condition goes on behind its parenthesis: `if (a) and (b):`."""
        char = yield from self._space.skip()
        if char in ("", ":", "{") or char in "=&|.-<>!+*/%[?":
            return True
        return CONDITION_WORD.match((yield from self._source.peek(4))) is not None

    def read(self, opener: str) -> Reading[tuple[Statement, ...]]:
        """Read a body: indented after a `:`, between braces after a `{`, or the one statement that follows."""
        cursor, lines = self._cursor, self._lines
        outer, cursor.open = cursor.open, []
        column = lines.column
        try:
            if opener == "{":
                self._source.pos += 1
                return (yield from self._read_braced())
            if opener == ":":
                self._source.pos += 1
                if (yield from self._space.skip()) in ("\n", "\r", ""):
                    return (yield from self.read_indented(column))
            statement = yield from self._read_statement()
            return () if statement is None else (statement,)
        finally:
            cursor.open = outer
            lines.column = column

    def _read_braced(self) -> Reading[tuple[Statement, ...]]:
        """Read the statements up to a closing brace."""
        statements: list[Statement] = []
        while True:
            char = yield from self._lines.find_statement()
            if char == "}":
                self._source.pos += 1
                break
            if not char:
                if not self._source.ended_well:
                    raise Truncated
                self._cursor.note_repair("closers")
                break
            statement = yield from self._read_statement()
            if statement is None:
                break
            statements.append(statement)
        return tuple(statements)

    def read_indented(self, column: int) -> Reading[tuple[Statement, ...]]:
        """Read the statements that stand further to the right than `column`."""
        statements: list[Statement] = []
        while (yield from self._lines.find_statement()) and self._lines.column > column:
            statement = yield from self._read_statement()
            if statement is None:
                break
            statements.append(statement)
        return tuple(statements)
