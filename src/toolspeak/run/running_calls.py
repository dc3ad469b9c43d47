"""`RunningCalls`: the calls of a run that are under way."""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

from toolspeak.events import ToolFinished
from toolspeak.execution import Executor, RunningCall
from toolspeak.loop import words
from toolspeak.messages import ToolCall, ToolResult
from toolspeak.run.barrier import CommitBarrier
from toolspeak.run.call_progress import CallProgress

if TYPE_CHECKING:
    from toolspeak.run.driver import Driver

CALLING_RUN: ContextVar["Driver | None"] = ContextVar("toolspeak_calling_run", default=None)
"""The driver of the run whose call runs here, so that an agent that is a tool finds the run that asks it."""


class RunningCalls:
    """Starts calls when their facts are committed, and puts their results into the inbox of the driver.

    Attributes:
        executor: Runs the calls.
    """

    def __init__(self, executor: Executor, barrier: CommitBarrier, put: Callable[[ToolFinished], None]) -> None:
        self.executor = executor
        self._barrier = barrier
        self._put = put
        self._running: dict[str, RunningCall] = {}

    def start(self, calls: Sequence[ToolCall], results: Mapping[str, ToolResult], turn: int, driver: "Driver") -> None:
        """Start calls of a turn, whose arguments may refer to the results."""
        if self._barrier.is_durable:
            for call in calls:
                self._barrier.launch(call.id, partial(self._start, (call,), results, turn, driver))
        else:
            self._start(calls, results, turn, driver)

    def _start(self, calls: Sequence[ToolCall], results: Mapping[str, ToolResult], turn: int, driver: "Driver") -> None:
        outside = CALLING_RUN.set(driver)
        on_start = None if driver.trace is None else driver.trace.enter_call
        for call in calls:
            finish, report = self._finish, None
            if self.executor.takes_context(call.name):
                progress = CallProgress(call.id, driver.take_event)
                finish, report = partial(self._finish_reporting, progress), progress.report
            running = self.executor.prepare(call, results, turn, finish, on_start, report)
            if not running.ended:
                self._running[call.id] = running
        CALLING_RUN.reset(outside)
        self.executor.start_quick_calls()

    def _finish_reporting(self, progress: CallProgress, result: ToolResult) -> None:
        progress.finish()
        self._finish(result)

    def _finish(self, result: ToolResult) -> None:
        self._running.pop(result.call_id, None)
        self._put(ToolFinished(result=result))

    def cancel(self, call_id: str) -> None:
        """Cancel a call; it still gets a result."""
        if self._barrier.drop(call_id):
            self._finish(ToolResult(call_id=call_id, error=words.RUN_STOPPED, ran=False))
        running = self._running.pop(call_id, None)
        if running is not None:
            running.cancel()

    def cancel_all(self) -> None:
        """Cancel all calls, because the run has ended."""
        for running in list(self._running.values()):
            running.cancel()
        self.executor.rest()

    def replace_executor(self, executor: Executor) -> None:
        """Let another executor run the calls from here on; it gets what the old one knows."""
        executor.exceptions.update(self.executor.exceptions)
        executor.tasks.update(self.executor.tasks)
        self.executor = executor
