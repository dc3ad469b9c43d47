"""Values as models write them: JSON, and all that is nearly JSON.

What is understood in spite of its spelling is noted as a repair, and nothing is completed that could change a value: an
open string or number is `Cut`.
"""

import math
import re
from collections.abc import Callable
from typing import Any, Protocol

from toolspeak.reading.source import Reading
from toolspeak.reading.strings import BLANKS, WIDE, ReadError, Strings, Truncated

DEPTH = 100
"""How deeply values may be nested."""

LITERALS: dict[str, Any] = {
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
    "null": None, "None": None, "NULL": None, "nil": None, "undefined": None,
}  # fmt: skip

BARE_KEY = re.compile(r"[\w$.\-]*")
TOKEN = re.compile(r"""[^\s,{}\[\]():;"'“”‘’`<>&\\｛｝，：]*""")
WORDS = re.compile(r"""[^,{}\[\]\n"<｛｝，]*""")
NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)n?"
)
JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
GROUPS = re.compile(r"(?:,\d{3})+(?:\.\d+)?(?=\s*[,}\n])(?!\s*,\s*\d)")


class Watch(Protocol):
    """Told of the pairs of an object while it is read; may raise to stop the reading."""

    def key(self, key: str) -> None:
        """A key has been read; its value comes next."""
        ...

    def item(self, key: str, value: Any) -> None:
        """A pair is complete."""
        ...

    def inside(self, key: str) -> "Watch | None":
        """Who watches the object that is the value of `key`."""
        ...


class Values(Strings):
    """Reads values from a source."""

    # Between values

    def space(self) -> Reading[str]:
        """Skip blanks, line ends and comments; the next character, or "" at the end."""
        source = self.source
        while True:
            match = BLANKS.match(source.text, source.pos)
            source.pos = match.end() if match else source.pos
            if source.pos >= len(source.text):
                if source.ended:
                    return ""
                yield
                continue
            char = source.text[source.pos]
            if char not in "/#\\<" or not (yield from self._comment(char)):
                return WIDE.get(char, char)
            if not self.code and self.open:
                self.repaired("syntax")

    def _comment(self, char: str) -> Reading[bool]:
        source = self.source
        if char == "#":
            yield from source.line()
            return True
        if char == "/":
            two = yield from source.ahead(2)
            if two == "//":
                yield from source.line()
            elif two == "/*":
                yield from source.until("*/")
            return two in ("//", "/*")
        if char == "\\":
            # A line continued, or an escape for a blank that was written out.
            two = yield from source.ahead(2)
            if two[1:] in ("n", "r", "t", "\n"):
                source.pos += 2
                return True
            return False
        if (yield from source.starts_with("<!--")):
            yield from source.until("-->")
            return True
        return False

    # Values

    def value(self, watch: Watch | None = None) -> Reading[Any]:
        """Any value, in the spelling of JSON or near it."""
        char = yield from self.space()
        if char == "":
            raise Truncated
        if len(self.open) > DEPTH:
            raise ReadError("it is nested too deeply")
        if char == "{":
            return (yield from self.object(watch))
        if char == "[" or (char == "(" and not self.code):
            return (yield from self.array("]" if char == "[" else ")"))
        if (opener := (yield from self.opener())) is not None:
            return (yield from self.joined_texts(opener))
        return (yield from self.bare())

    def joined_texts(self, opener: str) -> Reading[Any]:
        """A text, or several joined with `+`."""
        text = yield from self.text(opener, "value")
        while (yield from self.space()) == "+":
            mark = self.source.mark()
            self.source.pos += 1
            yield from self.space()
            following = yield from self.opener()
            self.source.unmark()
            if following is None:
                self.source.rewind(mark)
                break
            self.repaired("syntax")
            text += yield from self.text(following, "value")
        return text

    def array(self, closer: str) -> Reading[list[Any]]:
        """A list; the opening bracket is next."""
        items: list[Any] = []

        def one(char: str) -> Reading[None]:
            items.append((yield from self.value()))

        yield from self.items(closer, one)
        return items

    def object(self, watch: Watch | None = None) -> Reading[dict[str, Any]]:
        """An object; the opening brace is next."""
        items: dict[str, Any] = {}

        def one(char: str) -> Reading[None]:
            key = yield from self.key()
            yield from self.colon(key)
            if watch is not None:
                watch.key(key)
            value = yield from self.value(watch.inside(key) if watch is not None else None)
            if key in items and items[key] != value:
                raise ReadError(f"the key {key!r} is given twice", "Give each key once.")
            items[key] = value
            if watch is not None:
                watch.item(key, value)

        yield from self.items("}", one)
        return items

    def items(self, closer: str, one: Callable[[str], Reading[None]]) -> Reading[int]:
        """Whatever stands between brackets; the opening bracket is next. How many commas there are.

        `one` reads an item, and is told its first character.
        """
        self.source.pos += 1
        self.open.append(closer)
        commas, after_comma, some = 0, True, False
        while True:
            char = yield from self.space()
            if char == closer:
                if after_comma and some and not self.code:
                    self.repaired("syntax")
                self.source.pos += 1
                break
            if char == ",":
                if after_comma:
                    self.repaired("syntax")
                self.source.pos += 1
                commas += 1
                after_comma = True
                continue
            if (yield from self.unclosed(char, after_comma=after_comma and some)):
                break
            if not after_comma:
                self.missing_comma(char)
            yield from one(char)
            after_comma, some = False, True
        self.open.pop()
        return commas

    def missing_comma(self, char: str) -> None:
        """An item begins with `char`, and no comma stands before it."""
        self.repaired("syntax")

    def unclosed(self, char: str, *, after_comma: bool) -> Reading[bool]:
        """Whether the closer is missing here and may be supplied: at the end, or before what closes the whole call."""
        if char == "":
            if after_comma or not self.source.well:
                raise Truncated
        elif char in ("`", "~") and not (yield from self._fence()):
            return False
        elif char == "<":
            if (yield from self.opener()) is not None:
                return False
            if (yield from self.source.cut_tag()):
                raise Truncated
        elif char not in ("`", "~", "]", ")", "}"):
            return False
        elif char in "])}" and char not in self.open:
            raise ReadError(f"there is a {char} where none is open")
        self.repaired("closers")
        return True

    def _fence(self) -> Reading[bool]:
        return (yield from self.source.ahead(3)) in ("```", "~~~")

    def key(self) -> Reading[str]:
        """A key, quoted or not."""
        if (opener := (yield from self.opener())) is not None:
            text = yield from self.text(opener, "key")
            if not isinstance(text, str):
                raise ReadError("a key holds an expression")
            return text
        key = yield from self.source.run(BARE_KEY)
        if not key:
            if (yield from self.source.at_end()):
                raise Truncated
            raise ReadError(
                f"a key was expected, not {self.source.text[self.source.pos]!r}", 'Write JSON: {"key": value}.'
            )
        if (yield from self.source.at_end()):
            raise Truncated
        if key.strip(".") == "":
            raise ReadError("it is a placeholder", "Write real values.")
        self.repaired("syntax")
        return key

    def colon(self, key: str) -> Reading[None]:
        """What stands between a key and its value."""
        char = yield from self.space()
        if char == "":
            raise Truncated
        if char not in (":", "="):
            raise ReadError(f"there is no colon after the key {key!r}", 'Write JSON: {"key": value}.')
        self.source.pos += 1
        if char == "=":
            self.repaired("syntax")
            if (yield from self.source.starts_with(">")):
                self.source.pos += 1

    def bare(self) -> Reading[Any]:
        """A number, a literal, or words that should have been quoted."""
        source = self.source
        token = yield from source.run(TOKEN)
        if self.open and token not in LITERALS and (yield from source.at_end()):
            raise Truncated
        if token in LITERALS:
            if not token.islower():
                self.repaired("syntax")
            return LITERALS[token]
        if token in ("NaN", "Infinity", "-Infinity", "+Infinity"):
            raise ReadError(f"{token} is not a number", "Use a number, or leave the argument out.")
        if NUMBER.fullmatch(token):
            if not JSON_NUMBER.fullmatch(token):
                self.repaired("syntax")
            return (yield from self._grouped(token))
        words = token + (yield from source.run(WORDS))
        if self.open and (yield from source.at_end()):
            raise Truncated
        words = words.strip()
        if not words or words.strip(".…") == "" or words.startswith("<"):
            raise ReadError("a value is missing", "Write real values.")
        self.repaired("syntax")
        return words

    def _grouped(self, token: str) -> Reading[int | float]:
        """A number; `1,500` is one where a key would have to follow the comma."""
        source = self.source
        if self.open and self.open[-1] == "}" and source.text[source.pos] == ",":
            yield from source.ahead(24)
            if groups := GROUPS.match(source.text, source.pos):
                source.pos = groups.end()
                self.repaired("syntax")
                token += groups[0].replace(",", "")
        return number(token)


def number(token: str) -> int | float:
    """A number from its spelling."""
    plain = token.replace("_", "").removesuffix("n") if not token.lower().startswith(("0x", "-0x")) else token
    plain = ORDINAL.sub("", plain)
    digits = plain.lstrip("+-")
    if digits[:2].lower() in ("0x", "0o", "0b"):
        return int(plain.replace("_", ""), 0)
    try:
        value = int(plain) if digits.isdecimal() else float(plain)
    except ValueError:
        why = "a number has too many digits" if digits.isdecimal() else f"{token[:40]} is not a number"
        raise ReadError(why) from None
    if not math.isfinite(value):
        raise ReadError("a number is too large")
    return value
