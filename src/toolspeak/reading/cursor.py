"""The state that all readers of one message share: the text, the open brackets, the repairs, the nesting.

Strings, values, expressions and statements are read by classes of their own, and each holds the same `Cursor`. So there
is one repair tier and one stack of brackets, and no reader copies them from another.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

from toolspeak.reading.source import ReadError, Reading, Source
from toolspeak.reading.trace import Trace
from toolspeak.values.events import Repair

TIERS: tuple[Repair, ...] = ("none", "syntax", "quotes", "closers", "shape")
"""The tiers of repairs, the gravest last."""

MAX_EXPRESSION_NESTING = 32
"""How deeply expressions of code may be nested."""

QuoteRole: TypeAlias = Literal["close", "content", "forgotten"]
"""What a quote inside a string is: its end, text, or the opening quote of the next key, before which the end was
forgotten."""


UNESCAPED: tuple[str, int] = ("unescaped", -1)
"""The repair that takes quotes and line ends for the content of strings, wherever they are."""


class Truncated(ReadError):
    """The text ended inside a value."""

    def __init__(self, reason: str = "the message ended inside the call") -> None:
        super().__init__(reason, "Write the whole call again, shorter if it was cut off by a limit.")


class Ambiguous(ReadError):
    """Quotes inside a string leave more than one reading of a call, or none."""

    def __init__(
        self,
        reason: str = "the text between quotes holds quotes, so it is not certain where it ends",
        hint: str = "Escape each quote inside the text with a backslash, or put the text in a fenced block.",
    ) -> None:
        super().__init__(reason, hint)


class Cursor:
    """A place in a source, with the state of what is being read there.

    Attributes:
        source: The text.
        keys: Names that are known to be keys, which settles some doubtful quotes.
        open: The closers of the brackets that are open, innermost last.
        tier: The gravest repair so far.
        has_words: Whether a text without quotes was read, so that a lone quote may belong to that text.
        trace: Where repairs are noted with their places; None if nobody asks.
        key_quote: The quote before the latest key; "" if that key had none.
        quotes: What the quotes of the call at hand are, by their place, once that has been decided.
        choose: Returns which of several options the quote at a place is, while a text is read in several ways; None in
            the first reading.
        resolve: Sets `quotes` to those of the only reading of the call at hand, by its whole text, or raises
            `Ambiguous`; None where a call cannot be doubted as a whole.
        doubts: The repairs of the call at hand that quotes inside a string may have caused, by kind and place.
        announced: Whether a token announced the call at hand, so that a token ends its block.
        block_end: The fence or tag that ends the block of the call at hand; "" without one.
    """

    __slots__ = (
        "_depth", "announced", "block_end", "choose", "doubts", "has_words", "key_quote", "keys", "open", "quotes",
        "resolve", "source", "tier", "trace",
    )  # fmt: skip

    def __init__(self, source: Source, keys: frozenset[str] = frozenset(), trace: Trace | None = None) -> None:
        self.source = source
        self.keys = keys
        self.open: list[str] = []
        self.tier: Repair = "none"
        self.trace = trace
        self.has_words = False
        self.key_quote = '"'
        self.quotes: dict[int, QuoteRole] | None = None
        self.choose: Callable[[int, tuple[QuoteRole, ...]], QuoteRole] | None = None
        self.resolve: Callable[[], Reading[None]] | None = None
        self.doubts: set[tuple[str, int]] = set()
        self.announced = False
        self.block_end = ""
        self._depth = 0

    def reset(self) -> None:
        """Forget brackets, repairs and nesting: a call or a piece of code begins here."""
        self.open = []
        self.tier = "none"
        self.has_words = False
        self.key_quote = '"'
        self.quotes = None
        self.resolve = None
        self.doubts = set()
        self._depth = 0
        if self.trace is not None:
            self.trace.begin()

    def note_unescaped(self) -> None:
        """Note that a string holds a quote, or a line end in code, that should have been escaped."""
        self.doubts.add(UNESCAPED)

    def note_doubt(self, kind: str) -> None:
        """Note a repair that quotes inside a string may have made necessary: a missing comma, a comment."""
        self.doubts.add((kind, self.source.here))

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
