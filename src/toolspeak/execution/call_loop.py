"""What the calls in one event loop share: the timer of their timeouts, and the way back from the threads.

Timers and wake-ups of an event loop cost more than most calls do. So one timer serves all calls, and one wake-up brings
all outcomes that threads have left meanwhile.
"""

import asyncio
import threading
from collections.abc import Iterable
from contextlib import suppress
from itertools import takewhile
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Protocol

from toolspeak.execution.outcome import CallOutcome

MOMENT_SECONDS = 0.0002
"""How long the event loop waits for functions that come back at once."""


class LoopCall(Protocol):
    """A call that was started in an event loop."""

    @property
    def ended(self) -> bool:
        """Whether the call has its result."""
        ...

    def take_outcome(self, outcome: CallOutcome) -> None:
        """Take, in the event loop, what the function of the call gave in its thread."""

    def expire(self, seconds: float) -> None:
        """Give the call up, since its seconds are over."""


class CallLoop:
    """The calls of an event loop.

    Attributes:
        loop: The event loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ends: dict[float, dict[LoopCall, float]] = {}  # by timeout; calls in the order in which they end
        self._timer: asyncio.TimerHandle | None = None
        self._outcomes: SimpleQueue[tuple[LoopCall, CallOutcome]] = SimpleQueue()
        self._is_announced = False

    # Timeouts

    def add_timeout(self, call: LoopCall, seconds: float) -> None:
        """Let a call expire after some seconds, unless its timeout is removed before."""
        end = self.loop.time() + seconds
        self._ends.setdefault(seconds, {})[call] = end
        if self._timer is None or end < self._timer.when():
            self._set_timer(end)

    def remove_timeout(self, call: LoopCall, seconds: float) -> None:
        """Remove the timeout of a call that has ended. The timer stays: the next call will need it."""
        self._ends[seconds].pop(call, None)

    def drop_timer(self) -> None:
        """Drop the timer if no call needs it now."""
        if self._timer is not None and not any(self._ends.values()):
            self._timer.cancel()
            self._timer = None
            self._ends.clear()

    def _set_timer(self, end: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_at(end, self._expire, end)

    def _expire(self, end: float) -> None:
        """Let the calls expire whose end has come, and set the timer for the next ones."""
        self._timer = None
        now = max(end, self.loop.time())
        try:
            for seconds, ends in list(self._ends.items()):
                for call in list(takewhile(lambda each, ends=ends: ends[each] <= now, ends)):
                    call.expire(seconds)
        finally:
            self._ends = {seconds: ends for seconds, ends in self._ends.items() if ends}
            if self._ends:
                self._set_timer(min(next(iter(ends.values())) for ends in self._ends.values()))

    # Outcomes

    def put_outcome(self, call: LoopCall, outcome: CallOutcome) -> None:
        """Let a call take its outcome in the event loop. This is for the thread in which its function has run."""
        self._outcomes.put((call, outcome))
        if not self._is_announced:
            self._announce()

    def _announce(self) -> None:
        self._is_announced = True
        with suppress(RuntimeError):  # the event loop is closed, and with it whoever was waiting
            self.loop.call_soon_threadsafe(self._take_outcomes)

    def _take_outcomes(self) -> None:
        self._is_announced = False  # before the look: an outcome that comes from now on is announced again
        try:
            while not self._outcomes.empty():
                call, outcome = self._outcomes.get()
                call.take_outcome(outcome)
        finally:
            if not self._outcomes.empty():  # one of them raised
                self._announce()

    def wait_for(self, calls: Iterable[LoopCall]) -> None:
        """Wait a moment for calls whose functions come back at once: to be woken by their threads would cost more."""
        end = monotonic() + MOMENT_SECONDS
        self._is_announced = True  # threads need not wake the event loop meanwhile
        try:
            for each in calls:
                while not each.ended:
                    call, outcome = self._outcomes.get(timeout=max(end - monotonic(), 0))
                    call.take_outcome(outcome)
        except Empty:
            pass
        finally:
            self._is_announced = False
            if not self._outcomes.empty():
                self._announce()


class _ThreadCalls(threading.local):
    """The calls of the event loop that runs in a thread."""

    latest: CallLoop | None = None


_thread_calls = _ThreadCalls()


def find_call_loop() -> CallLoop:
    """Return what the calls in the running event loop share."""
    loop = asyncio.get_running_loop()
    latest = _thread_calls.latest
    if latest is None or latest.loop is not loop:
        latest = _thread_calls.latest = CallLoop(loop)
    return latest
