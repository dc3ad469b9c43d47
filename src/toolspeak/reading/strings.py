"""Strings as models write them, and where they end.

Two rules decide where a string ends, and with it everything else. In sound text a string ends at the first quote that
is not escaped, and that reading always wins. A quote that cannot be the end, because what follows it could not follow a
value here, is content: `"He said "hi" to me"`. Nothing is completed that could change a value: an open string is `Cut`.
"""

import re
from typing import Any

from toolspeak.events import Repair
from toolspeak.reading.code.syntax import Joined
from toolspeak.reading.source import Reading, Source

LOOKAHEAD, KEY_LOOKAHEAD, BLANK_LOOKAHEAD = 72, 256, 400
"""How far ahead a doubtful quote is judged, so that waiting stays bounded: in all, for a quoted key, over blanks."""

TIERS: tuple[Repair, ...] = ("none", "syntax", "quotes", "closers", "shape")

WIDE = {"｛": "{", "｝": "}", "［": "[", "］": "]", "（": "(", "）": ")", "：": ":", "，": ",", "；": ";", "＝": "="}
"""Full-width punctuation, which means the same between tokens."""

QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "＂": "＂", "`": "`", "„": "“”", "「": "」"}
"""What opens a string, and what may close it."""

TOKENS_AS_QUOTES = ('<|"|>', "<escape>", "&quot;", "&#34;", "&#x22;", "&apos;", "&#39;", "&#x27;")
"""Tokens that stand for a quote, at both ends; nothing is escaped between them."""

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "0": "\0", "\n": ""}

BLANK = r"[\s\u200b-\u200f\u2060\ufeff]"
BLANKS = re.compile(f"{BLANK}*")
HEX = re.compile(r"[0-9a-fA-F]*")
QUOTED_KEY = re.compile(rf"""(["'])(?:(?!\1)[^\\]|\\.)*\1{BLANK}*(?:[:：]|=(?!=))""", re.S)
QUOTED_OTHER = re.compile(rf"""(["'])(?:(?!\1)[^\\]|\\.)*\1{BLANK}*(?!{BLANK}|[:：=]).""", re.S)
QUOTED_ITEM = re.compile(r"""(["'])(?:(?!\1)[^\\]|\\.)*\1\s*[,\]"']""", re.S)
KEY_AFTER_QUOTE = re.compile(r"""([\w$\-]{1,64})["']\s*[:：]""")
NAMED = re.compile(r"""([\w$\-]{1,64})\s*(?:[:：]|=(?!=))""")
CLOSER = re.compile(r"</?[\w|｜:▁]|\\[nrt\r\n]|(?:```|~~~)|<!--|//|/\*|#")
STOPS = {quote: re.compile(rf"[\\{re.escape(closers)}]") for quote, closers in QUOTES.items()}
LONG_STOPS = {
    (closer, template): re.compile(rf"[\\{closer[0]}{re.escape(template)}{'}' if template == '{' else ''}]")
    for closer in ('"""', "'''", "`")
    for template in ("", "{", "${")
} | {("`", "${"): re.compile(r"[\\`$]")}


class ReadError(Exception):
    """What was read cannot be a value (or a call). `hint` tells a model what to write instead."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason, hint)
        self.reason, self.hint = reason, hint


class Truncated(ReadError):
    """The text ended inside a value."""

    def __init__(self, reason: str = "the message ended inside the call") -> None:
        super().__init__(reason, "Write the whole call again, shorter if it was cut off by a limit.")


class Strings:
    """Reads strings from a source.

    Attributes:
        keys: Names that are known to be keys, which settles some doubtful quotes.
        code: Whether what is read is code, where other things may follow a string.
        tier: The gravest repair so far.
        open: The closers of the brackets that are open.
    """

    def __init__(self, source: Source, keys: frozenset[str] = frozenset()) -> None:
        self.source = source
        self.keys = keys
        self.code = False
        self.tier: Repair = "none"
        self.open: list[str] = []

    def repaired(self, tier: Repair) -> None:
        """Note a repair; the gravest counts."""
        if TIERS.index(tier) > TIERS.index(self.tier):
            self.tier = tier

    def opener(self) -> Reading[str | None]:
        """What opens a string here, if anything does; it is not read."""
        source = self.source
        char = yield from source.ahead(1)
        if char in ('"', "'"):
            three = yield from source.ahead(3)
            return three if three == char * 3 else char
        if char in QUOTES and char:
            return char
        if char == "\\":
            match = re.match(r"""\\+["']""", (yield from source.ahead(8)))
            return match[0] if match else None
        if char in ("<", "&") and char:
            following = yield from source.ahead(8)
            return next((token for token in TOKENS_AS_QUOTES if following.startswith(token)), None)
        return None

    def text(self, opener: str, role: str) -> Reading[Any]:
        """A string, from its opener to its end."""
        source = self.source
        source.pos += len(opener)
        if len(opener) == 3 and opener[0] in "\"'":
            if not self.code:
                self.repaired("syntax")
            return (yield from self.long_text(opener, raw=False, template=""))
        if opener in TOKENS_AS_QUOTES or opener[0] == "\\":
            content = yield from source.until(opener)
            if content is None:
                raise Truncated
            if opener[0] != "\\":
                if opener[0] == "&":
                    self.repaired("quotes")
                return content
            self.repaired("quotes")
            return _unescaped(content.replace("\\\\", "\\"))
        if opener == "`":
            if not self.code:
                self.repaired("syntax")
            return (yield from self.long_text("`", raw=False, template="${" if self.code else ""))
        if opener != '"' and not self.code:
            self.repaired("syntax")
        return (yield from self.quoted(opener, role, raw=False, template=""))

    def quoted(self, opener: str, role: str, *, raw: bool, template: str) -> Reading[Any]:
        """A string of one line, or of several where a model forgot to escape them; its opener has been read."""
        source = self.source
        stops = _template_stops(opener) if template else STOPS[opener]
        pieces: list[Any] = []
        doubtful = False
        while True:
            match = stops.search(source.text, source.pos)
            if match is None:
                pieces.append(source.text[source.pos :])
                if not self.code and "\n" in pieces[-1]:
                    self.repaired("syntax")
                source.pos = len(source.text)
                if source.ended:
                    raise Truncated
                yield
                continue
            stop = match.start()
            pieces.append(source.text[source.pos : stop])
            if not self.code and "\n" in pieces[-1]:
                self.repaired("syntax")
            source.pos = stop
            char = match[0]
            if char == "\\":
                pieces.append((yield from self.escape(raw)))
            elif char in "{}" and template:
                pieces += yield from self.template_part(char)
            elif (yield from self._closes(role)):
                source.pos += 1
                if doubtful and not source.text[source.pos :].strip() and (yield from source.at_end()):
                    raise Truncated  # the end of the text proves nothing where a quote has been content already
                return _joined(pieces)
            elif self.keys and (ended := (yield from self._ended_before(pieces))) is not None:
                return ended
            else:
                self.repaired("quotes")
                doubtful = True
                pieces.append(char)
                source.pos += 1

    def long_text(self, closer: str, *, raw: bool, template: str) -> Reading[Any]:
        """A string between triple quotes or backticks, which ends at its closer and nowhere else."""
        source = self.source
        stops = LONG_STOPS[closer, template]
        pieces: list[Any] = []
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
                pieces.append((yield from self.escape(raw)))
            elif char in "{}$":
                pieces += yield from self.template_part(char)
            elif (yield from source.starts_with(closer)):
                source.pos += len(closer)
                # Quotes before the closer belong to the text: """He said "hi"""".
                while len(closer) == 3 and (yield from source.ahead(1)) == closer[0]:
                    pieces.append(closer[0])
                    source.pos += 1
                return _joined(pieces, python=closer != "`")
            else:
                pieces.append(char)
                source.pos += 1

    def template_part(self, char: str) -> Reading[list[Any]]:
        """What stands at a `{`, `}` or `$` of a template. Only code has templates."""
        self.source.pos += 1
        yield from ()
        return [char]

    def escape(self, raw: bool) -> Reading[str]:
        """An escape; the backslash is next."""
        source = self.source
        two = yield from source.ahead(2)
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
        width = {"u": 4, "x": 2, "U": 8 if self.code else 0}.get(char, 0)
        if width:
            return (yield from self._code_point(char, width))
        self.repaired("syntax")
        return two

    def _code_point(self, kind: str, width: int) -> Reading[str]:
        source = self.source
        digits = yield from source.ahead(width)
        if kind == "u" and digits.startswith("{"):
            braced = re.match(r"\{([0-9a-fA-F]{1,6})\}", (yield from source.ahead(8)))
            if braced and int(braced[1], 16) < 0x110000:
                source.pos += braced.end()
                return _character(int(braced[1], 16))
        if len(digits) < width and not HEX.fullmatch(digits):
            digits = ""
        if len(digits) < width or not HEX.fullmatch(digits) or int(digits, 16) > 0x10FFFF:
            self.repaired("syntax")
            return f"\\{kind}"
        source.pos += width
        code = int(digits, 16)
        if 0xD800 <= code < 0xDC00:
            low = re.match(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})", (yield from source.ahead(6)))
            if low:
                source.pos += 6
                return chr(0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00)
        return _character(code)

    # Where a string ends. Places are counted from the quote, since text before it is dropped while waiting.

    def _closes(self, role: str) -> Reading[bool]:
        """Whether the quote here ends the string: what follows could follow a string at this place."""
        source = self.source
        offset = yield from self._beyond_blanks(1)
        at = source.pos + offset
        if at >= len(source.text) or offset > BLANK_LOOKAHEAD:
            return True
        gap = source.text[source.pos + 1 : at]
        char = WIDE.get(source.text[at], source.text[at])
        if role == "key":
            return char in ":=" or char in "," + "".join(self.open)
        if not self.open:
            return self.closes_statement(char, gap)
        if char in self.open:
            return True
        inner = self.open[-1]
        if char == ",":
            return (yield from self._comma_separates(offset + 1, inner))
        yield from source.ahead(offset + LOOKAHEAD)
        at = source.pos + offset
        if self.follows_value(char, gap, at):
            return True
        if inner == "}" and QUOTED_KEY.match(source.text, at, at + LOOKAHEAD):
            return True
        if inner == "]" and gap and QUOTED_ITEM.match(source.text, at, at + LOOKAHEAD):
            return True
        named = NAMED.match(source.text, at, at + LOOKAHEAD)
        return named is not None and bool(gap) and (named[1] in self.keys or "\n" in gap) and inner in "})"

    def _beyond_blanks(self, offset: int) -> Reading[int]:
        source = self.source
        while True:
            match = BLANKS.match(source.text, source.pos + offset)
            beyond = match.end() - source.pos if match else offset
            if source.pos + beyond < len(source.text) or source.ended or beyond > BLANK_LOOKAHEAD:
                return beyond
            yield

    def closes_statement(self, char: str, gap: str) -> bool:
        """Whether a string may be followed by `char` where no bracket is open."""
        return True

    def follows_value(self, char: str, gap: str, at: int) -> bool:
        """Whether what is at `at` can follow a value without a comma: a closing tag or fence, a comment, a join."""
        if char == "+":
            return True
        closer = CLOSER.match(self.source.text, at)
        if closer is None:
            return False
        return closer[0][0] not in "/#" or bool(gap)

    def _comma_separates(self, offset: int, inner: str) -> Reading[bool]:
        """Whether a comma before `offset` separates: in an object, a key must follow it."""
        source = self.source
        offset = yield from self._beyond_blanks(offset)
        at = source.pos + offset
        if at >= len(source.text) or inner != "}" or offset > BLANK_LOOKAHEAD:
            return True
        char = source.text[at]
        if char in "\"'":
            while True:
                at = source.pos + offset
                if QUOTED_OTHER.match(source.text, at, at + KEY_LOOKAHEAD):
                    return False
                if (
                    source.ended
                    or len(source.text) - at >= KEY_LOOKAHEAD
                    or QUOTED_KEY.match(source.text, at, at + KEY_LOOKAHEAD)
                ):
                    return True
                yield
        if char.isalnum() or char in "_$":
            yield from source.ahead(offset + LOOKAHEAD)
            at = source.pos + offset
            return self.code or NAMED.match(source.text, at, at + LOOKAHEAD) is not None
        return True

    def _ended_before(self, pieces: list[Any]) -> Reading[str | None]:
        """A forgotten closing quote: what was read ends with a comma, and a known key opens here."""
        source = self.source
        last = next((piece for piece in reversed(pieces) if not isinstance(piece, str) or piece.strip()), None)
        if not isinstance(last, str) or not last.rstrip().endswith(","):
            return None
        yield from source.ahead(LOOKAHEAD)
        key = KEY_AFTER_QUOTE.match(source.text, source.pos + 1, source.pos + LOOKAHEAD)
        if key is None or key[1] not in self.keys:
            return None
        self.repaired("quotes")
        text = _joined(pieces)
        return text.rstrip()[:-1] if isinstance(text, str) else None


def _template_stops(opener: str) -> re.Pattern[str]:
    return re.compile(rf"[\\{re.escape(QUOTES[opener])}{{}}]")


def _joined(pieces: list[Any], *, python: bool = True) -> Any:
    """The pieces of a string as one text; as a template if expressions are among them."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    parts: list[Any] = []
    for piece in pieces:
        if isinstance(piece, str) and parts and isinstance(parts[-1], str):
            parts[-1] += piece
        elif piece != "":
            parts.append(piece)
    return Joined(parts=tuple(parts), python=python)


def _character(code: int) -> str:
    """A character; half of a surrogate pair is none and could not be sent on."""
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)


def _unescaped(content: str) -> str:
    return re.sub(r"\\([ntrbf\"'\\/])", lambda match: ESCAPES.get(match[1], match[1]), content)
