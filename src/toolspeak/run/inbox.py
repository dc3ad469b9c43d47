"""`Inbox`: the queue in which everything that happens outside a driver arrives, in order, and what arrives in it."""

import asyncio
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from toolspeak.values.events import (
    ArgsDelta,
    CallQuoted,
    CallReady,
    NestedDelta,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    TurnRestarted,
)
from toolspeak.values.frozen import frozen
from toolspeak.values.pieces import Piece

T = TypeVar("T")

DELTAS = (TextDelta, ThinkingDelta, ArgsDelta, ToolProgress, NestedDelta)
"""Events that are passed on and are no facts."""

CALL_FACTS = (CallReady, CallQuoted)
"""Facts that add a call to the turn."""


class PiecesArrived(NamedTuple):
    """The model sent more pieces of its message, in answer to the `request`-th request of the run."""

    request: int
    pieces: Sequence[Piece]


@frozen
class ModelFailed:
    """The model failed to finish its message, in answer to the `request`-th request of the run."""

    request: int
    error: Exception


class RulesAsked(NamedTuple):
    """All rules of tools were asked that say whether somebody must allow a call."""


@frozen
class FallbackReady:
    """The dialect of the model that is asked next is known. The `request`-th request of the run broke off."""

    request: int
    restarted: TurnRestarted


class Inbox(Generic[T]):
    """A queue for one reader, who takes all items at once."""

    def __init__(self) -> None:
        self._items: list[T] = []
        self._waiter: asyncio.Future[None] | None = None
        self._woken = False

    def put(self, item: T) -> None:
        """Add an item. Call it in the reader's event loop."""
        self._items.append(item)
        self.wake()

    def wake(self) -> None:
        """Let the reader go on, even if there is no item for it. Call it in the reader's event loop."""
        self._woken = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take_now(self) -> list[T]:
        """Remove and return all items, or an empty list."""
        self._woken = False
        items, self._items = self._items, []
        return items

    async def take(self) -> list[T]:
        """Remove and return all items; wait for one, or until `wake` is called, if there is none."""
        while not self._woken:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self.take_now()
