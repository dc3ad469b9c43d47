"""When the facts of a run happened. They are noted where they happen, not where they are drawn."""

import time
from collections.abc import Callable

from toolspeak.events import Fact, ToolFinished, ToolStarted


class Clock:
    """Knows how long calls took. Facts may be noted in one thread and asked for in another.

    Attributes:
        noted: How many facts there have been.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.noted = 0
        self._now = now
        self._started: dict[str, float] = {}
        self._took: dict[str, float] = {}

    def note(self, fact: Fact) -> None:
        """Note a fact, now."""
        self.noted += 1
        if isinstance(fact, ToolStarted):
            self._started[fact.call_id] = self._now()
        elif isinstance(fact, ToolFinished) and fact.result.call_id in self._started:
            self._took[fact.result.call_id] = self._now() - self._started[fact.result.call_id]

    def took(self, call_id: str) -> float | None:
        """The seconds that a call ran, if it ran."""
        return self._took.get(call_id)
