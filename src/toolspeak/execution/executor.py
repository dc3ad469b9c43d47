"""`Executor`: runs the tool calls of one run.

`CallLoop` is what the calls in one event loop share: the timer of their timeouts, and the way back from the threads.
Timers and wake-ups of an event loop cost more than most calls do. So one timer serves all calls, and one wake-up brings
all outcomes that threads have left meanwhile.

Exceptions of tools stay in the process: the executor keeps them by the id of the call, and facts never hold them. A
stand-in for a recorded tool that was not recorded with these arguments ends the run (`ReplayMiss`), since a result
would tell only the model.

A function that came back within a tenth of a millisecond when it last ran (`Tool.is_quick`) shares a thread with the
others of its kind that are called together, and the event loop waits for them for a moment. A run of five rounds of one
such call takes 18 % less CPU so, and one of eight calls at once 10 % less (`bench/over_http.py`).
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import Context as ThreadContext
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import takewhile
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, TypeAlias

from toolspeak.execution.coroutines import GuardedCoroutine, PendingValue, begin_coroutine, is_pending, resolve_pending
from toolspeak.execution.outcome import CallOutcome, Raised, Returned, format_error, make_result
from toolspeak.execution.threads import THREAD_POOL, ThreadJob, ThreadPool
from toolspeak.execution.user_functions import reconcile_call
from toolspeak.loop import BrokenReference, resolve_references
from toolspeak.tools import Context, Tool, Toolbox
from toolspeak.tools.context import ApproveCallback, CallSuspended, ProgressCallback, WaitCallback
from toolspeak.tools.results import PLAIN_TYPES, watch_generator
from toolspeak.tools.schema_function import find_spec
from toolspeak.tools.toolbox import explain_unknown_tool
from toolspeak.values.errors import InvalidArguments, ReplayMiss, ToolError
from toolspeak.values.log import LOG
from toolspeak.values.messages import ToolCall, ToolResult

MOMENT_SECONDS = 0.0002
"""How long the event loop waits for functions that come back at once."""


class CallLoop:
    """The calls of an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ends: dict[float, dict[RunningCall, float]] = {}  # by timeout; calls in the order in which they end
        self._timer: asyncio.TimerHandle | None = None
        self._outcomes: SimpleQueue[tuple[RunningCall, CallOutcome]] = SimpleQueue()
        self._is_announced = False

    # Timeouts

    def add_timeout(self, call: "RunningCall", seconds: float) -> None:
        """Let a call expire after some seconds, unless its timeout is removed before."""
        end = self.loop.time() + seconds
        self._ends.setdefault(seconds, {})[call] = end
        if self._timer is None or end < self._timer.when():
            self._set_timer(end)

    def remove_timeout(self, call: "RunningCall", seconds: float) -> None:
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

    def put_outcome(self, call: "RunningCall", outcome: CallOutcome) -> None:
        """Let a call take its outcome in the event loop. This is for the thread in which its function has run."""
        self._outcomes.put((call, outcome))
        if not self._is_announced or self.loop.is_closed():
            self._announce()

    def _announce(self) -> None:
        self._is_announced = True
        try:
            self.loop.call_soon_threadsafe(self._take_outcomes)
        except RuntimeError:  # the event loop is closed, and with it whoever was waiting
            self._discard_outcomes()

    def _discard_outcomes(self) -> None:
        with suppress(Empty):
            while True:
                _, outcome = self._outcomes.get_nowait()
                if isinstance(outcome, Returned) and isinstance(outcome.value, PendingValue):
                    outcome.value.discard()

    def _take_outcomes(self) -> None:
        self._is_announced = False  # before the look: an outcome that comes from now on is announced again
        try:
            while not self._outcomes.empty():
                call, outcome = self._outcomes.get()
                call.take_outcome(outcome)
        finally:
            if not self._outcomes.empty():  # one of them raised
                self._announce()

    def wait_for(self, calls: "Iterable[RunningCall]") -> None:
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


_thread_calls = threading.local()


def find_call_loop() -> CallLoop:
    """Return what the calls in the running event loop share."""
    loop = asyncio.get_running_loop()
    latest: CallLoop | None = getattr(_thread_calls, "latest", None)
    if latest is None or latest.loop is not loop:
        latest = _thread_calls.latest = CallLoop(loop)
    return latest


CANCEL_GRACE_SECONDS = 0.2
"""How long a coroutine may go on after it was cancelled, before it is closed."""

QUICK_SECONDS = 0.0001
"""How long a function may take that comes back at once."""

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
        pool: The threads in which functions run.
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
        data: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        approve: ApproveCallback | None = None,
        pool: ThreadPool = THREAD_POOL,
    ) -> None:
        """Prepare to run calls.

        `own_tools` are tools of toolspeak itself: a tool of the same name in `toolbox` is called in their place.
        `deps`, `run_id`, `data` and `approve` are for the `Context`. A call is given up after `timeout` seconds, if its
        tool has no timeout of its own.
        """
        self.toolbox = toolbox
        self._own_tools = own_tools
        self._deps = deps
        self._run_id = run_id
        self._data = data or {}
        self._timeout = timeout
        self._approve = approve
        self.pool = pool
        self._quick: list[tuple[RunningCall, ThreadJob]] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.exceptions: dict[str, BaseException] = {}

    def build_context(
        self,
        call_id: str,
        turn: int,
        on_progress: ProgressCallback | None = None,
        on_wait: WaitCallback | None = None,
    ) -> Context[Any]:
        """Return the `Context` of a call: for its function, and for those who decide whether it may run."""
        return Context(
            deps=self._deps,
            run_id=self._run_id,
            call_id=call_id,
            turn=turn,
            data=self._data,
            on_progress=on_progress,
            on_wait=on_wait,
            approve=self._approve,
        )

    def start(
        self,
        call: ToolCall,
        results: Mapping[str, ToolResult],
        turn: int,
        done: ResultCallback,
        on_start: CallListener | None = None,
        on_progress: ProgressCallback | None = None,
    ) -> "RunningCall":
        """Start a call. `done` gets its one result in this event loop, perhaps before this returns.

        The arguments may refer to `results` of earlier calls. `on_start` is called first, in the context in which the
        function will run; `on_progress` gets what the function reports by its `Context`. Raises `ReplayMiss` if the
        tool stands in for a recorded one, and this call was not recorded.
        """
        running = self.prepare(call, results, turn, done, on_start, on_progress)
        self.start_quick_calls()
        return running

    def prepare(
        self,
        call: ToolCall,
        results: Mapping[str, ToolResult],
        turn: int,
        done: ResultCallback,
        on_start: CallListener | None = None,
        on_progress: ProgressCallback | None = None,
        on_wait: WaitCallback | None = None,
        *,
        in_doubt: bool = False,
    ) -> "RunningCall":
        """Start a call as `start` does, unless its function came back at once before: see `start_quick_calls`.

        A call that is in doubt is made only if its tool finds out that it has not taken effect.
        """
        running = RunningCall(self, call, done)
        if on_start is not None:
            running.context.run(on_start, call.id)
        try:
            tool = self._find_tool(call.name)
            context: Context[Any] | None = None
            if tool.takes_context:
                context = self.build_context(call.id, turn, on_progress, on_wait)
            bound = tool.bind(resolve_references(call.arguments, results), context)
        except (InvalidArguments, BrokenReference, _UnknownTool) as error:
            running.finish(ToolResult(call_id=call.id, error=str(error), ran=False))
            return running
        except ReplayMiss:
            raise
        except Exception as error:  # a default factory that fails, arguments nested too deeply to follow
            running.finish(ToolResult(call_id=call.id, error=format_error(error), ran=False))
            return running
        running.begin(tool, tool.spec.timeout if tool.spec.timeout is not None else self._timeout)
        function = partial(tool.function, *bound.args, **bound.kwargs)
        if in_doubt:
            context = self.build_context(call.id, turn, on_progress)
            running.run_in_loop(partial(reconcile_call, tool, call, context, function))
        elif tool.is_async:
            running.run_in_loop(partial(begin_coroutine, function))
        elif tool.is_quick:
            self._quick.append((running, running.make_job(function, running.context)))
        else:
            running.run_in_thread(function, running.context)
        return running

    def start_quick_calls(self) -> None:
        """Start the prepared calls whose functions came back at once before, and wait a moment for their results.

        They run in one thread, one after the other. When the moment is over, those that have not begun get other ones.
        """
        if self._quick:
            quick, self._quick = self._quick, []
            running, jobs = [each for each, _ in quick], [job for _, job in quick]
            try:
                queue = self.pool.start_in_turn(jobs)
            except (ToolError, RuntimeError) as error:
                for each in running:
                    each.refuse(error)
                return
            try:
                find_call_loop().wait_for(running)
            finally:
                if not all(each.ended for each in running):
                    self.pool.spread(queue, jobs)

    def takes_context(self, name: str) -> bool:
        """Whether the tool of a name takes a `Context`, by which its function can report its progress."""
        return name in self.toolbox and self.toolbox[name].takes_context

    def rest(self) -> None:
        """Let go of what waits for the next call: there is none."""
        find_call_loop().drop_timer()

    def describe(self, call: ToolCall) -> str:
        """Describe a call for the log. A tool that takes a `Context` may have failed for want of deps.

        That of an MCP server takes one only to report its progress.
        """
        lacks_deps = False
        if self._deps is None and call.name in self.toolbox:
            tool = self.toolbox[call.name]
            lacks_deps = tool.takes_context and find_spec(tool.function) is None
        run = f" of run {self._run_id}" if self._run_id else ""
        return f"call {call.id}{run}{', which has no deps' if lacks_deps else ''}"

    def _find_tool(self, name: str) -> Tool[..., Any]:
        if name not in self.toolbox:
            if name in self._own_tools:
                return self._own_tools[name]
            raise _UnknownTool(explain_unknown_tool(name, self.toolbox.names))
        return self.toolbox[name]


class _UnknownTool(Exception):
    """The toolbox has no tool of that name."""


class RunningCall:
    """A call that was started. It ends once: by itself, by its timeout, or by being cancelled.

    Attributes:
        context: The context in which its function runs.
    """

    __slots__ = (
        "_call",
        "_call_loop",
        "_done",
        "_executor",
        "_guarded",
        "_job",
        "_seconds",
        "_task",
        "_tool",
        "context",
    )

    def __init__(self, executor: Executor, call: ToolCall, done: ResultCallback) -> None:
        self._executor = executor
        self._call = call
        self._done: ResultCallback | None = done
        self._call_loop = find_call_loop()
        self.context = copy_context()
        self.context.run(CALL_DEPTH.set, CALL_DEPTH.get() + 1)
        self._tool: Tool[..., Any] | None = None
        self._seconds: float | None = None
        self._job: ThreadJob | None = None
        self._task: asyncio.Task[None] | None = None
        self._guarded: GuardedCoroutine | None = None

    @property
    def ended(self) -> bool:
        return self._done is None

    # How the call runs

    def begin(self, tool: Tool[..., Any], seconds: float | None) -> None:
        """Note that the call runs a tool from now on, for that many seconds at most."""
        self._tool = tool
        if seconds is not None:
            self._seconds = seconds
            self._call_loop.add_timeout(self, seconds)

    def run_in_thread(self, function: Callable[[], Any], context: ThreadContext) -> None:
        """Run a function in a thread; what it returns is awaited in the event loop where that is needed."""
        try:
            self._executor.pool.start_in_turn([self.make_job(function, context)])
        except (ToolError, RuntimeError) as error:
            self.refuse(error)

    def make_job(self, function: Callable[[], Any], context: ThreadContext) -> ThreadJob:
        """Make the job that runs a function in a thread."""
        self._job = ThreadJob(self._executor.pool, partial(self._work, function), self._pass_on, context)
        return self._job

    def refuse(self, error: Exception) -> None:
        """End the call, since too many threads are stuck, or the system has no thread left."""
        self.finish(ToolResult(call_id=self._call.id, error=format_error(error), ran=False))

    def _work(self, function: Callable[[], Any]) -> ToolResult | PendingValue:
        start = monotonic()
        try:
            value = function()
            if is_pending(value):
                return PendingValue(value)
            raised: list[Exception] = []
            result = make_result(self._call.id, watch_generator(value, raised))
            if raised:
                raise raised[0]
            return result
        finally:
            if self._tool is not None:
                self._tool.is_quick = monotonic() - start < QUICK_SECONDS

    def _pass_on(self, outcome: CallOutcome) -> None:
        self._call_loop.put_outcome(self, outcome)

    def take_outcome(self, outcome: CallOutcome) -> None:
        """Take, in the event loop, what `_work` gave in its thread: an error, a result, or a value to be awaited."""
        if isinstance(outcome, Raised):
            self._fail(outcome.error)
        elif isinstance(outcome.value, ToolResult):
            self.finish(outcome.value)
        elif self._done is None:
            outcome.value.discard()
        else:
            self.run_in_loop(partial(resolve_pending, outcome.value.value)).add_done_callback(
                lambda _: outcome.value.discard()  # if the task was cancelled before it began
            )

    def run_in_loop(self, begin: Callable[[], Coroutine[Any, Any, Any]]) -> asyncio.Task[None]:
        """Run, in the event loop, the coroutine that `begin` returns."""
        self._guarded = GuardedCoroutine(begin)
        task = self._task = self._call_loop.loop.create_task(self._wait_for(self._guarded), context=self.context)
        self._executor.tasks.add(task)
        return task

    async def _wait_for(self, guarded: GuardedCoroutine) -> None:
        task = self._task
        try:
            outcome = await guarded
            if isinstance(outcome, Raised):
                self._fail(outcome.error)
            elif self._done is not None and _may_block(outcome.value):
                # A copy: a context can be entered once at a time, and this task is still in it.
                self.run_in_thread(lambda: outcome.value, self.context.copy())
            else:
                self.finish(make_result(self._call.id, outcome.value))
        finally:
            if task is not None:
                self._executor.tasks.discard(task)

    # How the call ends

    def _fail(self, error: BaseException) -> None:
        """End the call with what its function raised, keep the exception, and log it with its traceback."""
        is_end = isinstance(error, asyncio.CancelledError | CallSuspended)
        if self._done is not None and not is_end:  # what a call raises after it was given up concerns nobody
            self._executor.exceptions[self._call.id] = error
            place = self._executor.describe(self._call)
            known = {"tool": self._call.name, "call_id": self._call.id}
            if isinstance(error, ToolError):  # meant for the model: no mistake of the program
                LOG.info("tool %s said (%s): %s", self._call.name, place, error, extra=known)
            else:
                LOG.warning("tool %s failed (%s)", self._call.name, place, exc_info=error, extra=known)
        self.finish(ToolResult(call_id=self._call.id, error=format_error(error)))

    def finish(self, result: ToolResult) -> None:
        """End the call with a result; any later result is ignored."""
        done, self._done = self._done, None
        self._job = self._task = self._guarded = None  # they refer to this call: a cycle for the garbage collector
        if done is not None:
            if self._seconds is not None:
                self._call_loop.remove_timeout(self, self._seconds)
            done(result)

    def cancel(self) -> None:
        """Stop the call, and end it as cancelled."""
        self._give_up("cancelled before it was done; what it had begun may have taken effect")

    def expire(self, seconds: float) -> None:
        """End the call, since it did not come back in time."""
        place = self._executor.describe(self._call)
        LOG.warning("tool %s did not come back within %g s (%s)", self._call.name, seconds, place)
        self._give_up(f"it did not come back within {seconds:g} s and was given up; it may still take effect")

    def _give_up(self, why: str) -> None:
        if self._done is not None:
            self._stop()
            self.finish(ToolResult(call_id=self._call.id, error=why))

    def _stop(self) -> None:
        """Stop waiting for a thread, and cancel a coroutine; one that ignores that is closed a while later."""
        if self._job is not None:
            self._job.abandon()
        if self._task is not None and self._guarded is not None:
            self._task.add_done_callback(self._executor.tasks.discard)
            self._task.cancel()
            self._call_loop.loop.call_later(CANCEL_GRACE_SECONDS, _close, self._task, self._guarded)


def _close(task: asyncio.Task[None], guarded: GuardedCoroutine) -> None:
    if not task.done():
        guarded.abandon()
        task.cancel()


def _may_block(value: Any) -> bool:
    """Whether reading a returned value may block: it is an iterator, whose items are taken one by one."""
    return type(value) not in PLAIN_TYPES and isinstance(value, Iterator)
