"""The native dialect: the API's own tool parameter and its own calls.

What is left to read is text in which a server leaked calls that it should have recognised. Only what nobody writes by
accident counts: a family's own tokens anywhere, or a message that is nothing but calls. An example that a model quotes
to the user must not run.
"""

from collections.abc import Sequence

from toolspeak._frozen import frozen
from toolspeak.dialects.dialect import Parser, Shown
from toolspeak.events import AUTO, Event, FinishReason, TextDelta, ToolChoice
from toolspeak.messages import Message
from toolspeak.reading.reader import Reader
from toolspeak.spec import ToolSpec


@frozen
class NativeDialect:
    """Tools and calls as the API has them."""

    name: str = "native"
    in_text: bool = False

    def render(
        self,
        specs: Sequence[ToolSpec],
        history: Sequence[Message],
        *,
        choice: ToolChoice = AUTO,
        parallel: bool = True,
    ) -> Shown:
        """Everything as it is, for the wire to lay out."""
        return Shown(messages=tuple(history), tools=tuple(specs), choice=choice, parallel=parallel)

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        """A reader of leaked calls."""
        return LeakReader(specs, strict=strict, thinking=thinking, prefix=prefix)


class LeakReader:
    """Two readers side by side: one that heeds tokens alone, and one for a message that is nothing but calls.

    While the message may still be nothing but calls, nothing is told; the first word of prose settles it.
    """

    def __init__(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> None:
        self._by_tokens = Reader(specs, strict=strict, thinking=thinking, prefix=prefix, announced_only=True)
        self._by_all: Reader | None = Reader(specs, strict=strict, thinking=thinking, prefix=prefix)
        self._held: list[Event] = []
        self._calls: list[Event] = []

    def feed(self, text: str) -> list[Event]:
        """Read text that has arrived; what is known now and was not before."""
        return self._settled(self._by_tokens.feed(text), self._by_all.feed(text) if self._by_all else [])

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        """The message has ended; all that is left to tell."""
        events = self._settled(self._by_tokens.close(finish), self._by_all.close(finish) if self._by_all else [])
        if self._by_all is None:
            return events
        return self._calls if any(event.kind == "call_ready" for event in self._calls) else self._held

    def _settled(self, by_tokens: list[Event], by_all: list[Event]) -> list[Event]:
        if self._by_all is None:
            return by_tokens
        self._held += by_tokens
        self._calls += by_all
        if not any(isinstance(event, TextDelta) and event.text.strip() for event in by_all):
            return []
        self._by_all = None
        held, self._held = self._held, []
        return held


NATIVE = NativeDialect()
