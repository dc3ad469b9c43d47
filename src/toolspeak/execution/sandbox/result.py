"""What a run of code in the sandbox resulted in."""

from typing import Literal

from toolspeak._frozen import frozen


@frozen
class CodeResult:
    """The result of a run of code.

    Attributes:
        mode: The mode in which the code ran.
        value: The value of the last expression, as a Python shell shows it; `None` if there is no value to show.
        stdout: What the code printed, on standard output and standard error, in order.
        error: What went wrong: the traceback, or the limit that stopped the code.
        stopped: Whether a limit stopped the code. Running it again would end the same way.
    """

    mode: Literal["monty", "full"]
    value: str | None = None
    stdout: str = ""
    error: str | None = None
    stopped: bool = False
