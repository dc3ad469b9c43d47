"""The parser of the native dialect: reads calls that an endpoint leaked into the text of an answer (`native.py`)."""

from collections.abc import Sequence

from toolspeak.events import CallReady, Event, FinishReason, TextDelta
from toolspeak.reading.reader import Reader
from toolspeak.spec import ToolSpec


class LeakReader:
    """Two readers side by side: one for calls that a token announces, one for a message that is nothing but calls.

    While the message may still be nothing but calls, all events are held back; the first word of prose decides.
    """

    def __init__(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> None:
        self._token_reader = Reader(specs, strict=strict, thinking=thinking, prefix=prefix, announced_only=True)
        self._full_reader: Reader | None = Reader(specs, strict=strict, thinking=thinking, prefix=prefix)
        self._token_events: list[Event] = []
        self._full_events: list[Event] = []

    def feed(self, text: str) -> list[Event]:
        """Read text that has arrived, and return the new events."""
        return self._choose(self._token_reader.feed(text), self._full_reader.feed(text) if self._full_reader else [])

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        """End the message, and return the last events."""
        full = self._full_reader.close(finish) if self._full_reader else []
        events = self._choose(self._token_reader.close(finish), full)
        if self._full_reader is None:
            return events
        has_call = any(isinstance(event, CallReady) for event in self._full_events)
        return self._full_events if has_call else self._token_events

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
