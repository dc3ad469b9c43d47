"""Strings of code: prefixes, strings beside each other, and templates, which hold expressions."""

import re
from collections.abc import Callable

from toolspeak.reading.code.rules import HINT, UNSUPPORTED, CodeRules
from toolspeak.reading.code.space import CodeSpaceReader
from toolspeak.reading.code.syntax import Constant, Expression, Formatted, Template
from toolspeak.reading.cursor import Cursor, ReadError, Truncated
from toolspeak.reading.source import Reading
from toolspeak.reading.strings import StringReader

STRING_PREFIX = re.compile(r"[rRbBuUfF]{1,2}")
PREFIX_AND_QUOTE = re.compile(r"([rRbBuUfF]{1,2})[\"']")
FORMAT_SPEC = re.compile(r"[^}\n]*")


class CodeTemplates:
    """Reads the expressions in strings of code.

    Args:
        cursor: Where strings are read.
        space: Skips space behind an expression.
        read_expression: Reads an expression.
    """

    def __init__(
        self, cursor: Cursor, space: CodeSpaceReader, read_expression: Callable[[], Reading[Expression]]
    ) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._space = space
        self._read_expression = read_expression

    def read_part(self, char: str) -> Reading[str | Expression]:
        """Read `{expression}` of a formatted string or `${expression}` of a template, or a brace that is text."""
        source = self._source
        two = yield from source.peek(2)
        if two in ("{{", "}}"):
            source.pos += 2
            return char
        if char == "}" or (char == "$" and two != "${"):
            source.pos += 1
            return char
        source.pos += len(two) if char == "$" else 1
        self._cursor.open.append("}")
        value = yield from self._read_expression()
        following = yield from self._space.skip_all()
        spec = ""
        if following in (":", "!", "="):
            spec = yield from source.read_while(FORMAT_SPEC)
        elif following != "}":
            raise Truncated if following == "" else ReadError(UNSUPPORTED, HINT)
        self._cursor.open.pop()
        if (yield from source.is_at_end()):
            raise Truncated
        source.pos += 1
        return Formatted(value=value, spec=spec) if spec else value

    def join(self, pieces: list[str | Expression], *, python: bool) -> str | Expression:
        """Return the text of `pieces`, or a `Template` if expressions are among them."""
        texts = [piece for piece in pieces if isinstance(piece, str)]
        if len(texts) == len(pieces):
            return "".join(texts)
        parts: list[Expression] = []
        text = ""
        for piece in pieces:
            if isinstance(piece, str):
                text += piece
                continue
            if text:
                parts.append(Constant(value=text))
                text = ""
            parts.append(piece)
        if text:
            parts.append(Constant(value=text))
        return Template(parts=tuple(parts), python=python)


class CodeStringReader:
    """Reads strings of code as expressions.

    Args:
        cursor: Where strings are read.
        rules: The rules of code.
        space: Skips space between strings.
        read_expression: Reads an expression inside a string.

    Attributes:
        plain: Reads one string without a prefix.
    """

    def __init__(
        self,
        cursor: Cursor,
        rules: CodeRules,
        space: CodeSpaceReader,
        read_expression: Callable[[], Reading[Expression]],
    ) -> None:
        self.plain: StringReader[Expression] = StringReader(
            cursor, rules, CodeTemplates(cursor, space, read_expression)
        )
        self._source = cursor.source
        self._space = space

    def read(self, opener: str) -> Reading[Expression]:
        """Read a string from its opener, and the strings beside it."""
        return (yield from self._read_neighbours((yield from self.plain.read(opener, "value"))))

    def read_prefixed(self, prefix: str) -> Reading[Expression]:
        """Read a string whose prefix has been read, and the strings beside it."""
        return (yield from self._read_neighbours((yield from self._read_one_prefixed(prefix))))

    def read_raw_template(self) -> Reading[Expression]:
        """Read the backticks of `String.raw`, whose first has been read."""
        return _as_expression((yield from self.plain.read_long("`", raw=True, template="${")))

    def _read_neighbours(self, first: str | Expression) -> Reading[Expression]:
        """Read the strings that stand beside `first`: they are one string, in Python."""
        parts = [first]
        while True:
            yield from self._space.skip()
            prefix = PREFIX_AND_QUOTE.match((yield from self._source.peek(3)))
            if prefix is not None:
                self._source.pos += prefix.end(1)
                parts.append((yield from self._read_one_prefixed(prefix[1].lower())))
                continue
            opener = yield from self.plain.peek_opener()
            if opener is None or opener == "`" or opener[0] == "\\":
                break
            parts.append((yield from self.plain.read(opener, "value")))
        if len(parts) == 1:
            return _as_expression(first)
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts):
            return Constant(value="".join(texts))
        return Template(parts=tuple(_as_expression(part) for part in parts))

    def _read_one_prefixed(self, prefix: str) -> Reading[str | Expression]:
        """Read a raw, formatted or bytes string, whose prefix has been read."""
        opener = (yield from self.plain.peek_opener()) or '"'
        self._source.pos += len(opener)
        template = "{" if "f" in prefix else ""
        if len(opener) == 3:
            return (yield from self.plain.read_long(opener, raw="r" in prefix, template=template))
        return (yield from self.plain.read_quoted(opener, "value", raw="r" in prefix, template=template))


def _as_expression(string: str | Expression) -> Expression:
    return Constant(value=string) if isinstance(string, str) else string
