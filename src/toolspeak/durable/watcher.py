"""`Watcher`: wakes those who wait for something to be committed, by any process."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

from toolspeak.durable.journal import Journal
from toolspeak.durable.writer import renew_after_fork
from toolspeak.values.errors import StoreUnavailable

WAIT_SECONDS = 0.5
"""How long the thread waits before it looks whether it is still needed."""

RETRY_SECONDS = 0.5


class Watcher:
    """A thread that watches a journal as long as somebody waits."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._closed = threading.Event()
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin without a thread, and with nobody who waits."""
        self._lock = threading.Lock()
        self._waiting: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._thread: threading.Thread | None = None
        is_closed, self._closed = self._closed.is_set(), threading.Event()
        if is_closed:
            self._closed.set()

    @contextmanager
    def subscribe(self) -> Generator[asyncio.Event]:
        """Give an event of the running event loop that is set whenever something was committed."""
        event = asyncio.Event()
        with self._lock:
            self._waiting[event] = asyncio.get_running_loop()
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._serve, name="toolspeak watcher", daemon=True)
                self._thread.start()
        try:
            yield event
        finally:
            with self._lock:
                self._waiting.pop(event, None)

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()
        with self._lock:  # the thread forgets itself when nobody waits any more
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _serve(self) -> None:
        while not self._closed.is_set():
            try:
                self._watch()
                return
            except StoreUnavailable:
                self._wake()  # whoever waits looks by itself, and gets the error
                self._closed.wait(RETRY_SECONDS)

    def _watch(self) -> None:
        watch = self._journal.watch()
        self._wake()  # something may have been committed before the watch began
        try:
            while not self._closed.is_set() and self._is_needed():
                if watch.wait(WAIT_SECONDS):
                    self._wake()
        finally:
            watch.close()

    def _is_needed(self) -> bool:
        with self._lock:
            if self._waiting:
                return True
            self._thread = None
            return False

    def _wake(self) -> None:
        with self._lock:
            waiting = list(self._waiting.items())
        for event, loop in waiting:
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(event.set)


async def wait_for_change(changed: asyncio.Event, seconds: float) -> None:
    """Wait until an event of `Watcher.subscribe` is set, or until this time is over; clear it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await changed.wait()
    changed.clear()
