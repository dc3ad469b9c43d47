"""Brackets, and what stands beside the values inside them: commas, keys, colons.

Objects, lists, arguments and parentheses differ only in what an item is. So items are read by a callable, and this
module reads everything around them, with the repairs that models make necessary: commas too many or too few, closers
that are missing at the end.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from toolspeak.reading.cursor import Cursor, ReadError, Truncated
from toolspeak.reading.rules import SyntaxRules
from toolspeak.reading.source import Reading
from toolspeak.reading.space import SpaceReader
from toolspeak.reading.strings import StringReader
from toolspeak.reading.tokens import next_token

BARE_KEY = re.compile(r"[\w$.\-]*")

ItemReader: TypeAlias = Callable[[str], Reading[None]]
"""Reads one item between brackets; its argument is the first character of the item."""


class BracketReader:
    """Reads brackets around items, and keys.

    Args:
        cursor: Where brackets are read.
        rules: Which repairs are needed: those of data or of code.
        space: Skips blanks and comments.
        strings: Reads quoted keys.
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
                if cursor.choices is None and cursor.quotes is None and cursor.doubt is not None:
                    yield from cursor.doubt.resolve()
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
