"""Operands of code: literals, names, functions, and what stands between brackets."""

import re
from typing import Protocol

from toolspeak.reading.brackets import BracketReader
from toolspeak.reading.code.bodies import BodyReader
from toolspeak.reading.code.rules import HINT, CodeRules
from toolspeak.reading.code.space import CodeSpaceReader
from toolspeak.reading.code.strings import STRING_PREFIX, CodeStringReader
from toolspeak.reading.code.syntax import (
    Closure,
    Comprehension,
    Constant,
    Dynamic,
    Expression,
    ExprStatement,
    ListLiteral,
    Name,
    ObjectLiteral,
    Unsupported,
)
from toolspeak.reading.cursor import Cursor, ReadError, Truncated
from toolspeak.reading.source import Reading
from toolspeak.reading.values import LITERALS, parse_number

IDENTIFIER = re.compile(r"[\w$]*")
NUMERAL = re.compile(r"[\w.]*")
TYPE = re.compile(r"""[\w.<>\[\]|&"' ]*""")
LAMBDA_PARAMETERS = re.compile(r"[^:\n]*")
PARAMETER_NAME = re.compile(r"[(,]\s*([^\W\d]\w*)")


class Expressions(Protocol):
    """The reader of whole expressions, which stand inside operands: between brackets, in arguments, in functions."""

    def read(self) -> Reading[Expression]:
        """Read an expression."""
        ...

    def read_operand(self) -> Reading[Expression]:
        """Read an operand, with the paths and calls behind it."""
        ...

    def read_item(self) -> Reading[Expression]:
        """Read an item of a list or an argument."""
        ...


class OperandReader:
    """Reads operands, without the paths and calls behind them.

    Args:
        cursor: Where operands are read.
        rules: The rules of code.
        space: Skips space between tokens.
        bodies: Reads the bodies of functions.
        expressions: Reads the expressions inside operands.

    Attributes:
        strings: Reads strings.
        brackets: Reads brackets.
    """

    def __init__(
        self, cursor: Cursor, rules: CodeRules, space: CodeSpaceReader, bodies: BodyReader, expressions: Expressions
    ) -> None:
        self.strings = CodeStringReader(cursor, rules, space, expressions.read)
        self.brackets = BracketReader(cursor, rules, space.everywhere, self.strings.plain)
        self._cursor = cursor
        self._source = cursor.source
        self._space = space
        self._bodies = bodies
        self._has_colon = False
        self._expressions = expressions

    def read(self, char: str) -> Reading[Expression]:
        """Read the operand that begins with `char`, which is next."""
        source = self._source
        if char == "(":
            return (yield from self._read_parenthesis())
        if char == "[":
            return (yield from self._read_list())
        if char == "{":
            return (yield from self._read_braces())
        if char.isdecimal() or char == ".":
            return Constant(value=(yield from self._read_number()))
        if (opener := (yield from self.strings.plain.peek_opener())) is not None:
            return (yield from self.strings.read(opener))
        word = yield from source.read_while(IDENTIFIER)
        if not word and char == "`":  # the fence that ends the block, where a value should stand
            raise Truncated
        if not word:
            raise ReadError(f"{char!r} was not expected", HINT)
        if self._cursor.open and (yield from source.is_at_end()):
            raise Truncated
        return (yield from self._read_after_word(word))

    def _read_after_word(self, word: str) -> Reading[Expression]:
        """Read the operand that `word`, which has been read, begins or is."""
        source = self._source
        following = yield from source.peek(1)
        if word in ("await", "new", "typeof", "void", "yield") and following != "(":
            return (yield from self._expressions.read_operand())
        if word in ("await", "async") and following == "(":
            return (yield from self._read_parenthesis())
        if STRING_PREFIX.fullmatch(word) and following and following in "\"'":
            return (yield from self.strings.read_prefixed(word.lower()))
        if word == "async":
            yield from self._space.skip()
            if (yield from source.starts_with("function")):
                source.pos += 8
                return (yield from self._read_function())
            return (yield from self._expressions.read_operand())
        if word == "function":
            return (yield from self._read_function())
        if word == "lambda":
            parameters = (yield from source.read_while(LAMBDA_PARAMETERS)).split(",")
            source.pos += 1
            body = yield from self._expressions.read()
            names = tuple(Name(name=name.strip()) for name in parameters if name.strip())
            return Closure(parameters=names, body=(ExprStatement(value=body),))
        if word == "not":
            return Dynamic(always=((yield from self._expressions.read()),), maybe=())
        if word in LITERALS and following not in ("(", "="):
            return Constant(value=LITERALS[word])
        if word in ("NaN", "Infinity"):
            return Unsupported(reason=f"{word} is not a number")
        if (yield from self._space.skip()) == "=" and (yield from source.peek(2)) == "=>":
            return (yield from self._read_arrow((Name(name=word),)))
        return Name(name=word)

    # Functions

    def _read_function(self) -> Reading[Closure]:
        """Read a function after the word `function`."""
        yield from self._space.skip()
        yield from self._source.read_while(IDENTIFIER)
        header, opener = yield from self._bodies.read_header()
        names = tuple(Name(name=name) for name in PARAMETER_NAME.findall(header))
        return Closure(parameters=names, body=(yield from self._bodies.read(opener)))

    def _read_arrow(self, parameters: tuple[Expression, ...]) -> Reading[Closure]:
        """Read an arrow, which is next, and the body behind it."""
        self._source.pos += 2
        if (yield from self._space.skip()) == "{":
            return Closure(parameters=parameters, body=(yield from self._bodies.read("{")))
        body = yield from self._expressions.read()
        return Closure(parameters=parameters, body=(ExprStatement(value=body),))

    # Brackets

    def _read_parenthesis(self) -> Reading[Expression]:
        """Read an expression in parentheses, a tuple, or an arrow function with its parameters."""
        items: list[Expression] = []

        def read_item(char: str) -> Reading[None]:
            items.append((yield from self._expressions.read_item()))
            if (yield from self._space.skip_all()) == ":":  # the type of an arrow's parameter
                self._source.pos += 1
                yield from self._source.read_while(TYPE)

        commas = yield from self.brackets.read_items(")", read_item)
        if (yield from self._space.skip()) == "=" and (yield from self._source.peek(2)) == "=>":
            return (yield from self._read_arrow(tuple(items)))
        if len(items) == 1 and not commas and not isinstance(items[0], Comprehension):
            return items[0]
        return ListLiteral(items=tuple(items))

    def _read_list(self) -> Reading[Expression]:
        items: list[Expression] = []

        def read_item(char: str) -> Reading[None]:
            items.append((yield from self._expressions.read_item()))

        yield from self.brackets.read_items("]", read_item)
        if len(items) == 1 and isinstance(items[0], Comprehension):
            return items[0]
        return ListLiteral(items=tuple(items))

    def _read_braces(self) -> Reading[ObjectLiteral | ListLiteral]:
        """Read an object, a dict, or a set (`{"a", "b"}`), which is a list; the brace is next."""
        pairs: list[tuple[str | None, Expression]] = []
        members: list[Expression] = []
        self._has_colon = False

        def read_entry(char: str) -> Reading[None]:
            entry = yield from self._read_entry(char)
            if isinstance(entry, Constant):
                members.append(entry)
            else:
                pairs.append(entry)
            if pairs and members:
                raise ReadError("it is half a set and half an object", HINT)

        yield from self.brackets.read_items("}", read_entry)
        if members and self._source.text[self._source.pos - 1] not in "}｝":
            raise ReadError("a set is not closed", HINT)
        return ListLiteral(items=tuple(members)) if members else ObjectLiteral(items=tuple(pairs))

    def _read_entry(self, char: str) -> Reading[tuple[str | None, Expression] | Constant]:
        """Read a key and its value, a key that is also the name of its value, or an object that is unpacked.

        A text or a number without a value is a member of a set.
        """
        source = self._source
        if char in "*.":
            dots = yield from source.peek(3)
            source.pos += 2 if dots.startswith("**") else 3
            if (yield from self._space.skip_all()) in ("}", ",", ""):
                raise ReadError("it is a placeholder", "Write real values.")
            return None, (yield from self._expressions.read())
        if char == "[":
            raise ReadError("a computed key is not supported", HINT)
        tier = self._cursor.tier
        key = yield from self.brackets.read_key()
        self._cursor.forget_repairs(tier)  # keys without quotes are right in code
        following = yield from self._space.skip_all()
        is_bare = char.isalnum() or char in "_$-"
        if following in (",", "}") and not is_bare:
            return Constant(value=key)
        if following in (",", "}") and char.isdecimal():
            return Constant(value=parse_number(key))
        if following in (",", "}", "") and key.isidentifier():
            return key, Name(name=key)
        sign = yield from self.brackets.read_colon(key)
        if sign == "=" and self._has_colon:
            self._cursor.note_doubt("sign")  # a default value, where values are given
        self._has_colon = sign == ":"
        return key, (yield from self._expressions.read())

    def _read_number(self) -> Reading[int | float]:
        source = self._source
        token = yield from source.read_while(NUMERAL)
        if (
            token[-1:] in ("e", "E")
            and not token.lower().startswith("0x")
            and (yield from source.peek(1)) in ("+", "-")
        ):
            sign = yield from source.peek(1)
            source.pos += 1
            token += sign + (yield from source.read_while(NUMERAL))
        if self._cursor.open and (yield from source.is_at_end()):
            raise Truncated
        if token.strip(".") == "":
            raise ReadError("it is a placeholder", "Write real values.")
        try:
            return parse_number(token)
        except ValueError:
            raise ReadError(f"{token} is not a number", HINT) from None
