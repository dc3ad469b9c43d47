"""The bound on everything that is computed while code is read.

A few lines of code can mean a value of any size (`x = x + x`), and loops can mean any number of steps. So each message
has one `Budget`. What it allows grows with the length of the code that was read, and with nothing else: values, steps
and the arguments of all calls stay linear in the text. A value that would be larger is never built: it is `Unknown`.
"""

from toolspeak.reading.cursor import ReadError

MIN_UNITS = 200_000
"""What is allowed whatever the length of the code."""

UNITS_PER_CHAR = 20
"""What each character of code allows in addition."""

ITEMS_PER_STEP = 16
"""Characters or items that are copied in one step."""

CALL_UNITS = 40
"""What a call counts besides its arguments. A call that is written out has brought more: `f()` and its line end."""

MAX_STATEMENTS = 2_000
"""Statements that are followed in one message."""

TOO_LARGE = "the value that it computes is too large"
TOO_LARGE_TOGETHER = "the arguments of all calls together are too large"


class Budget:
    """Counts what code computes, against a limit that grows with the code.

    Attributes:
        limit: The units that are allowed: of steps, of characters given to calls, and of the size of one value.
        steps: Expressions that were evaluated, nodes that were visited, and values that were copied.
        emitted: Characters that were given to calls, or that calls were refused with.
    """

    __slots__ = ("_statements", "emitted", "limit", "steps")

    def __init__(self) -> None:
        self.limit = MIN_UNITS
        self.steps = 0
        self.emitted = 0
        self._statements = 0

    def extend(self, chars: int) -> None:
        """Allow more, since this many characters of code were read."""
        self.limit += UNITS_PER_CHAR * chars

    def count_statement(self) -> None:
        """Count a statement that is followed.

        Raises:
            ReadError: The code does too much.
        """
        self._statements += 1
        if self._statements > MAX_STATEMENTS:
            raise self._refuse()

    def count_steps(self, count: int = 1) -> None:
        """Count steps.

        Raises:
            ReadError: The code does too much.
        """
        self.steps += count
        if self.steps > self.limit:
            raise self._refuse()

    def can_build(self, size: int) -> bool:
        """Whether a value of `size` characters or items may be built; counts the steps for it if so."""
        steps = size // ITEMS_PER_STEP
        if size > self.limit or self.steps + steps > self.limit:
            return False
        self.steps += steps
        return True

    def can_emit(self, chars: int) -> bool:
        """Whether a call may be given this many more characters; counts them if so."""
        if self.emitted + chars + CALL_UNITS > self.limit:
            return False
        self.emitted += chars + CALL_UNITS
        return True

    def count_refusal(self, chars: int) -> None:
        """Count a call that is refused with this many characters of code and of reason.

        Raises:
            ReadError: The code does too much.
        """
        if not self.can_emit(chars):
            raise self._refuse()

    def _refuse(self) -> ReadError:
        """Return the error for code that does too much. Whatever code follows is refused with it too."""
        self._statements = MAX_STATEMENTS
        return ReadError("the code does too much", "Write the calls out, one per line.")
