"""`RunningCalls`: the calls of a run that are under way, and what their functions report."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from toolspeak.execution import RunningCall
from toolspeak.loop import words
from toolspeak.run.calling_run import CALLING_RUN, CallingRun
from toolspeak.values.errors import ToolsChanged
from toolspeak.values.events import Interrupted, ToolFinished, ToolProgress
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


class RunningCalls:
    """Starts calls when their facts are committed, and puts their results into the inbox of the run."""

    def __init__(self, run: CallingRun, put: Callable[[ToolFinished], None]) -> None:
        self._run = run
        self._put = put
        self._running: dict[str, RunningCall] = {}

    def start(self, calls: Sequence[ToolCall], results: Mapping[str, ToolResult], turn: int) -> None:
        """Start calls of a turn, whose arguments may refer to the results."""
        if self._run.barrier.is_durable:
            for call in calls:
                self._run.barrier.launch(call.id, partial(self._start, (call,), results, turn))
        else:
            self._start(calls, results, turn)

    def _start(self, calls: Sequence[ToolCall], results: Mapping[str, ToolResult], turn: int) -> None:
        run, executor = self._run, self._run.speaker.executor
        outside = CALLING_RUN.set(run)
        on_start = None if run.trace is None else run.trace.enter_call
        for call in calls:
            finish, report = self._finish, None
            if executor.takes_context(call.name):
                progress = CallProgress(call.id, run.take_event)
                finish, report = partial(self._finish_reporting, progress), progress.report
            running = executor.prepare(call, results, turn, finish, on_start, report)
            if not running.ended:
                self._running[call.id] = running
        CALLING_RUN.reset(outside)
        executor.start_quick_calls()

    def _finish_reporting(self, progress: CallProgress, result: ToolResult) -> None:
        progress.finish()
        self._finish(result)

    def _finish(self, result: ToolResult) -> None:
        self._running.pop(result.call_id, None)
        error = self._run.speaker.executor.exceptions.get(result.call_id) if result.error is not None else None
        if isinstance(error, ToolsChanged) and error.server is not None:  # started again, with other tools
            reason = f"the MCP server {error.server} has changed its tools"
            self._run.end_with_fault(error, Interrupted(cause="endpoint", detail=reason))
        elif is_tool_bug(error) and self._run.speaker.raises_tool_errors:
            reason = f"a tool failed: {result.error}"
            self._run.end_with_fault(error, Interrupted(cause="cancelled", detail=reason))
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
