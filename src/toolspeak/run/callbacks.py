"""Calling the functions that users give to an agent, such as the one that approves calls."""

import asyncio
import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from toolspeak.events import Fact
from toolspeak.execution import THREAD_POOL
from toolspeak.execution.outcome import CallOutcome, Raised

Recorder: TypeAlias = Callable[[Fact], None]
"""A function that keeps the facts of a run. It is called with each fact before the run acts on it."""


async def call_function(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the user's and return its value. A plain function may block, so it runs in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[CallOutcome] = loop.create_future()

    def finish(outcome: CallOutcome) -> None:
        def settle() -> None:
            if not answer.done():
                answer.set_result(outcome)

        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(settle)

    job = THREAD_POOL.start(lambda: function(*arguments), finish)
    try:
        outcome = await answer
    finally:
        job.abandon()
    if isinstance(outcome, Raised):
        raise outcome.error
    return await outcome.value if inspect.isawaitable(outcome.value) else outcome.value
