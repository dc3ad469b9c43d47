"""`Stream` and `AsyncStream`: the events of a run to iterate over, its typed answer as it grows, and its outcome."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from typing import Generic, TypeVar

from toolspeak.run import portal
from toolspeak.run.output import Partial
from toolspeak.run.run import Run
from toolspeak.values.events import Event

O_co = TypeVar("O_co", covariant=True)


class RunStream(Generic[O_co]):
    """What both streams have."""

    def __init__(self, run: Run[O_co]) -> None:
        self._run = run
        self._answer = run.follow_answer()

    def cancel(self) -> None:
        """End the run early; its last events and its outcome still come. Safe from any thread."""
        self._run.cancel()

    @property
    def partial(self) -> Partial | None:
        """What is known of the typed answer after the events that have been taken; None if nothing is."""
        return None if self._answer is None else self._answer.partial

    @property
    def outcome(self) -> O_co:
        """The outcome of the run.

        Raises:
            UsageError: The run has not ended.
            OutputMissing: The run ended without the typed output that was asked for.
        """
        return self._run.outcome

    def _note(self, event: Event) -> Event:
        if self._answer is not None:
            self._answer.feed(event)
        return event


class AsyncStream(RunStream[O_co], AsyncIterator[Event]):
    """The events of a run, as they happen. After the last event, `outcome` has the result.

    If you leave the loop early, the run stays suspended; `async with agent.astream(…) as stream:` ends it at once.
    """

    def __init__(self, run: Run[O_co]) -> None:
        super().__init__(run)
        self._batches = run.batches()
        self._ready: Iterator[Event] = iter(())

    async def __anext__(self) -> Event:
        while True:
            for event in self._ready:
                return self._note(event)
            self._ready = iter(await anext(self._batches))

    async def __aenter__(self) -> "AsyncStream[O_co]":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the run, if it has not ended, and wait until all of it has stopped."""
        await self._batches.aclose()

    async def partials(self) -> AsyncGenerator[Partial]:
        """Consume all events, and yield the partial typed answer whenever it grows."""
        last: Partial | None = None
        async for _ in self:
            if (known := self.partial) is not None and known is not last:
                yield (last := known)


class Stream(RunStream[O_co], Iterator[Event]):
    """The events of a run, as they happen. After the last event, `outcome` has the result.

    If you leave the loop early, the run stays suspended; `with agent.stream(…) as stream:` ends it at once.
    """

    def __init__(self, run: Run[O_co]) -> None:
        super().__init__(run)
        self._events = portal.iterate(run.batches())

    def __next__(self) -> Event:
        return self._note(next(self._events))

    def __enter__(self) -> "Stream[O_co]":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the run, if it has not ended, and wait until all of it has stopped."""
        self._events.close()

    def partials(self) -> Generator[Partial]:
        """Consume all events, and yield the partial typed answer whenever it grows."""
        last: Partial | None = None
        for _ in self:
            if (known := self.partial) is not None and known is not last:
                yield (last := known)
