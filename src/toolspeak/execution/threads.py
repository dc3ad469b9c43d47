"""Daemon threads of our own for functions that block.

A thread is used again when its function has returned. One whose function does not return is stuck: it cannot be ended
from outside, so it is counted, no longer waited for, and there may only be so many of them. Daemons, so that a stuck
one does not keep the program from ending.
"""

import os
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from typing import Any

from toolspeak.errors import ToolError
from toolspeak.execution.outcome import CallOutcome, Raised, Returned

MOST_STUCK = 32
"""Stuck threads beyond which nothing more is started."""

IDLE = 10.0
"""Seconds after which a thread with nothing to do ends."""


class TooManyStuck(ToolError):
    """So many calls hang that no more are started."""


class Job:
    """A function on its way through a thread."""

    def __init__(
        self,
        threads: "Threads",
        function: Callable[[], Any],
        done: Callable[[CallOutcome], None],
        context: Context | None,
    ) -> None:
        self._threads = threads
        self._function = function
        self._done = done
        self._context = copy_context() if context is None else context
        self._state = "running"

    def abandon(self) -> None:
        """Nobody waits for it any more. If it has not ended, its thread is stuck until it does."""
        with self._threads.lock:
            if self._state == "running":
                self._state = "stuck"
                self._threads.stuck += 1

    def run(self) -> None:
        try:
            outcome: CallOutcome = Returned(self._context.run(self._function))
        except BaseException as error:  # SystemExit and StopIteration included: an outcome is a value
            outcome = Raised(error)
        with self._threads.lock:
            self._threads.stuck -= self._state == "stuck"
            self._state = "ended"
        self._done(outcome)


class Threads:
    """Threads that are made when needed, used again, and end when idle.

    Attributes:
        stuck: Threads whose function is no longer waited for and has not returned.
    """

    def __init__(self, most_stuck: int = MOST_STUCK) -> None:
        self.lock = threading.Lock()
        self.stuck = 0
        self._most_stuck = most_stuck
        self._idle: list[SimpleQueue[Job]] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def start(
        self, function: Callable[[], Any], done: Callable[[CallOutcome], None], context: Context | None = None
    ) -> Job:
        """Run `function` in a thread; `done` gets its outcome, in that thread, however late it comes."""
        with self.lock:
            if self.stuck >= self._most_stuck:
                raise TooManyStuck(
                    f"not run: {self.stuck} earlier calls hang and cannot be ended; the program must be restarted"
                )
            queue = self._idle.pop() if self._idle else None
        job = Job(self, function, done, context)
        if queue is None:
            threading.Thread(target=self._work, args=(job,), name="toolspeak tool", daemon=True).start()
        else:
            queue.put(job)
        return job

    def _work(self, job: Job) -> None:
        queue: SimpleQueue[Job] = SimpleQueue()
        while True:
            job.run()
            del job  # what a function returned must not live on in an idle thread
            with self.lock:
                self._idle.append(queue)
            try:
                job = queue.get(timeout=IDLE)
            except Empty:
                with self.lock:
                    if queue in self._idle:
                        self._idle.remove(queue)
                        return
                job = queue.get()  # it was chosen just now

    def _forget(self) -> None:
        """In a forked child there are no threads but one."""
        self.lock = threading.Lock()
        self.stuck = 0
        self._idle = []


THREADS = Threads()
"""The threads of this process; none exists before the first call."""
