"""The statements that models put around calls: conditions, loops, `try`, functions, classes."""

import re
from collections.abc import Callable

from toolspeak.reading.code.bodies import BodyReader
from toolspeak.reading.code.expressions import ExpressionReader
from toolspeak.reading.code.lines import LineReader
from toolspeak.reading.code.operands import IDENTIFIER
from toolspeak.reading.code.rules import HINT, UNSUPPORTED
from toolspeak.reading.code.space import CodeSpaceReader
from toolspeak.reading.code.syntax import (
    Bind,
    Block,
    Closure,
    Define,
    Expression,
    ExprStatement,
    Handlers,
    If,
    Loop,
    Name,
    NoOp,
    Statement,
    UnboundedLoop,
    Unsupported,
)
from toolspeak.reading.cursor import Cursor, ReadError
from toolspeak.reading.source import Reading

ALWAYS_TRUE = re.compile(
    r"""\(?\s*(?:True|true|1|__name__\s*===?\s*["']__main__["']|require\.main\s*===?\s*module)\s*\)?"""
)
NAME_AFTER_AS = re.compile(r"\bas\s+(\w+)")
PARAMETER_NAME = re.compile(r"[(,]\s*\*{0,2}([^\W\d]\w*)")
LOOP_HEADER = re.compile(r"[^;{}\n]*")


class CompoundReader:
    """Reads statements that have a body.

    Args:
        cursor: Where code is read.
        space: Skips space between tokens.
        lines: Finds the clauses after a body.
        bodies: Reads headers and bodies.
        expressions: Reads what loops bind and go over.
        parse_expression: Returns the expression that a text is, or None.
    """

    def __init__(
        self,
        cursor: Cursor,
        space: CodeSpaceReader,
        lines: LineReader,
        bodies: BodyReader,
        expressions: ExpressionReader,
        parse_expression: Callable[[str], Expression | None],
    ) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._space = space
        self._lines = lines
        self._bodies = bodies
        self._expressions = expressions
        self._parse_expression = parse_expression

    def read(self, word: str, following: str) -> Reading[Statement]:
        """Read the statement that the keyword `word` begins; `following` is the character after the keyword."""
        if word == "for":
            return (yield from self._read_for(following))
        if word in ("try", "do"):
            return (yield from self._read_try(word, following))
        condition, opener = yield from self._bodies.read_header()
        body = yield from self._bodies.read(opener)
        match word:
            case "if":
                return (yield from self._read_alternatives(condition, body))
            case "case":
                return If(always=False, body=body)
            case "with":
                names = [Name(name=name) for name in NAME_AFTER_AS.findall(condition)]
                bound = [Bind(target=name, value=Unsupported(reason="it is bound by a with")) for name in names]
                return Block(body=(*bound, *body))
            case _:
                return UnboundedLoop(body=body)

    def _read_try(self, word: str, following: str) -> Reading[Statement]:
        """Read `try` and its handlers, or `do` and its `while`."""
        body = yield from self._bodies.read(following if following in (":", "{") else "")
        others = yield from self._read_clauses("except", "catch", "finally", "else", "while")
        if word == "do":
            return UnboundedLoop(body=body)
        return Block(body=(*body, Handlers(body=others)) if others else body)

    def _read_alternatives(self, condition: str, body: tuple[Statement, ...]) -> Reading[Statement]:
        """Read the `elif` and `else` of an `if` whose condition and body have been read."""
        alternatives = yield from self._read_clauses("elif", "else")
        always = ALWAYS_TRUE.fullmatch(condition.strip()) is not None
        statement = If(always=always, body=body)
        if always:
            return statement
        # Calls in the condition are made in any case; nothing else is sure.
        expression = self._parse_expression(condition)
        evaluated = [] if expression is None else [ExprStatement(value=expression)]
        return Block(body=(*evaluated, statement, If(always=False, body=alternatives)))

    def _read_for(self, following: str) -> Reading[Statement]:
        """Read a loop over items, or one that counts; `following` is the character after `for`."""
        source, space = self._source, self._space
        in_parentheses = following == "("
        if (yield from source.starts_with("await")):
            source.pos += 5
            in_parentheses = (yield from space.skip()) == "("
        if in_parentheses:
            source.pos += 1
            if not source.may_rewind:
                raise ReadError(UNSUPPORTED, HINT)
            mark = source.mark()
            header = yield from source.read_while(LOOP_HEADER)
            source.rewind(mark)
            source.unmark()
            if " of " not in header:
                _, opener = yield from self._bodies.read_header(opened=True)
                return UnboundedLoop(body=(yield from self._bodies.read(opener)))
            self._cursor.open.append(")")
            yield from space.skip_words("const", "let", "var")
            target = yield from self._expressions.read_targets()
            yield from space.skip_words("of")
            items = yield from self._expressions.read()
            if (yield from space.skip()) == ")":
                source.pos += 1
            self._cursor.open.pop()
        else:
            target = yield from self._expressions.read_targets()
            if not (yield from space.skip_words("in")):
                raise ReadError(UNSUPPORTED, HINT)
            items = yield from self._expressions.read_several()
        opener = yield from space.skip()
        body = yield from self._bodies.read(opener if opener in (":", "{") else "")
        others = yield from self._read_clauses("else")
        loop = Loop(target=target, items=items, body=body)
        return Block(body=(loop, If(always=False, body=others))) if others else loop

    def _read_clauses(self, *words: str) -> Reading[tuple[Statement, ...]]:
        """Read the clauses after a body that begin with one of `words`; return the statements in them."""
        source, lines = self._source, self._lines
        statements: list[Statement] = []
        column = lines.column
        while (yield from lines.find_statement()) and lines.column == column:
            mark = source.mark()
            word = yield from source.read_while(IDENTIFIER)
            if word not in words:
                source.rewind(mark)
                source.unmark()
                break
            source.unmark()
            _, opener = yield from self._bodies.read_header()
            statements += yield from self._bodies.read(opener)
            lines.column = column
        return tuple(statements)

    def read_definition(self) -> Reading[Statement]:
        """Read the definition of a function, whose keyword has been read."""
        source = self._source
        if (yield from self._space.skip()) == "*":
            source.pos += 1
        name = yield from source.read_while(IDENTIFIER)
        if not name or (yield from self._space.skip()) != "(":
            raise ReadError(UNSUPPORTED, HINT)
        header, opener = yield from self._bodies.read_header()
        parameters = tuple(Name(name=text) for text in PARAMETER_NAME.findall(header))
        body = (yield from self._bodies.read(opener)) if opener else ()
        return Define(name=name, closure=Closure(parameters=parameters, body=body))

    def read_declaration(self) -> Reading[Statement]:
        """Read a type or a class, whose keyword has been read: nothing in it is a call, and its name is no tool's."""
        header, opener = yield from self._bodies.read_header()
        if opener == ":":
            self._source.pos += 1
            opener = ":" if (yield from self._space.skip()) in ("\n", "\r", "") else ""
            if opener:
                yield from self._bodies.read_indented(self._lines.column)
        elif opener == "{":
            yield from self._bodies.read(opener)
        if not opener:
            yield from self._lines.skip_statement(0)
        name = re.match(r"\w+", header)
        return Bind(target=Name(name=name[0]), value=Unsupported(reason="it is a type")) if name else NoOp()
