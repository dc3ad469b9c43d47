"""`Limits.seconds`: how long a run may take, from its beginning on, with all that is asked before its first request."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TypeVar

from toolspeak.run.barrier import Durability
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Fact, Interrupted, RunResumed, RunStarted, TurnStarted
from toolspeak.values.limits import Limits

T = TypeVar("T")

DEADLINE_OVER = Interrupted(cause="deadline", detail="the deadline of the run is over")
"""The fact that the time at which a durable run must have ended has come."""


def schedule_deadline(
    facts: Sequence[Fact], began: float, put: Callable[[Interrupted], None], durability: Durability | None = None
) -> asyncio.TimerHandle | None:
    """Call `put` when the time of a run that began at `began`, by the clock of the event loop, is over.

    Return the timer, or None if the run may take any time.
    """
    end = _find_end(find_limits(facts), durability)
    return None if end is None else asyncio.get_running_loop().call_at(began + end[0], put, end[1])


def _find_end(limits: Limits, durability: Durability | None) -> tuple[float, Interrupted] | None:
    """Return in how many seconds the time of a run is over, and the fact that says so; None if it may take any time."""
    ends: list[tuple[float, Interrupted]] = []
    if limits.seconds is not None:
        detail = f"the run may take {limits.seconds:g} s, and the time is over"
        elapsed = 0.0 if durability is None else durability.elapsed
        ends.append((limits.seconds - elapsed, Interrupted(cause="deadline", detail=detail)))
    if durability is not None and durability.seconds_left is not None:
        ends.append((durability.seconds_left, DEADLINE_OVER))
    return min(ends, key=lambda end: end[0], default=None)


def find_limits(facts: Sequence[Fact]) -> Limits:
    """Return the limits that a run has now: those it began with, or those it was last resumed with."""
    limits = Limits()
    for fact in facts:
        if isinstance(fact, RunStarted) or (isinstance(fact, RunResumed) and fact.limits is not None):
            limits = fact.limits or limits
    return limits


async def wait_within(
    limits: Limits, work: Awaitable[T], otherwise: T, durability: Durability | None = None
) -> tuple[T, Interrupted | None]:
    """Wait for `work`, which comes before a run, as long as the run may take and nobody ends it.

    Return the value of the work and None. If the run must end, return the fact that says why instead of None, and
    `otherwise` if the work was given up.
    """
    end, asked = _find_end(limits, durability), None if durability is None else durability.interruption
    if end is None and asked is None:
        return await work, None
    timeout = asyncio.timeout(None if end is None else end[0])

    def give_up(_: object) -> None:
        with suppress(RuntimeError):  # the work has ended meanwhile
            timeout.reschedule(asyncio.get_running_loop().time())

    if asked is not None:
        asked.add_done_callback(give_up)
    value = otherwise
    try:
        async with timeout:
            value = await work
    except TimeoutError:
        if not timeout.expired():  # what the work raised by itself
            raise
    finally:
        if asked is not None:
            asked.remove_done_callback(give_up)
    if asked is not None and asked.done():
        return value, asked.result()
    return value, end[1] if end is not None and timeout.expired() else None


def refuse_late_start(facts: Sequence[Fact], *, asks: bool) -> None:
    """Refuse to resume a run that was ended before its model was asked, if functions were asked for its beginning.

    Its facts do not hold what these would have returned: the system prompt, or the tools.
    """
    was_ended = any(
        isinstance(first, RunStarted) and isinstance(second, Interrupted) and second.cause in ("deadline", "cancelled")
        for first, second in pairwise(facts)
    )
    if asks and was_ended and not any(isinstance(fact, TurnStarted) for fact in facts):
        raise UsageError(
            "the run was ended before its system prompt and tools were known and the model was asked; run the prompt "
            "again"
        )
