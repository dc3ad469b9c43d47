"""Paths and calls behind an operand: `.name`, `[key]`, `(arguments)`, and types that mean nothing here."""

import re

from toolspeak.reading.code.operands import IDENTIFIER, TYPE, Expressions, OperandReader
from toolspeak.reading.code.rules import HINT, UNSUPPORTED, CodeRules
from toolspeak.reading.code.space import CodeSpaceReader
from toolspeak.reading.code.syntax import Constant, Expression, Invocation, Member, Name
from toolspeak.reading.cursor import Cursor, ReadError, Truncated
from toolspeak.reading.source import Reading

TYPE_ARGUMENTS = re.compile(r"<[\w\[\], |.]{1,40}>(?=\()")
QUOTED_WORD = {quote: re.compile(rf"{quote}([\w$-]{{1,62}})") for quote in "\"'"}
MAX_QUOTED_KEYWORD_CHARS = 64


class PostfixReader:
    """Reads the paths and calls behind an operand.

    Args:
        cursor: Where they are read.
        rules: The rules of code.
        space: Skips space between tokens.
        operands: Its readers of strings and brackets are used here too.
        expressions: Reads arguments and keys.
    """

    def __init__(
        self,
        cursor: Cursor,
        rules: CodeRules,
        space: CodeSpaceReader,
        operands: OperandReader,
        expressions: Expressions,
    ) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._rules = rules
        self._space = space
        self._strings = operands.strings
        self._brackets = operands.brackets
        self._expressions = expressions

    def read(self, base: Expression) -> Reading[Expression]:
        """Read the paths and calls behind `base`; return the whole."""
        source = self._source
        while True:
            char = yield from self._space.skip()
            if char == "\n" and not self._rules.python and (yield from self._skip_to_chained_line()):
                char = yield from self._space.skip_all()
            if char == "?" and (yield from source.peek(2)) == "?.":
                source.pos += 1
                char = "."
            if char == "." and not _is_number(base):
                source.pos += 1
                if (yield from source.peek(1)) == "[":
                    continue
                base = yield from self._read_attribute(base)
            elif char == "[":
                base = yield from self._read_subscript(base)
            elif char == "(":
                base = yield from self._read_call(base)
            elif char == "<" and isinstance(base, Name | Member) and (yield from self._skip_type_arguments()):
                continue
            elif char == "!" and (yield from source.peek(2)) != "!=":
                source.pos += 1
            elif char == "a" and (yield from source.starts_with("as ")):
                source.pos += 3
                yield from source.read_while(TYPE)
            else:
                return base

    def _read_attribute(self, base: Expression) -> Reading[Expression]:
        """Read a name behind a dot, or the text behind `String.raw`."""
        source = self._source
        key = yield from source.read_while(IDENTIFIER)
        if not key:
            raise Truncated if (yield from source.is_at_end()) else ReadError(UNSUPPORTED, HINT)
        if self._cursor.open and (yield from source.is_at_end()):
            raise Truncated
        if key == "raw" and (yield from source.peek(1)) == "`":
            source.pos += 1
            return (yield from self._strings.read_raw_template())
        return Member(base=base, key=Constant(value=key))

    def _read_subscript(self, base: Expression) -> Reading[Expression]:
        """Read `[key]`."""
        source = self._source
        source.pos += 1
        self._cursor.open.append("]")
        key = yield from self._expressions.read()
        if (yield from self._space.skip_all()) != "]":
            raise Truncated if (yield from source.is_at_end()) else ReadError(UNSUPPORTED, HINT)
        source.pos += 1
        self._cursor.open.pop()
        return Member(base=base, key=key)

    def _skip_type_arguments(self) -> Reading[bool]:
        """Skip `<Type>` before the parenthesis of a call; whether one came."""
        if not (yield from self._source.peek(2))[1:].isalpha():
            return False
        found = TYPE_ARGUMENTS.match((yield from self._source.peek(44)))
        self._source.pos += found.end() if found else 0
        return found is not None

    def _skip_to_chained_line(self) -> Reading[bool]:
        """Skip to the next line if it begins with a dot and a name; whether it does."""
        source = self._source
        offset = 1
        while True:
            while source.pos + offset < len(source.text) and source.text[source.pos + offset].isspace():
                offset += 1
            if source.pos + offset + 1 < len(source.text) or source.ended:
                break
            if source.pos + offset < len(source.text) and source.text[source.pos + offset] != ".":
                break
            yield
        following = source.text[source.pos + offset : source.pos + offset + 2]
        if following[:1] == "." and following[1:].isalpha():
            source.pos += offset
            return True
        return False

    # Calls

    def _read_call(self, callee: Expression) -> Reading[Invocation]:
        """Read the arguments of a call; the parenthesis is next."""
        args: list[Expression] = []
        keywords: list[tuple[str | None, Expression]] = []
        style = ""

        def read_argument(char: str) -> Reading[None]:
            nonlocal style
            if char == "*" and (yield from self._source.peek(2)) == "**":
                self._source.pos += 2
                keywords.append((None, (yield from self._expressions.read())))
            elif (key := (yield from self._read_keyword())) is not None:
                # `f("a", n=1)` is sound. Any other change of style may show that a string went on.
                now = self._source.text[self._source.pos - 1] + (char if char in "\"'" else "")
                if now != style and (style or now != "=") and (args or keywords):
                    self._cursor.note_doubt("style")
                style = now
                keywords.append((key, (yield from self._expressions.read())))
            else:
                if style:
                    self._cursor.note_doubt("style")
                args.append((yield from self._expressions.read_item()))

        yield from self._brackets.read_items(")", read_argument)
        return Invocation(callee=callee, args=tuple(args), keywords=tuple(keywords))

    def _read_keyword(self) -> Reading[str | None]:
        """Read the name and the sign of a keyword argument, `name=` or `name:`; None, with nothing read, otherwise."""
        source = self._source
        mark = source.mark()
        try:
            if (yield from source.peek(1)) in ('"', "'"):
                opener = (yield from self._strings.plain.peek_opener()) or '"'
                if len(opener) == 3:
                    return None
                name = yield from self._read_quoted_word(opener)
            else:
                name = yield from source.read_while(IDENTIFIER)
            if not name:
                source.rewind(mark)
                return None
            char = yield from self._space.skip_all()
            two = yield from source.peek(2)
            if char in ("=", ":") and two not in ("==", "=>", "::"):
                source.pos += 1
                return name
            source.rewind(mark)
            return None
        finally:
            source.unmark()

    def _read_quoted_word(self, quote: str) -> Reading[str]:
        """Read a short word between quotes, which may be a keyword; "", with nothing read, if the string is another."""
        source = self._source
        while True:
            match = QUOTED_WORD[quote].match(source.text, source.pos)
            if source.ended or len(source.text) - source.pos > MAX_QUOTED_KEYWORD_CHARS:
                break
            if match is not None and match.end() < len(source.text):
                break
            if match is None and len(source.text) - source.pos > 1:
                break
            yield
        if match is None or source.text[match.end() : match.end() + 1] != quote:
            return ""
        source.pos = match.end() + 1
        return match[1]


def _is_number(node: Expression) -> bool:
    return isinstance(node, Constant) and isinstance(node.value, int | float)
