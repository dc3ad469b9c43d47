"""The native dialect: tools and calls in the API's own fields.

The text of an answer is read all the same, for calls that the server should have recognised and leaked into the text.
Only what nobody writes by accident counts: calls that the token of a model family announces, or a message that is
nothing but calls. An example that a model quotes to the user must not run. From an endpoint that does not leak calls,
the text is passed on unread.
"""

from collections.abc import Sequence

from toolspeak.dialects.dialect import Parser, Shown
from toolspeak.values.events import AUTO, Event, FinishReason, TextDelta, ToolChoice
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message, ends_with_results
from toolspeak.values.spec import ToolSpec


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
            messages=tuple(history),
            tools=tuple(specs),
            choice=choice,
            parallel=parallel,
            has_tools=bool(specs),
            follows_results=ends_with_results(history),
            tool_count=len(specs),
        )

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        """Return a reader of leaked calls. The arguments are those of `TextDialect.parser`."""
        if not self.reads_leaks:
            return VerbatimParser()
        from toolspeak.dialects.leak_reader import LeakReader  # imported with the first answer

        return LeakReader(specs, strict=strict, thinking=thinking, prefix=prefix)


class VerbatimParser:
    """A parser that passes text on unread."""

    def feed(self, text: str) -> list[Event]:
        return [TextDelta(text=text)] if text else []

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        """Return nothing, since nothing was held back."""
        return []


NATIVE = NativeDialect()
NATIVE_WITHOUT_LEAKS = NativeDialect(reads_leaks=False)
"""The native dialect of an endpoint whose text never holds calls."""
