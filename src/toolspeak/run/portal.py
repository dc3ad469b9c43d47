"""The sync face: an event loop in a thread of its own, for callers that have none.

It works from any thread, and inside a running event loop too (a notebook): the caller waits, the portal's loop runs.
Whoever calls from within the portal itself, say an async tool that runs an agent, holds it up until the answer is
there. So that call, and all others meanwhile, go through another portal: waiting for one that is held up by whoever
waits would be waiting for ever. A portal that does not answer, since some coroutine blocks it, is left alone as well.
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

PATIENCE = 5.0
"""Seconds to wait for what was cancelled to end."""

ANSWER = 0.25
"""Seconds in which an event loop that is not held up gets round to something new."""


class Errand(Generic[T]):
    """A coroutine on its way through another thread's event loop. Its outcome is a value until it is asked for."""

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

    async def _run(self) -> None:
        try:
            self._value.append(await self._work)
        except BaseException as error:  # handed to whoever waits, in that thread
            self._error = error

    def _end(self, task: asyncio.Task[None]) -> None:
        """Here, not in the task: one that is cancelled before its first step never runs."""
        self._work.close()
        self._ended.set()

    def result(self) -> T:
        """Wait for the outcome. Whatever ends the waiting, Ctrl-C say, ends the errand too."""
        try:
            self._ended.wait()
        finally:
            self.cancel()
        if self._error is not None:
            raise self._error
        return self._value[0]

    def cancel(self) -> None:
        """End it, if it has not ended, and wait until it has."""
        if not self._ended.is_set():
            self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())
            self._ended.wait(PATIENCE)


class Portal:
    """An event loop in a daemon thread.

    Attributes:
        held: How many calls from within hold it up.
        busy: How many calls go through it.
    """

    def __init__(self) -> None:
        self.held = self.busy = 0
        self.loop = asyncio.new_event_loop()
        self.pid = os.getpid()
        self._thread = threading.Thread(target=self._serve, name="toolspeak portal", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.run_until_complete(self._wind_up())
        self.loop.close()

    async def _wind_up(self) -> None:
        """End what still runs, a stream that was left say, and close the connections."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=PATIENCE / 2)
        await self.loop.shutdown_asyncgens()

    @property
    def is_here(self) -> bool:
        """Whether the caller is in the portal's own thread."""
        return threading.current_thread() is self._thread

    @property
    def is_free(self) -> bool:
        """Whether a call may go through it. One that turns out to be blocked counts as held until it is back."""
        if self.held or not self.busy:
            return not self.held
        answered = threading.Event()
        self.loop.call_soon_threadsafe(answered.set)
        if answered.wait(ANSWER):
            return True
        self.held += 1
        self.loop.call_soon_threadsafe(self._let_go)
        return False

    def _let_go(self) -> None:
        with _lock:
            self.held -= 1

    def close(self) -> None:
        """Stop the loop; its thread ends."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.loop.stop)
        if not self.is_here and self.pid == os.getpid():
            self._thread.join(PATIENCE)


_lock = threading.RLock()  # an abandoned stream may be collected, and closed, while this very thread holds it
_portals: list[Portal] = []


@contextmanager
def _portal() -> Generator[Portal]:
    """A portal that nobody holds up, made when there is none. They stay: there are as many as were held up at once."""
    with _lock:
        if _portals and _portals[0].pid != os.getpid():  # a forked child has no threads of its parent's
            _portals.clear()
        here = next((portal for portal in _portals if portal.is_here), None)
        if here is not None:
            here.held += 1
        free = next((portal for portal in _portals if portal.is_free), None)
        if free is None:
            free = Portal()
            _portals.append(free)
            atexit.register(free.close)
        free.busy += 1
    try:
        yield free
    finally:
        with _lock:
            free.busy -= 1
            if here is not None:
                here.held -= 1


def call(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the portal, and wait for it."""
    with _portal() as portal:
        return Errand(work, portal.loop).result()


def iterate(batches: AsyncGenerator[list[T]]) -> Generator[T]:
    """The items of an async generator of batches; what has come meanwhile is handed over at once."""
    queue: SimpleQueue[list[T] | None] = SimpleQueue()

    async def feed() -> None:
        try:
            async for batch in batches:
                queue.put(batch)
        finally:
            await batches.aclose()
            queue.put(None)

    with _portal() as portal:
        errand = Errand(feed(), portal.loop)
        try:
            while (batch := queue.get()) is not None:
                yield from batch
        finally:
            errand.cancel()
        errand.result()
