"""What code may use, and what came of it."""

from typing import Literal, TypeAlias

from toolspeak._frozen import frozen

Mode: TypeAlias = Literal["monty", "full", "auto"]
"""`monty`: a part of Python, safe by what it lacks. `full`: CPython, in a confined process. `auto`: both in turn."""


@frozen
class SandboxLimits:
    """What one piece of code may use.

    Attributes:
        seconds: Time on the clock from its first line on. Waiting counts too; in `monty`, by itself.
        memory: Bytes of memory.
        output: Characters that it may print (in `full`, bytes), and of its value that are shown.
        recursion: Calls inside calls in `monty`; CPython counts by itself.
        disk: Bytes that its files may take in `full` (there are none in `monty`).
    """

    seconds: float = 5.0
    memory: int = 256 * 2**20
    output: int = 10_000
    recursion: int = 1000
    disk: int = 32 * 2**20


@frozen
class Evaluation:
    """What came of code.

    Attributes:
        mode: Where it ran.
        value: The value of a last expression, as a Python shell shows it; `None` for none.
        stdout: What it printed, on either stream, in order.
        error: What went wrong: the traceback, or the limit that stopped it.
        stopped: Whether a limit stopped it, so that it would be stopped again.
    """

    mode: Literal["monty", "full"]
    value: str | None = None
    stdout: str = ""
    error: str | None = None
    stopped: bool = False
