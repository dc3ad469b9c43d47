"""`Limits.seconds`: how long a run may take, from its beginning on, with all that is asked before its first request."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from toolspeak.errors import UsageError
from toolspeak.events import Fact, Interrupted, RunResumed, RunStarted, TurnStarted
from toolspeak.limits import Limits
from toolspeak.run.barrier import Durability

T = TypeVar("T")

DEADLINE_OVER = Interrupted(cause="deadline", detail="the deadline of the run is over")
"""The fact that the time at which a durable run must have ended has come."""


def schedule_deadline(
    facts: Sequence[Fact], began: float, put: Callable[[Interrupted], None], durability: Durability | None = None
) -> asyncio.TimerHandle | None:
    """Call `put` when the time of a run is over; return the timer, or None if the run may take any time.

    Args:
        facts: The facts of the run so far, with its limits.
        began: When the run began, by the clock of the event loop.
        put: Called with the fact that the time is over.
        durability: What the run has used of its time before, and its deadline.
    """
    limits = find_limits(facts)
    ends: list[tuple[float, Interrupted]] = []
    if limits.seconds is not None:
        elapsed = 0.0 if durability is None else durability.elapsed
        ends.append((began - elapsed + limits.seconds, interrupt_late_run(limits)))
    if durability is not None and durability.seconds_left is not None:
        ends.append((began + durability.seconds_left, DEADLINE_OVER))
    if not ends:
        return None
    when, fact = min(ends, key=lambda end: end[0])
    return asyncio.get_running_loop().call_at(when, put, fact)


def find_limits(facts: Sequence[Fact]) -> Limits:
    """Return the limits that a run has now: those it began with, or those it was last resumed with."""
    limits = Limits()
    for fact in facts:
        if isinstance(fact, RunStarted) or (isinstance(fact, RunResumed) and fact.limits is not None):
            limits = fact.limits or limits
    return limits


async def wait_within(limits: Limits, work: Awaitable[T], otherwise: T) -> tuple[T, bool]:
    """Wait for `work` as long as a run may take. Return its value and False, or `otherwise` and True if it is late."""
    timeout = asyncio.timeout(limits.seconds)
    try:
        async with timeout:
            return await work, False
    except TimeoutError:
        if not timeout.expired():  # what the work raised by itself
            raise
        return otherwise, True


def interrupt_late_run(limits: Limits) -> Interrupted:
    """Return the fact that a run has taken all the time that it may take."""
    return Interrupted(cause="deadline", detail=f"the run may take {limits.seconds or 0:g} seconds, and they are over")


def refuse_late_start(facts: Sequence[Fact], *, asks: bool) -> None:
    """Refuse to resume a run that was late before its model was asked: its system prompt and tools may be missing.

    Args:
        facts: The run so far.
        asks: Whether functions are asked for the system prompt or the tools.

    Raises:
        UsageError: The run was late before its first turn.
    """
    is_late = any(
        isinstance(first, RunStarted) and isinstance(second, Interrupted) and second.cause == "deadline"
        for first, second in pairwise(facts)
    )
    if asks and is_late and not any(isinstance(fact, TurnStarted) for fact in facts):
        raise UsageError(
            "the time of the run was over before its system prompt and tools were known and the model was asked; "
            "run the prompt again"
        )
