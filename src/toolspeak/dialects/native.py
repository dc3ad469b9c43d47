"""The native dialect: tools and calls in the API's own fields.

The text of an answer is read all the same, for calls that the server should have recognised and leaked into the text.
Only what nobody writes by accident counts: calls that the token of a model family announces, or a message that is
nothing but calls. An example that a model quotes to the user must not run. From an endpoint that does not leak calls,
the text is passed on unread.
"""

from collections.abc import Sequence

from toolspeak._frozen import frozen
from toolspeak.dialects.dialect import Parser, Shown
from toolspeak.events import AUTO, CallReady, Event, FinishReason, TextDelta, ToolChoice
from toolspeak.messages import Message
from toolspeak.spec import ToolSpec


@frozen
class NativeDialect:
    """Leaves tools and calls to the API.

    Attributes:
        reads_leaks: Whether calls in the text are read; see `Endpoint.leaks_calls`.
    """

    name: str = "native"
    in_text: bool = False
    reads_leaks: bool = True

    def render(
        self,
        specs: Sequence[ToolSpec],
        history: Sequence[Message],
        *,
        choice: ToolChoice = AUTO,
        parallel: bool = True,
    ) -> Shown:
        """Return everything unchanged, for the API's own fields."""
        return Shown(
            messages=tuple(history), tools=tuple(specs), choice=choice, parallel=parallel, has_tools=bool(specs)
        )

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        """Return a reader of leaked calls. The arguments are those of `TextDialect.parser`."""
        if not self.reads_leaks:
            return VerbatimParser()
        return LeakReader(specs, strict=strict, thinking=thinking, prefix=prefix)


class LeakReader:
    """Two readers side by side: one for calls that a token announces, one for a message that is nothing but calls.

    While the message may still be nothing but calls, all events are held back; the first word of prose decides.
    """

    def __init__(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> None:
        from toolspeak.reading.reader import Reader  # imported with the first answer

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


class VerbatimParser:
    """A parser that passes text on unread."""

    def feed(self, text: str) -> list[Event]:
        """Return the text as one event."""
        return [TextDelta(text=text)] if text else []

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        """Return nothing, since nothing was held back."""
        return []


NATIVE = NativeDialect()
NATIVE_WITHOUT_LEAKS = NativeDialect(reads_leaks=False)
"""The native dialect of an endpoint whose text never holds calls."""
