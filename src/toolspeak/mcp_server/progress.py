"""`ProgressSender`: sends what a function reports, as fast as the client reads it."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

MAX_TEXT_CHARS = 1_000
"""Characters of the text of a report."""

SendProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]


class ProgressSender:
    """Sends the reports of one call. Of several that come while one is sent, only the last is sent.

    By the rules of MCP the progress must grow; a report that is not above the one before is not sent.
    """

    def __init__(self, send: SendProgress) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._latest: tuple[float, float | None, str] | None = None
        self._is_announced = False
        self._sent = -math.inf
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def report(self, done: float, total: float | None, text: str) -> None:
        """Take a report, in any thread."""
        self._latest = (done, total, text)
        if not self._is_announced:
            self._is_announced = True
            with suppress(RuntimeError):  # the event loop is closed: the call was given up long ago
                self._loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        if self._task is None and not self._is_closed:
            self._task = self._loop.create_task(self._send_all())

    async def _send_all(self) -> None:
        while True:
            self._is_announced = False  # before the look: a report that comes from now on starts another task
            latest, self._latest = self._latest, None
            if latest is None:
                break
            done, total, text = latest
            if done > self._sent and math.isfinite(done) and (total is None or math.isfinite(total)):
                self._sent = done
                await self._send(done, total, text[:MAX_TEXT_CHARS] or None)
        self._task = None

    async def finish(self) -> None:
        """Send the last report, after the function has returned."""
        if self._is_announced:
            self._start()
        self._is_closed = True
        if self._task is not None:
            await self._task

    def cancel(self) -> None:
        """Send nothing more."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
