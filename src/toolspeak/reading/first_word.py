"""The first word of a message, shown before its reader can tell whether the line is code.

Any word may begin a call: `result = get_weather()`, `tools.get_weather()`. So a reader holds the first word back until
the next one arrives, and whoever waits for the first word waits for two. But a word that begins as a sentence does,
with a capital and a small letter or in a script without capitals, is the name of no variable as models write them.
Unless the name of a tool may begin with it, it is shown at once. If a call follows it after all, the call is read all
the same, and the word stays shown.

How the text is cut into pieces makes no difference: the word is also shown if the call arrives together with it.
"""

import re
from collections.abc import Sequence

from toolspeak.events import Event, TextDelta
from toolspeak.reading.bare_calls import TRANSPARENT
from toolspeak.reading.names import Names

FIRST_WORD = re.compile(r"[ \t\n]*([^\W\d_]*)\.?")
"""The blanks and letters with which a message begins, with the full stop of a sentence that is one word."""


class FirstWord:
    """Adds the first word of a message to the events of its reader, and leaves it out where the reader shows it.

    Attributes:
        is_over: Whether nothing is left to be added or left out.
    """

    __slots__ = ("_has_ended", "_names", "_read_chars", "_shown_chars", "_text", "is_over")

    def __init__(self, names: Names) -> None:
        self.is_over = False
        self._names = names
        self._text = ""  # the message, up to the end of its first word at least
        self._has_ended = False  # whether the word is whole
        self._read_chars = 0  # how much of the message the reader has shown
        self._shown_chars = 0  # how much of it has been shown in all

    def merge(self, text: str, events: Sequence[Event]) -> list[Event]:
        """Return the events of the reader for text that has arrived, with as much of the word as can be shown."""
        end = self._find_end(text)
        merged: list[Event] = []
        for place, event in enumerate(events):
            if not isinstance(event, TextDelta):  # the word belongs to a call, or there is none
                self.is_over = True
                return [*merged, *self._show(end), *events[place:]]
            self._read_chars += len(event.text)
            if new_chars := max(self._read_chars - self._shown_chars, 0):
                merged.append(TextDelta(text=event.text[-new_chars:]))
                self._shown_chars = self._read_chars
        self.is_over = self._has_ended and self._read_chars >= end
        return [*merged, *self._show(end)]

    def _find_end(self, text: str) -> int:
        """Return up to where the message can be shown whatever follows: the end of its first word so far, or 0."""
        if not self._has_ended:
            self._text += text
        found = FIRST_WORD.match(self._text)
        if found is None:
            return 0
        self._has_ended = found.end() < len(self._text)
        return found.end() if self._opens_sentence(found[1]) else 0

    def _opens_sentence(self, word: str) -> bool:
        """Whether a word, or the beginning of one, can only be that of a sentence."""
        is_capital = word[:1].isupper()
        if not word or word[0].islower() or (is_capital and not word[1:2].islower()):
            return False
        return not self._names.may_begin(word) and not any(each.startswith(word) for each in TRANSPARENT)

    def _show(self, end: int) -> list[Event]:
        """Return the event that shows the message up to `end`, as far as it has not been shown."""
        if end <= self._shown_chars:
            return []
        text, self._shown_chars = self._text[self._shown_chars : end], end
        return [TextDelta(text=text)]
