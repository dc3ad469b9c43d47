"""Awaiting coroutines of users: their outcome is a value, and a coroutine that ignores its cancellation is closed."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator
from contextlib import suppress
from types import CoroutineType
from typing import Any, NamedTuple, cast

from toolspeak.execution.outcome import CallOutcome, Raised, Returned
from toolspeak.tools import output_text, output_value
from toolspeak.tools.results import MAX_GENERATOR_CHARS, MAX_GENERATOR_ITEMS, PLAIN_TYPES
from toolspeak.values.messages import Media

MAX_CANCELLATIONS = 100
"""How often a coroutine that ignores its cancellation is cancelled while it is closed."""


class GuardedCoroutine:
    """Awaits a coroutine step by step; the outcome is a value, even for `SystemExit` and `KeyboardInterrupt`.

    A task that is cancelled again after `abandon()` closes the coroutine instead of cancelling it once more. So a
    coroutine that swallows its cancellation blocks neither this run nor the end of the event loop.
    """

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Prepare to await the coroutine that `begin` returns, which is called by the task that awaits this."""
        self._begin = begin
        self._abandoned = False

    def abandon(self) -> None:
        """Let the next cancellation close the coroutine."""
        self._abandoned = True

    def __await__(self) -> Generator[Any, Any, CallOutcome]:
        try:
            coroutine = self._begin()
        except BaseException as error:
            return Raised(error)
        thrown: BaseException | None = None
        while True:
            try:
                awaited = coroutine.send(None) if thrown is None else coroutine.throw(thrown)
            except StopIteration as stop:
                return Returned(stop.value)
            except BaseException as error:
                return Raised(error)
            finally:
                thrown = None  # its traceback refers to this frame: a cycle for the garbage collector
            try:
                yield awaited
            except GeneratorExit:
                _close(coroutine)
                raise
            except BaseException as error:
                if self._abandoned:
                    _close(coroutine)
                    return Raised(asyncio.CancelledError())
                thrown = error


def _close(coroutine: Coroutine[Any, Any, Any]) -> None:
    """End a coroutine immediately."""
    with suppress(BaseException):
        for _ in range(MAX_CANCELLATIONS):
            coroutine.throw(asyncio.CancelledError())  # raises, unless the coroutine continues
        coroutine.close()


def begin_coroutine(function: Callable[[], Any]) -> Coroutine[Any, Any, Any]:
    """Call an async function, and return the coroutine to await."""
    value = function()
    return value if value.__class__ is CoroutineType else _resolve(value)


async def _resolve(value: Any) -> Any:
    return await resolve_pending(value) if is_pending(value) else value


class PendingValue(NamedTuple):
    """A returned value that must still be awaited."""

    value: Any

    def discard(self) -> None:
        """Close a coroutine that has not begun and never will: Python warns of one that is dropped without that."""
        if inspect.iscoroutine(self.value) and inspect.getcoroutinestate(self.value) == inspect.CORO_CREATED:
            self.value.close()


def is_pending(value: Any) -> bool:
    """Whether a returned value must still be awaited: an awaitable or an async iterator."""
    return type(value) not in PLAIN_TYPES and (inspect.isawaitable(value) or isinstance(value, AsyncIterator))


async def resolve_pending(value: Any) -> Any:
    """Await a pending value: return the result of an awaitable, or the items of an async iterator as a list."""
    if not isinstance(value, AsyncIterator):
        return await value
    try:
        return await _collect_items(cast("AsyncIterator[Any]", value))
    finally:
        if isinstance(value, AsyncGenerator):
            await cast("AsyncGenerator[Any]", value).aclose()


async def _collect_items(items: AsyncIterator[Any]) -> list[Any]:
    """Collect the items as JSON values, since items may be large; up to a limit, since there may be no end of them."""
    taken: list[Any] = []
    letters = 0
    async for item in items:
        if len(taken) == MAX_GENERATOR_ITEMS or letters > MAX_GENERATOR_CHARS:
            return [*taken, f"… (cut after {len(taken)} items)"]
        value = item if isinstance(item, Media) else output_value(item)
        taken.append(value)
        letters += 0 if isinstance(value, Media) else len(output_text(value))
        await asyncio.sleep(0)  # an iterator that never waits must not block the event loop
    return taken
