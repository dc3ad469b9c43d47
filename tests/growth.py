"""How the work of a function grows with its input: counted, or measured within one run, so that a slow machine changes
nothing.
"""

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

FACTOR = 8
"""How many times as large the larger input is. Quadratic work grows by the square of it."""


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Assert that the work for an input that is `FACTOR` times as large is not much more than `FACTOR` times as much."""
    small, large = (min(_measure(work, each) for _ in range(3)) for each in (size, size * FACTOR))
    assert large < small * FACTOR * 3, f"{large / small:.0f} times the work for {FACTOR} times the input"


def _measure(work: Callable[[int], object], size: int) -> float:
    """Return the time of this thread that some work takes, without searches for the garbage of other tests."""
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        begin = time.thread_time()
        work(size)
        return time.thread_time() - begin
    finally:
        if is_collecting:
            gc.enable()


def count_calls(work: Callable[[], object]) -> int:
    """Return how many functions `work` calls, those in C included: its work, the same on every machine and every day."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


class TooMuchWork(Exception):
    """A function took more steps than a test allows."""


def count_steps(work: Callable[[], object], limit: int = 5_000_000) -> int:
    """Count the lines that the interpreter executes for a function, and the calls. They are the same on every machine.

    What is done in C is not counted: `CountedText` shows how often texts are compared there. Raises `TooMuchWork` where
    there are more than `limit`, so that a function that does not end fails its test.
    """
    steps = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps > limit:
            raise TooMuchWork
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


class CountedText(str):
    """A text whose comparisons are steps, as in a search through a list."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)
