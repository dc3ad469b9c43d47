"""The commit barrier of a durable run: a fact is committed before what it announces is done, and before it is told.

Facts are collected while the driver handles what has happened. Requests and calls that they announce are held back. One
commit stores all collected facts, and then what was held back is launched. In a run that nobody makes durable,
everything is launched at once.

The facts of an inner run are facts of the outermost run, which commits them. So the barrier of an inner run waits for
that of the outer one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from toolspeak.values.events import Event, Fact, Interrupted
from toolspeak.values.frozen import frozen

Committer: TypeAlias = Callable[[Sequence[Event]], Awaitable[None]]
"""A function that stores the next events of a run: facts for good, deltas for display. It returns when the facts are
safe, and an exception of it ends the run, without further facts."""

Confirmer: TypeAlias = Callable[[], Awaitable[None]]
"""A function that returns if whoever drives a run may still do so, and raises if not."""


@frozen
class Durability:
    """What makes a run durable.

    Attributes:
        run_id: The id of the run.
        commit: Stores events.
        confirm: Asked right before something is launched: the process may have been stopped since the commit.
        news: Facts that happened while nobody drove the run, such as approvals.
        elapsed: Seconds of `Limits.seconds` that the run has used before it is resumed.
        seconds_left: Seconds until the deadline of the run; None if it has none.
        interruption: Done when the run must end although it may not have begun: then what is asked before its first
            request is given up.
    """

    run_id: str
    commit: Committer
    confirm: Confirmer | None = None
    news: tuple[Fact, ...] = ()
    elapsed: float = 0.0
    seconds_left: float | None = None
    interruption: asyncio.Future[Interrupted] | None = None


class RunParked(Exception):
    """A run was put down at a point where nothing was under way. Its facts say how it goes on."""


class ModelUnavailable(Exception):
    """No model answers a durable run now. It was put down, and its facts say how it goes on when one does.

    Attributes:
        retry_after: How many seconds the endpoint asks to wait; None if it does not say.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.retry_after: float | None = getattr(error, "retry_after", None)


class CommitBarrier:
    """Collects the events of a run, and holds back what they announce until they are committed.

    Args:
        durability: What makes the run durable; without it, there is nothing to wait for.

    Attributes:
        confirm: Asked right before something is launched.
    """

    def __init__(self, durability: Durability | None) -> None:
        self._commit = None if durability is None else durability.commit
        self.confirm = None if durability is None else durability.confirm
        self._events: list[Event] = []
        self._launches: dict[str, Callable[[], None]] = {}
        self._waiters: list[asyncio.Future[None]] = []
        self._is_committing = False

    @property
    def is_durable(self) -> bool:
        """Whether facts are committed."""
        return self._commit is not None

    def add(self, event: Event) -> None:
        """Add an event to the next commit."""
        self._events.append(event)

    def launch(self, name: str, launch: Callable[[], None]) -> None:
        """Launch something after the next commit: the call of that id, or the request to the model if `name` is ""."""
        if self._commit is None:
            launch()
        else:
            self._launches[name] = launch

    def drop(self, name: str) -> bool:
        """Give up what was held back under a name; return whether there was such a thing."""
        return self._launches.pop(name, None) is not None

    async def flush(self) -> None:
        """Commit the events that were collected, and launch what was held back, until nothing is left."""
        while self._events or self._launches or self._waiters:
            events, self._events = self._events, []
            launches, self._launches = self._launches, {}
            waiters, self._waiters = self._waiters, []
            if events and self._commit is not None:
                self._is_committing = True  # and it stays so if the commit fails: then nobody may go on
                await self._commit(events)
                self._is_committing = False
            if launches and self.confirm is not None:
                await self.confirm()
            for launch in launches.values():
                launch()
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    async def wait(self) -> None:
        """Wait until all events that were added so far are committed. Whoever drives the run must flush."""
        if self._events or self._is_committing:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
