"""`MontyProgram`: code that runs in monty step by step, and stops at each call of a function of the host.

Time is counted only while the code computes, not while it waits for the result of a call. The random numbers of a
program are the same each time, so that a program that is run again, with the same results, makes the same calls.
"""

from collections.abc import Collection
from contextlib import ExitStack
from typing import Any, NamedTuple

from toolspeak.errors import UsageError
from toolspeak.execution.sandbox.display import format_value
from toolspeak.execution.sandbox.monty import (
    KILL_GRACE_SECONDS,
    PrintBuffer,
    describe_crash,
    describe_error,
    import_monty,
)
from toolspeak.execution.sandbox.options import SandboxLimits
from toolspeak.execution.sandbox.result import CodeResult

MAX_PROGRAM_CALLS = 1000
"""Calls that one program may make, the lookups of names included."""


class ProgramCall(NamedTuple):
    """A call of a function of the host, at which a program waits."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class MontyProgram:
    """A program that calls functions of the host."""

    def __init__(self, code: str, names: Collection[str], limits: SandboxLimits) -> None:
        """Prepare a program.

        Args:
            code: The code.
            names: The names of the functions that it may call.
            limits: What it may use; the seconds are those in which it computes.

        Raises:
            UsageError: Monty is not installed.
        """
        self._monty = import_monty()
        self._code = code.encode("utf-8", errors="replace").decode()  # a lone surrogate cannot be encoded
        self._names = frozenset(names)
        self._limits = limits
        self._printed = PrintBuffer(limits.output)
        self._stack = ExitStack()
        self._snapshot: Any = None

    def start(self) -> ProgramCall | CodeResult:
        """Run the code to its first call, or to its end."""
        monty, limits = self._monty, self._limits
        session_limits = {
            "max_feed_duration_secs": limits.seconds,
            "max_total_sleep_secs": limits.seconds,
            "max_memory": limits.memory,
            "max_recursion_depth": limits.recursion,
            "max_suspensions": MAX_PROGRAM_CALLS,
        }
        try:
            pool = self._stack.enter_context(
                monty.Monty(
                    min_processes=1,
                    max_processes=1,
                    request_timeout=limits.seconds + KILL_GRACE_SECONDS,
                    feed_duration_limit_grace=KILL_GRACE_SECONDS,
                )
            )
            session = self._stack.enter_context(
                pool.checkout(limits=session_limits, os_policy={"random_start": {"seed": 0}})
            )
        except OSError as error:
            raise UsageError(f"monty could not start: {error}; pip install toolspeak[sandbox] brings it") from error
        lookup = dict.fromkeys(self._names, _mark_function)
        return self._step(lambda: session.feed_start(self._code, external_lookup=lookup, print_callback=self._printed))

    def resume(self, value: Any) -> ProgramCall | CodeResult:
        """Give the result of the call at which the program waits, and run it to its next call or its end."""
        return self._step(lambda: self._snapshot.resume({"return_value": value}))

    def fail(self, error: Exception) -> ProgramCall | CodeResult:
        """Raise an error in the call at which the program waits, and run it to its next call or its end."""
        return self._step(lambda: self._snapshot.resume({"exception": error}))

    def close(self) -> None:
        """End the interpreter."""
        self._stack.close()

    def _step(self, go_on: Any) -> ProgramCall | CodeResult:
        """Run to the next call or the end. Whatever else the code asks of its host is refused."""
        monty = self._monty
        try:
            self._snapshot = go_on()
            while not isinstance(self._snapshot, monty.MontyComplete):
                if isinstance(self._snapshot, monty.NameLookupSnapshot):
                    self._snapshot = self._snapshot.resume_auto()
                elif isinstance(self._snapshot, monty.FutureSnapshot):
                    return self._finish(error="stopped: functions are called without await")
                elif self._snapshot.is_os_function:
                    self._snapshot = self._snapshot.resume_not_handled()
                elif self._snapshot.function_name not in self._names:
                    missing = NameError(f"name {self._snapshot.function_name!r} is not defined")
                    self._snapshot = self._snapshot.resume({"exception": missing})
                else:
                    snapshot = self._snapshot
                    return ProgramCall(snapshot.function_name, tuple(snapshot.args), dict(snapshot.kwargs))
            value = self._snapshot.output
            return self._finish(value=None if value is None else format_value(value, self._limits.output))
        except monty.MontyCrashedError as error:
            return describe_crash(error, self._printed, self._limits)
        except monty.MontyError as error:
            return describe_error(error, self._printed, self._limits)
        except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
            return self._finish(error=f"{type(error).__name__}: {error}")

    def _finish(self, value: str | None = None, error: str | None = None) -> CodeResult:
        return CodeResult(mode="monty", value=value, stdout=self._printed.text, error=error)


def _mark_function(*args: Any, **kwargs: Any) -> None:
    """Stand for a function of the host, which is called elsewhere."""
