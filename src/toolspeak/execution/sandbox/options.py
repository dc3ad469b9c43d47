"""How code runs in the sandbox: the mode, the limits, and the result."""

from typing import Literal, TypeAlias

from toolspeak.values.frozen import frozen


@frozen
class CodeResult:
    """The result of a run of code.

    Attributes:
        mode: The mode in which the code ran.
        value: The value of the last expression, as a Python shell shows it; `None` if there is no value to show.
        stdout: The printed output, on standard output and standard error, in order.
        error: What went wrong: the traceback, or the limit that stopped the code.
        stopped: Whether a limit stopped the code. Running it again would end the same way.
    """

    mode: Literal["monty", "full"]
    value: str | None = None
    stdout: str = ""
    error: str | None = None
    stopped: bool = False


SandboxMode: TypeAlias = Literal["monty", "full", "auto"]
"""`monty`: a part of Python that lacks what is dangerous. `full`: CPython in a confined process. `auto`: both, in turn
(see `run_code`)."""


@frozen
class SandboxLimits:
    """The limits of one run of code.

    Attributes:
        seconds: Wall-clock seconds from the first line. Waiting counts too; in `monty` it is limited separately.
        memory: Bytes of memory.
        output: Characters that the code may print (in `full`, bytes), and characters of its value that are shown.
        recursion: The deepest recursion in `monty`; CPython has its own limit.
        disk: Bytes that the code's files may take in `full`; `monty` has no files.
        transfer: Bytes that a program in code mode and its functions may pass to each other, as arguments and results.
            They outlive the program, since its calls are recorded.
    """

    seconds: float = 5.0
    memory: int = 256 * 2**20
    output: int = 10_000
    recursion: int = 1000
    disk: int = 32 * 2**20
    transfer: int = 16 * 2**20
