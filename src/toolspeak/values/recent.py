"""`RecentValues`: what was made lately and costs more to make again than to keep, bounded in size and in time.

Used where many requests bring the same thing, above all the same tools. Nothing depends on it: a value that was dropped
is made again, and is the same.
"""

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

LARGEST_SHARE = 4
"""A value that would take more than one part in so many of the room is not kept: it would drop most others."""


class RecentValues(Generic[K, V]):
    """Values by their keys, of which those that were not used for the longest time are dropped first.

    Threads may use it together. What has not been used for `seconds` is dropped when the next value is added.

    Examples:
        >>> lately = RecentValues[str, int](max_size=100, seconds=600)
        >>> lately.add("one", 1, size=20)
        >>> lately.find("one"), lately.find("two")
        (1, None)
    """

    def __init__(self, max_size: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Keep nothing yet. `max_size` bounds the sum of the sizes that `add` is given."""
        self._max_size = max_size
        self._seconds = seconds
        self._clock = clock
        self._size = 0
        self._kept: dict[K, tuple[V, int, float]] = {}  # with the size and the time of the last use, the latest last
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def list_keys(self) -> list[K]:
        """Return the keys, the one that was used last first."""
        with self._lock:
            return [*reversed(self._kept)]

    def find(self, key: K) -> V | None:
        """Return a value, or None if there is none."""
        with self._lock:
            if (found := self._kept.pop(key, None)) is None:
                return None
            value, size, _ = found
            self._kept[key] = value, size, self._clock()
            return value

    def add(self, key: K, value: V, size: int) -> None:
        """Keep a value, and drop others to make room. A value that is too large is not kept."""
        with self._lock:
            self._drop(key)
            if size * LARGEST_SHARE <= self._max_size:
                self._kept[key] = value, size, self._clock()
                self._size += size
            oldest = self._clock() - self._seconds
            for each, (_, _, used) in [*self._kept.items()]:
                if used >= oldest and self._size <= self._max_size:
                    break
                self._drop(each)

    def _drop(self, key: K) -> None:
        if (dropped := self._kept.pop(key, None)) is not None:
            self._size -= dropped[1]
