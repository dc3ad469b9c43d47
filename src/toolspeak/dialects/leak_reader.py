"""`LeakReader`: reads the text of a native answer for calls that its server should have recognised."""

import re
from collections.abc import Sequence
from functools import partial

from toolspeak.reading.bare_calls import BINDERS, INDENT, WORD
from toolspeak.reading.names import index_names
from toolspeak.reading.prose import MAX_LABEL_CHARS
from toolspeak.reading.reader import TOKEN_STARTS, FirstWord, Reader
from toolspeak.reading.source import Budget
from toolspeak.values.events import CallReady, Event, FinishReason, TextDelta
from toolspeak.values.spec import ToolSpec

FIRST_WORD = rf"[ \t\n]*([^\W\d_]{WORD.pattern})"
OPENING = re.compile(rf"{FIRST_WORD}(?:[ \t]+[^\W_]|[,!?;'’-])")
"""The beginning of a message that is prose, unless its first word is one of `CODE_WORDS`."""

UNCERTAIN_OPENING = re.compile(rf"(?:{FIRST_WORD}[ \t]*|[ \t\n]*)")
"""A beginning after which the message may or may not be prose. It is prose if the message ends there."""

MAX_OPENING_CHARS = 200
"""Characters for which it may be uncertain whether a message begins with prose. After more, a reader reads it."""

CODE_WORDS = BINDERS | {"commentary"}
"""Words that another word follows in code or in a header."""

MARKS = re.compile(rf"[`{{{re.escape(''.join(sorted(TOKEN_STARTS)))}]|\n{INDENT.pattern}t")
"""Where more than prose may begin for a reader of announced calls; a line with a `t` may be a header (`to=…`)."""

HEADER_START = re.compile(rf"{INDENT.pattern}t")


class PlainProse:
    """Follows a message for as long as it is plain prose, and does not have to be read.

    Most messages that hold no call are such prose: their first line begins with a word that another word or a
    punctuation mark follows, and nothing in them looks like a token. From there on, only a reader of announced calls
    may be left out: calls that no token announces can follow prose.

    Attributes:
        has_begun: Whether the message has begun with prose, so that it is not a message of nothing but calls.
        held: The text that has not been shown.
        line: The beginning of the line in which the message is, as far as it has been shown.
        shown_chars: The number of characters that have been shown.
    """

    __slots__ = ("has_begun", "held", "line", "shown_chars")

    def __init__(self) -> None:
        self.has_begun = False
        self.held = ""
        self.line = ""
        self.shown_chars = 0

    def feed(self, text: str) -> str | None:
        """Take text that has arrived; return what can be shown, or None if a reader must read `held` and what follows.

        The text that can be shown is "" while it is not certain that the message begins with prose.
        """
        text = self.held + text
        self.held = text
        if not self.has_begun:
            opening = OPENING.match(text)
            if opening is None or opening[1] in CODE_WORDS:
                is_uncertain = len(text) <= MAX_OPENING_CHARS and UNCERTAIN_OPENING.fullmatch(text)
                return "" if is_uncertain else None
            self.has_begun = True
        if MARKS.search(text) or (HEADER_START.match(text) and INDENT.fullmatch(self.line)):
            return None
        self.held = ""
        _, line_end, rest = text.rpartition("\n")
        if line_end:
            self.line = ""
        if len(self.line) <= MAX_LABEL_CHARS:
            self.line += rest
        self.shown_chars += len(text)
        return text


class LeakReader:
    """Two readers side by side: one for calls that a token announces, one for a message that is nothing but calls.

    While the message may still be nothing but calls, all events are held back; the first word of prose decides. As long
    as the message is plain prose, neither reader is built.
    """

    def __init__(
        self,
        specs: Sequence[ToolSpec],
        *,
        strict: bool = False,
        thinking: bool = False,
        prefix: str = "call",
        budget: Budget | None = None,
    ) -> None:
        """Prepare to read, as a `Reader` does. One budget is for both readers, since they read the same message."""
        self._names = tuple(spec.name for spec in specs)
        self._build_reader = partial(
            Reader, specs, strict=strict, thinking=thinking, prefix=prefix, budget=budget or Budget()
        )
        self._plain = None if thinking else PlainProse()
        self._token_reader: Reader | None = None
        self._full_reader: Reader | None = None
        self._token_events: list[Event] = []
        self._full_events: list[Event] = []
        self._first_word: FirstWord | None = None
        self._awaits_word = not thinking

    def feed(self, text: str) -> list[Event]:
        """Read text that has arrived, and return the new events."""
        return self._merge_first_word(text, self._read(text))

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        """End the message, and return the last events."""
        return self._merge_first_word("", self._read_end(finish))

    def _merge_first_word(self, text: str, events: list[Event]) -> list[Event]:
        """Add the first word of the message to what is held back, if it can only be that of a sentence."""
        if not self._awaits_word:
            return events
        if self._first_word is None:
            if self._is_prose:  # the first text has decided: nothing is held back
                self._awaits_word = False
                return events
            self._first_word = FirstWord(index_names(self._names))
        events = self._first_word.merge(text, events)
        self._awaits_word = not self._first_word.is_over
        return events

    @property
    def _is_prose(self) -> bool:
        """Whether it is certain that the message is not nothing but calls."""
        return self._full_reader is None if self._plain is None else self._plain.has_begun

    def _read(self, text: str) -> list[Event]:
        if self._plain is not None:
            shown = self._plain.feed(text)
            if shown is not None:
                return [TextDelta(text=shown)] if shown else []
            text = self._plain.held
        tokens = self._get_token_reader()
        return self._choose(tokens.feed(text), self._full_reader.feed(text) if self._full_reader else [])

    def _read_end(self, finish: FinishReason) -> list[Event]:
        if self._plain is not None:
            return [TextDelta(text=self._plain.held)] if self._plain.held else []
        full = self._full_reader.close(finish) if self._full_reader else []
        events = self._choose(self._get_token_reader().close(finish), full)
        if self._full_reader is None:
            return events
        has_call = any(isinstance(event, CallReady) for event in self._full_events)
        return self._full_events if has_call else self._token_events

    def _get_token_reader(self) -> Reader:
        """Return the reader of announced calls. It is built first, with the other reader, if that is needed as well."""
        if self._token_reader is None:
            plain, self._plain = self._plain, None
            self._token_reader = self._build_reader(announced_only=True)
            if plain is not None and plain.has_begun:
                self._token_reader.skip_prose(plain.line, plain.shown_chars)
            else:
                self._full_reader = self._build_reader()
        return self._token_reader

    def _choose(self, token_events: list[Event], full_events: list[Event]) -> list[Event]:
        """Hold new events back, or return those of the token reader once the message holds prose."""
        if self._full_reader is None:
            return token_events
        self._token_events += token_events
        self._full_events += full_events
        if not any(isinstance(event, TextDelta) and event.text.strip() for event in full_events):
            return []
        self._full_reader = None
        held, self._token_events = self._token_events, []
        return held
