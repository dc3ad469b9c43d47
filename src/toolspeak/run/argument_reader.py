"""Reads the JSON arguments of a call while they arrive, and keeps the values that are complete.

The text is read strictly: at the first thing that is not JSON, or that may mean something else once the call is whole
(a key twice, a key that is no parameter), reading stops and what was read stays. A number or a word such as `true` is
complete when the character after it has arrived. Each character is read once.
"""

import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import field
from typing import Any, Literal, NoReturn, TypeAlias, cast

from toolspeak._frozen import frozen

SPACE = re.compile(r"[ \t\r\n]*")
WORD = re.compile(r"[^\s,\]}]*")
MARKS = re.compile(r'["{}\[\]]')
MARKS_IN_STRING = re.compile(r'["\\]')

REFERENCE_MARK = '"$'
"""Stands in the JSON of an argument that refers to the result of another call."""

Reading: TypeAlias = Generator[None, str, None]
ReadingText: TypeAlias = Generator[None, str, str]


class LeftOut(Exception):
    """A value stands for one that was not given. It is not part of the answer."""


class _Stop(Exception):
    """The rest of the text cannot be read with certainty."""


@frozen
class Slot:
    """A place for a value.

    Attributes:
        load: Returns the Python value for the JSON value. Raises `LeftOut` for a value to leave out, and any other
            exception for a value that is not valid.
        growth: How the value grows while it arrives; None if it is shown only when it is complete.
    """

    load: Callable[[Any], Any]
    growth: "Growth | None" = None


@frozen
class Growth:
    """How an object or a list grows.

    Attributes:
        kind: `fields`: an object with these slots. `entries`: an object with any keys. `items`: a list.
        slots: The slots of the fields, by name.
        item: The slot of each entry or item. It has no growth: entries and items are added when they are complete.
    """

    kind: Literal["fields", "entries", "items"]
    slots: Mapping[str, Slot] = field(default_factory=dict[str, Slot])
    item: Slot | None = None

    @property
    def opener(self) -> str:
        """The character that the JSON of such a value begins with."""
        return "[" if self.kind == "items" else "{"

    def get_slot(self, key: str) -> Slot:
        """Return the slot for a key."""
        slot = self.item or self.slots.get(key)
        if slot is None:
            raise _Stop
        return slot


class ArgumentReader:
    """Reads the arguments of one call.

    Attributes:
        values: The complete values so far. Objects and lists in it are changed in place.
    """

    def __init__(self, growth: Growth, *, waits_for_delimiter: bool) -> None:
        """Prepare to read.

        Args:
            growth: How the object of the arguments grows.
            waits_for_delimiter: Whether a text, an object or a list counts as complete only when a comma or a closing
                bracket follows it. Otherwise its own end is enough.
        """
        self.values: dict[str, Any] = {}
        self._waits_for_delimiter = waits_for_delimiter
        self._text = ""
        self._place = 0
        self._grew = False
        self._reading: Reading | None = self._read_object(growth, self.values)
        next(self._reading)

    def feed(self, text: str) -> bool:
        """Read more of the arguments; whether `values` has grown."""
        self._grew = False
        if self._reading is not None and text:
            try:
                self._reading.send(text)
            except (StopIteration, _Stop):
                self._reading = None
        return self._grew

    # The methods below are generators that yield when they need more text.

    def _peek(self) -> ReadingText:
        while self._place >= len(self._text):
            self._text = yield
            self._place = 0
        return self._text[self._place]

    def _peek_past_space(self) -> ReadingText:
        while True:
            yield from self._peek()
            self._place = cast("re.Match[str]", SPACE.match(self._text, self._place)).end()
            if self._place < len(self._text):
                return self._text[self._place]

    def _expect(self, signs: str) -> ReadingText:
        sign = yield from self._peek_past_space()
        if sign not in signs:
            raise _Stop
        self._place += 1
        return sign

    def _read_object(self, growth: Growth, target: dict[str, Any]) -> Reading:
        yield from self._expect("{")
        seen: set[str] = set()
        if (yield from self._peek_past_space()) == "}":
            self._place += 1
            return
        while True:
            if (yield from self._peek_past_space()) != '"':
                raise _Stop
            key = _decode((yield from self._read_text()))
            yield from self._expect(":")
            if key in seen or key.startswith("$"):  # `$` marks a reference
                raise _Stop
            seen.add(key)
            slot = growth.get_slot(key)
            yield from self._read_slot(slot, ",}", lambda value, key=key: target.__setitem__(key, value))
            if (yield from self._expect(",}")) == "}":
                return

    def _read_list(self, growth: Growth, target: list[Any]) -> Reading:
        yield from self._expect("[")
        if (yield from self._peek_past_space()) == "]":
            self._place += 1
            return
        while True:
            yield from self._read_slot(growth.get_slot(""), ",]", target.append)
            if (yield from self._expect(",]")) == "]":
                return

    def _read_slot(self, slot: Slot, delimiters: str, keep: Callable[[Any], None]) -> Reading:
        """Read one value and keep it, at once if it grows."""
        sign = yield from self._peek_past_space()
        growth = slot.growth
        if growth is None or sign != growth.opener:
            text = yield from self._read_text()
            if self._waits_for_delimiter and (yield from self._peek_past_space()) not in delimiters:
                raise _Stop
            self._load(slot, text, keep)
            return
        self._grew = True
        if growth.kind == "items":
            items: list[Any] = []
            keep(items)
            yield from self._read_list(growth, items)
        else:
            entries: dict[str, Any] = {}
            keep(entries)
            yield from self._read_object(growth, entries)

    def _load(self, slot: Slot, text: str, keep: Callable[[Any], None]) -> None:
        if REFERENCE_MARK in text:
            raise _Stop
        try:
            keep(slot.load(_decode(text)))
            self._grew = True
        except LeftOut:
            pass
        except _Stop:
            raise
        except Exception:  # a user's validator may raise anything; the answer will be refused, or coerced as a whole
            raise _Stop from None

    def _read_text(self) -> ReadingText:
        """Read the JSON text of one value."""
        pieces: list[str] = []
        sign = yield from self._peek()
        if sign == '"':
            yield from self._read_string(pieces)
        elif sign in "{[":
            yield from self._read_brackets(pieces)
        else:
            while True:
                end = cast("re.Match[str]", WORD.match(self._text, self._place)).end()
                self._take(pieces, end)
                if end < len(self._text):
                    break
                yield from self._peek()
        return "".join(pieces)

    def _read_string(self, pieces: list[str]) -> Reading:
        self._take(pieces, self._place + 1)
        while True:
            yield from self._peek()
            mark = MARKS_IN_STRING.search(self._text, self._place)
            self._take(pieces, mark.end() if mark else len(self._text))
            if mark and mark[0] == '"':
                return
            if mark:
                yield from self._peek()
                self._take(pieces, self._place + 1)

    def _read_brackets(self, pieces: list[str]) -> Reading:
        depth = 0
        while True:
            yield from self._peek()
            mark = MARKS.search(self._text, self._place)
            if mark and mark[0] == '"':
                self._take(pieces, mark.start())
                yield from self._read_string(pieces)
                continue
            self._take(pieces, mark.end() if mark else len(self._text))
            if mark:
                depth += 1 if mark[0] in "{[" else -1
                if not depth:
                    return

    def _take(self, pieces: list[str], end: int) -> None:
        pieces.append(self._text[self._place : end])
        self._place = end


def _refuse(constant: str) -> NoReturn:
    raise _Stop


def _decode(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise _Stop from None
