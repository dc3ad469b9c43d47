"""`FakeClock`: an event loop in which waiting takes no time."""

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from toolspeak.execution.threads import THREAD_POOL

T = TypeVar("T")


class FakeClock:
    """Runs coroutines in an event loop whose time jumps ahead when there is nothing to do but wait.

    Pauses of a `ScriptedModel`, timeouts of tools, limits and waits between retries then take no time, and always end
    in the same order. While a function runs in a thread or a connection is open, time passes normally, since something
    may arrive from there at any moment.

    Attributes:
        seconds: The time that has passed on this clock.

    Examples:
        >>> from toolspeak.run import Agent
        >>> from toolspeak.testing import ScriptedModel, ScriptedReply
        >>> clock = FakeClock()
        >>> model = ScriptedModel([ScriptedReply(text="Good morning.", after=3600)])
        >>> clock.run(Agent(model).arun("Good night.")).text
        'Good morning.'
        >>> clock.seconds
        3600.0
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end, in a new event loop with this clock, and return its value."""
        with asyncio.Runner(loop_factory=lambda: _FakeTimeLoop(self)) as runner:
            return runner.run(coroutine)


class _FakeTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._executor_jobs = 0
        self._waiting = _SkippingSelector(clock, self._has_threads)
        super().__init__(self._waiting)
        self._waiting.own_files = len(self._waiting.get_map())  # the pipe that other threads wake the loop with

    def time(self) -> float:
        return self._clock.seconds

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        job: asyncio.Future[Any] = super().run_in_executor(executor, func, *args)
        self._executor_jobs += 1
        job.add_done_callback(self._end_job)
        return job

    async def shutdown_default_executor(self, *args: Any) -> None:
        self._executor_jobs += 1  # threads are waited for: the limit since Python 3.12 is one of real time
        try:
            await super().shutdown_default_executor(*args)
        finally:
            self._executor_jobs -= 1

    def _end_job(self, job: "asyncio.Future[Any]") -> None:
        self._executor_jobs -= 1

    def _has_threads(self) -> bool:
        # A function that was given up concerns nobody: it may hang until the program ends.
        return bool(self._executor_jobs or THREAD_POOL.running > THREAD_POOL.stuck)


class _SkippingSelector(selectors.DefaultSelector):
    """A selector that moves the clock ahead instead of waiting, if nothing outside the event loop can happen."""

    def __init__(self, clock: FakeClock, has_threads: Callable[[], bool]) -> None:
        super().__init__()
        self.own_files = 0
        self._clock = clock
        self._has_threads = has_threads

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Threads are looked for first: one that ends after that has written to the pipe, and is seen by `select`.
        must_wait = self._has_threads() or len(self.get_map()) > self.own_files
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is not None and not must_wait:
            self._clock.seconds += timeout
            return []
        start = time.monotonic()
        ready = super().select(timeout)
        self._clock.seconds += time.monotonic() - start
        return ready
