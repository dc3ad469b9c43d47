"""An event loop in a thread of its own, for callers that are not async.

It works from any thread, and inside a running event loop too (a notebook): the caller waits, the portal's loop runs.
A caller that is in the portal's own thread, such as an async tool that calls `agent.run`, blocks that portal until its
answer is there. So its call, and all other calls meanwhile, go through another portal: a portal cannot do the work that
its own thread waits for. A portal that does not respond, since some coroutine blocks it, is not used either.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")

CANCEL_TIMEOUT_SECONDS = 5.0
"""How long to wait for a cancelled task to end."""

PROBE_TIMEOUT_SECONDS = 0.25
"""How long an event loop that nothing blocks may take to call a function."""


_alive: "set[PortalTask[Any]]" = set()
"""The tasks that have not ended. An event loop does not keep them, and an abandoned one must be cancelled first."""


class PortalTask(Generic[T]):
    """A coroutine that runs in the event loop of another thread. It keeps its value or its exception for `result`."""

    def __init__(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> None:
        self._work = work
        self._loop = loop
        self._task: asyncio.Task[None] | None = None
        self._ended = threading.Event()
        self._value: list[T] = []
        self._error: BaseException | None = None
        loop.call_soon_threadsafe(self._start, context=copy_context())

    def _start(self) -> None:
        self._task = self._loop.create_task(self._run())
        self._task.add_done_callback(self._end)
        _alive.add(self)

    async def _run(self) -> None:
        try:
            self._value.append(await self._work)
        except BaseException as error:  # raised by `result`, in the thread of the caller
            self._error = error

    def _end(self, task: asyncio.Task[None]) -> None:
        """Note the end. This is a callback, since a task that is cancelled before its first step never runs."""
        self._work.close()
        self._ended.set()
        _alive.discard(self)

    def result(self) -> T:
        """Wait for the value. If the waiting is interrupted, by Ctrl-C for example, the coroutine is cancelled."""
        try:
            self._ended.wait()
        finally:
            self.cancel()
        if self._error is not None:
            raise self._error
        return self._value[0]

    def cancel(self) -> None:
        """Cancel the coroutine, if it has not ended, and wait until it has.

        Nobody waits in the thread of its event loop, where the garbage collector may find an abandoned stream.
        """
        if not self._ended.is_set():
            self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())
            if asyncio._get_running_loop() is not self._loop:  # pyright: ignore[reportPrivateUsage] (it never raises)
                self._ended.wait(CANCEL_TIMEOUT_SECONDS)


class Portal:
    """An event loop in a daemon thread.

    Attributes:
        blockers: How many calls block its thread.
        users: How many calls go through it.
    """

    def __init__(self) -> None:
        self.blockers = self.users = 0
        self.loop = asyncio.new_event_loop()
        self.pid = os.getpid()
        self._thread = threading.Thread(target=self._serve, name="toolspeak portal", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.run_until_complete(self._shut_down())
        self.loop.close()

    async def _shut_down(self) -> None:
        """Cancel the tasks that still run, such as an abandoned stream, and close the connections."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=CANCEL_TIMEOUT_SECONDS / 2)
        await self.loop.shutdown_asyncgens()

    def is_current_thread(self) -> bool:
        """Whether the caller is in the portal's own thread."""
        return threading.current_thread() is self._thread

    def is_free(self) -> bool:
        """Whether a call may go through this portal. If it is in use, this waits for its event loop to respond.

        A portal that does not respond counts as blocked until it does.
        """
        if self.blockers or not self.users:
            return not self.blockers
        responded = threading.Event()
        self.loop.call_soon_threadsafe(responded.set)
        if responded.wait(PROBE_TIMEOUT_SECONDS):
            return True
        self.blockers += 1
        self.loop.call_soon_threadsafe(self._unblock)
        return False

    def _unblock(self) -> None:
        with _lock:
            self.blockers -= 1

    def close(self) -> None:
        """Stop the loop, and with it the thread."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.loop.stop)
        if not self.is_current_thread() and self.pid == os.getpid():
            self._thread.join(CANCEL_TIMEOUT_SECONDS)


_lock = threading.RLock()  # an abandoned stream may be collected, and closed, while this very thread holds the lock
_portals: list[Portal] = []


@contextmanager
def _use_portal() -> Generator[Portal]:
    """Choose a portal that nothing blocks, or start one. Portals stay: one for each that was blocked at once."""
    with _lock:
        if _portals and _portals[0].pid != os.getpid():  # a forked child has no threads of its parent's
            _portals.clear()
        own = next((portal for portal in _portals if portal.is_current_thread()), None)
        if own is not None:
            own.blockers += 1
        free = next((portal for portal in _portals if portal.is_free()), None)
        if free is None:
            free = Portal()
            _portals.append(free)
            atexit.register(free.close)
        free.users += 1
    try:
        yield free
    finally:
        with _lock:
            free.users -= 1
            if own is not None:
                own.blockers -= 1


def call(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a portal, and wait for its value."""
    with _use_portal() as portal:
        return PortalTask(work, portal.loop).result()


def iterate(batches: AsyncGenerator[list[T]]) -> Generator[T]:
    """Run an async generator of batches in a portal, and yield the items one by one.

    The generator goes on when the items of its last batch are taken, and stands still if nobody asks for more.
    """
    queue: SimpleQueue[list[T] | None] = SimpleQueue()
    wanted = asyncio.Event()

    async def feed() -> None:
        try:
            async for batch in batches:
                wanted.clear()
                queue.put(batch)
                await wanted.wait()
        finally:
            await batches.aclose()
            queue.put(None)

    with _use_portal() as portal:
        task = PortalTask(feed(), portal.loop)
        try:
            while (batch := queue.get()) is not None:
                yield from batch
                portal.loop.call_soon_threadsafe(wanted.set)
        finally:
            task.cancel()
        task.result()
