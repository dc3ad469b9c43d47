"""`StrictJsonReader`: reads JSON while it arrives, and stops at the first thing that is not JSON.

For readers that hand values on before the text has ended, so that nothing is mended here: what `values.py` would mend
may mean something else once the whole text is there. The methods are generators that yield when they need more text,
and each character is read once.
"""

import json
import re
from collections.abc import Generator
from typing import Any, NoReturn, TypeAlias, cast

SPACE = re.compile(r"[ \t\r\n]*")
WORD = re.compile(r"[^\s,\]}]*")
MARKS = re.compile(r'["{}\[\]]')
MARKS_IN_STRING = re.compile(r'["\\]')

Receiving: TypeAlias = Generator[None, str, None]
"""A reading that is sent text and returns nothing."""

ReceivingText: TypeAlias = Generator[None, str, str]
"""A reading that is sent text and returns some of it."""


class ReadingStopped(Exception):
    """The rest of the text cannot be read with certainty."""


class StrictJsonReader:
    """Reads JSON that arrives in chunks. A subclass says what is read, by the generator that it passes to `start`."""

    def __init__(self) -> None:
        self._text = ""
        self._place = 0
        self._reading: Receiving | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is read: the reading is over, or the text cannot be read with certainty."""
        return self._reading is None

    def start(self, reading: Receiving) -> None:
        """Begin to read with a generator."""
        self._reading = reading
        next(reading)

    def send(self, text: str) -> None:
        """Read more of the text. Once the reading has stopped, text is ignored."""
        if self._reading is None or not text:
            return
        try:
            self._reading.send(text)
        except (StopIteration, ReadingStopped):
            self._reading = None

    @property
    def unread(self) -> str:
        """The text after the place where the reading has stopped, as far as it was sent."""
        return self._text[self._place :]

    def peek(self) -> ReceivingText:
        while self._place >= len(self._text):
            self._text = yield
            self._place = 0
        return self._text[self._place]

    def peek_past_space(self) -> ReceivingText:
        """Skip white space, and return the next character."""
        while True:
            yield from self.peek()
            self._place = cast("re.Match[str]", SPACE.match(self._text, self._place)).end()
            if self._place < len(self._text):
                return self._text[self._place]

    def expect(self, signs: str) -> ReceivingText:
        """Skip white space, and read one of the characters in `signs`."""
        sign = yield from self.peek_past_space()
        if sign not in signs:
            raise ReadingStopped
        self._place += 1
        return sign

    def read_key(self) -> ReceivingText:
        """Read the key of an object and the colon after it."""
        if (yield from self.peek_past_space()) != '"':
            raise ReadingStopped
        key: str = decode((yield from self.read_json()))
        yield from self.expect(":")
        return key

    def read_json(self) -> ReceivingText:
        """Read one value, and return its text. A number or a word ends before the character that follows it."""
        pieces: list[str] = []
        sign = yield from self.peek()
        if sign == '"':
            yield from self._read_string(pieces)
        elif sign in "{[":
            yield from self._read_brackets(pieces)
        else:
            while True:
                end = cast("re.Match[str]", WORD.match(self._text, self._place)).end()
                pieces.append(self.take(end))
                if end < len(self._text):
                    break
                yield from self.peek()
        return "".join(pieces)

    def _read_string(self, pieces: list[str]) -> Receiving:
        pieces.append(self.take(self._place + 1))
        while True:
            yield from self.peek()
            mark = MARKS_IN_STRING.search(self._text, self._place)
            pieces.append(self.take(mark.end() if mark else len(self._text)))
            if mark and mark[0] == '"':
                return
            if mark:
                yield from self.peek()
                pieces.append(self.take(self._place + 1))

    def _read_brackets(self, pieces: list[str]) -> Receiving:
        depth = 0
        while True:
            yield from self.peek()
            mark = MARKS.search(self._text, self._place)
            if mark and mark[0] == '"':
                pieces.append(self.take(mark.start()))
                yield from self._read_string(pieces)
                continue
            pieces.append(self.take(mark.end() if mark else len(self._text)))
            if mark:
                depth += 1 if mark[0] in "{[" else -1
                if not depth:
                    return

    def find(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the next match in the text that has arrived."""
        return pattern.search(self._text, self._place)

    def take_sign(self) -> None:
        """Go on behind the next character, which was peeked at."""
        self._place += 1

    def take(self, end: int | None = None) -> str:
        """Return the text up to an index, or all that has arrived, and go on behind it."""
        end = len(self._text) if end is None else end
        taken = self._text[self._place : end]
        self._place = end
        return taken


def _refuse_constant(constant: str) -> NoReturn:
    raise ReadingStopped


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) < len(pairs):  # a key that is given twice: nobody knows which value was meant
        raise ReadingStopped
    return built


def decode(text: str) -> Any:
    """Return the value of a JSON text. Raises `ReadingStopped` if it is no JSON, or has a key twice."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_build_object)
    except (ValueError, RecursionError):
        raise ReadingStopped from None
