"""`monty` mode: pydantic-monty, an interpreter for a part of Python that has no way to files, network or processes.

Imported when code is run, not before. A pool for each run costs some milliseconds, and keeps nothing between two runs.
"""

import importlib
import importlib.util
from typing import Any

from toolspeak.errors import UsageError
from toolspeak.execution.sandbox.display import shown
from toolspeak.execution.sandbox.interface import Evaluation, SandboxLimits

GRACE = 0.25
"""Seconds after which a worker that does not notice its time limit is killed."""

_LIMITS_REACHED = (TimeoutError, MemoryError, RecursionError)


class _TooMuch(Exception):
    """The code printed more than it may."""


def has_monty() -> bool:
    """Whether monty is installed."""
    return importlib.util.find_spec("pydantic_monty") is not None


def run_monty(code: str, limits: SandboxLimits) -> Evaluation:
    """Run code in monty.

    Raises:
        UsageError: Monty is not installed.
    """
    monty = _imported()
    printed = _PrintBuffer(limits.output)
    try:
        value = _fed(monty, code, limits, printed)
        text = None if value is None else shown(value, limits.output)
    except monty.MontyCrashedError as error:
        late = f"it took longer than {limits.seconds:g} seconds" if error.timed_out else "the interpreter ended"
        return Evaluation(mode="monty", stdout=printed.text, error=f"stopped: {late}", stopped=True)
    except monty.MontyError as error:
        return _failed(error, printed, limits)
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        # A value that Python cannot take over or write out, such as a number of ten thousand digits.
        return Evaluation(mode="monty", stdout=printed.text, error=f"{type(error).__name__}: {error}")
    except OSError as error:
        raise UsageError(f"monty could not be started: {error}; pip install toolspeak[sandbox] brings it") from error
    return Evaluation(mode="monty", value=text, stdout=printed.text)


def _imported() -> Any:
    try:
        return importlib.import_module("pydantic_monty")
    except ImportError:
        raise UsageError("running Python in monty needs pydantic-monty: pip install toolspeak[sandbox]") from None


def _fed(monty: Any, code: str, limits: SandboxLimits, printed: "_PrintBuffer") -> Any:
    allowed = {
        "max_feed_duration_secs": limits.seconds,
        "max_total_sleep_secs": limits.seconds,
        "max_memory": limits.memory,
        "max_recursion_depth": limits.recursion,
    }
    pool = monty.Monty(
        min_processes=1,
        max_processes=1,
        request_timeout=limits.seconds + GRACE,
        feed_duration_limit_grace=GRACE,
        turn_duration_limit_grace=GRACE,
    )
    with pool, pool.checkout(limits=allowed) as session:
        return session.feed_run(code, print_callback=printed)


def _failed(error: Any, printed: "_PrintBuffer", limits: SandboxLimits) -> Evaluation:
    if printed.full:
        said = f"stopped: it printed more than {limits.output} characters"
        return Evaluation(mode="monty", stdout=printed.text, error=said, stopped=True)
    # The traceback of an endless recursion is long: what went wrong stands at its end.
    told = error.display() if hasattr(error, "display") else str(error)
    stopped = isinstance(error.exception(), _LIMITS_REACHED)
    return Evaluation(mode="monty", stdout=printed.text, error=told[-limits.output :].strip(), stopped=stopped)


class _PrintBuffer:
    """Takes what is printed, up to a cap, and then ends the run."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pieces: list[str] = []
        self._size = 0

    def __call__(self, stream: str, text: str) -> None:
        self._pieces.append(text[: max(0, self._most - self._size)])
        self._size += len(text)
        if self.full:
            raise _TooMuch

    @property
    def full(self) -> bool:
        return self._size > self._most

    @property
    def text(self) -> str:
        return "".join(self._pieces)
