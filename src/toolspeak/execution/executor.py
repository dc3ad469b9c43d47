"""`Executor`: runs the calls of one run."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextvars import ContextVar, copy_context
from typing import Any

from toolspeak.errors import InvalidArguments, ToolError
from toolspeak.execution.coroutines import Guarded, Pending, awaited, is_pending
from toolspeak.execution.outcome import CallOutcome, Raised, Returned, error_text, result_of
from toolspeak.execution.threads import THREADS, Threads
from toolspeak.loop import BrokenReference, resolved
from toolspeak.messages import ToolCall, ToolResult
from toolspeak.spec import ToolSpec
from toolspeak.tools import Context, Tool, Toolbox
from toolspeak.tools.toolbox import unknown_tool

GRACE = 0.2
"""Seconds that a coroutine has to end after it was cancelled."""

DEPTH: ContextVar[int] = ContextVar("toolspeak_depth", default=0)
"""How many calls a piece of code is inside of: an agent that is run by a tool of an agent is at 1."""

Done = Callable[[ToolResult], None]


class Executor:
    """Runs calls in the running event loop: coroutines as they are, other functions in daemon threads.

    A call is started and its result handed to a callback, so that a hundred of them cost no more than what they do.

    Attributes:
        tasks: What is still being awaited. It may take a moment longer to end than the call that it was for.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        deps: Any = None,
        run_id: str = "",
        timeout: float | None = None,
        threads: Threads = THREADS,
    ) -> None:
        self._toolbox = toolbox
        self._deps = deps
        self._run_id = run_id
        self._timeout = timeout
        self._threads = threads
        self.tasks: set[asyncio.Task[None]] = set()

    def start(self, call: ToolCall, results: Mapping[str, ToolResult], turn: int, done: Done) -> "Running":
        """Start a call; `done` gets its one result, later and in this event loop."""
        running = Running(call, done, self._threads, self.tasks)
        try:
            tool = self._tool(call.name)
            context = Context(deps=self._deps, run_id=self._run_id, call_id=call.id, turn=turn)
            bound = tool.bind(resolved(call.arguments, results), context)
        except (InvalidArguments, BrokenReference, _Unknown) as error:
            running.finish(ToolResult(call_id=call.id, error=str(error), ran=False))
            return running
        except Exception as error:  # a default that is made on the spot, arguments nested too deeply to follow
            running.finish(ToolResult(call_id=call.id, error=error_text(error), ran=False))
            return running

        def function() -> Any:
            return tool.function(*bound.args, **bound.kwargs)

        running.expect(tool.spec, self._timeout)
        if tool.is_async:
            running.await_(_called(function))
        else:
            running.run(function)
        return running

    def _tool(self, name: str) -> Tool[..., Any]:
        if name not in self._toolbox:
            raise _Unknown(unknown_tool(name, self._toolbox.names))
        return self._toolbox[name]


class _Unknown(Exception):
    """There is no such tool."""


class Running:
    """A call under way. It ends once: by itself, by its timeout, or by being cancelled."""

    def __init__(self, call: ToolCall, done: Done, threads: Threads, tasks: set[asyncio.Task[None]]) -> None:
        self._call = call
        self._done: Done | None = done
        self._threads = threads
        self._tasks = tasks
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._context.run(DEPTH.set, DEPTH.get() + 1)
        self._timer: asyncio.TimerHandle | None = None
        self._stop: Callable[[], None] = _nothing

    @property
    def ended(self) -> bool:
        return self._done is None

    # How it runs

    def expect(self, spec: ToolSpec, timeout: float | None) -> None:
        """It may take so long."""
        seconds = spec.timeout if spec.timeout is not None else timeout
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, self._expire, seconds)

    def run(self, function: Callable[[], Any]) -> None:
        """In a thread."""

        def work() -> ToolResult | Pending:
            value = function()
            if is_pending(value):  # a plain function that hands out a coroutine: awaited in the event loop
                return Pending(value)
            return result_of(self._call.id, Returned(value))

        def ended(outcome: CallOutcome) -> None:
            try:
                self._loop.call_soon_threadsafe(self._returned, outcome)
            except RuntimeError:  # the event loop is closed, and with it whoever was waiting
                return

        try:
            # A copy: a coroutine that hands over to a thread is itself still inside of its context.
            job = self._threads.start(work, ended, self._context.copy())
        except (ToolError, RuntimeError) as error:  # too many hang, or the system has no thread left
            self.finish(ToolResult(call_id=self._call.id, error=error_text(error), ran=False))
            return
        self._stop = job.abandon

    def _returned(self, outcome: CallOutcome) -> None:
        if isinstance(outcome, Raised):
            self.finish(result_of(self._call.id, outcome))
        elif isinstance(outcome.value, ToolResult):
            self.finish(outcome.value)
        elif self._done is None:
            outcome.value.discard()
        else:
            self.await_(awaited(outcome.value.value))

    def await_(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """In the event loop."""
        guarded = Guarded(coroutine)

        async def run() -> None:
            outcome = await guarded
            if isinstance(outcome, Returned) and isinstance(outcome.value, Iterator) and self._done is not None:
                self.run(lambda: outcome.value)  # its items may take their time
            else:
                self.finish(result_of(self._call.id, outcome))

        task = self._loop.create_task(run(), context=self._context)

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            guarded.close()  # a task that is cancelled at once has never awaited it

        def stop() -> None:
            def abandon() -> None:
                if not task.done():
                    guarded.abandon()
                    task.cancel()

            task.cancel()
            self._loop.call_later(GRACE, abandon)

        self._stop = stop
        self._tasks.add(task)
        task.add_done_callback(ended)

    # How it ends

    def finish(self, result: ToolResult) -> None:
        """It has ended; what comes later does not count."""
        done, self._done = self._done, None
        self._stop = _nothing  # it refers to this call: so nothing is left for the garbage collector
        if self._timer is not None:
            self._timer.cancel()
        if done is not None:
            done(result)

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        self._give_up("cancelled before it was done; what it had begun may have taken effect")

    def _expire(self, seconds: float) -> None:
        self._give_up(f"it did not come back within {seconds:g} seconds and was given up; it may still take effect")

    def _give_up(self, why: str) -> None:
        if self._done is not None:
            self._stop()
            self.finish(ToolResult(call_id=self._call.id, error=why))


def _nothing() -> None:
    """How to stop what does not run."""


async def _called(function: Callable[[], Any]) -> Any:
    value = function()
    return await awaited(value) if is_pending(value) else value
