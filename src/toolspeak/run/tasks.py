"""The tasks that a run has started in its event loop."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from toolspeak.execution import CANCEL_GRACE_SECONDS


class RunTasks:
    """Keeps the tasks of a run until they are done, so that all of them can be stopped when the run ends."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task in the running event loop."""
        task = asyncio.get_running_loop().create_task(work)
        # Tasks that are done are dropped here, and not by a callback of each, which is another round of the event loop.
        self._tasks = [each for each in self._tasks if not each.done()]
        self._tasks.append(task)
        return task

    async def stop(self, others: Iterable[asyncio.Task[Any]]) -> None:
        """Cancel all tasks, and wait a while until they and the others, which are cancelled already, have ended."""
        for task in self._tasks:
            task.cancel()
        if left := [task for task in (*self._tasks, *others) if not task.done()]:
            await asyncio.wait(left, timeout=2 * CANCEL_GRACE_SECONDS)
