"""`Context`: data of the run, for a tool that has a parameter for it."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from toolspeak.values.errors import ToolError, UsageError
from toolspeak.values.events import Doubt
from toolspeak.values.messages import ToolCall

Deps = TypeVar("Deps")


@dataclass(frozen=True, slots=True)
class Happened:
    """Returned by a `reconcile=` function: the call took effect.

    Attributes:
        output: What the call would have returned.
    """

    output: Any = None


ProgressCallback: TypeAlias = Callable[[float, float | None, str], None]
"""Gets what a function reports: how much is done, of how much (None: unknown), and a text.

It is called in the thread of the function.
"""


ApproveCallback: TypeAlias = Callable[[ToolCall, "Context[Any]"], Awaitable[bool]]
"""Asks somebody whether a call may run, and returns the answer."""

WaitCallback: TypeAlias = Callable[[str, float | None], Any]
"""Gets what a function waits for: the name of a signal ("": none), and for how many seconds at most (None: any time).

It returns what the signal said if the wait is over, raises `SignalMissing` if the signal did not come, and else raises
`CallSuspended`.
"""

MAX_WAIT_SECONDS = 100 * 365 * 86_400.0
MAX_SIGNAL_CHARS = 200


class CallSuspended(BaseException):
    """Ends the function of a call that waits. `except Exception` does not catch it; let it pass."""


class SignalMissing(ToolError, TimeoutError):
    """A signal did not come in time. If the function lets it pass, the model is told so."""


def check_signal_name(name: str) -> None:
    """Raise `UsageError` if a signal cannot have this name."""
    if not name or len(name) > MAX_SIGNAL_CHARS or not name.isprintable():
        raise UsageError(f"the name of a signal is a text of 1 to {MAX_SIGNAL_CHARS} printable characters")


class ProgressPause:
    """Awaiting it lets other tasks work, once."""

    __slots__ = ()

    def __await__(self) -> Generator[None]:
        yield


_PAUSE = ProgressPause()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Generic[Deps]):
    """Information about the run. A parameter annotated `Context` or `Context[Deps]` gets it; the model does not see it.

    Attributes:
        deps: The object that you passed for tools: a database, a session, a user.
        run_id: The id of the run.
        call_id: The id of this call.
        turn: The number of the turn in which the model made the call, from 1.
        data: The data that you passed to the run (`data=`): the tenant, the user who asks. Unlike `deps` it is plain
            data, which is stored with a durable run.
        on_progress: Called with the reports of `report_progress`; None if nobody listens.
        on_wait: Called with the waits of `sleep` and `wait_for`; None if the run is not durable.
        doubts: For a function that decides about a call: the values of the call that come from untrusted sources
            (`Agent(provenance=…)`).
        approve: For a function that runs an agent and is served over MCP: asks the client's user, as in
            `agent.arun(prompt, approve=context.approve)`. None if nobody can be asked; then such a run pauses.

    Examples:
        >>> def forget(key: str, context: Context[dict[str, str]]) -> bool:
        ...     "Forget what is stored under a key."
        ...     return context.deps.pop(key, None) is not None
    """

    deps: Deps
    run_id: str = ""
    call_id: str = ""
    turn: int = 0
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    on_progress: ProgressCallback | None = field(default=None, repr=False, compare=False)
    on_wait: WaitCallback | None = field(default=None, repr=False, compare=False)
    doubts: tuple[Doubt, ...] = ()
    approve: ApproveCallback | None = field(default=None, repr=False, compare=False)

    @property
    def idempotency_key(self) -> str:
        """A key for this call, the same when the call is started again, for systems that accept such a key."""
        return f"{self.run_id}/{self.call_id}"

    def report_progress(self, done: float, total: float | None = None, text: str = "") -> ProgressPause:
        """Report the progress of the call, as the event `ToolProgress`, or to an MCP client.

        A plain function calls it and continues. A coroutine may await it, which lets other tasks run. Either way
        nothing waits for the receiver, and a slow receiver gets only the latest report.

        Args:
            done: The amount of work done. It should grow from report to report.
            total: The total amount of work; None if it is unknown.
            text: The current step, in words for the user.

        Examples:
            >>> def convert(pages: int, context: Context[None]) -> str:
            ...     "Convert a number of pages."
            ...     for page in range(pages):
            ...         context.report_progress(page + 1, pages, f"page {page + 1}")
            ...     return "done"
            >>> convert(2, Context(deps=None, on_progress=print))
            1 2 page 1
            2 2 page 2
            'done'
        """
        if self.on_progress is not None:
            self.on_progress(done, total, text)
        return _PAUSE

    async def sleep(self, seconds: float = 0.0, *, minutes: float = 0.0, hours: float = 0.0, days: float = 0.0) -> None:
        """Wait for a time: the sum of the arguments.

        In a durable run the call is suspended meanwhile, and occupies no worker. When the time has passed, **the
        function is called again from its beginning**, and this wait returns at once, so code before the wait runs
        again. Put the wait first, or make the code before it idempotent with `idempotency_key`. In other runs the
        process waits, as long as the timeout of the tool allows.
        """
        total = seconds + 60 * minutes + 3600 * hours + 86_400 * days
        if not 0 <= total <= MAX_WAIT_SECONDS:
            raise UsageError(f"context.sleep: {total} is not a number of seconds from 0 to {MAX_WAIT_SECONDS:.0f}")
        if self.on_wait is None:
            await asyncio.sleep(total)
        else:
            self.on_wait("", total)

    async def wait_for(self, signal: str, timeout: float | None = None) -> Any:
        """Wait for a signal (`Runs.signal`), and return its value. A signal that was sent before counts, too.

        The call is suspended meanwhile, as with `sleep`, and **its function is called again from its beginning**.

        Args:
            signal: The name of the signal, such as `payment-42`. Names are unique in a store; each signal arrives once.
            timeout: How many seconds to wait; None for no limit.

        Raises:
            TimeoutError: The signal did not arrive in time. If the function does not catch it, the model is told.
            UsageError: The run is not durable, or the name or the timeout cannot be used.
        """
        check_signal_name(signal)
        if timeout is not None and not 0 <= timeout <= MAX_WAIT_SECONDS:
            raise UsageError(f"context.wait_for: {timeout} is not a number of seconds from 0 to {MAX_WAIT_SECONDS:.0f}")
        if self.on_wait is None:
            raise UsageError(
                f"context.wait_for({signal!r}) needs a durable run, which can be put down until the signal comes: "
                "start it with Runs.start"
            )
        return self.on_wait(signal, timeout)
