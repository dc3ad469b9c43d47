"""A run as it happens: events to iterate over, and its outcome when it is over.

`Play` is what is played; the four faces of a run (`run`, `arun`, `stream`, `astream`) all play it the same way, and
differ only in who waits where.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Generic, TypeVar

from toolspeak.errors import UsageError
from toolspeak.events import Event
from toolspeak.run import portal

O = TypeVar("O")  # noqa: E741 (an outcome)


class Run(ABC, Generic[O]):
    """Something that happens once, tells its events, and has an outcome."""

    def __init__(self) -> None:
        self.outcome: O | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._begun = False

    async def batches(self) -> AsyncGenerator[list[Event]]:
        """All of it, once; events in batches."""
        if self._begun:
            raise UsageError("a run happens once; start another to go through it again")
        self._begun = True
        self.loop = asyncio.get_running_loop()
        events = self.play()
        try:
            async for batch in events:
                yield batch
        finally:
            await events.aclose()

    @abstractmethod
    def play(self) -> AsyncGenerator[list[Event]]:
        """All of it; `outcome` is there when it has ended."""

    @abstractmethod
    def stop(self) -> None:
        """End it early, from within its event loop; its outcome tells what there is."""

    def cancel(self) -> None:
        """End it early, from anywhere; before it has begun, too."""
        if self.loop is None:
            self.stop()
            return
        with suppress(RuntimeError):  # the loop has been closed, and the run with it
            self.loop.call_soon_threadsafe(self.stop)

    @property
    def ended(self) -> O:
        """The outcome, or an error that says that it is too early."""
        if self.outcome is None:
            raise UsageError("the run has no outcome yet; it is there when all events have been taken")
        return self.outcome


async def played(play: Run[O]) -> O:
    """Play it to its end."""
    async for _ in play.batches():
        pass
    return play.ended


class AsyncStream(AsyncIterator[Event], Generic[O]):
    """The events of a run, as they happen. `outcome` is there when they have all been taken.

    Leaving the loop early leaves the run; `async with agent.astream(…) as stream:` ends it then and there.
    """

    def __init__(self, play: Run[O]) -> None:
        self._play = play
        self._batches = play.batches()
        self._ready: Iterator[Event] = iter(())

    async def __anext__(self) -> Event:
        while True:
            for event in self._ready:
                return event
            self._ready = iter(await anext(self._batches))

    async def __aenter__(self) -> "AsyncStream[O]":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the run, if it has not ended; nothing is left running."""
        await self._batches.aclose()

    def cancel(self) -> None:
        """End the run early; its last events and its outcome are still told. Safe from any thread."""
        self._play.cancel()

    @property
    def outcome(self) -> O:
        return self._play.ended


class Stream(Iterator[Event], Generic[O]):
    """The events of a run, as they happen. `outcome` is there when they have all been taken.

    Leaving the loop early leaves the run; `with agent.stream(…) as stream:` ends it then and there.
    """

    def __init__(self, play: Run[O]) -> None:
        self._play = play
        self._events = portal.iterate(play.batches())

    def __next__(self) -> Event:
        return next(self._events)

    def __enter__(self) -> "Stream[O]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the run, if it has not ended; nothing is left running."""
        self._events.close()

    def cancel(self) -> None:
        """End the run early; its last events and its outcome are still told. Safe from any thread."""
        self._play.cancel()

    @property
    def outcome(self) -> O:
        return self._play.ended
