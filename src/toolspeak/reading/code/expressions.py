"""Expressions of code: operators over operands, in the spelling of Python or of TypeScript.

An expression whose value only running the code would tell (a comparison, a condition) is read and kept as `Dynamic`; an
expression that is not supported raises `ReadError`.
"""

from toolspeak.reading.code.bodies import BodyReader
from toolspeak.reading.code.operands import OperandReader
from toolspeak.reading.code.postfixes import PostfixReader
from toolspeak.reading.code.rules import HINT, UNSUPPORTED, CodeRules
from toolspeak.reading.code.space import CodeSpaceReader
from toolspeak.reading.code.syntax import Comprehension, Constant, Dynamic, Expression, ListLiteral, Operation, Spread
from toolspeak.reading.cursor import Cursor, ReadError, Truncated
from toolspeak.reading.source import Reading

PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "//": 2, "**": 3}
DYNAMIC_WORDS = ("or", "and", "if", "in", "is", "not", "instanceof")
DYNAMIC_SIGNS = ("??", "||", "&&", "===", "!==", "==", "!=", "<=", ">=", "<", ">", "?", "|", "&", "^")


class ExpressionReader:
    """Reads expressions.

    Args:
        cursor: Where expressions are read.
        rules: The rules of code.
        space: Skips space between tokens.
        bodies: Reads the bodies of functions inside expressions.
    """

    def __init__(self, cursor: Cursor, rules: CodeRules, space: CodeSpaceReader, bodies: BodyReader) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._rules = rules
        self._space = space
        self._operands = OperandReader(cursor, rules, space, bodies, self)
        self._postfixes = PostfixReader(cursor, rules, space, self._operands, self)

    def read(self, level: int = 1) -> Reading[Expression]:
        """Read an expression whose operators bind at least as tightly as `level`."""
        self._cursor.enter_expression()
        try:
            left = yield from self.read_operand()
            while (operator := (yield from self._peek_operator())) is not None and PRECEDENCE[operator] >= level:
                self._source.pos += len(operator)
                yield from self._space.skip_all()  # an operator at the end of a line: the next one goes on with it
                # A power binds to the right: 2 ** 3 ** 2 is 2 ** 9.
                right = yield from self.read(PRECEDENCE[operator] + (operator != "**"))
                left = Operation(operator=operator, left=left, right=right)
            if level == 1:
                left = yield from self._read_dynamic(left)
        finally:
            self._cursor.leave_expression()
        return left

    def _read_dynamic(self, left: Expression) -> Reading[Expression]:
        """Read the comparisons and conditions behind `left`."""
        while (sign := (yield from self._peek_dynamic_sign())) is not None:
            self._source.pos += len(sign)
            if sign == "if":
                condition = yield from self._read_arithmetic()
                yield from self._space.skip_words("else")
                left = Dynamic(always=(condition,), maybe=(left, (yield from self.read())))
            elif sign == "?":
                one = yield from self.read()
                if (yield from self._space.skip()) == ":":
                    self._source.pos += 1
                left = Dynamic(always=(left,), maybe=(one, (yield from self.read())))
            elif sign in ("or", "and", "||", "&&", "??"):
                left = Dynamic(always=(left,), maybe=((yield from self._read_arithmetic()),))
            else:
                if sign in ("is", "not"):
                    yield from self._space.skip_words("not", "in")
                left = Dynamic(always=(left, (yield from self._read_arithmetic())), maybe=())
        return left

    def _read_arithmetic(self) -> Reading[Expression]:
        """Read an operand of a comparison or a condition: an expression without either on its top level."""
        if (yield from self._space.skip_words("not")):
            return Dynamic(always=((yield from self._read_arithmetic()),), maybe=())
        left = yield from self.read_operand()
        while (operator := (yield from self._peek_operator())) is not None:
            self._source.pos += len(operator)
            left = Operation(operator=operator, left=left, right=(yield from self.read_operand()))
        return left

    def _peek_dynamic_sign(self) -> Reading[str | None]:
        """Return the operator of a comparison or a condition that is next, or None."""
        char = yield from self._space.skip()
        if char and char in "?|&=!<>^":
            three = yield from self._source.peek(3)
            sign = next((sign for sign in DYNAMIC_SIGNS if three.startswith(sign)), None)
            # A tag that closes the block, an arrow, a path or an assignment is none.
            if (
                sign is None
                or three.startswith(("</", "<|", "<｜", "=>", "?."))
                or (sign == "<" and three[1:2].isalpha())
            ):
                return None
            return sign
        if char and char in "oain":
            eleven = yield from self._source.peek(11)
            for word in DYNAMIC_WORDS:
                if eleven.startswith(word) and not eleven[len(word) : len(word) + 1].isalnum():
                    following = eleven[len(word) : len(word) + 1]
                    return word if following in (" ", "\n", "(", "\t", "") else None
        return None

    def _peek_operator(self) -> Reading[str | None]:
        """Return the arithmetic operator that is next, or None."""
        char = yield from self._space.skip()
        if char not in PRECEDENCE:
            return None
        two = yield from self._source.peek(2)
        if two in ("**", "//") and (two == "**" or self._rules.python):
            return two
        return None if two[1:] in ("=", ">") or two in ("/*", "//", "++", "--") else char

    def read_operand(self) -> Reading[Expression]:
        """Read an operand: signs, a literal, a name or a function, and the paths and calls behind it."""
        char = yield from self._space.skip()
        if char == "":
            raise Truncated
        if char in "-+":
            self._source.pos += 1
            operand = yield from self.read(PRECEDENCE["**"])
            number = operand.value if isinstance(operand, Constant) else None
            if isinstance(number, int | float) and not isinstance(number, bool):
                return Constant(value=-number if char == "-" else number)
            return Operation(operator=char, left=Constant(value=0), right=operand)
        if char == "!":
            self._source.pos += 1
            return Dynamic(always=((yield from self.read_operand()),), maybe=())
        base = yield from self._operands.read(char)
        return (yield from self._postfixes.read(base))

    def read_several(self) -> Reading[Expression]:
        """Read an expression, or several with commas between them: a tuple without parentheses."""
        first = yield from self.read()
        items = [first]
        while not self._cursor.open and (yield from self._space.skip()) == ",":
            self._source.pos += 1
            if (yield from self._space.skip()) in ("", "\n", "=", ";"):
                break
            items.append((yield from self.read()))
        return first if len(items) == 1 else ListLiteral(items=tuple(items))

    def read_item(self) -> Reading[Expression]:
        """Read an item of a list or an argument: an expression, a spread, or a comprehension."""
        source = self._source
        char = yield from self._space.skip_all()
        if char == "*" or (char == "." and (yield from source.peek(3)) == "..."):
            source.pos += 1 if char == "*" else 3
            if (yield from self._space.skip_all()) in (")", "]", ",", ""):
                raise ReadError("it is a placeholder", "Write real values.")
            return Spread(value=(yield from self.read()))
        item = yield from self.read()
        if (yield from self._space.skip_all()) == "f" and (yield from source.starts_with("for ")):
            source.pos += 4
            target = yield from self.read_targets()
            if not (yield from self._space.skip_words("in")):
                raise ReadError(UNSUPPORTED, HINT)
            items = yield from self.read()
            if (yield from self._space.skip_all()) == "i":
                raise ReadError("a comprehension with a condition is not supported", HINT)
            return Comprehension(item=item, target=target, items=items)
        return item

    def read_targets(self) -> Reading[Expression]:
        """Read what a loop binds: a name, or several."""
        names = [(yield from self.read_operand())]
        while (yield from self._space.skip()) == ",":
            self._source.pos += 1
            names.append((yield from self.read_operand()))
        return names[0] if len(names) == 1 else ListLiteral(items=tuple(names))
