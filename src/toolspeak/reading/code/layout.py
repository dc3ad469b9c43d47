"""The layout of code: space between tokens, lines at which statements begin, headers and bodies.

Line ends end a statement, but not inside brackets. `CodeRules` says what may follow a string in code, and where a comma
may be missing.
"""

import re
from collections.abc import Callable

from toolspeak.reading.code.syntax import Statement
from toolspeak.reading.cursor import Cursor, ReadError, Truncated
from toolspeak.reading.source import Reading
from toolspeak.reading.strings import FULL_WIDTH, QUOTES, SyntaxRules
from toolspeak.reading.values import SpaceReader

INDENT = re.compile(r"[ \t\u200b\u200c\u200d\u2060\ufeff\u00a0]*")


class LineReader:
    """Finds where the next statement begins, in which column, and where a broken one ends.

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


KEYWORD_AFTER_STRING = re.compile(r"(?:if|else|for|in|as|and|or|is|not)\b|[rbuf]{0,2}[\"'`]")

UNSUPPORTED = "it uses code that is not supported"
HINT = "Write plain calls with literal values, one per line."


class CodeRules(SyntaxRules):
    """The rules of Python and TypeScript. `python` is set anew for each piece of code."""

    in_code = True

    def can_follow_outside_brackets(self, char: str, gap: str) -> bool:
        return "\n" in gap or char in ";+-*%,.)[]}`~<#/\\=:" or bool(gap)

    def can_follow_in_brackets(self, char: str, gap: str, at: int) -> bool:
        text = self._cursor.source.text
        if char in "+%.[*-" and (gap or char in ".["):
            return True
        if gap and (char in "=!<>&|?") and not text.startswith("=>", at):
            return True
        if char == ":" and self._cursor.open[-1] == "}":
            return True
        return bool(gap) and (KEYWORD_AFTER_STRING.match(text, at) is not None or char in QUOTES)

    def check_missing_comma(self, char: str) -> None:
        # An operator that is not read would otherwise pass for the next item.
        if not (char in QUOTES or char.isalnum() or char in "_[{*"):
            raise ReadError(UNSUPPORTED, HINT)
        super().check_missing_comma(char)


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


CONDITION_WORD = re.compile(r"(?:and|or|in|is|not|if)\b")
UNTIL_QUOTE = {quote: re.compile(rf"[^{quote}\n]*") for quote in "\"'`"}


class BodyReader:
    """Reads the bodies of functions, loops and conditions, and the headers before them."""

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
