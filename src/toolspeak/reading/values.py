"""Values as models write them: JSON, and all that is nearly JSON.

A value that is understood in spite of its spelling is noted as a repair. Nothing is completed that could change a
value: a string or a number that the end of the text cuts off is `Truncated`.
"""

import math
import re
import sys
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from toolspeak.reading.cursor import Cursor, ReadError, Truncated
from toolspeak.reading.forms import next_token
from toolspeak.reading.source import Reading
from toolspeak.reading.strings import (
    BLANKS,
    FULL_WIDTH,
    TOKENS_AS_QUOTES,
    StringReader,
    SyntaxRules,
)


class SpaceReader:
    """Skips what means nothing between tokens: blanks, line ends and comments."""

    def __init__(self, cursor: Cursor, rules: SyntaxRules) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._rules = rules
        self._in_code = rules.in_code

    def skip(self) -> Reading[str]:
        """Skip blanks, line ends and comments; return the next character, or "" at the end."""
        source = self._source
        while True:
            match = BLANKS.match(source.text, source.pos)
            source.pos = match.end() if match else source.pos
            if source.pos >= len(source.text):
                if source.ended:
                    return ""
                yield
                continue
            char = source.text[source.pos]
            if char not in "/#\\<" or not (yield from self._skip_comment(char)):
                return FULL_WIDTH.get(char, char)
            if not self._in_code and self._cursor.open:
                self._cursor.note_repair("syntax")
                self._cursor.note_doubt("comment")

    def _skip_comment(self, char: str) -> Reading[bool]:
        """Skip a comment, or a blank that was written as an escape; whether one began with `char`."""
        source = self._source
        if char == "#":
            return (yield from self._skip_line())
        if char == "/":
            two = yield from source.peek(2)
            if two == "//" and not self._rules.python:
                return (yield from self._skip_line())
            return two == "/*" and (yield from self._skip_to("*/"))
        if char == "\\":
            # A line continued, or an escape for a blank that was written out.
            two = yield from source.peek(2)
            if two[1:] in ("n", "r", "t", "\n"):
                source.pos += 2
                return True
            return False
        return (yield from source.starts_with("<!--")) and (yield from self._skip_to("-->"))

    def _skip_to(self, closer: str) -> Reading[bool]:
        """Skip a comment with its closer; returns True.

        Raises:
            Truncated: The comment does not end, and brackets are open.
        """
        if (yield from self._source.read_until(closer)) is None:
            if self._cursor.open:
                raise Truncated
            self._cursor.note_doubt("comment")
        return True

    def _skip_line(self) -> Reading[bool]:
        """Skip a comment up to the end of its line; returns True.

        Raises:
            Truncated: The text ends in the comment, and brackets are open: they may have been closed in the comment.
        """
        yield from self._source.read_line()
        if self._cursor.open and (yield from self._source.is_at_end()):
            raise Truncated
        return True


BARE_KEY = re.compile(r"[\w$.\-]*")

ItemReader: TypeAlias = Callable[[str], Reading[None]]
"""Reads one item between brackets; its argument is the first character of the item."""


class BracketReader:
    """Reads brackets, and what stands beside the items inside them: commas, keys, colons.

    Objects, lists, arguments and parentheses differ only in what an item is. So items are read by a callable, and
    everything around them here, with the repairs that models make necessary: commas too many or too few, closers that
    are missing at the end.
    """

    def __init__(self, cursor: Cursor, rules: SyntaxRules, space: SpaceReader, strings: StringReader[Any]) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._rules = rules
        self._in_code = rules.in_code
        self._space = space
        self._strings = strings

    def read_items(self, closer: str, read_item: ItemReader) -> Reading[int]:
        """Read the items between brackets, from the opening bracket, which is next, to `closer`.

        Returns:
            The number of commas.
        """
        cursor = self._cursor
        source = self._source
        source.pos += 1
        cursor.open.append(closer)
        commas, after_comma, some = 0, True, False
        while True:
            char = yield from self._space.skip()
            if char == closer:
                if after_comma and some and not self._in_code:
                    cursor.note_repair("syntax")
                source.pos += 1
                break
            if char == ",":
                if after_comma:
                    cursor.note_repair("syntax")
                    cursor.note_doubt("comma")
                source.pos += 1
                commas += 1
                after_comma = True
                continue
            if (yield from self._can_supply_closer(char, wants_item=after_comma, has_items=some)):
                if closer == "]" and not some:
                    raise Truncated  # an empty list would be a guess
                break
            if not after_comma:
                self._rules.check_missing_comma(char)
                if cursor.choose is None and cursor.quotes is None and cursor.resolve is not None:
                    yield from cursor.resolve()
            yield from read_item(char)
            after_comma, some = False, True
        cursor.open.pop()
        return commas

    def _can_supply_closer(self, char: str, *, wants_item: bool, has_items: bool) -> Reading[bool]:
        """Whether the closer is missing before `char` and may be supplied: at the end, or where the whole call ends.

        Args:
            char: The next character.
            wants_item: Whether an item was to come: after a comma, or first.
            has_items: Whether items were read.
        """
        if char == "":
            if (wants_item and has_items) or not self._source.ended_well:
                raise Truncated
        elif char in ("`", "~") and not (yield from self._is_fence()):
            return False
        elif char == "<":
            if (yield from self._strings.peek_opener()) is not None:
                return False
            if (yield from self._source.has_cut_tag()):
                raise Truncated
            if (
                wants_item
                and (yield from self._source.peek(2)) != "</"
                and (yield from next_token(self._source)) is None
            ):
                return False  # it begins an item that cannot be read, and not the end of the call
        elif char not in ("`", "~", "]", ")", "}"):
            return False
        elif char in "])}" and char not in self._cursor.open:
            raise ReadError(f"there is a {char} where none is open")
        self._cursor.note_doubt("closer")
        self._cursor.note_repair("closers")
        return True

    def _is_fence(self) -> Reading[bool]:
        return (yield from self._source.peek(3)) in ("```", "~~~")

    def read_key(self) -> Reading[str]:
        """Read the key of an object, quoted or not."""
        source = self._source
        opener = yield from self._strings.peek_opener()
        self._cursor.key_quote = opener or ""
        if opener is not None:
            text = yield from self._strings.read(opener, "key")
            if not isinstance(text, str):
                raise ReadError("a key holds an expression")
            return text
        key = yield from source.read_while(BARE_KEY)
        if not key:
            if (yield from source.is_at_end()):
                raise Truncated
            raise ReadError(f"a key was expected, not {source.text[source.pos]!r}", 'Write JSON: {"key": value}.')
        if (yield from source.is_at_end()):
            raise Truncated
        if key.strip(".") == "":
            raise ReadError("it is a placeholder", "Write real values.")
        self._cursor.note_repair("syntax")
        return key

    def read_colon(self, key: str) -> Reading[str]:
        """Read the sign between `key` and its value, `:`, `=` or `=>`, and return its first character."""
        char = yield from self._space.skip()
        if char == "":
            raise Truncated
        if char not in (":", "="):
            raise ReadError(f"there is no colon after the key {key!r}", 'Write JSON: {"key": value}.')
        self._source.pos += 1
        if char == "=":
            self._cursor.note_repair("syntax")
            if not self._in_code:  # in code, it is a default value
                self._cursor.note_doubt("sign")
            if (yield from self._source.starts_with(">")):
                self._source.pos += 1
        return char


MAX_VALUE_NESTING = 100
"""How deeply values may be nested."""

LITERALS: dict[str, bool | None] = {
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
    "null": None, "None": None, "NULL": None, "nil": None, "undefined": None,
}  # fmt: skip

TOKEN = re.compile(r"""[^\s,{}\[\]():;"'“”‘’`<>&\\｛｝，：]*""")
WORDS = re.compile(r"""[^,{}\[\]\n"<｛｝，]*""")
MAX_DIGITS = 4_300
"""Digits of an integer: what Python writes as text unless it is told otherwise."""

NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]++|0[oO][0-7_]++|0[bB][01_]++"
    r"|(?:\d[\d_]*+(?:\.[\d_]*+)?|\.\d[\d_]*+)(?:[eE][+-]?\d++)?)n?"
)
JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
GROUPS = re.compile(r"(?:,\d{3})+(?:\.\d+)?(?=\s*[,}\n])(?!\s*,\s*\d)")


class Watch(Protocol):
    """An observer of an object that is being read, pair by pair. It may raise to stop the reading."""

    def on_key(self, key: str) -> None:
        """Note that a key has been read, and that its value comes next."""
        ...

    def on_item(self, key: str, value: Any) -> None:
        """Note that a pair is complete."""
        ...

    def watch_inside(self, key: str) -> "Watch | None":
        """Return the observer of the object that is the value of `key`."""
        ...


class ValueReader:
    """Reads values of data: JSON and nearly JSON."""

    def __init__(self, cursor: Cursor) -> None:
        rules = SyntaxRules(cursor)
        self._cursor = cursor
        self._source = cursor.source
        self._strings: StringReader[str] = StringReader(cursor, rules)
        self._space = SpaceReader(cursor, rules)
        self._brackets = BracketReader(cursor, rules, self._space, self._strings)

    def skip_space(self) -> Reading[str]:
        """Skip blanks, line ends and comments; return the next character, or "" at the end."""
        return self._space.skip()

    def peek_opener(self) -> Reading[str | None]:
        """Return the quote, or the token for one, that opens a string here; None if no string begins. Reads nothing."""
        return self._strings.peek_opener()

    def read_string(self, opener: str) -> Reading[str]:
        """Read a string, from its opener to its end."""
        return self._strings.read(opener, "value")

    def read_value(self, watch: Watch | None = None) -> Reading[Any]:
        """Read any value; `watch` is told of its pairs if it is an object."""
        char = yield from self._space.skip()
        if char == "":
            raise Truncated
        self._check_nesting()
        if char == "{":
            return (yield from self._read_braces(watch))
        if char in "[(":
            return (yield from self._read_array("]" if char == "[" else ")"))
        if (opener := (yield from self._strings.peek_opener())) is not None:
            return (yield from self._read_strings(opener))
        return (yield from self._read_bare())

    def _read_strings(self, opener: str) -> Reading[str]:
        """Read a string, or several that are joined with `+`."""
        source = self._source
        pieces = [(yield from self._strings.read(opener, "value"))]
        while (yield from self._space.skip()) == "+":
            mark = source.mark()
            source.pos += 1
            yield from self._space.skip()
            following = yield from self._strings.peek_opener()
            source.unmark()
            if following is None:
                source.rewind(mark)
                break
            self._cursor.note_repair("syntax")
            self._cursor.note_doubt("plus")
            pieces.append((yield from self._strings.read(following, "value")))
        return "".join(pieces)

    def _read_array(self, closer: str) -> Reading[list[Any]]:
        """Read a list; the opening bracket is next."""
        items: list[Any] = []

        def read_item(char: str) -> Reading[None]:
            items.append((yield from self.read_value()))

        yield from self._brackets.read_items(closer, read_item)
        return items

    def read_object(self, watch: Watch | None = None) -> Reading[dict[str, Any]]:
        """Read an object; the opening brace is next. `watch` is told of its pairs."""
        value = yield from self._read_braces(watch)
        if not isinstance(value, dict):
            raise ReadError("it is a set and not an object", 'Write JSON: {"key": value}.')
        return value

    def _read_braces(self, watch: Watch | None) -> Reading[dict[str, Any] | list[Any]]:
        """Read what stands between braces: an object, or a set of Python (`{"a", "b"}`), which is a list.

        An object alone between two pairs of braces (`{{"a": 1}}`) is that object: templates double their braces.
        """
        items: dict[str, Any] = {}
        members: list[Any] = []
        is_doubled = False

        def read_entry(char: str) -> Reading[None]:
            nonlocal is_doubled
            if is_doubled:
                raise ReadError("there is more than an object between double braces", "Write single braces.")
            if char == "{" and not items and not members:
                is_doubled = True
                self._check_nesting()
                self._cursor.note_repair("syntax")
                items.update((yield from self.read_object(watch)))
                return
            key = yield from self._brackets.read_key()
            if watch is None and not items and (yield from self._space.skip()) in (",", "}"):
                self._cursor.note_repair("syntax")
                members.append(_read_member(key, is_bare=char.isalnum() or char in "+-._$"))
                return
            if members:
                raise ReadError("it is half a set and half an object", 'Write JSON: ["a", "b"] or {"key": value}.')
            yield from self._read_item(key, items, watch)

        yield from self._brackets.read_items("}", read_entry)
        if members and self._source.text[self._source.pos - 1] not in "}｝":
            raise ReadError("a set is not closed", 'Write a list: ["a", "b"].')
        return members or items

    def _read_item(self, key: str, items: dict[str, Any], watch: Watch | None) -> Reading[None]:
        """Read the colon and the value of `key`, and add both to `items`."""
        yield from self._brackets.read_colon(key)
        if watch is not None:
            watch.on_key(key)
        value = yield from self.read_value(watch.watch_inside(key) if watch is not None else None)
        if key in items and items[key] != value:
            raise ReadError(f"the key {key!r} is given twice", "Give each key once.")
        items[key] = value
        if watch is not None:
            watch.on_item(key, value)

    def _check_nesting(self) -> None:
        if len(self._cursor.open) > MAX_VALUE_NESTING:
            raise ReadError("it is nested too deeply")

    def _read_bare(self) -> Reading[Any]:
        """Read a number, a literal, or words that should have been quoted."""
        source = self._source
        token = yield from source.read_while(TOKEN)
        if self._cursor.open and token not in LITERALS and (yield from source.is_at_end()):
            raise Truncated
        if token in LITERALS:
            if not token.islower():
                self._cursor.note_repair("syntax")
            return LITERALS[token]
        if token in ("NaN", "Infinity", "-Infinity", "+Infinity"):
            raise ReadError(f"{token} is not a number", "Use a number, or leave the argument out.")
        if NUMBER.fullmatch(token):
            if not JSON_NUMBER.fullmatch(token):
                self._cursor.note_repair("syntax")
            return (yield from self._read_grouped(token))
        words = token + (yield from source.read_while(WORDS))
        if self._cursor.open and (yield from source.is_at_end()):
            raise Truncated
        words = words.strip()
        if not words or words.strip(".…") == "" or words.startswith("<"):
            raise ReadError("a value is missing", "Write real values.")
        self._cursor.note_repair("syntax")
        if (yield from source.starts_with(TOKENS_AS_QUOTES[0])):
            yield from self._read_lone_quote_token()
        self._cursor.has_words = True
        self._cursor.note_doubt("words")
        return words

    def _read_lone_quote_token(self) -> Reading[None]:
        """Read a token that closes a string after words, where the token that opens the string is missing."""
        self._source.pos += len(TOKENS_AS_QUOTES[0])
        following = yield from self._space.skip()
        if following == "":
            raise Truncated
        if self._cursor.has_words or following not in (",", *self._cursor.open):
            raise ReadError("a quote has no partner", "Write a quote on both sides of each text.")
        self._cursor.note_repair("quotes")

    def _read_grouped(self, token: str) -> Reading[int | float]:
        """Read the rest of a number; `1,500` is one number where a key would have to follow the comma."""
        source = self._source
        if self._cursor.open and self._cursor.open[-1] == "}" and source.text[source.pos] == ",":
            yield from source.peek(24)
            if groups := GROUPS.match(source.text, source.pos):
                source.pos = groups.end()
                self._cursor.note_repair("syntax")
                token += groups[0].replace(",", "")
        return parse_number(token)


def _read_member(key: str, *, is_bare: bool) -> Any:
    """Return the member of a set that was read like a key. Bare words are none: they may be anything."""
    if not is_bare:
        return key
    if key in LITERALS:
        return LITERALS[key]
    if NUMBER.fullmatch(key):
        return parse_number(key)
    raise ReadError(f"there is no colon after the key {key!r}", 'Write JSON: {"key": value}.')


def parse_number(token: str) -> int | float:
    """Return the number that `token` spells."""
    plain = token.replace("_", "").removesuffix("n") if not token.lower().startswith(("0x", "-0x")) else token
    plain = ORDINAL.sub("", plain)
    digits = plain.lstrip("+-")
    if digits[:2].lower() in ("0x", "0o", "0b"):
        integer = int(plain.replace("_", ""), 0)
        if not is_writable_integer(integer):
            raise ReadError("a number has too many digits")
        return integer
    try:
        value = int(plain) if digits.isdecimal() else float(plain)
    except ValueError:
        why = "a number has too many digits" if digits.isdecimal() else f"{token[:40]} is not a number"
        raise ReadError(why) from None
    if isinstance(value, float) and not math.isfinite(value):
        raise ReadError("a number is too large")
    return value


def is_writable_integer(value: int) -> bool:
    """Whether Python can write an integer as text: it refuses to for one of very many digits."""
    digits = value.bit_length() * 30_103 // 100_000 + 1  # at most one too many
    return digits <= min(MAX_DIGITS, sys.get_int_max_str_digits() or MAX_DIGITS)
