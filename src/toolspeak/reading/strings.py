"""Strings as models write them, and where they end.

A quote that is not escaped ends a string between quotes of one character if what must follow a string at this place
follows the quote. Any other quote is doubtful: it may be content (`"He said "hi" to me"`), or the end of
the string before a mistake, or the opening quote of the next key, before which the closing quote was forgotten. A
doubtful quote is decided by the whole text of its call (`doubt.py`), and never by itself. How far ahead is looked is
bounded, so that waiting for text is, too.

Strings between triple quotes, backticks or tokens end at their closer alone. Nothing is completed that could change a
value: a string that the end of the text cuts off is `Truncated`.

The same classes read strings in data (JSON and nearly JSON) and in code. What differs is asked of `SyntaxRules`.
"""

import re
from collections.abc import Sequence
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from toolspeak.reading.cursor import Ambiguous, Cursor, QuoteRole, Truncated
from toolspeak.reading.source import Reading

AFTER_VALUE = re.compile(r"</?[\w|｜:▁]|\\[nrt\r\n]|(?:```|~~~)|<!--|//|/\*|#")
"""A tag, an escaped blank, a fence or a comment: each can follow a value without a comma."""


class SyntaxRules:
    """What may stand where: the rules of data. Those of code are in `code/layout.py`.

    Attributes:
        in_code: Whether code is read: comments, trailing commas and single quotes are sound there.
        python: Whether `//` divides and does not begin a comment.
    """

    in_code = False

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self.python = False

    def can_follow_outside_brackets(self, char: str, gap: str) -> bool:
        """Whether `char`, after the blanks `gap`, can follow a string where no bracket is open."""
        return True

    def can_follow_in_brackets(self, char: str, gap: str, at: int) -> bool:
        """Whether `char`, at index `at` of the source's text, can follow a string in sound code, inside brackets."""
        return False

    def check_missing_comma(self, char: str) -> None:
        """Note, or refuse, an item that begins with `char` and has no comma before it."""
        self._cursor.note_repair("syntax")
        self._cursor.note_doubt("comma")


def can_follow_after_repair(text: str, char: str, gap: str, at: int) -> bool:
    """Whether `text[at:]` can follow a value if a repair is made: a `+`, a closing tag, a fence, a comment."""
    if char == "+":
        return True
    found = AFTER_VALUE.match(text, at)
    if found is None:
        return False
    return found[0][0] not in "/#" or bool(gap)


Role: TypeAlias = Literal["key", "value"]
"""What a string is in its object, which decides what may follow it."""

LOOKAHEAD_CHARS = 72
"""How far a doubtful quote is judged by what follows the blanks after it. Waiting for text stays bounded."""

KEY_LOOKAHEAD_CHARS = 256
"""How far the closing quote of a key is looked for, behind a comma."""

COMMENT_LOOKAHEAD_CHARS = 256
"""How far the end of a comment is looked for, behind a string of code."""

BLANK_LOOKAHEAD_CHARS = 400
"""How many blanks after a quote are looked over."""

FULL_WIDTH = dict(zip("｛｝［］（）：，；＝", "{}[]():,;=", strict=True))
"""Full-width punctuation, and the ASCII sign that has the same meaning between tokens."""

BLANK = r"[\s\u200b-\u200f\u2060\ufeff]"
BLANKS = re.compile(f"{BLANK}*")
QUOTED_KEY = re.compile(rf"""(["'])(?:(?!\1)[^\\]|\\.)*\1{BLANK}*(?:[:：]|=(?!=))""", re.S)
QUOTED_OTHER = re.compile(rf"""(["'])(?:(?!\1)[^\\]|\\.)*\1{BLANK}*(?!{BLANK}|[:：=]).""", re.S)
QUOTED_ITEM = re.compile(r"""(["'])(?:(?!\1)[^\\]|\\.)*\1\s*[,\]"']""", re.S)
KEY_AFTER_QUOTE = re.compile(r"""([\w$\-]{1,64})["']\s*[:：]""")
NAMED = re.compile(r"""([\w$\-]{1,64})\s*(?:[:：]|=(?!=))""")
ITEM_STARTS = frozenset("\"'{[-0123456789tfnTFN")
"""Characters with which an item of a list of data begins."""

T = TypeVar("T")

QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "＂": "＂", "`": "`", "„": "“”", "「": "」"}
"""The quotes that open a string, each with the quotes that may close it."""

TOKENS_AS_QUOTES = (
    '<|"|>', '<|\\"|>', "<|'|>", "<escape>", "&quot;", "&amp;quot;", "&#34;", "&#x22;", "&apos;", "&#39;", "&#x27;"
)  # fmt: skip
"""Tokens that stand for both quotes of a string. There are no escapes between them."""

END_WITHOUT_TOKEN = re.compile(
    r"([^{}\[\]<]*)([}\]]+)\s*<(?:tool_call\||end_function_call)>(?:(?!<tool_call\||<end_function_call>).)*", re.S
)
"""The rest of a message after a token that opens a string and has no partner: the text, closers, the call's one end."""

PAIR_IN_TEXT = re.compile(r",\s*[\w\"']+\s*:")

MAX_QUOTE_TOKEN_CHARS = max(map(len, TOKENS_AS_QUOTES))

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "0": "\0", "\n": ""}

HEX = re.compile(r"[0-9a-fA-F]*")
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


class StringReader(Generic[T]):
    """Reads strings. `templates` reads the expressions in them; data has none."""

    def __init__(self, cursor: Cursor, rules: SyntaxRules, templates: Templates[T] | None = None) -> None:
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
            return three if three == char * 3 and self._is_long() else char
        if char == "`" and self._cursor.block_end and (yield from source.starts_with(self._cursor.block_end)):
            return None  # the fence that ends the block
        if char in QUOTES and char:
            return char
        if char == "\\":
            match = re.match(r"""\\+["']""", (yield from source.peek(8)))
            return match[0] if match else None
        if char in ("<", "&") and char:
            following = yield from source.peek(MAX_QUOTE_TOKEN_CHARS)
            return next((token for token in TOKENS_AS_QUOTES if following.startswith(token)), None)
        return None

    def _is_long(self) -> bool:
        """Whether three quotes open a long string, and not a string that begins with quotes."""
        cursor = self._cursor
        if cursor.quotes is not None:
            return cursor.quotes.get(self._source.here) != "content"
        return cursor.choose is None or cursor.choose(self._source.here, ("close", "content")) == "close"

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
        stops = re.compile(rf"[\\{re.escape(QUOTES[opener])}{{}}]") if template else STOPS[opener]
        pieces: list[str | T] = []
        doubtful = False
        while True:
            match = stops.search(source.text, source.pos)
            if match is None:
                text = source.text[source.pos :]
                pieces.append(text)
                if "\n" in text:
                    self._note_line_end()
                source.pos = len(source.text)
                if source.ended:
                    raise Truncated
                yield from source.wait_for(stops)
                continue
            stop = match.start()
            text = source.text[source.pos : stop]
            pieces.append(text)
            if "\n" in text:
                self._note_line_end()
            source.pos = stop
            char = match[0]
            if char == "\\":
                pieces.append((yield from self._read_escape(raw)))
                continue
            if char in "{}" and template and self._templates:
                pieces.append((yield from self._templates.read_part(char)))
                continue
            match (yield from self._decide(role, pieces, forgotten=not doubtful)):
                case "close":
                    source.pos += 1
                    if doubtful and not source.text[source.pos :].strip() and (yield from source.is_at_end()):
                        raise Truncated  # an earlier quote was content, so this one at the end of the text may be, too
                    return self._join(pieces)
                case "forgotten":
                    self._cursor.note_repair("quotes")
                    self._cursor.note_doubt("forgotten")
                    text = self._join(pieces)
                    return text.rstrip()[:-1] if isinstance(text, str) else text
                case "content":
                    self._cursor.note_repair("quotes")
                    self._cursor.note_unescaped()
                    doubtful = True
                    pieces.append(char)
                    source.pos += 1

    def _join(self, pieces: list[str | T], *, python: bool = True) -> str | T:
        if self._templates:
            return self._templates.join(pieces, python=python)
        return "".join(piece for piece in pieces if isinstance(piece, str))

    def _note_line_end(self) -> None:
        """Note a line end inside a string, which should have been escaped."""
        self._cursor.note_unescaped()
        if not self._in_code:
            self._cursor.note_repair("syntax")

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
                yield from source.wait_for(stops)
                continue
            pieces.append(source.text[source.pos : match.start()])
            source.pos = match.start()
            char = match[0]
            if char == "\\":
                pieces.append((yield from self._read_escape(raw)))
            elif char in "{}$" and self._templates:
                pieces.append((yield from self._templates.read_part(char)))
            elif (yield from source.starts_with(closer)):
                source.pos += len(closer)
                # Quotes before the closer belong to the text: """He said "hi"""".
                while len(closer) == 3 and (yield from source.peek(1)) == closer[0]:
                    pieces.append(closer[0])
                    source.pos += 1
                    self._cursor.note_unescaped()
                return self._join(pieces, python=closer != "`")
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

    # Where a string ends

    def _decide(self, role: Role, pieces: list[str | T], *, forgotten: bool) -> Reading[QuoteRole]:
        """Return what the quote here is, after the `pieces` of its string.

        Args:
            role: What the string is in its object.
            pieces: The string so far.
            forgotten: Whether its closing quote may have been forgotten: not if it already holds quotes.
        """
        cursor = self._cursor
        if cursor.quotes is not None:
            decided = cursor.quotes.get(self._source.here)
            if decided is None:
                raise Ambiguous
            return decided
        if cursor.choose is not None:
            options: tuple[QuoteRole, ...] = ("content",)
            if (yield from self._can_close(role)):
                # A key holds no quotes, and the last quote of the text cannot be content.
                is_last = role == "key" or not self._has_later_quote()
                options = ("close",) if is_last else ("close", "content")
            elif forgotten and (yield from self._is_end_forgotten(pieces)):
                options = ("forgotten", "content")
            return cursor.choose(self._source.here, options)
        if (yield from self._is_end(role)):
            return "close"
        if cursor.resolve is None:
            raise Ambiguous
        yield from cursor.resolve()
        return (yield from self._decide(role, pieces, forgotten=forgotten))

    def _has_later_quote(self) -> bool:
        """Whether another quote of this kind follows in the text."""
        return self._source.text.find(self._source.text[self._source.pos], self._source.pos + 1) >= 0

    # What follows a quote; offsets are relative to the quote, since `source.pos` changes when more text arrives

    def _is_end(self, role: Role) -> Reading[bool]:
        """Whether the quote here ends its string without doubt: what must follow a string at this place follows it."""
        source = self._source
        offset = yield from self._skip_blanks(1)
        at = source.pos + offset
        if at >= len(source.text):
            return True
        if offset > BLANK_LOOKAHEAD_CHARS:
            return False
        char = FULL_WIDTH.get(source.text[at], source.text[at])
        if role == "key":
            return char == ":"
        if not self._cursor.open:
            return self._rules.can_follow_outside_brackets(char, source.text[source.pos + 1 : at])
        if char in self._cursor.open:
            return True
        inner = self._cursor.open[-1]
        if char == ",":
            return (yield from self._is_sound_separator(offset + 1, inner))
        if not self._in_code:
            return False
        if char in "#/" and offset > 1:
            # The end of the line ends a comment. Without it, the comment may be a part of the string.
            return "\n" in (yield from source.peek(offset + COMMENT_LOOKAHEAD_CHARS))[offset:]
        if char == "\\":
            return (yield from source.peek(offset + 2))[offset:] in ("\\\n", "\\\r")  # a line continued
        yield from source.peek(offset + LOOKAHEAD_CHARS)
        at = source.pos + offset
        return self._rules.can_follow_in_brackets(char, source.text[source.pos + 1 : at], at)

    def _is_sound_separator(self, offset: int, inner: str) -> Reading[bool]:
        """Whether an item follows the comma before `offset`, in the spelling of the items before it."""
        source = self._source
        offset = yield from self._skip_blanks(offset)
        at = source.pos + offset
        if at >= len(source.text):
            return True
        char = source.text[at]
        if self._in_code or char == inner:
            return True
        if inner != "}":
            return char in ITEM_STARTS
        if self._cursor.key_quote and char != self._cursor.key_quote:
            return False
        return (yield from self._is_separator(offset, inner))

    def _can_close(self, role: Role) -> Reading[bool]:
        """Whether the quote here can end its string in some reading: what follows the quote could follow a string."""
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
        if self._rules.can_follow_in_brackets(char, gap, at) or can_follow_after_repair(source.text, char, gap, at):
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

    def _is_end_forgotten(self, pieces: Sequence[object]) -> Reading[bool]:
        """Whether a known key may open here, behind a comma: then the string ended before it, without its quote."""
        source = self._source
        before = "".join(piece for piece in pieces[-3:] if isinstance(piece, str)).rstrip()
        if not before.endswith(",") or before[:-1].rstrip()[-1:] == source.text[source.pos]:
            return False  # a quote before the comma is not forgotten
        yield from source.peek(LOOKAHEAD_CHARS)
        key = KEY_AFTER_QUOTE.match(source.text, source.pos + 1, source.pos + LOOKAHEAD_CHARS)
        return key is not None and key[1] in self._cursor.keys


def _character(code: int) -> str:
    """Return the character of a code point; a lone half of a surrogate pair cannot be sent on and is replaced."""
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)


def _unescape(content: str) -> str:
    """Replace the escapes in a string that was escaped as a whole."""
    return re.sub(r"\\([ntrbf\"'\\/])", lambda match: ESCAPES.get(match[1], match[1]), content)
