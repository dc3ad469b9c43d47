"""A sandbox for Python code that a model wrote.

code ──┬── monty.py ── pydantic-monty: a part of Python, with no access to files, network or processes
       └── full.py ─── CPython in a child process, which `child/` confines before it reads the code

`options.py` has the limits and the result, `process.py` runs a command under supervision. What a program of code mode
may do is in `monty.py` (`MontyProgram`). To close a way out: write it in `tests/execution/sandbox/attacks.toml` first.
"""

from typing import TYPE_CHECKING

from toolspeak.execution.sandbox.monty import has_monty, run_monty
from toolspeak.execution.sandbox.options import CodeResult, SandboxLimits, SandboxMode
from toolspeak.values.errors import UsageError
from toolspeak.values.package import export_lazily

if TYPE_CHECKING:
    from toolspeak.execution.sandbox.full import Confinement, detect_confinement, run_full
else:
    __getattr__ = export_lazily(__name__, full=("Confinement", "detect_confinement", "run_full"))

__all__ = [
    "CodeResult",
    "Confinement",
    "SandboxLimits",
    "SandboxMode",
    "detect_confinement",
    "has_monty",
    "run_code",
    "run_full",
    "run_monty",
]

MAX_CODE_CHARS = 200_000
"""The longest code that is run; a computation does not need more."""


def run_code(
    code: str, *, mode: SandboxMode = "auto", limits: SandboxLimits | None = None, unsafe_local: bool = False
) -> CodeResult:
    """Run code like a Python shell: the result is the printed output and the value of the last expression.

    Args:
        code: The code. Nothing is kept from one run to the next.
        mode: `"monty"`, `"full"`, or `"auto"`: monty if it is installed, and full mode for code that fails there.
            Code has no effect outside the sandbox, so running it twice does no harm.
        limits: The limits of the code; the defaults of `SandboxLimits` if None.
        unsafe_local: In full mode, run the code even where it cannot be confined.

    Raises:
        UsageError: The mode is not available on this machine; the message says what is missing.
    """
    from toolspeak.execution.sandbox.full import run_full  # imported with the first code that is run

    if mode not in ("monty", "full", "auto"):
        raise UsageError(f"mode is 'monty', 'full' or 'auto', not {mode!r}")
    limits = limits or SandboxLimits()
    if len(code) > MAX_CODE_CHARS:
        raise UsageError(f"the code has {len(code)} characters; at most {MAX_CODE_CHARS} can be run")
    code = code.encode("utf-8", errors="replace").decode()  # a lone surrogate cannot be encoded
    if mode == "full" or (mode == "auto" and not has_monty()):
        return run_full(code, limits, unsafe_local=unsafe_local)
    result = run_monty(code, limits)
    if mode == "monty" or result.error is None or result.stopped:
        return result
    try:
        return run_full(code, limits, unsafe_local=unsafe_local)
    except UsageError:  # full mode is not available here
        return result
