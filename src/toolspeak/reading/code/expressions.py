"""Expressions of code: operators over operands, in the spelling of Python or of TypeScript.

An operand is a literal, a name, a function, or what stands between brackets, with the paths and calls behind it
(`.name`, `[key]`, `(arguments)`) and types that mean nothing here. Strings of code have prefixes, stand beside each
other, or are templates that hold expressions. An expression whose value only running the code would tell (a comparison,
a condition) is read and kept as `Dynamic`; an expression that is not supported raises `ReadError`.
"""

import re
from collections.abc import Callable

from toolspeak.reading.code import syntax
from toolspeak.reading.code.layout import HINT, UNSUPPORTED, BodyReader, CodeRules, CodeSpaceReader
from toolspeak.reading.code.syntax import Expression
from toolspeak.reading.cursor import Cursor, ReadError, Truncated
from toolspeak.reading.source import Reading
from toolspeak.reading.strings import BLANK_LOOKAHEAD_CHARS, StringReader
from toolspeak.reading.values import LITERALS, BracketReader, parse_number

STRING_PREFIX = re.compile(r"[rRbBuUfF]{1,2}")
PREFIX_AND_QUOTE = re.compile(r"([rRbBuUfF]{1,2})[\"']")
FORMAT_SPEC = re.compile(r"[^}\n]*")


class CodeStringReader:
    """Reads strings of code as expressions.

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
        self.plain: StringReader[Expression] = StringReader(cursor, rules, self)
        self._cursor = cursor
        self._source = cursor.source
        self._space = space
        self._read_expression = read_expression

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
            return syntax.Constant(value="".join(texts))
        return syntax.Template(parts=tuple(_as_expression(part) for part in parts))

    def _read_one_prefixed(self, prefix: str) -> Reading[str | Expression]:
        """Read a raw, formatted or bytes string, whose prefix has been read."""
        opener = (yield from self.plain.peek_opener()) or '"'
        self._source.pos += len(opener)
        template = "{" if "f" in prefix else ""
        if len(opener) == 3:
            return (yield from self.plain.read_long(opener, raw="r" in prefix, template=template))
        return (yield from self.plain.read_quoted(opener, "value", raw="r" in prefix, template=template))

    # As the `Templates` of the plain strings

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
        return syntax.Formatted(value=value, spec=spec) if spec else value

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
                parts.append(syntax.Constant(value=text))
                text = ""
            parts.append(piece)
        if text:
            parts.append(syntax.Constant(value=text))
        return syntax.Template(parts=tuple(parts), python=python)


def _as_expression(string: str | Expression) -> Expression:
    return syntax.Constant(value=string) if isinstance(string, str) else string


IDENTIFIER = re.compile(r"[\w$]*")
NUMERAL = re.compile(r"[\w.]*")
TYPE = re.compile(r"""[\w.<>\[\]|&"' ]*""")
LAMBDA_PARAMETERS = re.compile(r"[^:\n]*")
PARAMETER_NAME = re.compile(r"[(,]\s*([^\W\d]\w*)")


TYPE_ARGUMENTS = re.compile(r"<[\w\[\], |.]{1,40}>(?=\()")
QUOTED_WORD = {quote: re.compile(rf"{quote}([\w$-]{{1,62}})") for quote in "\"'"}
MAX_QUOTED_KEYWORD_CHARS = 64


PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "//": 2, "**": 3}
DYNAMIC_WORDS = ("or", "and", "if", "in", "is", "not", "instanceof")
DYNAMIC_SIGNS = ("??", "||", "&&", "===", "!==", "==", "!=", "<=", ">=", "<", ">", "?", "|", "&", "^")


class ExpressionReader:
    """Reads expressions."""

    def __init__(self, cursor: Cursor, rules: CodeRules, space: CodeSpaceReader, bodies: BodyReader) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._rules = rules
        self._space = space
        self._bodies = bodies
        self._strings = CodeStringReader(cursor, rules, space, self.read)
        self._brackets = BracketReader(cursor, rules, space.everywhere, self._strings.plain)
        self._has_colon = False

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
                left = syntax.Operation(operator=operator, left=left, right=right)
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
                left = syntax.Dynamic(always=(condition,), maybe=(left, (yield from self.read())))
            elif sign == "?":
                one = yield from self.read()
                if (yield from self._space.skip()) == ":":
                    self._source.pos += 1
                left = syntax.Dynamic(always=(left,), maybe=(one, (yield from self.read())))
            elif sign in ("or", "and", "||", "&&", "??"):
                left = syntax.Dynamic(always=(left,), maybe=((yield from self._read_arithmetic()),))
            else:
                if sign in ("is", "not"):
                    yield from self._space.skip_words("not", "in")
                left = syntax.Dynamic(always=(left, (yield from self._read_arithmetic())), maybe=())
        return left

    def _read_arithmetic(self) -> Reading[Expression]:
        """Read an operand of a comparison or a condition: an expression without either on its top level."""
        if (yield from self._space.skip_words("not")):
            return syntax.Dynamic(always=((yield from self._read_arithmetic()),), maybe=())
        left = yield from self.read_operand()
        while (operator := (yield from self._peek_operator())) is not None:
            self._source.pos += len(operator)
            left = syntax.Operation(operator=operator, left=left, right=(yield from self.read_operand()))
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
            number = operand.value if isinstance(operand, syntax.Constant) else None
            if isinstance(number, int | float) and not isinstance(number, bool):
                return syntax.Constant(value=-number if char == "-" else number)
            return syntax.Operation(operator=char, left=syntax.Constant(value=0), right=operand)
        if char == "!":
            self._source.pos += 1
            return syntax.Dynamic(always=((yield from self.read_operand()),), maybe=())
        base = yield from self._read_base(char)
        return (yield from self._read_postfixes(base))

    def read_several(self) -> Reading[Expression]:
        """Read an expression, or several with commas between them: a tuple without parentheses."""
        first = yield from self.read()
        items = [first]
        while not self._cursor.open and (yield from self._space.skip()) == ",":
            self._source.pos += 1
            if (yield from self._space.skip()) in ("", "\n", "=", ";"):
                break
            items.append((yield from self.read()))
        return first if len(items) == 1 else syntax.ListLiteral(items=tuple(items))

    def read_item(self) -> Reading[Expression]:
        """Read an item of a list or an argument: an expression, a spread, or a comprehension."""
        source = self._source
        char = yield from self._space.skip_all()
        if char == "*" or (char == "." and (yield from source.peek(3)) == "..."):
            source.pos += 1 if char == "*" else 3
            if (yield from self._space.skip_all()) in (")", "]", ",", ""):
                raise ReadError("it is a placeholder", "Write real values.")
            return syntax.Spread(value=(yield from self.read()))
        item = yield from self.read()
        if (yield from self._space.skip_all()) == "f" and (yield from source.starts_with("for ")):
            source.pos += 4
            target = yield from self.read_targets()
            if not (yield from self._space.skip_words("in")):
                raise ReadError(UNSUPPORTED, HINT)
            items = yield from self.read()
            if (yield from self._space.skip_all()) == "i":
                raise ReadError("a comprehension with a condition is not supported", HINT)
            return syntax.Comprehension(item=item, target=target, items=items)
        return item

    def read_targets(self) -> Reading[Expression]:
        """Read what a loop binds: a name, or several."""
        names = [(yield from self.read_operand())]
        while (yield from self._space.skip()) == ",":
            self._source.pos += 1
            names.append((yield from self.read_operand()))
        return names[0] if len(names) == 1 else syntax.ListLiteral(items=tuple(names))

    # Operands

    def _read_base(self, char: str) -> Reading[Expression]:
        """Read the operand that begins with `char`, which is next, without the paths and calls behind it."""
        source = self._source
        if char == "(":
            return (yield from self._read_parenthesis())
        if char == "[":
            return (yield from self._read_list())
        if char == "{":
            return (yield from self._read_braces())
        if char.isdecimal() or char == ".":
            return syntax.Constant(value=(yield from self._read_number()))
        if (opener := (yield from self._strings.plain.peek_opener())) is not None:
            return (yield from self._strings.read(opener))
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
            return (yield from self.read_operand())
        if word in ("await", "async") and following == "(":
            return (yield from self._read_parenthesis())
        if STRING_PREFIX.fullmatch(word) and following and following in "\"'":
            return (yield from self._strings.read_prefixed(word.lower()))
        if word == "async":
            yield from self._space.skip()
            if (yield from source.starts_with("function")):
                source.pos += 8
                return (yield from self._read_function())
            return (yield from self.read_operand())
        if word == "function":
            return (yield from self._read_function())
        if word == "lambda":
            parameters = (yield from source.read_while(LAMBDA_PARAMETERS)).split(",")
            source.pos += 1
            body = yield from self.read()
            names = tuple(syntax.Name(name=name.strip()) for name in parameters if name.strip())
            return syntax.Closure(parameters=names, body=(syntax.ExprStatement(value=body),))
        if word == "not":
            return syntax.Dynamic(always=((yield from self.read()),), maybe=())
        if word in LITERALS and following not in ("(", "="):
            return syntax.Constant(value=LITERALS[word])
        if word in ("NaN", "Infinity"):
            return syntax.Unsupported(reason=f"{word} is not a number")
        if (yield from self._space.skip()) == "=" and (yield from source.peek(2)) == "=>":
            return (yield from self._read_arrow((syntax.Name(name=word),)))
        return syntax.Name(name=word)

    # Functions

    def _read_function(self) -> Reading[syntax.Closure]:
        """Read a function after the word `function`."""
        yield from self._space.skip()
        yield from self._source.read_while(IDENTIFIER)
        header, opener = yield from self._bodies.read_header()
        names = tuple(syntax.Name(name=name) for name in PARAMETER_NAME.findall(header))
        return syntax.Closure(parameters=names, body=(yield from self._bodies.read(opener)))

    def _read_arrow(self, parameters: tuple[Expression, ...]) -> Reading[syntax.Closure]:
        """Read an arrow, which is next, and the body behind it."""
        self._source.pos += 2
        if (yield from self._space.skip()) == "{":
            return syntax.Closure(parameters=parameters, body=(yield from self._bodies.read("{")))
        body = yield from self.read()
        return syntax.Closure(parameters=parameters, body=(syntax.ExprStatement(value=body),))

    # Brackets

    def _read_parenthesis(self) -> Reading[Expression]:
        """Read an expression in parentheses, a tuple, or an arrow function with its parameters."""
        items: list[Expression] = []

        def read_item(char: str) -> Reading[None]:
            items.append((yield from self.read_item()))
            if (yield from self._space.skip_all()) == ":":  # the type of an arrow's parameter
                self._source.pos += 1
                yield from self._source.read_while(TYPE)

        commas = yield from self._brackets.read_items(")", read_item)
        if (yield from self._space.skip()) == "=" and (yield from self._source.peek(2)) == "=>":
            return (yield from self._read_arrow(tuple(items)))
        if len(items) == 1 and not commas and not isinstance(items[0], syntax.Comprehension):
            return items[0]
        return syntax.ListLiteral(items=tuple(items))

    def _read_list(self) -> Reading[Expression]:
        items: list[Expression] = []

        def read_item(char: str) -> Reading[None]:
            items.append((yield from self.read_item()))

        yield from self._brackets.read_items("]", read_item)
        if len(items) == 1 and isinstance(items[0], syntax.Comprehension):
            return items[0]
        return syntax.ListLiteral(items=tuple(items))

    def _read_braces(self) -> Reading[syntax.ObjectLiteral | syntax.ListLiteral]:
        """Read an object, a dict, or a set (`{"a", "b"}`), which is a list; the brace is next."""
        pairs: list[tuple[str | None, Expression]] = []
        members: list[Expression] = []
        self._has_colon = False

        def read_entry(char: str) -> Reading[None]:
            entry = yield from self._read_entry(char)
            if isinstance(entry, syntax.Constant):
                members.append(entry)
            else:
                pairs.append(entry)
            if pairs and members:
                raise ReadError("it is half a set and half an object", HINT)

        yield from self._brackets.read_items("}", read_entry)
        if members and self._source.text[self._source.pos - 1] not in "}｝":
            raise ReadError("a set is not closed", HINT)
        return syntax.ListLiteral(items=tuple(members)) if members else syntax.ObjectLiteral(items=tuple(pairs))

    def _read_entry(self, char: str) -> Reading[tuple[str | None, Expression] | syntax.Constant]:
        """Read a key and its value, a key that is also the name of its value, or an object that is unpacked.

        A text or a number without a value is a member of a set.
        """
        source = self._source
        if char in "*.":
            dots = yield from source.peek(3)
            source.pos += 2 if dots.startswith("**") else 3
            if (yield from self._space.skip_all()) in ("}", ",", ""):
                raise ReadError("it is a placeholder", "Write real values.")
            return None, (yield from self.read())
        if char == "[":
            raise ReadError("a computed key is not supported", HINT)
        tier = self._cursor.tier
        key = yield from self._brackets.read_key()
        self._cursor.forget_repairs(tier)  # keys without quotes are right in code
        following = yield from self._space.skip_all()
        is_bare = char.isalnum() or char in "_$-"
        if following in (",", "}") and not is_bare:
            return syntax.Constant(value=key)
        if following in (",", "}") and char.isdecimal():
            return syntax.Constant(value=parse_number(key))
        if following in (",", "}", "") and key.isidentifier():
            return key, syntax.Name(name=key)
        sign = yield from self._brackets.read_colon(key)
        if sign == "=" and self._has_colon:
            self._cursor.note_doubt("sign")  # a default value, where values are given
        self._has_colon = sign == ":"
        return key, (yield from self.read())

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

    # Paths and calls behind an operand

    def _read_postfixes(self, base: Expression) -> Reading[Expression]:
        """Read the paths and calls behind `base`; return the whole."""
        source = self._source
        while True:
            char = yield from self._space.skip()
            if char == "\n" and not self._rules.python and (yield from self._skip_to_chained_line()):
                char = yield from self._space.skip_all()
            if char == "?" and (yield from source.peek(2)) == "?.":
                source.pos += 1
                char = "."
            if char == "." and not (isinstance(base, syntax.Constant) and isinstance(base.value, int | float)):
                source.pos += 1
                if (yield from source.peek(1)) == "[":
                    continue
                base = yield from self._read_attribute(base)
            elif char == "[":
                base = yield from self._read_subscript(base)
            elif char == "(":
                base = yield from self._read_call(base)
            elif (
                char == "<"
                and isinstance(base, syntax.Name | syntax.Member)
                and (yield from self._skip_type_arguments())
            ):
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
        return syntax.Member(base=base, key=syntax.Constant(value=key))

    def _read_subscript(self, base: Expression) -> Reading[Expression]:
        source = self._source
        source.pos += 1
        self._cursor.open.append("]")
        key = yield from self.read()
        if (yield from self._space.skip_all()) != "]":
            raise Truncated if (yield from source.is_at_end()) else ReadError(UNSUPPORTED, HINT)
        source.pos += 1
        self._cursor.open.pop()
        return syntax.Member(base=base, key=key)

    def _skip_type_arguments(self) -> Reading[bool]:
        """Skip `<Type>` before the parenthesis of a call; whether one came."""
        if not (yield from self._source.peek(2))[1:].isalpha():
            return False
        found = TYPE_ARGUMENTS.match((yield from self._source.peek(44)))
        self._source.pos += found.end() if found else 0
        return found is not None

    def _skip_to_chained_line(self) -> Reading[bool]:
        """Skip to the next line if it begins with a dot and a name, after some blanks at most; whether it does."""
        source = self._source
        offset = 1
        while True:
            while source.pos + offset < len(source.text) and source.text[source.pos + offset].isspace():
                offset += 1
                if offset > BLANK_LOOKAHEAD_CHARS:
                    return False
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

    def _read_call(self, callee: Expression) -> Reading[syntax.Invocation]:
        """Read the arguments of a call; the parenthesis is next."""
        args: list[Expression] = []
        keywords: list[tuple[str | None, Expression]] = []
        style = ""

        def read_argument(char: str) -> Reading[None]:
            nonlocal style
            if char == "*" and (yield from self._source.peek(2)) == "**":
                self._source.pos += 2
                keywords.append((None, (yield from self.read())))
            elif (key := (yield from self._read_keyword())) is not None:
                # `f("a", n=1)` is sound. Any other change of style may show that a string went on.
                now = self._source.text[self._source.pos - 1] + (char if char in "\"'" else "")
                if now != style and (style or now != "=") and (args or keywords):
                    self._cursor.note_doubt("style")
                style = now
                keywords.append((key, (yield from self.read())))
            else:
                if style:
                    self._cursor.note_doubt("style")
                args.append((yield from self.read_item()))

        yield from self._brackets.read_items(")", read_argument)
        return syntax.Invocation(callee=callee, args=tuple(args), keywords=tuple(keywords))

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
