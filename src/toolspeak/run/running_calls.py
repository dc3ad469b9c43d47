"""`RunningCalls`: the calls of a run that are under way, what their functions report, and what they wait for."""

import asyncio
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from toolspeak.execution import RunningCall
from toolspeak.loop import words
from toolspeak.run.calling_run import CALLING_RUN, CallingRun
from toolspeak.tools.context import CallSuspended, SignalMissing
from toolspeak.values.errors import ToolError, ToolsChanged
from toolspeak.values.events import ToolFinished, ToolProgress, ToolSuspended, WaitOver
from toolspeak.values.messages import ToolCall, ToolResult
from toolspeak.values.outcome import is_tool_bug

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


class CallWaits:
    """The waits of one call in a durable run: those that are over return at once, and the next one suspends the call.

    Attributes:
        suspended: What the call waits for; None if it has not come to such a wait. It is suspended even if its function
            catches `CallSuspended` and goes on.
    """

    def __init__(self, call_id: str, over: Sequence[WaitOver]) -> None:
        self._call_id = call_id
        self._over = over
        self._count = 0
        self.suspended: ToolSuspended | None = None

    def wait(self, signal: str, seconds: float | None) -> Any:
        """Return what a signal said if the wait is over; see `WaitCallback`."""
        self._count += 1
        if self._count > len(self._over):
            wait = ToolSuspended(call_id=self._call_id, number=self._count, signal=signal, seconds=seconds)
            self.suspended = self.suspended or wait
            raise CallSuspended(wait.summary)
        over = self._over[self._count - 1]
        if over.signal != signal:
            raise ToolError(
                f"its function has changed while it waited: wait {over.number} was for {over.signal or 'a time'!r}, "
                f"and is for {signal or 'a time'!r} now"
            )
        if signal and not over.came:
            raise SignalMissing(f"the signal {signal} did not come in time")
        return over.value


class RunningCalls:
    """Starts calls when their facts are committed, and puts their results into the inbox of the run."""

    def __init__(self, run: CallingRun, put: Callable[[ToolFinished | ToolSuspended], None]) -> None:
        self._run = run
        self._put = put
        self._running: dict[str, RunningCall] = {}

    def start(
        self, calls: Sequence[ToolCall], results: Mapping[str, ToolResult], turn: int, in_doubt: Collection[str] = ()
    ) -> None:
        """Start calls of a turn, whose arguments may refer to the results. Those in doubt were cut off once."""
        if self._run.barrier.is_durable:
            for call in calls:
                self._run.barrier.launch(call.id, partial(self._start, (call,), results, turn, in_doubt))
        else:
            self._start(calls, results, turn, in_doubt)

    def _start(
        self, calls: Sequence[ToolCall], results: Mapping[str, ToolResult], turn: int, in_doubt: Collection[str]
    ) -> None:
        run, executor = self._run, self._run.speaker.executor
        outside = CALLING_RUN.set(run)
        on_start = None if run.trace is None else run.trace.enter_call
        for call in calls:
            finish, report, wait = self._finish, None, None
            if executor.takes_context(call.name):
                progress, waits = CallProgress(call.id, run.take_event), None
                if run.barrier.is_durable:
                    waits = CallWaits(call.id, run.state.turn.calls[call.id].waits)
                    wait = waits.wait
                finish, report = partial(self._finish_reporting, progress, waits), progress.report
            running = executor.prepare(
                call, results, turn, finish, on_start, report, wait, in_doubt=bool(in_doubt) and call.id in in_doubt
            )
            if not running.ended:
                self._running[call.id] = running
        CALLING_RUN.reset(outside)
        executor.start_quick_calls()

    def _finish_reporting(self, progress: CallProgress, waits: CallWaits | None, result: ToolResult) -> None:
        progress.finish()
        if waits is not None and waits.suspended is not None:
            self._running.pop(result.call_id, None)
            self._put(waits.suspended)
        else:
            self._finish(result)

    def _finish(self, result: ToolResult) -> None:
        self._running.pop(result.call_id, None)
        error = self._run.speaker.executor.exceptions.get(result.call_id) if result.error is not None else None
        if isinstance(error, ToolsChanged) and error.server is not None:  # started again, with other tools
            self._run.end_with_fault(error, f"the MCP server {error.server} has changed its tools")
        elif is_tool_bug(error) and self._run.speaker.raises_tool_errors:
            self._run.end_with_fault(error, f"a tool failed: {result.error}")
        self._put(ToolFinished(result=result))

    def cancel(self, call_id: str) -> None:
        """Cancel a call; it still gets a result."""
        if self._run.barrier.drop(call_id):
            self._finish(ToolResult(call_id=call_id, error=words.RUN_STOPPED, ran=False, reason="not_allowed"))
        running = self._running.pop(call_id, None)
        if running is not None:
            running.cancel()

    def cancel_all(self) -> None:
        """Cancel all calls, because the run has ended."""
        for running in list(self._running.values()):
            running.cancel()
        self._run.speaker.executor.rest()
