"""Measures how long calls take. Facts are timed when they happen, not when they are drawn."""

import time
from collections.abc import Callable

from toolspeak.events import Fact, ToolFinished, ToolStarted


class CallTimer:
    """Knows how long each call of a run took. Facts may be recorded in one thread and durations read in another.

    Attributes:
        fact_count: How many facts have been recorded.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.fact_count = 0
        self._now = now
        self._started: dict[str, float] = {}
        self._durations: dict[str, float] = {}

    def record(self, fact: Fact) -> None:
        """Record a fact at the time it happens."""
        self.fact_count += 1
        if isinstance(fact, ToolStarted):
            self._started[fact.call_id] = self._now()
        elif isinstance(fact, ToolFinished) and fact.result.call_id in self._started:
            self._durations[fact.result.call_id] = self._now() - self._started[fact.result.call_id]

    def duration(self, call_id: str) -> float | None:
        """Return the seconds that a call took, or None if it has not run."""
        return self._durations.get(call_id)
