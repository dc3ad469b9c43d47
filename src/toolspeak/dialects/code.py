"""Code as models write calls in it: Python, TypeScript, and what lies between the two.

One grammar reads both, since models mix them: `true` in Python, `None` in TypeScript, keyword arguments with colons.
Names, literals, joins, calls and paths are read; so are the wrappers models like to put around a call (a main function,
a `try`, a loop over a list). A statement that is none of these is skipped and said to be unsupported. Reading gives a
tree (`syntax.py`); nothing is executed.
"""

import re
from collections.abc import Callable
from typing import Any

from toolspeak.dialects.source import Reading
from toolspeak.dialects.syntax import (
    Bind,
    Both,
    Closure,
    Comprehension,
    Define,
    Doubtful,
    Formatted,
    Give,
    Import,
    Invocation,
    Joined,
    Jump,
    Loop,
    Mapped,
    Name,
    Nothing,
    Operation,
    Part,
    Say,
    Spread,
    Statement,
    Unreadable,
    When,
)
from toolspeak.dialects.values import INLINE_BLANKS, LITERALS, QUOTES, WIDE, Bad, Cut, Values, Watch, number

IDENTIFIER = re.compile(r"[\w$]*")
INDENT = re.compile(r"[ \t\u200b\u200c\u200d\u2060\ufeff\u00a0]*")
NUMERAL = re.compile(r"[\w.]*")
TYPE = re.compile(r"""[\w.<>\[\]|&"' ]*""")
PREFIXED = re.compile(r"([rRbBuUfF]{1,2})[\"']")
STRING_PREFIX = re.compile(r"[rRbBuUfF]{1,2}")
KEYWORD_AFTER_STRING = re.compile(r"(?:if|else|for|in|as|and|or|is|not)\b|[rbuf]{0,2}[\"'`]")
ALWAYS = re.compile(r"""\(?\s*(?:True|true|1|__name__\s*===?\s*["']__main__["']|require\.main\s*===?\s*module)\s*\)?""")
DECLARATIONS = frozenset({"class", "interface", "type", "declare", "namespace", "enum", "abstract", "module"})
SKIPPED = frozenset({"pass", "global", "nonlocal", "del", "raise", "throw", "debugger"})
PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "//": 2, "**": 3}
AUGMENTED = ("**=", "//=", "+=", "-=", "*=", "/=", "%=")
DOUBTFUL_WORDS = ("or", "and", "if", "in", "is", "not", "else", "instanceof")
DOUBTFUL_SIGNS = ("??", "||", "&&", "===", "!==", "==", "!=", "<=", ">=", "<", ">", "?", "|", "&", "^")
NESTED = 32
"""How deeply expressions may be nested."""
UNSUPPORTED = "it uses code that is not supported"
HINT = "Write plain calls with literal values, one per line."


class Code(Values):
    """Reads statements. `column` is that of the statement at hand, `python` whether `//` divides."""

    def __init__(self, values: Values) -> None:
        super().__init__(values.source, values.keys)
        self.code = True
        self.python = False
        self.column: int = 0
        self._at = -1
        self._at_column: int = 0
        self._depth = 0

    # Statements

    def line(self) -> Reading[Statement | None]:
        """A statement on a line of its own, outside of any block; `Bad` if it is none."""
        if not (yield from self.line_start()):
            return None
        return (yield from self._statement())

    def statement(self) -> Reading[Statement | None]:
        """The next statement, or None at the end of the block. What cannot be read is skipped: `Nothing(why=…)`."""
        if not (yield from self.line_start()):
            return None
        depth = len(self.open)
        start = self.source.here
        try:
            return (yield from self._statement())
        except Cut:
            raise
        except Bad as bad:
            yield from self._skip_line(len(self.open) - depth)
            del self.open[depth:]
            if self.source.here == start:
                self.source.pos += 1  # a stray closer, which no line begins with
            return Nothing(why=bad.reason)

    def line_start(self) -> Reading[str]:
        """Go to the next statement and note its column; its first character, or "" at the end of the block."""
        source = self.source
        if source.here == self._at:  # found already, by the body that ended before it
            self.column = self._at_column
            return (yield from source.ahead(1))
        column = 0
        while True:
            column += len((yield from source.run(INDENT)))
            char = yield from source.ahead(1)
            if char == "":
                return ""
            if char in "\r\n;":
                source.pos += 1
                column = self.column if char == ";" else 0
            elif char == "#" or (char == "/" and (yield from source.ahead(2)) == "//"):
                yield from source.line()
            elif char == "/" and (yield from source.starts_with("/*")):
                yield from source.until("*/")
            elif (char in "`~" and (yield from source.ahead(3)) in ("```", "~~~")) or (
                char == "<" and not (yield from source.starts_with("<!--"))
            ):
                return ""
            elif char == "<":
                yield from source.until("-->")
            elif char in ">." and (yield from source.ahead(4)) in (">>> ", "... "):
                source.pos += 4
                column = 0
            else:
                self.column = self._at_column = column
                self._at = source.here
                return char

    def _statement(self) -> Reading[Statement]:
        source = self.source
        mark = source.mark()
        try:
            word = yield from source.run(IDENTIFIER)
            following = (yield from self.blank()) if word else ""
            if word == "async" and (yield from source.starts_with("def")):
                word = yield from source.run(IDENTIFIER)
                yield from self.blank()
            elif word == "async" and (yield from source.starts_with("function")):
                word = yield from source.run(IDENTIFIER)
                following = yield from self.blank()
            if word in ("if", "while", "with", "switch", "for", "try", "do") and following not in (".", "=", ","):
                return (yield from self._compound(word, following))
            if following not in ("(", ".", "=", ",") and (following != "[" or word in ("const", "let", "var")):
                reader = self._keywords().get(word)
                if reader is not None:
                    return (yield from reader())
            if word in DECLARATIONS and (following.isalpha() or following in "_${"):
                return (yield from self._declaration())
            source.rewind(mark)
        finally:
            source.unmark()
        return (yield from self._simple())

    def _keywords(self) -> dict[str, Callable[[], Reading[Statement]]]:
        return {
            "def": self._definition,
            "function": self._definition,
            "import": self._import,
            "from": self._from_import,
            "export": self._statement,
            "default": self._statement,
            "return": self._returned,
            "yield": self._returned,
            "assert": self._simple,
            "break": self._jump,
            "continue": self._jump,
            "const": self._declared,
            "let": self._declared,
            "var": self._declared,
            **dict.fromkeys(SKIPPED, self._ignored),
        }

    def _ignored(self) -> Reading[Statement]:
        yield from self.source.line()
        return Nothing()

    def _jump(self) -> Reading[Statement]:
        yield from self.source.line()
        return Jump()

    def _returned(self) -> Reading[Statement]:
        char = yield from self.blank()
        if char in ("", "\n", ";", "}"):
            return Give(value=None)
        said = yield from self._simple()
        return Give(value=said.value) if isinstance(said, Say) else said

    def _declared(self) -> Reading[Statement]:
        """`const a = 1, b = 2`, or `let a`."""
        bound: list[Statement] = []
        while True:
            target = yield from self.expression()
            yield from self._annotation()
            if (yield from self.blank()) == "=":
                self.source.pos += 1
                bound.append(Bind(target=target, value=(yield from self.expression())))
            if (yield from self.blank()) != ",":
                break
            self.source.pos += 1
            yield from self.space()
        yield from self._end()
        return bound[0] if len(bound) == 1 else Both(body=tuple(bound))

    def _simple(self) -> Reading[Statement]:
        """An assignment or an expression."""
        value = yield from self._several()
        if isinstance(value, Name):
            yield from self._annotation()
        if (operator := (yield from self._augmented())) is not None:
            other = (yield from self.expression()) if operator.endswith("=") else 1
            yield from self._end()
            return Bind(target=value, value=Operation(operator=operator.rstrip("="), left=value, right=other))
        targets: list[Any] = []
        while (yield from self.blank()) == "=" and (yield from self.source.ahead(2)) not in ("==", "=>"):
            self.source.pos += 1
            yield from self.blank()
            targets.append(value)
            value = yield from self._several()
        yield from self._end()
        if not targets:
            return Say(value=value)
        # `a = b = call()` calls once: the last name is bound, and the others to it.
        bound = [
            Bind(target=targets[-1], value=value),
            *(Bind(target=each, value=targets[-1]) for each in targets[:-1]),
        ]
        return bound[0] if len(bound) == 1 else Both(body=tuple(bound))

    def _augmented(self) -> Reading[str | None]:
        """`+=` and its like, or `+` for `++`; None if none comes."""
        char = yield from self.blank()
        if char not in PRECEDENCE:
            return None
        three = yield from self.source.ahead(3)
        for sign in AUGMENTED:
            if three.startswith(sign):
                self.source.pos += len(sign)
                return sign
        if three[:2] in ("++", "--"):
            self.source.pos += 2
            return three[0]
        return None

    def _several(self) -> Reading[Any]:
        """One expression, or several with commas between: a tuple without parentheses."""
        first = yield from self.expression()
        items = [first]
        while not self.open and (yield from self.blank()) == ",":
            self.source.pos += 1
            if (yield from self.blank()) in ("", "\n", "=", ";"):
                break
            items.append((yield from self.expression()))
        return first if len(items) == 1 else items

    def _annotation(self) -> Reading[None]:
        """`: Type` after a name, which says nothing to us."""
        if (yield from self.blank()) == ":":
            self.source.pos += 1
            yield from self.source.run(TYPE)

    def _end(self) -> Reading[None]:
        char = yield from self.blank()
        if char == "" and not self.source.well:
            raise Cut  # the statement, or its line, may have gone on
        if char in ("", "\n", "\r", ";", "}"):
            return
        if char == "<" or (char in "`~" and (yield from self.source.ahead(3)) in ("```", "~~~")):
            return
        raise Bad(UNSUPPORTED, HINT)

    # Wrappers around calls

    def _compound(self, word: str, following: str) -> Reading[Statement]:
        if word == "for":
            return (yield from self._for(following))
        if word in ("try", "do"):
            ender = following if following in (":", "{") else ""
            body = yield from self._body(ender)
            yield from self._handlers(("except", "catch", "finally", "else", "while"))
            return Both(body=body) if word == "try" else Loop(target=None, items=None, body=body)
        condition, ender = yield from self._header()
        body = yield from self._body(ender)
        if word == "if":
            alternatives = yield from self._handlers(("elif", "else"))
            always = ALWAYS.fullmatch(condition.strip()) is not None
            when = When(always=always, body=body)
            return when if always or not alternatives else Both(body=(when, When(always=False, body=alternatives)))
        if word == "with":
            names = [Name(name=name) for name in re.findall(r"\bas\s+(\w+)", condition)]
            bound = [Bind(target=name, value=Unreadable(why="it is bound by a with")) for name in names]
            return Both(body=(*bound, *body))
        return Loop(target=None, items=None, body=body)

    def _for(self, following: str) -> Reading[Statement]:
        source = self.source
        parens = following == "("
        if (yield from source.starts_with("await")):
            source.pos += 5
            parens = (yield from self.blank()) == "("
        if parens:
            source.pos += 1
            mark = source.mark()
            head = yield from source.run(re.compile(r"[^;{}\n]*"))
            source.rewind(mark)
            source.unmark()
            if " of " not in head:
                _, ender = yield from self._header(opened=True)
                return Loop(target=None, items=None, body=(yield from self._body(ender)))
            self.open.append(")")
            yield from self._skip_words(("const", "let", "var"))
            target = yield from self._targets()
            yield from self._skip_words(("of",))
            items = yield from self.expression()
            if (yield from self.blank()) == ")":
                source.pos += 1
            self.open.pop()
            ender = yield from self.blank()
        else:
            target = yield from self._targets()
            if not (yield from self._skip_words(("in",))):
                raise Bad(UNSUPPORTED, HINT)
            items = yield from self._several()
            ender = yield from self.blank()
        body = yield from self._body(ender if ender in (":", "{") else "")
        yield from self._handlers(("else",))
        return Loop(target=target, items=items, body=body)

    def _skip_words(self, words: tuple[str, ...]) -> Reading[bool]:
        yield from self.blank()
        for word in words:
            if (yield from self.source.starts_with(f"{word} ")):
                self.source.pos += len(word)
                yield from self.blank()
                return True
        return False

    def _handlers(self, words: tuple[str, ...]) -> Reading[tuple[Statement, ...]]:
        """`except`, `else` and the like after a body; their bodies, which run only when something went otherwise."""
        bodies: list[Statement] = []
        column = self.column
        while (yield from self.line_start()) and self.column == column:
            mark = self.source.mark()
            word = yield from self.source.run(IDENTIFIER)
            if word not in words:
                self.source.rewind(mark)
                self.source.unmark()
                self._at = self.source.here
                break
            self.source.unmark()
            _, ender = yield from self._header()
            bodies += yield from self._body(ender)
            self.column = column
        return tuple(bodies)

    def _header(self, *, opened: bool = False) -> Reading[tuple[str, str]]:
        """The text of a header up to the `:` or `{` that begins its body, which is not read."""
        source = self.source
        pieces: list[str] = []
        depth = int(opened)
        while True:
            char = yield from source.ahead(1)
            if char == "":
                raise Cut
            if char in "\"'":
                opener = (yield from self.opener()) or char
                pieces.append(char + str((yield from self.text(opener, "value"))) + char)
                continue
            if depth <= 0 and char in ":{\n;":
                return "".join(pieces), char if char in ":{" else ""
            depth += (char in "([{") - (char in ")]}")
            pieces.append(char)
            source.pos += 1
            if (
                depth == 0
                and char == ")"
                and (yield from self.blank()) not in (":", "{", "=", "&", "|", "a", "o", ".", "-")
            ):
                return "".join(pieces), ""

    def _body(self, ender: str) -> Reading[tuple[Statement, ...]]:
        """The statements of a body: indented after a `:`, between braces, or the one that follows."""
        outer, self.open = self.open, []
        column = self.column
        try:
            if ender == "{":
                self.source.pos += 1
                return (yield from self._braced())
            if ender == ":":
                self.source.pos += 1
                if (yield from self.blank()) not in ("\n", "\r", ""):
                    return (yield from self._one(column))
                return (yield from self._indented(column))
            return (yield from self._one(column))
        finally:
            self.open = outer
            self.column = column

    def _one(self, column: int) -> Reading[tuple[Statement, ...]]:
        statement = yield from self.statement()
        return () if statement is None else (statement,)

    def _braced(self) -> Reading[tuple[Statement, ...]]:
        statements: list[Statement] = []
        while True:
            char = yield from self.line_start()
            if char == "}":
                self.source.pos += 1
                break
            if not char:
                if not self.source.well:
                    raise Cut
                self.repaired("closers")
                break
            statement = yield from self.statement()
            if statement is None:
                break
            statements.append(statement)
        return tuple(statements)

    def _indented(self, column: int) -> Reading[tuple[Statement, ...]]:
        statements: list[Statement] = []
        while (yield from self.line_start()) and self.column > column:
            statement = yield from self.statement()
            if statement is None:
                break
            statements.append(statement)
        return tuple(statements)

    def _definition(self) -> Reading[Statement]:
        source = self.source
        if (yield from self.blank()) == "*":
            source.pos += 1
        name = yield from source.run(IDENTIFIER)
        if not name or (yield from self.blank()) != "(":
            raise Bad(UNSUPPORTED, HINT)
        header, ender = yield from self._header()
        parameters = [Name(name=text) for text in re.findall(r"[(,]\s*\*{0,2}([^\W\d]\w*)", header)]
        body = (yield from self._body(ender)) if ender else ()
        return Define(name=name, closure=Closure(parameters=tuple(parameters), body=body))

    def _declaration(self) -> Reading[Statement]:
        """A type or a class: nothing in it is a call, and its name is no tool's."""
        header, ender = yield from self._header()
        if ender == ":":
            self.source.pos += 1
            ender = ":" if (yield from self.blank()) in ("\n", "\r", "") else ""
            if ender:
                yield from self._indented(self.column)
        elif ender == "{":
            yield from self._body(ender)
        if not ender:
            yield from self._skip_line(0)
        name = re.match(r"\w+", header)
        return Bind(target=Name(name=name[0]), value=Unreadable(why="it is a type")) if name else Nothing()

    def _import(self) -> Reading[Statement]:
        line = yield from self.source.line()
        if not re.fullmatch(r"[\w., ]+;?", line):
            return Nothing()
        names = [part.split(" as ")[-1].strip().split(".")[0] for part in line.rstrip(";").split(",")]
        return Import(names=tuple(names))

    def _from_import(self) -> Reading[Statement]:
        line = yield from self.source.line()
        if line.count("(") > line.count(")"):
            yield from self.source.until(")")
        return Nothing()

    def _skip_line(self, depth: int) -> Reading[None]:
        """Leave a statement that cannot be read: to the end of its line, or of what is open in it."""
        source = self.source
        while True:
            char = yield from source.ahead(1)
            if char == "" or (char in "`~" and (yield from source.ahead(3)) in ("```", "~~~")):
                return
            if char == "\n" and depth <= 0:
                return
            if char == "}" and depth <= 0:
                return
            depth += (char in "([{") - (char in ")]}")
            source.pos += 1

    # Expressions

    def _comment(self, char: str) -> Reading[bool]:
        if char == "/" and self.python and (yield from self.source.ahead(2)) == "//":
            return False  # it divides
        return (yield from super()._comment(char))

    def blank(self) -> Reading[str]:
        """Skip what means nothing here: inside brackets also line ends. The next character, or ""."""
        if self.open:
            return (yield from self.space())
        source = self.source
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
                if (yield from source.ahead(2))[1:] not in ("\n", "\r"):
                    return char
                source.pos += 2
                if (yield from source.starts_with("\n")):
                    source.pos += 1
                continue
            if char == "#" or (char == "/" and not self.python and (yield from source.ahead(2)) == "//"):
                yield from source.line()
                continue
            if char == "/" and (yield from source.ahead(2)) == "/*":
                yield from source.until("*/")
                continue
            return WIDE.get(char, char)

    def value(self, watch: Watch | None = None) -> Reading[Any]:
        return (yield from self.expression())

    def expression(self, level: int = 1) -> Reading[Any]:
        """An expression: operators over paths, calls and literals."""
        self._depth += 1
        if self._depth > NESTED:
            raise Bad("it is nested too deeply")
        left = yield from self._operand()
        while (operator := (yield from self._operator())) is not None and PRECEDENCE[operator] >= level:
            self.source.pos += len(operator)
            # A power binds to the right: 2 ** 3 ** 2 is 2 ** 9.
            right = yield from self.expression(PRECEDENCE[operator] + (operator != "**"))
            left = Operation(operator=operator, left=left, right=right)
        if level == 1:
            left = yield from self._doubtful(left)
        self._depth -= 1
        return left

    def _doubtful(self, left: Any) -> Reading[Any]:
        """What follows an expression and makes its value depend on a condition."""
        while (sign := (yield from self._doubtful_sign())) is not None:
            self.source.pos += len(sign)
            if sign == "if":
                condition = yield from self._arithmetic()
                yield from self._skip_words(("else",))
                left = Doubtful(sure=(condition,), unsure=(left, (yield from self.expression())))
            elif sign == "?":
                one = yield from self.expression()
                if (yield from self.blank()) == ":":
                    self.source.pos += 1
                left = Doubtful(sure=(left,), unsure=(one, (yield from self.expression())))
            elif sign in ("or", "and", "||", "&&", "??"):
                left = Doubtful(sure=(left,), unsure=((yield from self._arithmetic()),))
            else:
                if sign in ("is", "not"):
                    yield from self._skip_words(("not", "in"))
                left = Doubtful(sure=(left, (yield from self._arithmetic())), unsure=())
        return left

    def _arithmetic(self) -> Reading[Any]:
        """An expression without such operators of its own."""
        if (yield from self._skip_words(("not",))):
            return Doubtful(sure=((yield from self._arithmetic()),), unsure=())
        left = yield from self._operand()
        while (operator := (yield from self._operator())) is not None:
            self.source.pos += len(operator)
            left = Operation(operator=operator, left=left, right=(yield from self._operand()))
        return left

    def _doubtful_sign(self) -> Reading[str | None]:
        char = yield from self.blank()
        if char and char in "?|&=!<>^":
            three = yield from self.source.ahead(3)
            sign = next((sign for sign in DOUBTFUL_SIGNS if three.startswith(sign)), None)
            # A tag that closes the block, an arrow, a path or an assignment is none.
            if (
                sign is None
                or three.startswith(("</", "<|", "<｜", "=>", "?."))
                or (sign == "<" and three[1:2].isalpha())
            ):
                return None
            return sign
        if char and char in "oaini":
            eleven = yield from self.source.ahead(11)
            for word in DOUBTFUL_WORDS:
                if eleven.startswith(word) and not eleven[len(word) : len(word) + 1].isalnum() and word != "else":
                    following = eleven[len(word) : len(word) + 1]
                    return word if following in (" ", "\n", "(", "\t", "") else None
        return None

    def _operator(self) -> Reading[str | None]:
        char = yield from self.blank()
        if char not in PRECEDENCE:
            return None
        two = yield from self.source.ahead(2)
        if two in ("**", "//") and (two == "**" or self.python):
            return two
        return None if two[1:] in ("=", ">") or two in ("/*", "//", "++", "--") else char

    def _operand(self) -> Reading[Any]:
        char = yield from self.blank()
        if char == "":
            raise Cut
        if char in "-+":
            self.source.pos += 1
            operand = yield from self.expression(PRECEDENCE["**"])
            if type(operand) in (int, float):
                return -operand if char == "-" else operand
            return Operation(operator=char, left=0, right=operand)
        if char == "!":
            self.source.pos += 1
            return Doubtful(sure=((yield from self._operand()),), unsure=())
        base = yield from self._primary(char)
        return (yield from self._postfix(base))

    def _primary(self, char: str) -> Reading[Any]:
        source = self.source
        if char == "(":
            return (yield from self._parenthesis())
        if char == "[":
            return (yield from self._list())
        if char == "{":
            return (yield from self.object())
        if char.isdecimal() or char == ".":
            return (yield from self._number())
        if (opener := (yield from self.opener())) is not None:
            return (yield from self._texts((yield from self.text(opener, "value"))))
        word = yield from source.run(IDENTIFIER)
        if not word:
            raise Bad(f"{char!r} was not expected", HINT)
        if self.open and (yield from source.at_end()):
            raise Cut
        return (yield from self._word(word))

    def _word(self, word: str) -> Reading[Any]:
        source = self.source
        following = yield from source.ahead(1)
        if word in ("await", "new", "typeof", "void", "yield") and following != "(":
            return (yield from self._operand())
        if word in ("await", "async") and following == "(":
            return (yield from self._parenthesis())
        if STRING_PREFIX.fullmatch(word) and following and following in "\"'":
            return (yield from self._prefixed(word.lower()))
        if word == "async":
            yield from self.blank()
            if (yield from source.starts_with("function")):
                source.pos += 8
                return (yield from self._function())
            return (yield from self._operand())
        if word == "function":
            return (yield from self._function())
        if word == "lambda":
            parameters = (yield from source.run(re.compile(r"[^:\n]*"))).split(",")
            source.pos += 1
            body = yield from self.expression()
            names = tuple(Name(name=name.strip()) for name in parameters if name.strip())
            return Closure(parameters=names, body=(Say(value=body),))
        if word == "not":
            return Doubtful(sure=((yield from self.expression()),), unsure=())
        if word in LITERALS and following not in ("(", "="):
            return LITERALS[word]
        if word in ("NaN", "Infinity"):
            return Unreadable(why=f"{word} is not a number")
        if (yield from self.blank()) == "=" and (yield from source.ahead(2)) == "=>":
            return (yield from self._arrow((Name(name=word),)))
        return Name(name=word)

    def _function(self) -> Reading[Any]:
        yield from self.blank()
        yield from self.source.run(IDENTIFIER)
        header, ender = yield from self._header()
        names = re.findall(r"[(,]\s*([^\W\d]\w*)", header)
        body = yield from self._body(ender)
        return Closure(parameters=tuple(Name(name=name) for name in names), body=body)

    def _arrow(self, parameters: tuple[Any, ...]) -> Reading[Any]:
        self.source.pos += 2
        if (yield from self.blank()) == "{":
            return Closure(parameters=parameters, body=(yield from self._body("{")))
        body = yield from self.expression()
        return Closure(parameters=parameters, body=(Say(value=body),))

    def _parenthesis(self) -> Reading[Any]:
        """An expression in parentheses, a tuple, or the parameters of an arrow function."""
        source = self.source
        source.pos += 1
        self.open.append(")")
        items: list[Any] = []
        commas = 0
        while True:
            char = yield from self.space()
            if char == ")":
                source.pos += 1
                break
            if char == ",":
                source.pos += 1
                commas += 1
                continue
            if (yield from self.unclosed(char, after_comma=False)):
                break
            items.append((yield from self._item()))
            if (yield from self.space()) == ":":  # the type of an arrow's parameter
                source.pos += 1
                yield from source.run(TYPE)
        self.open.pop()
        if (yield from self.blank()) == "=" and (yield from source.ahead(2)) == "=>":
            return (yield from self._arrow(tuple(items)))
        if len(items) == 1 and not commas and not isinstance(items[0], Comprehension):
            return items[0]
        return items

    def _list(self) -> Reading[Any]:
        self.source.pos += 1
        self.open.append("]")
        items: list[Any] = []
        comma = True
        while True:
            char = yield from self.space()
            if char == "]":
                self.source.pos += 1
                break
            if char == ",":
                self.source.pos += 1
                comma = True
                continue
            if (yield from self.unclosed(char, after_comma=comma and bool(items))):
                break
            if not comma:
                self.repaired("syntax")
            items.append((yield from self._item()))
            comma = False
        self.open.pop()
        return items[0] if len(items) == 1 and isinstance(items[0], Comprehension) else items

    def _item(self) -> Reading[Any]:
        """An item of a list: an expression, a spread, or a comprehension."""
        source = self.source
        char = yield from self.space()
        if char == "*" or (char == "." and (yield from source.ahead(3)) == "..."):
            source.pos += 1 if char == "*" else 3
            if (yield from self.space()) in (")", "]", ",", ""):
                raise Bad("it is a placeholder", "Write real values.")
            return Spread(value=(yield from self.expression()))
        item = yield from self.expression()
        if (yield from self.space()) == "f" and (yield from source.starts_with("for ")):
            source.pos += 4
            target = yield from self._targets()
            if not (yield from self._skip_words(("in",))):
                raise Bad(UNSUPPORTED, HINT)
            items = yield from self.expression()
            if (yield from self.space()) == "i":
                raise Bad("a comprehension with a condition is not supported", HINT)
            return Comprehension(item=item, target=target, items=items)
        return item

    def _targets(self) -> Reading[Any]:
        """What a loop binds: a name, or several."""
        names = [(yield from self._operand())]
        while (yield from self.blank()) == ",":
            self.source.pos += 1
            names.append((yield from self._operand()))
        return names[0] if len(names) == 1 else names

    def object(self, watch: Watch | None = None) -> Reading[Any]:
        """An object literal, a dict or a set; the brace is next."""
        source = self.source
        source.pos += 1
        self.open.append("}")
        items: list[tuple[str | None, Any]] = []
        comma = True
        while True:
            char = yield from self.space()
            if char == "}":
                source.pos += 1
                break
            if char == ",":
                source.pos += 1
                comma = True
                continue
            if (yield from self.unclosed(char, after_comma=comma and bool(items))):
                break
            if not comma:
                self.repaired("syntax")
            items.append((yield from self._pair(char)))
            comma = False
        self.open.pop()
        return Mapped(items=tuple(items))

    def _pair(self, char: str) -> Reading[tuple[str | None, Any]]:
        source = self.source
        if char in "*.":
            dots = yield from source.ahead(3)
            source.pos += 2 if dots.startswith("**") else 3
            if (yield from self.space()) in ("}", ",", ""):
                raise Bad("it is a placeholder", "Write real values.")
            return None, (yield from self.expression())
        if char == "[":
            raise Bad("a computed key is not supported", HINT)
        tier = self.tier
        key = yield from self.key()
        self.tier = tier  # keys without quotes are right in code
        following = yield from self.space()
        if following in (",", "}", "") and key.isidentifier():
            return key, Name(name=key)
        yield from self.colon(key)
        return key, (yield from self.expression())

    def _number(self) -> Reading[int | float]:
        source = self.source
        token = yield from source.run(NUMERAL)
        if (
            token[-1:] in ("e", "E")
            and not token.lower().startswith("0x")
            and (yield from source.ahead(1)) in ("+", "-")
        ):
            sign = yield from source.ahead(1)
            source.pos += 1
            token += sign + (yield from source.run(NUMERAL))
        if self.open and (yield from source.at_end()):
            raise Cut
        if token.strip(".") == "":
            raise Bad("it is a placeholder", "Write real values.")
        try:
            return number(token)
        except ValueError:
            raise Bad(f"{token} is not a number", HINT) from None

    def _texts(self, first: Any) -> Reading[Any]:
        """Strings that stand beside each other are one, in Python."""
        parts = [first]
        while True:
            yield from self.blank()
            prefix = PREFIXED.match((yield from self.source.ahead(3)))
            if prefix is not None:
                self.source.pos += prefix.end(1)
                parts.append((yield from self._one_prefixed(prefix[1].lower())))
                continue
            opener = yield from self.opener()
            if opener is None or opener == "`" or opener[0] == "\\":
                break
            parts.append((yield from self.text(opener, "value")))
        if len(parts) == 1:
            return first
        return "".join(parts) if all(isinstance(part, str) for part in parts) else Joined(parts=tuple(parts))

    def _prefixed(self, prefix: str) -> Reading[Any]:
        """A string with a prefix, and those beside it."""
        return (yield from self._texts((yield from self._one_prefixed(prefix))))

    def _one_prefixed(self, prefix: str) -> Reading[Any]:
        """A string with a prefix: raw, formatted, bytes. The prefix has been read."""
        opener = (yield from self.opener()) or '"'
        self.source.pos += len(opener)
        template = "{" if "f" in prefix else ""
        if len(opener) == 3:
            return (yield from self._long_text(opener, raw="r" in prefix, template=template))
        return (yield from self.quoted(opener, "value", raw="r" in prefix, template=template))

    def template_part(self, char: str) -> Reading[list[Any]]:
        """`{expression}` of a formatted string, or `${expression}` of a template."""
        source = self.source
        two = yield from source.ahead(2)
        if two in ("{{", "}}"):
            source.pos += 2
            return [char]
        if char == "}" or (char == "$" and two != "${"):
            source.pos += 1
            return [char]
        source.pos += len(two) if char == "$" else 1
        self.open.append("}")
        value = yield from self.expression()
        following = yield from self.space()
        spec = ""
        if following in (":", "!", "="):
            spec = yield from source.run(re.compile(r"[^}\n]*"))
        elif following != "}":
            raise Cut if following == "" else Bad(UNSUPPORTED, HINT)
        self.open.pop()
        if (yield from source.at_end()):
            raise Cut
        source.pos += 1
        return [
            Formatted(value=value, spec=spec) if spec else Joined(parts=(value,)) if isinstance(value, str) else value
        ]

    def _postfix(self, base: Any) -> Reading[Any]:
        """Paths and calls behind an expression."""
        source = self.source
        while True:
            char = yield from self.blank()
            if char == "\n" and not self.python and (yield from self._chain_goes_on()):
                char = yield from self.space()
            if char == "?" and (yield from source.ahead(2)) == "?.":
                source.pos += 1
                char = "."
            if char == "." and not isinstance(base, int | float):
                source.pos += 1
                if (yield from source.ahead(1)) == "[":
                    continue
                key = yield from source.run(IDENTIFIER)
                if not key:
                    raise Cut if (yield from source.at_end()) else Bad(UNSUPPORTED, HINT)
                if self.open and (yield from source.at_end()):
                    raise Cut
                base = Part(base=base, key=key)
                if key == "raw" and (yield from source.ahead(1)) == "`":
                    source.pos += 1
                    base = yield from self._long_text("`", raw=True, template="${")
            elif char == "[":
                source.pos += 1
                self.open.append("]")
                key = yield from self.expression()
                if (yield from self.space()) != "]":
                    raise Cut if (yield from source.at_end()) else Bad(UNSUPPORTED, HINT)
                source.pos += 1
                self.open.pop()
                base = Part(base=base, key=key)
            elif char == "(":
                base = yield from self._call(base)
            elif char == "!" and (yield from source.ahead(2)) != "!=":
                source.pos += 1
            elif char == "a" and (yield from source.starts_with("as ")):
                source.pos += 3
                yield from source.run(TYPE)
            else:
                return base

    def _chain_goes_on(self) -> Reading[bool]:
        """Whether the next line begins with a dot and a name."""
        source = self.source
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

    def _call(self, callee: Any) -> Reading[Invocation]:
        source = self.source
        source.pos += 1
        self.open.append(")")
        args: list[Any] = []
        keywords: list[tuple[str | None, Any]] = []
        comma = True
        while True:
            char = yield from self.space()
            if char == ")":
                source.pos += 1
                break
            if char == ",":
                source.pos += 1
                comma = True
                continue
            if (yield from self.unclosed(char, after_comma=comma and bool(args or keywords))):
                break
            if not comma:
                if not (char in QUOTES or char.isalnum() or char in "_[{*"):
                    raise Bad(UNSUPPORTED, HINT)
                self.repaired("syntax")
            comma = False
            if char == "*" and (yield from source.ahead(2)) == "**":
                source.pos += 2
                keywords.append((None, (yield from self.expression())))
            elif (key := (yield from self._keyword())) is not None:
                keywords.append((key, (yield from self.expression())))
            else:
                args.append((yield from self._item()))
        self.open.pop()
        return Invocation(callee=callee, args=tuple(args), keywords=tuple(keywords))

    def _keyword(self) -> Reading[str | None]:
        """The name of a keyword argument with its sign, `name=` or `name:`, if that is what comes."""
        source = self.source
        mark = source.mark()
        try:
            if (yield from source.ahead(1)) in ('"', "'"):
                tier = self.tier
                opener = (yield from self.opener()) or '"'
                if len(opener) == 3:
                    return None
                name = yield from self._short_quoted(opener)
                self.tier = tier
            else:
                name = yield from source.run(re.compile(r"[\w$]*"))
            if not name:
                source.rewind(mark)
                return None
            char = yield from self.space()
            two = yield from source.ahead(2)
            if char in ("=", ":") and two not in ("==", "=>", "::"):
                source.pos += 1
                return name
            source.rewind(mark)
            return None
        finally:
            source.unmark()

    def _short_quoted(self, opener: str) -> Reading[str]:
        """A quoted word that may be a key; "" if it is anything longer, with nothing settled."""
        source = self.source
        word = re.compile(rf"{opener}([\w$-]{{1,62}})")
        while True:
            match = word.match(source.text, source.pos)
            if source.ended or len(source.text) - source.pos > 64:
                break
            if match is not None and match.end() < len(source.text):
                break
            if match is None and len(source.text) - source.pos > 1:
                break
            yield
        if match is None or source.text[match.end() : match.end() + 1] != opener:
            return ""
        source.pos = match.end() + 1
        return match[1]

    # Where a string ends, in code

    def closes_statement(self, char: str, gap: str) -> bool:
        return "\n" in gap or char in ";+-*%,.)[}`~<#/\\=:" or bool(gap)

    def follows_value(self, char: str, gap: str, at: int) -> bool:
        if char in "+%.[*-" and (gap or char in ".["):
            return True
        if gap and (char in "=!<>&|?") and not self.source.text.startswith("=>", at):
            return True
        if char == ":" and "}" in self.open and self.open[-1] == "}":
            return True
        if gap and (KEYWORD_AFTER_STRING.match(self.source.text, at) or char in QUOTES):
            return True
        return super().follows_value(char, gap, at)
