"""Code as models write calls in it: Python, TypeScript, and what lies between the two.

One grammar reads both, since models mix them: `true` in Python, `None` in TypeScript, keyword arguments with colons.
Names, literals, joins, calls and paths are read (`expressions.py`); so are the wrappers that models like to put around
a call: a main function, a `try`, a loop over a list. Any other statement is skipped, with the reason that it is not
supported. Reading gives a tree (`syntax.py`); nothing is executed.
"""

import re

from toolspeak.reading.code import syntax
from toolspeak.reading.code.expressions import IDENTIFIER, PRECEDENCE, TYPE, ExpressionReader
from toolspeak.reading.code.layout import HINT, UNSUPPORTED, BodyReader, CodeRules, CodeSpaceReader, LineReader
from toolspeak.reading.code.syntax import Expression, Statement
from toolspeak.reading.cursor import Ambiguous, Cursor, ReadError, Truncated
from toolspeak.reading.source import Reading, run_to_end
from toolspeak.reading.strings import QUOTES

ALWAYS_TRUE = re.compile(
    r"""\(?\s*(?:True|true|1|__name__\s*===?\s*["']__main__["']|require\.main\s*===?\s*module)\s*\)?"""
)
NAME_AFTER_AS = re.compile(r"\bas\s+(\w+)")
PARAMETER_NAME = re.compile(r"[(,]\s*\*{0,2}([^\W\d]\w*)")
LOOP_HEADER = re.compile(r"[^;{}\n]*")
COMPOUNDS = frozenset({"if", "while", "with", "switch", "for", "try", "do"})
DECLARATIONS = frozenset({"class", "interface", "type", "declare", "namespace", "enum", "abstract", "module"})
KEYWORDS = frozenset(
    "def function import from export default return yield raise throw break continue const let var assert "
    "pass global nonlocal del debugger".split()
)
AUGMENTED = ("**=", "//=", "+=", "-=", "*=", "/=", "%=")
PLAIN_IMPORT = re.compile(r"[\w., ]+;?")


class StatementReader:
    """Reads the statements of a piece of code: of a block, a line, or one expression."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._rules = CodeRules(cursor)
        self._space = CodeSpaceReader(cursor, self._rules)
        self._lines = LineReader(cursor)
        self._bodies = BodyReader(cursor, self._space, self._lines, self.read)
        self._expressions = ExpressionReader(cursor, self._rules, self._space, self._bodies)

    def begin(self, *, python: bool = False) -> None:
        """Begin a new piece of code; `python`: whether it is Python, where `//` divides."""
        self._cursor.reset()
        self._lines.reset()
        self._rules.python = python

    @property
    def python(self) -> bool:
        """Whether the piece of code is Python, where `//` divides."""
        return self._rules.python

    def read_line(self) -> Reading[Statement | None]:
        """Read the statement of a line outside of any block; None if there is none.

        Raises:
            ReadError: The line is not a statement.
        """
        if not (yield from self._lines.find_statement()):
            return None
        return (yield from self._read_statement())

    def read_list_item(self) -> Reading[Statement]:
        """Read an item of a list of calls, whose opening bracket has been read."""
        self._cursor.open.append("]")
        value = yield from self._expressions.read_item()
        self._cursor.open.pop()
        return syntax.ExprStatement(value=value)

    def read(self) -> Reading[Statement | None]:
        """Read the next statement; None at the end of the block. A broken one is skipped: `NoOp` with the reason.

        Raises:
            Truncated: The text ended inside the statement.
        """
        if not (yield from self._lines.find_statement()):
            return None
        open_brackets = self._cursor.open
        depth = len(open_brackets)
        start = self._source.here
        try:
            return (yield from self._read_statement())
        except (Truncated, Ambiguous):
            raise
        except ReadError as error:
            yield from self._lines.skip_statement(len(open_brackets) - depth)
            del open_brackets[depth:]
            if self._source.here == start:
                self._source.pos += 1  # a stray closer, which no line begins with
            return syntax.NoOp(reason=error.reason)

    def _read_statement(self) -> Reading[Statement]:
        source, space = self._source, self._space
        mark = source.mark()
        try:
            word = yield from source.read_while(IDENTIFIER)
            following = (yield from space.skip()) if word else ""
            if word == "async" and (yield from source.starts_with("def")):
                word = yield from source.read_while(IDENTIFIER)
                yield from space.skip()
            elif word == "async" and (yield from source.starts_with("function")):
                word = yield from source.read_while(IDENTIFIER)
                following = yield from space.skip()
            if word in COMPOUNDS and following not in (".", "=", ",", ")"):
                return (yield from self._read_compound(word, following))
            if word in ("match", "case") and (following.isalnum() or following in ("_", '"', "'")):
                return (yield from self._read_compound(word, following))
            if following not in ("(", ".", "=", ",") and (following != "[" or word in ("const", "let", "var")):
                reading = self._read_keyword(word)
                if reading is not None:
                    return (yield from reading)
            if word in DECLARATIONS and (following.isalpha() or following in "_${"):
                return (yield from self._read_type())
            source.rewind(mark)
        finally:
            source.unmark()
        return (yield from self._read_simple())

    def _read_keyword(self, word: str) -> Reading[Statement] | None:
        """Return the reading of the statement that the keyword `word` begins; None if `word` is no keyword."""
        if word not in KEYWORDS:
            return None
        match word:
            case "def" | "function":
                return self._read_definition()
            case "import":
                return self._read_import()
            case "from":
                return self._read_from_import()
            case "export" | "default":
                return self._read_statement()
            case "return" | "yield":
                return self._read_return()
            case "raise" | "throw":
                return self._skip_line(syntax.Return(value=syntax.Unsupported(reason="the code stops with an error")))
            case "break" | "continue":
                return self._skip_line(syntax.Jump())
            case "const" | "let" | "var":
                return self._read_declared()
            case "assert":
                return self._read_simple()
            case _:
                return self._skip_line(syntax.NoOp())

    def _skip_line(self, statement: Statement) -> Reading[Statement]:
        yield from self._source.read_line()
        return statement

    def _read_return(self) -> Reading[Statement]:
        char = yield from self._space.skip()
        if char in ("", "\n", ";", "}"):
            return syntax.Return(value=syntax.Constant(value=None))
        statement = yield from self._read_simple()
        return syntax.Return(value=statement.value) if isinstance(statement, syntax.ExprStatement) else statement

    def _read_import(self) -> Reading[Statement]:
        line = yield from self._source.read_line()
        if not PLAIN_IMPORT.fullmatch(line):
            return syntax.NoOp()
        names = [part.split(" as ")[-1].strip().split(".")[0] for part in line.rstrip(";").split(",")]
        return syntax.Import(names=tuple(names))

    def _read_from_import(self) -> Reading[Statement]:
        line = yield from self._source.read_line()
        if line.count("(") > line.count(")"):
            yield from self._source.read_until(")")
        return syntax.NoOp()

    # Assignments and expressions

    def _read_declared(self) -> Reading[Statement]:
        """Read `const a = 1, b = 2`, or `let a`, after the keyword."""
        bindings: list[Statement] = []
        while True:
            target = yield from self._expressions.read()
            yield from self._skip_annotation()
            if (yield from self._space.skip()) == "=":
                self._source.pos += 1
                bindings.append(syntax.Bind(target=target, value=(yield from self._expressions.read())))
            if (yield from self._space.skip()) != ",":
                break
            self._source.pos += 1
            yield from self._space.skip_all()
        yield from self._read_end()
        return bindings[0] if len(bindings) == 1 else syntax.Block(body=tuple(bindings))

    def _read_simple(self) -> Reading[Statement]:
        value = yield from self._expressions.read_several()
        if isinstance(value, syntax.Name):
            value = yield from self._read_stuttered(value)
            yield from self._skip_annotation()
        if (operator := (yield from self._read_augmented_sign())) is not None:
            other = (yield from self._expressions.read()) if operator.endswith("=") else syntax.Constant(value=1)
            yield from self._read_end()
            return syntax.Bind(
                target=value, value=syntax.Operation(operator=operator.rstrip("="), left=value, right=other)
            )
        targets: list[Expression] = []
        while (yield from self._space.skip()) == "=" and (yield from self._source.peek(2)) not in ("==", "=>"):
            self._source.pos += 1
            yield from self._space.skip()
            if isinstance(value, syntax.Operation):
                raise ReadError("a value is assigned to what is no name", HINT)
            targets.append(value)
            value = yield from self._expressions.read_several()
        yield from self._read_end()
        if not targets:
            return syntax.ExprStatement(value=value)
        # `a = b = call()` calls once: the last name is bound, and the others to it.
        bindings = [
            syntax.Bind(target=targets[-1], value=value),
            *(syntax.Bind(target=each, value=targets[-1]) for each in targets[:-1]),
        ]
        return bindings[0] if len(bindings) == 1 else syntax.Block(body=tuple(bindings))

    def _read_stuttered(self, name: syntax.Name) -> Reading[Expression]:
        """Read `l lawsuit_search(…)`, the beginning of a name before the name; return `name` if it stands alone."""
        if not ((yield from self._space.skip()).isalpha() and (yield from self._source.starts_with(name.name))):
            return name
        self._cursor.note_repair("syntax")
        return (yield from self._expressions.read())

    def _read_augmented_sign(self) -> Reading[str | None]:
        """Read `+=` and the like, or `++` as `+`; None if no such sign comes."""
        char = yield from self._space.skip()
        if char not in PRECEDENCE:
            return None
        three = yield from self._source.peek(3)
        for sign in AUGMENTED:
            if three.startswith(sign):
                self._source.pos += len(sign)
                return sign
        if three[:2] in ("++", "--"):
            self._source.pos += 2
            return three[0]
        return None

    def _skip_annotation(self) -> Reading[None]:
        """Skip `: Type` after a name."""
        if (yield from self._space.skip()) == ":":
            self._source.pos += 1
            yield from self._source.read_while(TYPE)

    def _read_end(self) -> Reading[None]:
        """Check that the statement ends here."""
        char = yield from self._space.skip()
        if char == "" and not self._source.ended_well:
            raise Truncated  # the statement, or its line, may have gone on
        while char == ")" and not self._cursor.open:
            self._source.pos += 1  # one closer too many
            self._cursor.note_repair("syntax")
            self._cursor.note_doubt("closer")
            char = yield from self._space.skip()
        if char in ("", "\n", "\r", ";", "}"):
            return
        if char == "`" and (yield from self._source.peek(2)) in ("`", "`\n"):
            return  # the call stood alone between backticks
        if char == "<" or (char in "`~" and (yield from self._source.peek(3)) in ("```", "~~~")):
            return
        if char in QUOTES:
            raise Ambiguous  # a string ended too early
        raise ReadError(UNSUPPORTED, HINT)

    # Statements with a body

    def _read_compound(self, word: str, following: str) -> Reading[Statement]:
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
                return syntax.If(always=False, body=body)
            case "with":
                names = [syntax.Name(name=name) for name in NAME_AFTER_AS.findall(condition)]
                bound = [
                    syntax.Bind(target=name, value=syntax.Unsupported(reason="it is bound by a with")) for name in names
                ]
                return syntax.Block(body=(*bound, *body))
            case _:
                return syntax.UnboundedLoop(body=body)

    def _read_try(self, word: str, following: str) -> Reading[Statement]:
        """Read `try` and its handlers, or `do` and its `while`."""
        body = yield from self._bodies.read(following if following in (":", "{") else "")
        others = yield from self._read_clauses("except", "catch", "finally", "else", "while")
        if word == "do":
            return syntax.UnboundedLoop(body=body)
        return syntax.Block(body=(*body, syntax.Handlers(body=others)) if others else body)

    def _read_alternatives(self, condition: str, body: tuple[Statement, ...]) -> Reading[Statement]:
        """Read the `elif` and `else` of an `if` whose condition and body have been read."""
        alternatives = yield from self._read_clauses("elif", "else")
        always = ALWAYS_TRUE.fullmatch(condition.strip()) is not None
        statement = syntax.If(always=always, body=body)
        if always:
            return statement
        # Calls in the condition are made in any case; nothing else is sure.
        expression = self._parse_expression(condition)
        evaluated = [] if expression is None else [syntax.ExprStatement(value=expression)]
        return syntax.Block(body=(*evaluated, statement, syntax.If(always=False, body=alternatives)))

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
            source.return_to(mark)
            if " of " not in header:
                _, opener = yield from self._bodies.read_header(opened=True)
                return syntax.UnboundedLoop(body=(yield from self._bodies.read(opener)))
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
        loop = syntax.Loop(target=target, items=items, body=body)
        return syntax.Block(body=(loop, syntax.If(always=False, body=others))) if others else loop

    def _read_clauses(self, *words: str) -> Reading[tuple[Statement, ...]]:
        """Read the clauses after a body that begin with one of `words`; return the statements in them."""
        source, lines = self._source, self._lines
        statements: list[Statement] = []
        column = lines.column
        while (yield from lines.find_statement()) and lines.column == column:
            mark = source.mark()
            word = yield from source.read_while(IDENTIFIER)
            if word not in words:
                source.return_to(mark)
                break
            source.unmark()
            _, opener = yield from self._bodies.read_header()
            statements += yield from self._bodies.read(opener)
            lines.column = column
        return tuple(statements)

    def _read_definition(self) -> Reading[Statement]:
        """Read the definition of a function, whose keyword has been read."""
        source = self._source
        if (yield from self._space.skip()) == "*":
            source.pos += 1
        name = yield from source.read_while(IDENTIFIER)
        if not name or (yield from self._space.skip()) != "(":
            raise ReadError(UNSUPPORTED, HINT)
        header, opener = yield from self._bodies.read_header()
        parameters = tuple(syntax.Name(name=text) for text in PARAMETER_NAME.findall(header))
        body = (yield from self._bodies.read(opener)) if opener else ()
        return syntax.Define(name=name, closure=syntax.Closure(parameters=parameters, body=body))

    def _read_type(self) -> Reading[Statement]:
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
        return (
            syntax.Bind(target=syntax.Name(name=name[0]), value=syntax.Unsupported(reason="it is a type"))
            if name
            else syntax.NoOp()
        )

    def _parse_expression(self, text: str) -> Expression | None:
        """Return the expression that `text` is; None if it is not one."""
        if not self._source.may_rewind:
            raise ReadError("the condition takes too much work to read", HINT)
        source = self._source.open_inner(f"({text})\n")
        try:
            return run_to_end(StatementReader(Cursor(source, self._cursor.keys))._expressions.read())
        except ReadError:
            return None
