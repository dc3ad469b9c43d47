"""Where no call can be made, what a model says is what the client gets, letter by letter."""

from collections.abc import Sequence

from toolspeak._frozen import frozen
from toolspeak.dialects import Parser
from toolspeak.dialects.native import NativeDialect
from toolspeak.events import Event, FinishReason, TextDelta
from toolspeak.spec import ToolSpec


@frozen
class VerbatimDialect(NativeDialect):
    """Text that is not read."""

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        """A reader that looks for nothing."""
        return _Unread()


class _Unread:
    def feed(self, text: str) -> list[Event]:
        return [TextDelta(text=text)] if text else []

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        return []


VERBATIM = VerbatimDialect()
