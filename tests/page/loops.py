"""`run_in_loop`: runs a coroutine in an event loop of a thread of its own.

The browser of other tests keeps a loop running in the main thread, in which `asyncio.run` is refused.
"""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_in_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, and return what it returns."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
