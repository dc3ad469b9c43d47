"""How the work of a function grows with its input, measured within one run, so that a slow machine changes nothing."""

import time
from collections.abc import Callable

FACTOR = 8
"""How many times as large the larger input is. Quadratic work grows by the square of it."""


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Assert that the work for an input that is `FACTOR` times as large is not much more than `FACTOR` times as much."""
    small, large = (min(_measure(work, each) for _ in range(3)) for each in (size, size * FACTOR))
    assert large < small * FACTOR * 3, f"{large / small:.0f} times the work for {FACTOR} times the input"


def _measure(work: Callable[[int], object], size: int) -> float:
    begin = time.thread_time()
    work(size)
    return time.thread_time() - begin
