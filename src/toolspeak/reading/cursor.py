"""The state that all readers of one message share: the text, the open brackets, the repairs, the nesting.

Strings, values, expressions and statements are read by classes of their own, and each holds the same `Cursor`. So there
is one repair tier and one stack of brackets, and no reader copies them from another.
"""

from toolspeak.events import Repair
from toolspeak.reading.source import Source
from toolspeak.reading.trace import Trace

TIERS: tuple[Repair, ...] = ("none", "syntax", "quotes", "closers", "shape")
"""The tiers of repairs, the gravest last."""

MAX_EXPRESSION_NESTING = 32
"""How deeply expressions of code may be nested."""


class ReadError(Exception):
    """The text is not a value, a call or a statement that can be read. `hint` tells a model what to write instead."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason, hint)
        self.reason, self.hint = reason, hint


class Truncated(ReadError):
    """The text ended inside a value."""

    def __init__(self, reason: str = "the message ended inside the call") -> None:
        super().__init__(reason, "Write the whole call again, shorter if it was cut off by a limit.")


class Cursor:
    """A place in a source, with the state of what is being read there.

    Attributes:
        source: The text.
        keys: Names that are known to be keys, which settles some doubtful quotes.
        open: The closers of the brackets that are open, innermost last.
        tier: The gravest repair so far.
        has_words: Whether a text without quotes was read, so that a lone quote may belong to that text.
        trace: Where repairs are noted with their places; None if nobody asks.
    """

    __slots__ = ("_depth", "has_words", "keys", "open", "source", "tier", "trace")

    def __init__(self, source: Source, keys: frozenset[str] = frozenset(), trace: Trace | None = None) -> None:
        self.source = source
        self.keys = keys
        self.open: list[str] = []
        self.tier: Repair = "none"
        self.trace = trace
        self.has_words = False
        self._depth = 0

    def reset(self) -> None:
        """Forget brackets, repairs and nesting: a call or a piece of code begins here."""
        self.open = []
        self.tier = "none"
        self.has_words = False
        self._depth = 0
        if self.trace is not None:
            self.trace.begin()

    def note_repair(self, tier: Repair) -> None:
        """Note a repair; the gravest counts."""
        if TIERS.index(tier) > TIERS.index(self.tier):
            self.tier = tier
        if self.trace is not None:
            self.trace.note_repair(tier)

    def forget_repairs(self, before: Repair) -> None:
        """Go back to the tier `before`: what was read since then is sound after all."""
        self.tier = before
        if self.trace is not None:
            self.trace.forget_repairs_here()

    def enter_expression(self) -> None:
        """Go one expression deeper. Whoever calls this calls `leave_expression` in a `finally`.

        Raises:
            ReadError: The nesting is too deep; then there is nothing to leave.
        """
        if self._depth >= MAX_EXPRESSION_NESTING:
            raise ReadError("it is nested too deeply")
        self._depth += 1

    def leave_expression(self) -> None:
        """Come back from an expression, whether it was read or refused."""
        self._depth -= 1
