"""Expressions of code: operators over paths, calls and literals, in the spelling of Python or of TypeScript.

What only running would tell (a comparison, a condition) is read and kept as `Doubtful`; what is not supported is `Bad`.
"""

import re
from abc import ABC, abstractmethod
from typing import Any

from toolspeak.reading.code.syntax import (
    Closure,
    Comprehension,
    Doubtful,
    ExprStatement,
    Formatted,
    Invocation,
    Joined,
    Mapped,
    Member,
    Name,
    Operation,
    Spread,
    Statement,
    Unreadable,
)
from toolspeak.reading.source import Reading
from toolspeak.reading.strings import QUOTES, WIDE, ReadError, Truncated
from toolspeak.reading.values import LITERALS, Values, Watch, number

INLINE_BLANKS = re.compile(r"[^\S\n]*[\u200b-\u200f\u2060\ufeff]*[^\S\n]*")
IDENTIFIER = re.compile(r"[\w$]*")
NUMERAL = re.compile(r"[\w.]*")
TYPE = re.compile(r"""[\w.<>\[\]|&"' ]*""")
PREFIXED = re.compile(r"([rRbBuUfF]{1,2})[\"']")
STRING_PREFIX = re.compile(r"[rRbBuUfF]{1,2}")
KEYWORD_AFTER_STRING = re.compile(r"(?:if|else|for|in|as|and|or|is|not)\b|[rbuf]{0,2}[\"'`]")
PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "//": 2, "**": 3}
DOUBTFUL_WORDS = ("or", "and", "if", "in", "is", "not", "instanceof")
DOUBTFUL_SIGNS = ("??", "||", "&&", "===", "!==", "==", "!=", "<=", ">=", "<", ">", "?", "|", "&", "^")
MAX_NESTING = 32
"""How deeply expressions may be nested."""

UNSUPPORTED = "it uses code that is not supported"
HINT = "Write plain calls with literal values, one per line."


class Expressions(Values, ABC):
    """Reads expressions. `python`: whether `//` divides."""

    def __init__(self, values: Values) -> None:
        super().__init__(values.source, values.keys)
        self.code = True
        self.python = False
        self._depth = 0

    @abstractmethod
    def header(self, *, opened: bool = False) -> Reading[tuple[str, str]]:
        """The text before a body, and what begins the body."""

    @abstractmethod
    def body(self, ender: str) -> Reading[tuple[Statement, ...]]:
        """The statements of a function's body."""

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
        if self._depth > MAX_NESTING:
            raise ReadError("it is nested too deeply")
        left = yield from self._operand()
        while (operator := (yield from self._operator())) is not None and PRECEDENCE[operator] >= level:
            self.source.pos += len(operator)
            yield from self.space()  # an operator at the end of a line: the next one goes on with it
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
                yield from self.skip_words(("else",))
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
                    yield from self.skip_words(("not", "in"))
                left = Doubtful(sure=(left, (yield from self._arithmetic())), unsure=())
        return left

    def _arithmetic(self) -> Reading[Any]:
        """An expression without such operators of its own."""
        if (yield from self.skip_words(("not",))):
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
                if eleven.startswith(word) and not eleven[len(word) : len(word) + 1].isalnum():
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
            raise Truncated
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
            raise ReadError(f"{char!r} was not expected", HINT)
        if self.open and (yield from source.at_end()):
            raise Truncated
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
            return Closure(parameters=names, body=(ExprStatement(value=body),))
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
        header, ender = yield from self.header()
        names = re.findall(r"[(,]\s*([^\W\d]\w*)", header)
        body = yield from self.body(ender)
        return Closure(parameters=tuple(Name(name=name) for name in names), body=body)

    def _arrow(self, parameters: tuple[Any, ...]) -> Reading[Any]:
        self.source.pos += 2
        if (yield from self.blank()) == "{":
            return Closure(parameters=parameters, body=(yield from self.body("{")))
        body = yield from self.expression()
        return Closure(parameters=parameters, body=(ExprStatement(value=body),))

    def _parenthesis(self) -> Reading[Any]:
        """An expression in parentheses, a tuple, or the parameters of an arrow function."""
        items: list[Any] = []

        def one(char: str) -> Reading[None]:
            items.append((yield from self.item()))
            if (yield from self.space()) == ":":  # the type of an arrow's parameter
                self.source.pos += 1
                yield from self.source.run(TYPE)

        commas = yield from self.items(")", one)
        if (yield from self.blank()) == "=" and (yield from self.source.ahead(2)) == "=>":
            return (yield from self._arrow(tuple(items)))
        if len(items) == 1 and not commas and not isinstance(items[0], Comprehension):
            return items[0]
        return items

    def _list(self) -> Reading[Any]:
        items: list[Any] = []

        def one(char: str) -> Reading[None]:
            items.append((yield from self.item()))

        yield from self.items("]", one)
        return items[0] if len(items) == 1 and isinstance(items[0], Comprehension) else items

    def item(self) -> Reading[Any]:
        """An item of a list: an expression, a spread, or a comprehension."""
        source = self.source
        char = yield from self.space()
        if char == "*" or (char == "." and (yield from source.ahead(3)) == "..."):
            source.pos += 1 if char == "*" else 3
            if (yield from self.space()) in (")", "]", ",", ""):
                raise ReadError("it is a placeholder", "Write real values.")
            return Spread(value=(yield from self.expression()))
        item = yield from self.expression()
        if (yield from self.space()) == "f" and (yield from source.starts_with("for ")):
            source.pos += 4
            target = yield from self._targets()
            if not (yield from self.skip_words(("in",))):
                raise ReadError(UNSUPPORTED, HINT)
            items = yield from self.expression()
            if (yield from self.space()) == "i":
                raise ReadError("a comprehension with a condition is not supported", HINT)
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
        pairs: list[tuple[str | None, Any]] = []

        def one(char: str) -> Reading[None]:
            pairs.append((yield from self._pair(char)))

        yield from self.items("}", one)
        return Mapped(items=tuple(pairs))

    def _pair(self, char: str) -> Reading[tuple[str | None, Any]]:
        source = self.source
        if char in "*.":
            dots = yield from source.ahead(3)
            source.pos += 2 if dots.startswith("**") else 3
            if (yield from self.space()) in ("}", ",", ""):
                raise ReadError("it is a placeholder", "Write real values.")
            return None, (yield from self.expression())
        if char == "[":
            raise ReadError("a computed key is not supported", HINT)
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
            raise Truncated
        if token.strip(".") == "":
            raise ReadError("it is a placeholder", "Write real values.")
        try:
            return number(token)
        except ValueError:
            raise ReadError(f"{token} is not a number", HINT) from None

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
            return (yield from self.long_text(opener, raw="r" in prefix, template=template))
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
            raise Truncated if following == "" else ReadError(UNSUPPORTED, HINT)
        self.open.pop()
        if (yield from source.at_end()):
            raise Truncated
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
                    raise Truncated if (yield from source.at_end()) else ReadError(UNSUPPORTED, HINT)
                if self.open and (yield from source.at_end()):
                    raise Truncated
                base = Member(base=base, key=key)
                if key == "raw" and (yield from source.ahead(1)) == "`":
                    source.pos += 1
                    base = yield from self.long_text("`", raw=True, template="${")
            elif char == "[":
                source.pos += 1
                self.open.append("]")
                key = yield from self.expression()
                if (yield from self.space()) != "]":
                    raise Truncated if (yield from source.at_end()) else ReadError(UNSUPPORTED, HINT)
                source.pos += 1
                self.open.pop()
                base = Member(base=base, key=key)
            elif char == "(":
                base = yield from self._call(base)
            elif char == "<" and isinstance(base, Name | Member) and (yield from self._type_arguments()):
                continue
            elif char == "!" and (yield from source.ahead(2)) != "!=":
                source.pos += 1
            elif char == "a" and (yield from source.starts_with("as ")):
                source.pos += 3
                yield from source.run(TYPE)
            else:
                return base

    def _type_arguments(self) -> Reading[bool]:
        """Skip `<Type>` before the parenthesis of a call, if that is what comes."""
        if not (yield from self.source.ahead(2))[1:].isalpha():
            return False
        found = re.match(r"<[\w\[\], |.]{1,40}>(?=\()", (yield from self.source.ahead(44)))
        self.source.pos += found.end() if found else 0
        return found is not None

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
        args: list[Any] = []
        keywords: list[tuple[str | None, Any]] = []

        def one(char: str) -> Reading[None]:
            if char == "*" and (yield from self.source.ahead(2)) == "**":
                self.source.pos += 2
                keywords.append((None, (yield from self.expression())))
            elif (key := (yield from self._keyword())) is not None:
                keywords.append((key, (yield from self.expression())))
            else:
                args.append((yield from self.item()))

        yield from self.items(")", one)
        return Invocation(callee=callee, args=tuple(args), keywords=tuple(keywords))

    def missing_comma(self, char: str) -> None:
        # An operator that is not read would otherwise pass for the next item.
        if not (char in QUOTES or char.isalnum() or char in "_[{*"):
            raise ReadError(UNSUPPORTED, HINT)
        self.repaired("syntax")

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

    def skip_words(self, words: tuple[str, ...]) -> Reading[bool]:
        yield from self.blank()
        for word in words:
            if (yield from self.source.starts_with(f"{word} ")):
                self.source.pos += len(word)
                yield from self.blank()
                return True
        return False

    # Where a string ends, in code

    def closes_statement(self, char: str, gap: str) -> bool:
        return "\n" in gap or char in ";+-*%,.)[]}`~<#/\\=:" or bool(gap)

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
