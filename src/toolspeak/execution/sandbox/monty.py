"""`monty` mode: pydantic-monty, an interpreter for a part of Python without access to files, network or processes.

It is imported when code is run, not before. Each run has a pool of its own: that costs some milliseconds, and nothing
is kept from one run to the next.
"""

import importlib
import importlib.util
from typing import Any

from toolspeak.errors import UsageError
from toolspeak.execution.sandbox.display import format_value
from toolspeak.execution.sandbox.options import SandboxLimits
from toolspeak.execution.sandbox.result import CodeResult

KILL_GRACE_SECONDS = 0.25
"""How long after its time limit a worker that does not notice the limit is killed."""

_LIMIT_ERRORS = (TimeoutError, MemoryError, RecursionError)


class _OutputLimitReached(Exception):
    """The code printed more than it may."""


def has_monty() -> bool:
    """Whether pydantic-monty is installed."""
    return importlib.util.find_spec("pydantic_monty") is not None


def run_monty(code: str, limits: SandboxLimits) -> CodeResult:
    """Run code in monty.

    Raises:
        UsageError: Monty is not installed.
    """
    monty = import_monty()
    printed = PrintBuffer(limits.output)
    try:
        value = _feed(monty, code, limits, printed)
        text = None if value is None else format_value(value, limits.output)
    except monty.MontyCrashedError as error:
        return describe_crash(error, printed, limits)
    except monty.MontyError as error:
        return describe_error(error, printed, limits)
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        # A value that CPython cannot convert or print, such as a number of ten thousand digits.
        return CodeResult(mode="monty", stdout=printed.text, error=f"{type(error).__name__}: {error}")
    except OSError as error:
        raise UsageError(f"monty could not be started: {error}; pip install toolspeak[sandbox] brings it") from error
    return CodeResult(mode="monty", value=text, stdout=printed.text)


def import_monty() -> Any:
    """Return the module pydantic_monty."""
    try:
        return importlib.import_module("pydantic_monty")
    except ImportError:
        raise UsageError("running Python in monty needs pydantic-monty: pip install toolspeak[sandbox]") from None


def _feed(monty: Any, code: str, limits: SandboxLimits, printed: "PrintBuffer") -> Any:
    session_limits = {
        "max_feed_duration_secs": limits.seconds,
        "max_total_sleep_secs": limits.seconds,
        "max_memory": limits.memory,
        "max_recursion_depth": limits.recursion,
    }
    pool = monty.Monty(
        min_processes=1,
        max_processes=1,
        request_timeout=limits.seconds + KILL_GRACE_SECONDS,
        feed_duration_limit_grace=KILL_GRACE_SECONDS,
        turn_duration_limit_grace=KILL_GRACE_SECONDS,
    )
    with pool, pool.checkout(limits=session_limits) as session:
        return session.feed_run(code, print_callback=printed)


def describe_crash(error: Any, printed: "PrintBuffer", limits: SandboxLimits) -> CodeResult:
    """Return the result of code whose interpreter was killed or ended."""
    late = f"it took longer than {limits.seconds:g} seconds" if error.timed_out else "the interpreter ended"
    return CodeResult(mode="monty", stdout=printed.text, error=f"stopped: {late}", stopped=True)


def describe_error(error: Any, printed: "PrintBuffer", limits: SandboxLimits) -> CodeResult:
    """Return the result of code that failed, or that reached a limit."""
    if printed.is_full:
        error_text = f"stopped: it printed more than {limits.output} characters"
        return CodeResult(mode="monty", stdout=printed.text, error=error_text, stopped=True)
    # The traceback of an endless recursion is long, and its end says what went wrong: the end is kept.
    text = error.display() if hasattr(error, "display") else str(error)
    stopped = isinstance(error.exception(), _LIMIT_ERRORS)
    return CodeResult(mode="monty", stdout=printed.text, error=text[-limits.output :].strip(), stopped=stopped)


class PrintBuffer:
    """Collects what is printed up to a limit, and ends the run beyond it."""

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._pieces: list[str] = []
        self._size = 0

    def __call__(self, stream: str, text: str) -> None:
        self._pieces.append(text[: max(0, self._max_chars - self._size)])
        self._size += len(text)
        if self.is_full:
            raise _OutputLimitReached

    @property
    def is_full(self) -> bool:
        """Whether more was printed than may be."""
        return self._size > self._max_chars

    @property
    def text(self) -> str:
        """What was printed, up to the limit."""
        return "".join(self._pieces)
