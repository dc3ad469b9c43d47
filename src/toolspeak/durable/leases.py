"""Leases: when a worker that says nothing counts as lost, and what a worker may still do that said nothing for long.

A worker says that it lives every third of its lease. A clock that is set, a machine that sleeps and a disk that is full
silence all workers at once, so the time in the store proves nothing by itself. A worker takes runs only from one that
it has watched for that one's whole lease, in which it was heard itself. So after any such trouble each worker has time
to speak before others take its runs.
"""

import time
from collections.abc import Callable, Collection
from typing import NamedTuple, TypeAlias

from toolspeak.durable.rows import WorkerRow

Clock: TypeAlias = Callable[[], float]
"""A function that returns seconds which never go back."""

_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def count_seconds() -> float:
    """Return the seconds since some moment. Unlike those of `time.monotonic`, they go on while the machine sleeps."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


class _Silence(NamedTuple):
    """The last beat of a worker that was seen, for how long nothing else was seen, and its lease; in seconds."""

    beat: int
    seconds: float
    lease: float


class SilenceWatch:
    """Notices which workers have said nothing for their whole lease while this one watched and was heard itself.

    Time in which nobody could watch, because the process was stopped or the machine slept, counts for a third of a
    lease at most.

    Args:
        own: The name of the worker that watches.
        is_heard: Whether that worker could say that it lives when it last tried to.
        clock: A clock.
    """

    def __init__(self, own: str, is_heard: Callable[[], bool], clock: Clock = count_seconds) -> None:
        self._own = own
        self._is_heard = is_heard
        self._clock = clock
        self._watched = clock()
        self._silences: dict[str, _Silence] = {}

    def find_living(self, rows: Collection[WorkerRow]) -> Collection[str]:
        """Return the workers from which nothing may be taken, from what all of them have said last."""
        now = self._clock()
        passed, self._watched = now - self._watched, now
        before = self._silences
        self._silences = {row.worker: _follow(before.get(row.worker), row, passed) for row in rows}
        if not self._is_heard():  # the others may be silent for the same reason
            self.forget()
        lost = {name for name, each in self._silences.items() if each.seconds >= each.lease and name != self._own}
        return [row.worker for row in rows if row.worker not in lost]

    def forget(self) -> None:
        """Begin anew: the store failed, and the others may not have been able to speak either."""
        self._silences = {}


def _follow(before: _Silence | None, row: WorkerRow, passed: float) -> _Silence:
    lease = (row.expires - row.beat) / 1000
    is_silent = before is not None and before.beat == row.beat
    return _Silence(row.beat, before.seconds + min(passed, lease / 3) if before and is_silent else 0.0, lease)
