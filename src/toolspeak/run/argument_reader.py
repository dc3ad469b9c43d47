"""Reads the JSON arguments of a call while they arrive, and keeps the values that are complete.

The text is read strictly: at the first thing that is not JSON, or that may mean something else once the call is whole
(a key twice, a key that is no parameter), reading stops and what was read stays. A number or a word such as `true` is
complete when the character after it has arrived. Each character is read once.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from toolspeak._frozen import frozen
from toolspeak.reading.strict_json import ReadingStopped, Receiving, StrictJsonReader, decode

REFERENCE_MARK = '"$'
"""Stands in the JSON of an argument that refers to the result of another call."""


class LeftOut(Exception):
    """A value stands for one that was not given. It is not part of the answer."""


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
            raise ReadingStopped
        return slot


class ArgumentReader(StrictJsonReader):
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
        super().__init__()
        self.values: dict[str, Any] = {}
        self._waits_for_delimiter = waits_for_delimiter
        self._grew = False
        self.start(self._read_object(growth, self.values))

    def feed(self, text: str) -> bool:
        """Read more of the arguments; whether `values` has grown."""
        self._grew = False
        self.send(text)
        return self._grew

    def _read_object(self, growth: Growth, target: dict[str, Any]) -> Receiving:
        yield from self.expect("{")
        seen: set[str] = set()
        if (yield from self.peek_past_space()) == "}":
            self.take_sign()
            return
        while True:
            key = yield from self.read_key()
            if key in seen or key.startswith("$"):  # `$` marks a reference
                raise ReadingStopped
            seen.add(key)
            slot = growth.get_slot(key)
            yield from self._read_slot(slot, ",}", lambda value, key=key: target.__setitem__(key, value))
            if (yield from self.expect(",}")) == "}":
                return

    def _read_list(self, growth: Growth, target: list[Any]) -> Receiving:
        yield from self.expect("[")
        if (yield from self.peek_past_space()) == "]":
            self.take_sign()
            return
        while True:
            yield from self._read_slot(growth.get_slot(""), ",]", target.append)
            if (yield from self.expect(",]")) == "]":
                return

    def _read_slot(self, slot: Slot, delimiters: str, keep: Callable[[Any], None]) -> Receiving:
        """Read one value and keep it, at once if it grows."""
        sign = yield from self.peek_past_space()
        growth = slot.growth
        if growth is None or sign != growth.opener:
            text = yield from self.read_json()
            if self._waits_for_delimiter and (yield from self.peek_past_space()) not in delimiters:
                raise ReadingStopped
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
            raise ReadingStopped
        try:
            keep(slot.load(decode(text)))
            self._grew = True
        except LeftOut:
            pass
        except ReadingStopped:
            raise
        except Exception:  # a user's validator may raise anything; the answer will be refused, or coerced as a whole
            raise ReadingStopped from None
