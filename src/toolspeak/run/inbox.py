"""Where everything that happens outside of a driver arrives, in order."""

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    """A queue for one reader, who takes all there is at once."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def put(self, item: T) -> None:
        """Called in the reader's event loop."""
        self._items.append(item)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take_now(self) -> list[T]:
        """All there is; nothing, if there is nothing."""
        items = list(self._items)
        self._items.clear()
        return items

    async def take(self) -> list[T]:
        """All there is; waits for the first."""
        while not self._items:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self.take_now()
