"""Code as models write calls in it: Python, TypeScript, and what lies between the two.

One grammar reads both, since models mix them: `true` in Python, `None` in TypeScript, keyword arguments with colons.
Names, literals, joins, calls and paths are read (`expressions.py`); so are the wrappers that models like to put around
a call: a main function, a `try`, a loop over a list. A statement that is none of these is skipped and said to be
unsupported. Reading gives a tree (`syntax.py`); nothing is executed.
"""

import re
from collections.abc import Callable
from typing import Any

from toolspeak.reading.code.expressions import HINT, IDENTIFIER, PRECEDENCE, TYPE, UNSUPPORTED, Expressions
from toolspeak.reading.code.syntax import (
    Bind,
    Block,
    Closure,
    Define,
    Doubtful,
    ExprStatement,
    If,
    Import,
    Jump,
    Loop,
    Name,
    Nothing,
    Operation,
    Return,
    Statement,
    Unreadable,
)
from toolspeak.reading.source import Reading, Source
from toolspeak.reading.strings import ReadError, Truncated
from toolspeak.reading.values import Values

INDENT = re.compile(r"[ \t\u200b\u200c\u200d\u2060\ufeff\u00a0]*")
ALWAYS = re.compile(r"""\(?\s*(?:True|true|1|__name__\s*===?\s*["']__main__["']|require\.main\s*===?\s*module)\s*\)?""")
COMPOUND = frozenset({"if", "while", "with", "switch", "for", "try", "do"})
DECLARATIONS = frozenset({"class", "interface", "type", "declare", "namespace", "enum", "abstract", "module"})
SKIPPED = frozenset({"pass", "global", "nonlocal", "del", "debugger"})
AUGMENTED = ("**=", "//=", "+=", "-=", "*=", "/=", "%=")


class Code(Expressions):
    """Reads statements. `column` is that of the statement at hand."""

    def __init__(self, values: Values) -> None:
        super().__init__(values)
        self.column: int = 0
        self._at = -1
        self._at_column: int = 0

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
        except Truncated:
            raise
        except ReadError as bad:
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
            if word in COMPOUND and following not in (".", "=", ",", ")"):
                return (yield from self._compound(word, following))
            if word in ("match", "case") and (following.isalnum() or following in ("_", '"', "'")):
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
            "raise": self._stop,
            "throw": self._stop,
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

    def _stop(self) -> Reading[Statement]:
        yield from self.source.line()
        return Return(value=Unreadable(why="the code stops with an error"))

    def _returned(self) -> Reading[Statement]:
        char = yield from self.blank()
        if char in ("", "\n", ";", "}"):
            return Return(value=None)
        said = yield from self._simple()
        return Return(value=said.value) if isinstance(said, ExprStatement) else said

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
        return bound[0] if len(bound) == 1 else Block(body=tuple(bound))

    def _simple(self) -> Reading[Statement]:
        """An assignment or an expression."""
        value = yield from self._several()
        if isinstance(value, Name):
            value = yield from self._stuttered(value)
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
            return ExprStatement(value=value)
        # `a = b = call()` calls once: the last name is bound, and the others to it.
        bound = [
            Bind(target=targets[-1], value=value),
            *(Bind(target=each, value=targets[-1]) for each in targets[:-1]),
        ]
        return bound[0] if len(bound) == 1 else Block(body=tuple(bound))

    def _stuttered(self, said: Name) -> Reading[Any]:
        """`l lawsuit_search(…)`: the beginning of a name, and then the name. What was said, if that is all."""
        if not ((yield from self.blank()).isalpha() and (yield from self.source.starts_with(said.name))):
            return said
        self.repaired("syntax")
        return (yield from self.expression())

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
            raise Truncated  # the statement, or its line, may have gone on
        while char == ")" and not self.open:
            self.source.pos += 1  # one closer too many
            self.repaired("syntax")
            char = yield from self.blank()
        if char in ("", "\n", "\r", ";", "}"):
            return
        if char == "`" and (yield from self.source.ahead(2)) in ("`", "`\n"):
            return  # the call stood alone between backticks
        if char == "<" or (char in "`~" and (yield from self.source.ahead(3)) in ("```", "~~~")):
            return
        raise ReadError(UNSUPPORTED, HINT)

    # Wrappers around calls

    def _compound(self, word: str, following: str) -> Reading[Statement]:
        if word == "for":
            return (yield from self._for(following))
        if word in ("try", "do"):
            ender = following if following in (":", "{") else ""
            body = yield from self.body(ender)
            others = yield from self._handlers(("except", "catch", "finally", "else", "while"))
            if word == "do":
                return Loop(target=None, items=None, body=body)
            # What is done about an error is hardly meant as calls; it is refused, and changes nothing.
            return (
                Block(body=(*body, ExprStatement(value=Doubtful(sure=(), unsure=others))))
                if others
                else Block(body=body)
            )
        condition, ender = yield from self.header()
        body = yield from self.body(ender)
        if word == "if":
            alternatives = yield from self._handlers(("elif", "else"))
            always = ALWAYS.fullmatch(condition.strip()) is not None
            when = If(always=always, body=body)
            if always:
                return when
            # What the condition calls is called in any case; nothing else is sure.
            asked = _whole_expression(condition, self)
            said = [] if asked is None else [ExprStatement(value=asked)]
            return Block(body=(*said, when, If(always=False, body=alternatives)))
        if word == "case":
            return If(always=False, body=body)
        if word == "with":
            names = [Name(name=name) for name in re.findall(r"\bas\s+(\w+)", condition)]
            bound = [Bind(target=name, value=Unreadable(why="it is bound by a with")) for name in names]
            return Block(body=(*bound, *body))
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
                _, ender = yield from self.header(opened=True)
                return Loop(target=None, items=None, body=(yield from self.body(ender)))
            self.open.append(")")
            yield from self.skip_words(("const", "let", "var"))
            target = yield from self._targets()
            yield from self.skip_words(("of",))
            items = yield from self.expression()
            if (yield from self.blank()) == ")":
                source.pos += 1
            self.open.pop()
            ender = yield from self.blank()
        else:
            target = yield from self._targets()
            if not (yield from self.skip_words(("in",))):
                raise ReadError(UNSUPPORTED, HINT)
            items = yield from self._several()
            ender = yield from self.blank()
        body = yield from self.body(ender if ender in (":", "{") else "")
        others = yield from self._handlers(("else",))
        loop = Loop(target=target, items=items, body=body)
        return Block(body=(loop, If(always=False, body=others))) if others else loop

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
            _, ender = yield from self.header()
            bodies += yield from self.body(ender)
            self.column = column
        return tuple(bodies)

    def header(self, *, opened: bool = False) -> Reading[tuple[str, str]]:
        """The text of a header up to the `:` or `{` that begins its body, which is not read."""
        source = self.source
        pieces: list[str] = []
        depth = int(opened)
        while True:
            char = yield from source.ahead(1)
            if char == "":
                raise Truncated
            if char == "`" and (yield from source.ahead(3)) == "```":
                raise ReadError(UNSUPPORTED, HINT)
            if depth <= 0 and char in ":{\n;":
                return "".join(pieces), char if char in ":{" else ""
            source.pos += 1
            pieces.append(char)
            if char in "\"'`":
                pieces.append((yield from source.run(re.compile(rf"[^{char}\n]*"))))
                if (yield from source.ahead(1)) == char:
                    source.pos += 1
                    pieces.append(char)
                continue
            depth += (char in "([{") - (char in ")]}")
            # `if (condition) statement`: the parenthesis that opened the header closes it.
            parenthesis = char == ")" and depth == 0 and (opened or pieces[0] == "(")
            if parenthesis and not (yield from self._condition_goes_on()):
                return "".join(pieces), ""

    def _condition_goes_on(self) -> Reading[bool]:
        char = yield from self.blank()
        if char in ("", ":", "{") or char in "=&|.-<>!+*/%[?":
            return True
        words = re.match(r"(?:and|or|in|is|not|if)\b", (yield from self.source.ahead(4)))
        return words is not None

    def body(self, ender: str) -> Reading[tuple[Statement, ...]]:
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
                    raise Truncated
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
            raise ReadError(UNSUPPORTED, HINT)
        header, ender = yield from self.header()
        parameters = [Name(name=text) for text in re.findall(r"[(,]\s*\*{0,2}([^\W\d]\w*)", header)]
        body = (yield from self.body(ender)) if ender else ()
        return Define(name=name, closure=Closure(parameters=tuple(parameters), body=body))

    def _declaration(self) -> Reading[Statement]:
        """A type or a class: nothing in it is a call, and its name is no tool's."""
        header, ender = yield from self.header()
        if ender == ":":
            self.source.pos += 1
            ender = ":" if (yield from self.blank()) in ("\n", "\r", "") else ""
            if ender:
                yield from self._indented(self.column)
        elif ender == "{":
            yield from self.body(ender)
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


def _whole_expression(text: str, like: Values) -> Any:
    """An expression from a text that is all there; None if it is none."""
    source = Source()
    source.feed(f"({text})\n")
    source.ended = True
    reading = Code(Values(source, like.keys)).expression()
    try:
        while True:
            next(reading)
    except StopIteration as stop:
        return stop.value
    except ReadError:
        return None
