"""`Executor`: runs the tool calls of one run."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextvars import ContextVar, copy_context
from typing import Any, TypeAlias

from toolspeak.errors import InvalidArguments, ReplayMiss, ToolError
from toolspeak.execution.coroutines import GuardedCoroutine, PendingValue, is_pending, resolve_pending
from toolspeak.execution.outcome import CallOutcome, Raised, Returned, format_error, make_result
from toolspeak.execution.threads import THREAD_POOL, ThreadPool
from toolspeak.log import LOG
from toolspeak.loop import BrokenReference, resolve_references
from toolspeak.messages import ToolCall, ToolResult
from toolspeak.spec import ToolSpec
from toolspeak.tools import Context, Tool, Toolbox
from toolspeak.tools.context import ProgressCallback
from toolspeak.tools.results import PLAIN_TYPES
from toolspeak.tools.schema_function import find_spec
from toolspeak.tools.toolbox import explain_unknown_tool

CANCEL_GRACE_SECONDS = 0.2
"""How long a coroutine may go on after it was cancelled, before it is closed."""

CALL_DEPTH: ContextVar[int] = ContextVar("toolspeak_depth", default=0)
"""How deeply tool calls are nested here: 0 outside, 1 in a tool, 2 in a tool of an agent that a tool runs."""

ResultCallback: TypeAlias = Callable[[ToolResult], None]

CallListener: TypeAlias = Callable[[str], None]
"""Gets the id of a call, in the context in which its function will run."""


class Executor:
    """Runs calls in the running event loop: coroutines directly, other functions in daemon threads.

    A call is started and its result passed to a callback, so that no task waits for a call that runs in a thread.

    Attributes:
        toolbox: The tools.
        tasks: The tasks of coroutines that have not ended. A task may end a moment later than its call.
        exceptions: What functions raised, by the id of the call.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        own_tools: Toolbox = Toolbox(),  # noqa: B008 (it does not change)
        *,
        deps: Any = None,
        run_id: str = "",
        timeout: float | None = None,
        pool: ThreadPool = THREAD_POOL,
    ) -> None:
        """Prepare to run calls.

        Args:
            toolbox: The tools.
            own_tools: Tools of toolspeak itself. A tool of the same name in `toolbox` is called in their place.
            deps: What tools get in their `Context`.
            run_id: The id of the run, for the `Context`.
            timeout: Seconds after which a call is given up, if its tool has no timeout of its own.
            pool: The threads in which functions run.
        """
        self.toolbox = toolbox
        self._own_tools = own_tools
        self._deps = deps
        self._run_id = run_id
        self._timeout = timeout
        self._pool = pool
        self.tasks: set[asyncio.Task[None]] = set()
        self.exceptions: dict[str, BaseException] = {}

    def start(
        self,
        call: ToolCall,
        results: Mapping[str, ToolResult],
        turn: int,
        done: ResultCallback,
        on_start: CallListener | None = None,
        on_progress: ProgressCallback | None = None,
    ) -> "RunningCall":
        """Start a call. `done` gets its one result in this event loop; if the call cannot start, before this returns.

        Args:
            call: The call.
            results: The results of earlier calls, which the arguments may refer to.
            turn: The number of the turn.
            done: Called once with the result.
            on_start: Called first, in the context in which the function will run.
            on_progress: Gets what the function reports by its `Context`.

        Raises:
            ReplayMiss: The tool stands in for a recorded one, and this call was not recorded.
        """
        running = RunningCall(call, done, self._pool, self.tasks, self.exceptions, self._describe)
        if on_start is not None:
            running.context.run(on_start, call.id)
        try:
            tool = self._find_tool(call.name)
            context = Context(deps=self._deps, run_id=self._run_id, call_id=call.id, turn=turn, on_progress=on_progress)
            bound = tool.bind(resolve_references(call.arguments, results), context)
        except (InvalidArguments, BrokenReference, _UnknownTool) as error:
            running.finish(ToolResult(call_id=call.id, error=str(error), ran=False))
            return running
        except ReplayMiss:  # the test fails; a result would only tell the model
            raise
        except Exception as error:  # a default factory that fails, arguments nested too deeply to follow
            running.finish(ToolResult(call_id=call.id, error=format_error(error), ran=False))
            return running

        def function() -> Any:
            return tool.function(*bound.args, **bound.kwargs)

        running.set_timeout(tool.spec, self._timeout)
        if tool.is_async:
            running.run_in_loop(_call_async(function))
        else:
            running.run_in_thread(function)
        return running

    def _describe(self, call: ToolCall) -> str:
        """Describe a call for the log. A tool that takes a `Context` may have failed for want of deps."""
        lacks_deps = self._deps is None and call.name in self.toolbox and _may_need_deps(self.toolbox[call.name])
        run = f" of run {self._run_id}" if self._run_id else ""
        return f"call {call.id}{run}{', which has no deps' if lacks_deps else ''}"

    def _find_tool(self, name: str) -> Tool[..., Any]:
        if name not in self.toolbox:
            if name in self._own_tools:
                return self._own_tools[name]
            raise _UnknownTool(explain_unknown_tool(name, self.toolbox.names))
        return self.toolbox[name]


def _may_need_deps(tool: Tool[..., Any]) -> bool:
    """Whether a tool takes a `Context`, and not only to report its progress, as that of an MCP server does."""
    return tool.takes_context and find_spec(tool.function) is None


class _UnknownTool(Exception):
    """The toolbox has no tool of that name."""


class RunningCall:
    """A call that was started. It ends once: by itself, by its timeout, or by being cancelled.

    Attributes:
        context: The context in which its function runs.
    """

    def __init__(
        self,
        call: ToolCall,
        done: ResultCallback,
        pool: ThreadPool,
        tasks: set[asyncio.Task[None]],
        exceptions: dict[str, BaseException],
        describe: Callable[[ToolCall], str],
    ) -> None:
        self._call = call
        self._done: ResultCallback | None = done
        self._pool = pool
        self._tasks = tasks
        self._exceptions = exceptions
        self._describe = describe
        self._loop = asyncio.get_running_loop()
        self.context = copy_context()
        self.context.run(CALL_DEPTH.set, CALL_DEPTH.get() + 1)
        self._timer: asyncio.TimerHandle | None = None
        self._stop: Callable[[], None] = _do_nothing

    @property
    def ended(self) -> bool:
        return self._done is None

    # How the call runs

    def set_timeout(self, spec: ToolSpec, timeout: float | None) -> None:
        """Start the timeout of the tool or, if it has none, the given one."""
        seconds = spec.timeout if spec.timeout is not None else timeout
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, self._expire, seconds)

    def run_in_thread(self, function: Callable[[], Any]) -> None:
        """Run a function in a thread; what it returns is awaited in the event loop where that is needed."""

        def work() -> ToolResult | PendingValue:
            value = function()
            if is_pending(value):  # a plain function may return a coroutine
                return PendingValue(value)
            return make_result(self._call.id, Returned(value))

        def pass_on(outcome: CallOutcome) -> None:
            try:
                self._loop.call_soon_threadsafe(self._handle_outcome, outcome)
            except RuntimeError:  # the event loop is closed, and with it whoever was waiting
                return

        try:
            # A copy: a context can be entered once at a time, and the task of the coroutine may still be in it.
            job = self._pool.start(work, pass_on, self.context.copy())
        except (ToolError, RuntimeError) as error:  # too many threads are stuck, or the system has no thread left
            self.finish(ToolResult(call_id=self._call.id, error=format_error(error), ran=False))
            return
        self._stop = job.abandon

    def _handle_outcome(self, outcome: CallOutcome) -> None:
        """Handle, in the event loop, what `work` gave in its thread: an error, a result, or a value to be awaited."""
        if isinstance(outcome, Raised):
            self._fail(outcome)
        elif isinstance(outcome.value, ToolResult):
            self.finish(outcome.value)
        elif self._done is None:
            outcome.value.discard()
        else:
            self.run_in_loop(resolve_pending(outcome.value.value))

    def run_in_loop(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the event loop."""
        guarded = GuardedCoroutine(coroutine)

        async def run() -> None:
            outcome = await guarded
            if isinstance(outcome, Raised):
                self._fail(outcome)
            elif (
                type(outcome.value) not in PLAIN_TYPES
                and isinstance(outcome.value, Iterator)
                and self._done is not None
            ):
                self.run_in_thread(lambda: outcome.value)  # reading the items of an iterator may block
            else:
                self.finish(make_result(self._call.id, outcome))

        task = self._loop.create_task(run(), context=self.context)

        def on_end(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            guarded.close()  # a task that is cancelled before its first step has never awaited the coroutine

        def stop() -> None:
            def close() -> None:
                if not task.done():
                    guarded.abandon()
                    task.cancel()

            task.cancel()
            self._loop.call_later(CANCEL_GRACE_SECONDS, close)

        self._stop = stop
        self._tasks.add(task)
        task.add_done_callback(on_end)

    # How the call ends

    def _fail(self, raised: Raised) -> None:
        """End the call with what its function raised, keep the exception, and log it with its traceback."""
        is_cancelled = isinstance(raised.error, asyncio.CancelledError)
        if self._done is not None and not is_cancelled:  # what a call raises after it was given up concerns nobody
            self._exceptions[self._call.id] = raised.error
            LOG.warning("tool %s failed (%s)", self._call.name, self._describe(self._call), exc_info=raised.error)
        self.finish(make_result(self._call.id, raised))

    def finish(self, result: ToolResult) -> None:
        """End the call with a result; any later result is ignored."""
        done, self._done = self._done, None
        self._stop = _do_nothing  # the old one refers to this call: a cycle for the garbage collector
        if self._timer is not None:
            self._timer.cancel()
        if done is not None:
            done(result)

    def cancel(self) -> None:
        """Stop the call, and end it as cancelled."""
        self._give_up("cancelled before it was done; what it had begun may have taken effect")

    def _expire(self, seconds: float) -> None:
        self._give_up(f"it did not come back within {seconds:g} seconds and was given up; it may still take effect")

    def _give_up(self, why: str) -> None:
        if self._done is not None:
            self._stop()
            self.finish(ToolResult(call_id=self._call.id, error=why))


def _do_nothing() -> None:
    """Stop a call that has nothing to stop."""


async def _call_async(function: Callable[[], Any]) -> Any:
    value = function()
    return await resolve_pending(value) if is_pending(value) else value
