"""A pool of daemon threads for functions that block.

A thread is used again when its function has returned. A thread whose function does not return is stuck: it cannot be
ended from outside, so it is counted and no longer waited for, and the number of stuck threads is limited. The threads
are daemons, so that a stuck one does not keep the program from ending.
"""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from toolspeak.execution.outcome import CallOutcome, Raised, Returned
from toolspeak.values.errors import ToolError
from toolspeak.values.log import LOG

MAX_STUCK_THREADS = 32
"""The number of stuck threads at which no further function is started."""

IDLE_SECONDS = 10.0
"""How long a thread without work waits for a function before it ends."""


class TooManyStuckThreads(ToolError):
    """A function was not started, because too many earlier ones do not return."""


class ThreadJob:
    """A function that runs, or will run, in a thread of the pool."""

    def __init__(
        self,
        pool: "ThreadPool",
        function: Callable[[], Any],
        done: Callable[[CallOutcome], None],
        context: Context | None,
    ) -> None:
        self._pool = pool
        self._function = function
        self._done = done
        self._context = copy_context() if context is None else context
        self._state = "running"

    def abandon(self) -> None:
        """Stop waiting for the function. If it has not ended, its thread counts as stuck until it does."""
        with self._pool.lock:
            if self._state == "running":
                self._state = "stuck"
                self._pool.stuck += 1

    def run(self) -> bool:
        """Call the function in this thread, and pass on its outcome. Return whether the thread counted as stuck."""
        try:
            outcome: CallOutcome = Returned(self._context.run(self._function))
        except BaseException as error:  # SystemExit and StopIteration included: an outcome is a value
            outcome = Raised(error)
        with self._pool.lock:
            was_stuck = self._state == "stuck"
            self._state = "ended"
        self._done(outcome)
        return was_stuck


JobQueue: TypeAlias = "SimpleQueue[ThreadJob]"


class ThreadPool:
    """Threads that are started when needed, used again, and end when idle.

    Attributes:
        lock: Protects the counts, the list of idle threads, and what is put into their queues.
        stuck: How many threads run a function that is no longer waited for and has not returned.
        running: How many functions were started and have not reported their outcome.
    """

    def __init__(self, max_stuck: int = MAX_STUCK_THREADS) -> None:
        self.lock = threading.Lock()
        self.stuck = self.running = 0
        self._max_stuck = max_stuck
        self._idle: list[JobQueue] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset_after_fork)

    def start(
        self, function: Callable[[], Any], done: Callable[[CallOutcome], None], context: Context | None = None
    ) -> ThreadJob:
        """Run `function` in a thread; `done` gets its outcome, in that thread, however late it comes."""
        job = ThreadJob(self, function, done, context)
        self.start_in_turn([job])
        return job

    def start_in_turn(self, jobs: Sequence[ThreadJob]) -> JobQueue:
        """Run jobs in one thread, one after the other; return the queue in which those wait that have not begun."""
        with self.lock:
            if self.stuck >= self._max_stuck:
                LOG.error("no tool is run any more: %d calls hang and cannot be ended; restart the program", self.stuck)
                raise TooManyStuckThreads(
                    f"not run: {self.stuck} earlier calls hang and cannot be ended; the program must be restarted"
                )
            idle = self._idle.pop() if self._idle else None
            queue: JobQueue = SimpleQueue() if idle is None else idle
            self._put(queue, jobs)
        if idle is None:
            try:
                threading.Thread(target=self._run_jobs, args=(queue,), name="toolspeak tool", daemon=True).start()
            except RuntimeError:  # the system has no thread left
                with self.lock:
                    self.running -= len(jobs)
                raise
        return queue

    def spread(self, queue: JobQueue, jobs: Sequence[ThreadJob]) -> None:
        """Run each of the jobs that still waits in a queue in a thread of its own, or in turn if there is none."""
        waiting: list[ThreadJob] = []
        with self.lock:
            with suppress(Empty):
                while True:  # the thread may take one at any moment
                    waiting.append(queue.get_nowait())
            if waiting and waiting[0] not in jobs[1:]:  # the thread of the queue is on its way to it
                queue.put(waiting.pop(0))
            self.running -= len(waiting)
        for place, job in enumerate(waiting):
            try:
                self.start_in_turn([job])
            except (TooManyStuckThreads, RuntimeError):
                with self.lock:
                    if queue in self._idle:
                        self._idle.remove(queue)
                    self._put(queue, waiting[place:])
                return

    def _put(self, queue: JobQueue, jobs: Sequence[ThreadJob]) -> None:
        self.running += len(jobs)
        for job in jobs:
            queue.put(job)

    def _run_jobs(self, queue: JobQueue) -> None:
        """Run the jobs that come through this thread's queue, until none has come for a while."""
        job: ThreadJob | None = None
        while True:
            if job is None:
                try:
                    job = queue.get(timeout=IDLE_SECONDS)
                except Empty:
                    with self.lock:
                        if not queue.empty():  # `start_in_turn` has just put something into it
                            continue
                        if queue in self._idle:
                            self._idle.remove(queue)
                        return
            was_stuck = job.run()
            job = None  # what a function returned must not live on in an idle thread
            with self.lock:
                self.running -= 1  # now: a function that is not counted has reported its outcome
                self.stuck -= was_stuck  # with it: whoever waits for functions subtracts one from the other
                if queue.empty():
                    self._idle.append(queue)
                else:
                    job = queue.get()

    def _reset_after_fork(self) -> None:
        """Forget all threads: in a forked child only the thread that forked exists."""
        self.lock = threading.Lock()
        self.stuck = self.running = 0
        self._idle = []


THREAD_POOL = ThreadPool()
"""The pool of this process; it has no thread before the first call."""
