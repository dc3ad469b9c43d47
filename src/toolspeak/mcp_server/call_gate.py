"""`CallGate`: how many calls run at once, and which must run alone."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

MAX_RUNNING_CALLS = 64
"""Calls that run at once. Further ones wait."""

MAX_WAITING_CALLS = 192
"""Calls that wait. Further ones are refused."""


class TooManyCalls(Exception):
    """A call is refused, because too many others wait."""


class CallGate:
    """Admits calls in the order in which they come. A sequential call runs alone.

    Nothing is awaited when a call leaves: a call that is cancelled could not wait for anything.
    """

    def __init__(self, max_running: int = MAX_RUNNING_CALLS, max_waiting: int = MAX_WAITING_CALLS) -> None:
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._running = 0
        self._is_exclusive = False
        self._queue: deque[tuple[bool, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def admit(self, *, alone: bool) -> AsyncGenerator[None]:
        """Wait until a call may run; the call runs inside.

        Args:
            alone: Whether the call must run alone.

        Raises:
            TooManyCalls: Too many calls wait already.
        """
        if len(self._queue) >= self._max_waiting:
            counts = f"{self._running} run and {len(self._queue)} wait"
            raise TooManyCalls(f"too many calls at once: {counts}; call again when some are done")
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((alone, admitted))
        self._admit_next()
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.cancelled():
                self._admit_next()  # it may have been the one that the others waited for
            else:
                self._leave()
            raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        self._running -= 1
        self._is_exclusive = False
        self._admit_next()

    def _admit_next(self) -> None:
        while self._queue and not self._is_exclusive and self._running < self._max_running:
            alone, admitted = self._queue[0]
            if admitted.cancelled():
                self._queue.popleft()
                continue
            if alone and self._running:
                return
            self._queue.popleft()
            self._running += 1
            self._is_exclusive = alone
            admitted.set_result(None)
