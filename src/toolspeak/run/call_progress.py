"""`CallProgress`: makes events of what the function of a call reports."""

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress

from toolspeak.events import ToolProgress

MIN_INTERVAL_SECONDS = 0.1
"""The time between two reports of a call that are passed on."""

MAX_TEXT_CHARS = 1_000
"""Characters of the text of a report."""


class CallProgress:
    """Passes on the reports of one call: the first one at once, then the latest one every so often, and the last one.

    A function may report as often as it likes: nothing is kept but its latest report.
    """

    def __init__(self, call_id: str, put: Callable[[ToolProgress], None]) -> None:
        """Prepare to pass on reports in the running event loop, where `put` is called."""
        self._call_id = call_id
        self._put = put
        self._loop = asyncio.get_running_loop()
        self._latest: tuple[float, float | None, str] | None = None
        self._is_announced = False
        self._next_time = -math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def report(self, done: float, total: float | None, text: str) -> None:
        """Take a report, in any thread."""
        self._latest = (done, total, text)
        if not self._is_announced:
            self._is_announced = True
            with suppress(RuntimeError):  # the event loop is closed: the call was given up long ago
                self._loop.call_soon_threadsafe(self._pass_on)

    def finish(self) -> None:
        """Pass on the last report: the call has ended."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._is_closed:
            self._put_latest()
            self._is_closed = True

    def _pass_on(self) -> None:
        if self._is_closed:
            return
        now = self._loop.time()
        if now < self._next_time:
            self._timer = self._loop.call_at(self._next_time, self._pass_on)
            return
        self._next_time = now + MIN_INTERVAL_SECONDS
        self._is_announced = False  # before the look: a report that comes from now on is announced again
        self._put_latest()

    def _put_latest(self) -> None:
        latest, self._latest = self._latest, None
        if latest is None:
            return
        done, total, text = latest
        if math.isfinite(done) and (total is None or math.isfinite(total)):  # JSON has no other numbers
            self._put(ToolProgress(call_id=self._call_id, done=done, total=total, text=text[:MAX_TEXT_CHARS]))
