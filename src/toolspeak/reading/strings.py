"""Strings as models write them, and where they end.

Three rules decide where a string between quotes of one character ends:

1. A quote that is not escaped ends the string if the text after the quote could follow a string at this place.
2. Any other quote is content: `"He said "hi" to me"`.
3. If a known key follows a quote after a comma, the closing quote was forgotten: the string ended before the comma.

Strings between triple quotes, backticks or tokens end at their closer alone. Nothing is completed that could change a
value: a string that the end of the text cuts off is `Truncated`.
"""

import re
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from toolspeak.reading.cursor import Cursor, Truncated
from toolspeak.reading.rules import SyntaxRules
from toolspeak.reading.source import Reading

T = TypeVar("T")

Role: TypeAlias = Literal["key", "value"]
"""What a string is in its object, which decides what may follow it."""

LOOKAHEAD_CHARS = 72
"""How far a doubtful quote is judged by what follows the blanks after it. Waiting for text stays bounded."""

KEY_LOOKAHEAD_CHARS = 256
"""How far the closing quote of a key is looked for, behind a comma."""

BLANK_LOOKAHEAD_CHARS = 400
"""How many blanks after a quote are looked over."""

FULL_WIDTH = dict(zip("｛｝［］（）：，；＝", "{}[]():,;=", strict=True))
"""Full-width punctuation, and the ASCII sign that has the same meaning between tokens."""

QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "＂": "＂", "`": "`", "„": "“”", "「": "」"}
"""The quotes that open a string, each with the quotes that may close it."""

TOKENS_AS_QUOTES = (
    '<|"|>',
    '<|\\"|>',
    "<|'|>",
    "<escape>",
    "&quot;",
    "&amp;quot;",
    "&#34;",
    "&#x22;",
    "&apos;",
    "&#39;",
    "&#x27;",
)
"""Tokens that stand for both quotes of a string. There are no escapes between them."""

END_WITHOUT_TOKEN = re.compile(
    r"([^{}\[\]<]*)([}\]]+)\s*<(?:tool_call\||end_function_call)>(?:(?!<tool_call\||<end_function_call>).)*", re.S
)
"""The rest of a message after a token that opens a string and has no partner: the text, closers, the call's one end."""

PAIR_IN_TEXT = re.compile(r",\s*[\w\"']+\s*:")

MAX_QUOTE_TOKEN_CHARS = max(map(len, TOKENS_AS_QUOTES))

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "0": "\0", "\n": ""}

BLANK = r"[\s\u200b-\u200f\u2060\ufeff]"
BLANKS = re.compile(f"{BLANK}*")
HEX = re.compile(r"[0-9a-fA-F]*")
QUOTED_KEY = re.compile(rf"""(["'])(?:(?!\1)[^\\]|\\.)*\1{BLANK}*(?:[:：]|=(?!=))""", re.S)
QUOTED_OTHER = re.compile(rf"""(["'])(?:(?!\1)[^\\]|\\.)*\1{BLANK}*(?!{BLANK}|[:：=]).""", re.S)
QUOTED_ITEM = re.compile(r"""(["'])(?:(?!\1)[^\\]|\\.)*\1\s*[,\]"']""", re.S)
KEY_AFTER_QUOTE = re.compile(r"""([\w$\-]{1,64})["']\s*[:：]""")
NAMED = re.compile(r"""([\w$\-]{1,64})\s*(?:[:：]|=(?!=))""")
STOPS = {quote: re.compile(rf"[\\{re.escape(closers)}]") for quote, closers in QUOTES.items()}
LONG_STOPS = {
    (closer, template): re.compile(rf"[\\{closer[0]}{re.escape(template)}{'}' if template == '{' else ''}]")
    for closer in ('"""', "'''", "`")
    for template in ("", "{", "${")
} | {("`", "${"): re.compile(r"[\\`$]")}


class Templates(Protocol[T]):
    """Strings that hold expressions: `f"{x}"`, `${x}` between backticks. `T` is an expression."""

    def read_part(self, char: str) -> Reading[str | T]:
        """Read what begins with the `{`, `}` or `$` that is next: an expression, or the character itself."""
        ...

    def join(self, pieces: list[str | T], *, python: bool) -> str | T:
        """Return the string that consists of `pieces`; `python`: whether values in it are written as in Python."""
        ...


class NoTemplates:
    """The templates of data, which has none: a string is text."""

    def read_part(self, char: str) -> Reading[str]:
        raise NotImplementedError(f"data has no templates, and {char} is text in it")

    def join(self, pieces: list[str], *, python: bool) -> str:
        return "".join(pieces)


class StringReader(Generic[T]):
    """Reads strings.

    Args:
        cursor: Where strings are read.
        rules: What may follow a string there.
        templates: Reads the expressions in strings.
    """

    def __init__(self, cursor: Cursor, rules: SyntaxRules, templates: Templates[T]) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._rules = rules
        self._in_code = rules.in_code
        self._templates = templates

    def peek_opener(self) -> Reading[str | None]:
        """Return the quote, or the token for one, that opens a string here; None if no string begins. Reads nothing."""
        source = self._source
        char = yield from source.peek(1)
        if char in ('"', "'"):
            three = yield from source.peek(3)
            return three if three == char * 3 else char
        if char in QUOTES and char:
            return char
        if char == "\\":
            match = re.match(r"""\\+["']""", (yield from source.peek(8)))
            return match[0] if match else None
        if char in ("<", "&") and char:
            following = yield from source.peek(MAX_QUOTE_TOKEN_CHARS)
            return next((token for token in TOKENS_AS_QUOTES if following.startswith(token)), None)
        return None

    def read(self, opener: str, role: Role) -> Reading[str | T]:
        """Read a string, from its opener to its end."""
        source = self._source
        source.pos += len(opener)
        if len(opener) == 3 and opener[0] in "\"'":
            if not self._in_code:
                self._cursor.note_repair("syntax")
            return (yield from self.read_long(opener, raw=False, template=""))
        if opener in TOKENS_AS_QUOTES or opener[0] == "\\":
            content = yield from self._read_between_tokens(opener)
            if opener[0] != "\\":
                if opener[0] == "&":
                    self._cursor.note_repair("quotes")
                return content
            self._cursor.note_repair("quotes")
            return _unescape(content.replace("\\\\", "\\"))
        if opener == "`":
            if not self._in_code:
                self._cursor.note_repair("syntax")
            return (yield from self.read_long("`", raw=False, template="${" if self._in_code else ""))
        if opener != '"' and not self._in_code:
            self._cursor.note_repair("syntax")
        return (yield from self.read_quoted(opener, role, raw=False, template=""))

    def _read_between_tokens(self, opener: str) -> Reading[str]:
        """Read the text up to the second `opener`. If it is missing, the text must end in one place only."""
        source = self._source
        mark = source.mark()
        try:
            content = yield from source.read_until(opener)
            if content is not None:
                return content
            found = END_WITHOUT_TOKEN.fullmatch(source.since(mark)) if source.ended_well else None
            closers = "".join(reversed(self._cursor.open))
            if found is None or found[2] != closers or PAIR_IN_TEXT.search(found[1]) or opener[0] != "<":
                raise Truncated
            source.rewind(mark)
            source.pos += len(found[1])
            self._cursor.note_repair("quotes")
            return found[1]
        finally:
            source.unmark()

    def read_quoted(self, opener: str, role: Role, *, raw: bool, template: str) -> Reading[str | T]:
        """Read a string between quotes of one character each, whose opener has been read.

        Line ends need not be escaped.

        Args:
            opener: The quote that opened the string.
            role: What the string is in its object.
            raw: Whether a backslash is text.
            template: What begins an expression in the string: `{`, or nothing.
        """
        source = self._source
        stops = _template_stops(opener) if template else STOPS[opener]
        pieces: list[str | T] = []
        doubtful = False
        while True:
            match = stops.search(source.text, source.pos)
            if match is None:
                text = source.text[source.pos :]
                pieces.append(text)
                if not self._in_code and "\n" in text:
                    self._cursor.note_repair("syntax")
                source.pos = len(source.text)
                if source.ended:
                    raise Truncated
                yield
                continue
            stop = match.start()
            text = source.text[source.pos : stop]
            pieces.append(text)
            if not self._in_code and "\n" in text:
                self._cursor.note_repair("syntax")
            source.pos = stop
            char = match[0]
            if char == "\\":
                pieces.append((yield from self._read_escape(raw)))
            elif char in "{}" and template:
                pieces.append((yield from self._templates.read_part(char)))
            elif (yield from self._is_closing_quote(role)):
                source.pos += 1
                if doubtful and not source.text[source.pos :].strip() and (yield from source.is_at_end()):
                    raise Truncated  # an earlier quote was content, so this one at the end of the text may be, too
                return self._templates.join(pieces, python=True)
            elif self._cursor.keys and (ended := (yield from self._find_forgotten_end(pieces))) is not None:
                return ended
            else:
                self._cursor.note_repair("quotes")
                doubtful = True
                pieces.append(char)
                source.pos += 1

    def read_long(self, closer: str, *, raw: bool, template: str) -> Reading[str | T]:
        """Read a string between triple quotes or backticks. Only `closer` ends it.

        Args:
            closer: The triple quotes or the backtick.
            raw: Whether a backslash is text.
            template: What begins an expression in the string: `{`, `${`, or nothing.
        """
        source = self._source
        stops = LONG_STOPS[closer, template]
        pieces: list[str | T] = []
        while True:
            match = stops.search(source.text, source.pos)
            if match is None:
                pieces.append(source.text[source.pos :])
                source.pos = len(source.text)
                if source.ended:
                    raise Truncated
                yield
                continue
            pieces.append(source.text[source.pos : match.start()])
            source.pos = match.start()
            char = match[0]
            if char == "\\":
                pieces.append((yield from self._read_escape(raw)))
            elif char in "{}$":
                pieces.append((yield from self._templates.read_part(char)))
            elif (yield from source.starts_with(closer)):
                source.pos += len(closer)
                # Quotes before the closer belong to the text: """He said "hi"""".
                while len(closer) == 3 and (yield from source.peek(1)) == closer[0]:
                    pieces.append(closer[0])
                    source.pos += 1
                return self._templates.join(pieces, python=closer != "`")
            else:
                pieces.append(char)
                source.pos += 1

    def _read_escape(self, raw: bool) -> Reading[str]:
        """Read an escape and return the text that it stands for; the backslash is next."""
        source = self._source
        two = yield from source.peek(2)
        if len(two) < 2:
            source.pos = len(source.text)
            raise Truncated
        char = two[1]
        source.pos += 2
        if raw:
            return two
        if char in "\\\"'/`$":
            return char
        if char in ESCAPES:
            return ESCAPES[char]
        if char == "\r":
            if (yield from source.starts_with("\n")):
                source.pos += 1
            return ""
        width = {"u": 4, "x": 2, "U": 8 if self._in_code else 0}.get(char, 0)
        if width:
            return (yield from self._read_code_point(char, width))
        self._cursor.note_repair("syntax")
        return two

    def _read_code_point(self, kind: str, width: int) -> Reading[str]:
        r"""Read the digits of `\x`, `\u` or `\U`, and of the second half of a surrogate pair."""
        source = self._source
        digits = yield from source.peek(width)
        if kind == "u" and digits.startswith("{"):
            braced = re.match(r"\{([0-9a-fA-F]{1,6})\}", (yield from source.peek(8)))
            if braced and int(braced[1], 16) < 0x110000:
                source.pos += braced.end()
                return _character(int(braced[1], 16))
        if len(digits) < width and not HEX.fullmatch(digits):
            digits = ""
        if len(digits) < width or not HEX.fullmatch(digits) or int(digits, 16) > 0x10FFFF:
            self._cursor.note_repair("syntax")
            return f"\\{kind}"
        source.pos += width
        code = int(digits, 16)
        if 0xD800 <= code < 0xDC00:
            low = re.match(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})", (yield from source.peek(6)))
            if low:
                source.pos += 6
                return chr(0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00)
        return _character(code)

    # Where a string ends. Offsets are relative to the quote: `source.pos` changes when more text arrives.

    def _is_closing_quote(self, role: Role) -> Reading[bool]:
        """Whether the quote here ends the string: the text after the quote could follow a string at this place."""
        source = self._source
        offset = yield from self._skip_blanks(1)
        at = source.pos + offset
        if at >= len(source.text) or offset > BLANK_LOOKAHEAD_CHARS:
            return True
        gap = source.text[source.pos + 1 : at]
        char = FULL_WIDTH.get(source.text[at], source.text[at])
        if role == "key":
            return char in ":=" or char in "," + "".join(self._cursor.open)
        if not self._cursor.open:
            return self._rules.can_follow_outside_brackets(char, gap)
        if char in self._cursor.open:
            return True
        inner = self._cursor.open[-1]
        if char == ",":
            return (yield from self._is_separator(offset + 1, inner))
        yield from source.peek(offset + LOOKAHEAD_CHARS)
        at = source.pos + offset
        if self._rules.can_follow_in_brackets(char, gap, at):
            return True
        if inner == "}" and QUOTED_KEY.match(source.text, at, at + LOOKAHEAD_CHARS):
            return True
        if inner == "]" and gap and QUOTED_ITEM.match(source.text, at, at + LOOKAHEAD_CHARS):
            return True
        named = NAMED.match(source.text, at, at + LOOKAHEAD_CHARS)
        return named is not None and bool(gap) and (named[1] in self._cursor.keys or "\n" in gap) and inner in "})"

    def _skip_blanks(self, offset: int) -> Reading[int]:
        """Return the first offset from `offset` on where no blank stands; waits for a bounded number of blanks."""
        source = self._source
        while True:
            match = BLANKS.match(source.text, source.pos + offset)
            beyond = match.end() - source.pos if match else offset
            if source.pos + beyond < len(source.text) or source.ended or beyond > BLANK_LOOKAHEAD_CHARS:
                return beyond
            yield

    def _is_separator(self, offset: int, inner: str) -> Reading[bool]:
        """Whether the comma before `offset` separates items: in an object, a key must follow the comma."""
        source = self._source
        offset = yield from self._skip_blanks(offset)
        at = source.pos + offset
        if at >= len(source.text) or inner != "}" or offset > BLANK_LOOKAHEAD_CHARS:
            return True
        char = source.text[at]
        if char in "\"'":
            while True:
                at = source.pos + offset
                if QUOTED_OTHER.match(source.text, at, at + KEY_LOOKAHEAD_CHARS):
                    return False
                if (
                    source.ended
                    or len(source.text) - at >= KEY_LOOKAHEAD_CHARS
                    or QUOTED_KEY.match(source.text, at, at + KEY_LOOKAHEAD_CHARS)
                ):
                    return True
                yield
        if char.isalnum() or char in "_$":
            yield from source.peek(offset + LOOKAHEAD_CHARS)
            at = source.pos + offset
            return self._in_code or NAMED.match(source.text, at, at + LOOKAHEAD_CHARS) is not None
        return True

    def _find_forgotten_end(self, pieces: list[str | T]) -> Reading[str | None]:
        """Return the string if its closing quote was forgotten: it ends with a comma, and a known key opens here."""
        source = self._source
        last = next((piece for piece in reversed(pieces) if not isinstance(piece, str) or piece.strip()), None)
        if not isinstance(last, str) or not last.rstrip().endswith(","):
            return None
        yield from source.peek(LOOKAHEAD_CHARS)
        key = KEY_AFTER_QUOTE.match(source.text, source.pos + 1, source.pos + LOOKAHEAD_CHARS)
        if key is None or key[1] not in self._cursor.keys:
            return None
        self._cursor.note_repair("quotes")
        text = self._templates.join(pieces, python=True)
        return text.rstrip()[:-1] if isinstance(text, str) else None


def _template_stops(opener: str) -> re.Pattern[str]:
    return re.compile(rf"[\\{re.escape(QUOTES[opener])}{{}}]")


def _character(code: int) -> str:
    """Return the character of a code point; a lone half of a surrogate pair cannot be sent on and is replaced."""
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)


def _unescape(content: str) -> str:
    """Replace the escapes in a string that was escaped as a whole."""
    return re.sub(r"\\([ntrbf\"'\\/])", lambda match: ESCAPES.get(match[1], match[1]), content)
