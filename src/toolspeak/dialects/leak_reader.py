"""`LeakReader`: reads the text of a native answer for calls that its server should have recognised."""

from collections.abc import Sequence
from functools import partial

from toolspeak.events import CallReady, Event, FinishReason, TextDelta
from toolspeak.reading.first_word import FirstWord
from toolspeak.reading.names import index_names
from toolspeak.reading.plain_prose import PlainProse
from toolspeak.reading.reader import Reader
from toolspeak.spec import ToolSpec


class LeakReader:
    """Two readers side by side: one for calls that a token announces, one for a message that is nothing but calls.

    While the message may still be nothing but calls, all events are held back; the first word of prose decides. As long
    as the message is plain prose, neither reader is built.
    """

    def __init__(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> None:
        self._names = tuple(spec.name for spec in specs)
        self._build_reader = partial(Reader, specs, strict=strict, thinking=thinking, prefix=prefix)
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
