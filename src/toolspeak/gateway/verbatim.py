"""`VERBATIM`: the dialect for answers in which no call is allowed. The client gets the text of the model unchanged."""

from collections.abc import Sequence

from toolspeak._frozen import frozen
from toolspeak.dialects import Parser
from toolspeak.dialects.native import NativeDialect, VerbatimParser
from toolspeak.spec import ToolSpec


@frozen
class VerbatimDialect(NativeDialect):
    """The native dialect, without a search for calls in the text."""

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        """Return a parser that passes text on unchanged."""
        return VerbatimParser()


VERBATIM = VerbatimDialect()
