"""A sandbox for Python that a model wrote.

code ──┬── monty.py ── pydantic-monty: a part of Python, with no way to files, network or processes
       └── full.py ─── a child process that `confined/` walls in ─── CPython
"""

from toolspeak.errors import UsageError
from toolspeak.execution.sandbox.full import run_full
from toolspeak.execution.sandbox.interface import Evaluation, Mode, SandboxLimits
from toolspeak.execution.sandbox.monty import has_monty, run_monty
from toolspeak.execution.sandbox.walls import Walls, walls_here

__all__ = [
    "Evaluation",
    "Mode",
    "SandboxLimits",
    "Walls",
    "evaluate",
    "has_monty",
    "run_full",
    "run_monty",
    "walls_here",
]

LONGEST = 200_000
"""Characters of code; nobody writes more to compute something."""


def evaluate(
    code: str, *, mode: Mode = "auto", limits: SandboxLimits | None = None, unsafe_local: bool = False
) -> Evaluation:
    """Run code as a Python shell would: what it prints, and the value of its last expression.

    Args:
        code: The code. Each run starts fresh.
        mode: `"monty"`, `"full"`, or `"auto"`: monty where it is installed, and what fails there once more in full.
            Since code has no effect outside, running it twice is running it once.
        limits: What it may use.
        unsafe_local: In full mode, run it even where it cannot be confined.

    Raises:
        UsageError: The mode is not to be had here; the message says what is missing.
    """
    if mode not in ("monty", "full", "auto"):
        raise UsageError(f"mode is 'monty', 'full' or 'auto', not {mode!r}")
    limits = limits or SandboxLimits()
    if len(code) > LONGEST:
        raise UsageError(f"the code has {len(code)} characters; at most {LONGEST} can be run")
    code = code.encode("utf-8", errors="replace").decode()  # half a character is none
    if mode == "full" or (mode == "auto" and not has_monty()):
        return run_full(code, limits, unsafe_local=unsafe_local)
    done = run_monty(code, limits)
    if mode == "monty" or done.error is None or done.stopped:
        return done
    try:
        return run_full(code, limits, unsafe_local=unsafe_local)
    except UsageError:  # not to be had here
        return done
