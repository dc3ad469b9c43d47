"""A worker for programs that are not async: in a thread of its own, with an event loop of its own."""

import asyncio
import threading
from contextlib import AbstractAsyncContextManager, suppress


class WorkerThread:
    """A worker in a thread of its own, for programs that are not async."""

    def __init__(self, worker: AbstractAsyncContextManager[object]) -> None:
        self._worker = worker
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._started = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="toolspeak worker", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._error is not None:
            raise self._error

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._work())

    async def _work(self) -> None:
        try:
            async with self._worker:
                self._started.set()
                await self._stop.wait()
        except BaseException as error:  # raised in the thread of the caller
            self._error = error
        finally:
            self._started.set()

    def stop(self) -> None:
        """Stop the worker, and wait until it has parked its runs."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
