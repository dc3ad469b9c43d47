"""What async tests share: an event loop for each, and waiting for a run."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

from toolspeak.durable import RunHandle
from toolspeak.values.events import ToolStarted

P = ParamSpec("P")


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Return an async test as a plain one."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def wait_until_running(run: RunHandle) -> None:
    """Wait until a call of a run has started."""
    async for each in run.events():
        if isinstance(each.event, ToolStarted):
            return
