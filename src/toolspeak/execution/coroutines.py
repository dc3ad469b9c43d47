"""Coroutines that are not ours: their outcome is a value, and one that ignores its cancellation is closed."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator
from contextlib import suppress
from typing import Any, NamedTuple, cast

from toolspeak.execution.outcome import CallOutcome, Raised, Returned
from toolspeak.messages import Media
from toolspeak.tools import output_text, output_value
from toolspeak.tools.results import ITEMS, LETTERS

STUBBORN = 100
"""How often a coroutine is told to end that does not want to."""


class Guarded:
    """Awaits a coroutine step by step; the outcome is a value, even for `SystemExit` and `KeyboardInterrupt`.

    A task that is cancelled again after `abandon()` closes the coroutine instead of asking it once more. So a coroutine
    that swallows its cancellation holds up nobody: neither this run, nor the end of the event loop.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._abandoned = False

    def abandon(self) -> None:
        self._abandoned = True

    def __await__(self) -> Generator[Any, Any, CallOutcome]:
        coroutine = self._coroutine
        thrown: BaseException | None = None
        while True:
            try:
                awaited = coroutine.send(None) if thrown is None else coroutine.throw(thrown)
            except StopIteration as stop:
                return Returned(stop.value)
            except BaseException as error:
                return Raised(error)
            try:
                yield awaited
                thrown = None
            except GeneratorExit:
                self.close()
                raise
            except BaseException as error:
                if self._abandoned:
                    self.close()
                    return Raised(asyncio.CancelledError())
                thrown = error

    def close(self) -> None:
        """End the coroutine here and now, if it has not ended, or has never begun."""
        with suppress(BaseException):
            for _ in range(STUBBORN):
                self._coroutine.throw(asyncio.CancelledError())  # raises, unless the coroutine wants to go on
            self._coroutine.close()


class Pending(NamedTuple):
    """Something that must still be awaited."""

    value: Any

    def discard(self) -> None:
        """Nobody will: a coroutine that is let go without a word complains."""
        if inspect.iscoroutine(self.value):
            self.value.close()


def is_pending(value: Any) -> bool:
    """Whether a function has returned something that must still be awaited."""
    return inspect.isawaitable(value) or isinstance(value, AsyncIterator)


async def awaited(value: Any) -> Any:
    """What a pending value comes to: an awaitable its result, an async generator a list of its items."""
    if not isinstance(value, AsyncIterator):
        return await value
    try:
        return await _items(cast("AsyncIterator[Any]", value))
    finally:
        if isinstance(value, AsyncGenerator):
            await cast("AsyncGenerator[Any]", value).aclose()


async def _items(items: AsyncIterator[Any]) -> list[Any]:
    """Its items as JSON, since they may be large; only so many, since it may have no end."""
    taken: list[Any] = []
    letters = 0
    async for item in items:
        if len(taken) == ITEMS or letters > LETTERS:
            return [*taken, f"… (cut after {len(taken)} items)"]
        value = item if isinstance(item, Media) else output_value(item)
        taken.append(value)
        letters += 0 if isinstance(value, Media) else len(output_text(value))
        await asyncio.sleep(0)  # one that never waits must not hold up the event loop
    return taken
