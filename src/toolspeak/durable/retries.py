"""`RetryDelays`: how long runs wait that a worker could not drive."""

FIRST_DELAY_MS = 500

MAX_DELAY_MS = 2 * 60 * 1000

MAX_RUNS = 10_000
"""How many runs are remembered. Another worker may have ended a run, so the oldest are forgotten."""


class RetryDelays:
    """Delays of runs, each twice as long as the one before it, until the run was driven."""

    def __init__(self) -> None:
        self._delays: dict[str, int] = {}

    def next_delay_ms(self, run_id: str) -> int:
        """Return how long a run waits that could not be driven once more."""
        delay = min(2 * self._delays.pop(run_id, FIRST_DELAY_MS // 2), MAX_DELAY_MS)
        self._delays[run_id] = delay
        if len(self._delays) > MAX_RUNS:
            del self._delays[next(iter(self._delays))]
        return delay

    def forget(self, run_id: str) -> None:
        """Begin anew with a run, since it was driven."""
        self._delays.pop(run_id, None)
