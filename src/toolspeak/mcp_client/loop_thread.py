"""`LoopThread`: the event loop in which all MCP servers of a program live, in a thread of its own.

Runs use other event loops: that of the caller, or that of a portal. A server outlives them, and everything that its
connection does must happen in one task of one loop, so servers have a loop to themselves. The thread starts with the
first server and ends with the last one.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

JOIN_TIMEOUT_SECONDS = 10.0


class LoopThread:
    """An event loop in a daemon thread.

    Attributes:
        users: How many connections live in it.
        pid: The process that the thread belongs to; a fork of it has no such thread.
    """

    def __init__(self) -> None:
        self.users = 0
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="toolspeak MCP", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._shut_down())
        finally:
            self._loop.close()

    async def _shut_down(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1.0)
        await self._loop.shutdown_asyncgens()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine in the loop. Cancelling the future cancels the coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call_soon(self, function: Callable[[], None]) -> None:
        """Call a function in the loop. Raises `RuntimeError` if the loop is closed."""
        self._loop.call_soon_threadsafe(function)

    def is_current_thread(self) -> bool:
        """Whether the caller is in this thread."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """Let the thread end, without waiting for it."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)

    def join(self) -> None:
        """Wait until the thread has ended."""
        if not self.is_current_thread() and self.pid == os.getpid():
            self._thread.join(JOIN_TIMEOUT_SECONDS)


_lock = threading.RLock()  # a server may be collected, and so released, while this very thread holds the lock
_current: LoopThread | None = None


def acquire_loop() -> LoopThread:
    """Return the thread that all servers share, with one user more."""
    global _current
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = LoopThread()
        _current.users += 1
        return _current


def release_loop(thread: LoopThread) -> bool:
    """Take one user away, and stop the thread if there is none left. Return whether the thread was stopped."""
    global _current
    with _lock:
        thread.users -= 1
        if thread.users:
            return False
        if _current is thread:
            _current = None
        thread.stop()
        return True
