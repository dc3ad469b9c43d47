"""`RunLibrary`: the sources of the page, and the runs that are open in it.

A run is read once, whoever looks at it. As long as somebody watches it, one task follows it. Runs that nobody has asked
for lately are dropped.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from toolspeak.page.document import RunDocument
from toolspeak.page.source import RunMissing, RunSource
from toolspeak.values.errors import ToolspeakError, UsageError

MAX_OPEN_RUNS = 6

RunKey = tuple[str, str]
"""The name of a source, and the id of a run in it."""


class RunLibrary:
    """The sources by name, and the open runs."""

    def __init__(self, sources: Sequence[RunSource]) -> None:
        self.sources = {source.name: source for source in sources}
        self._open: OrderedDict[RunKey, asyncio.Task[RunDocument]] = OrderedDict()
        self._followers: dict[RunKey, asyncio.Task[None]] = {}

    def find_source(self, name: str) -> RunSource:
        """Return a source.

        Raises:
            RunMissing: There is none of that name.
        """
        source = self.sources.get(name)
        if source is None:
            raise RunMissing("there is no such source of runs")
        return source

    async def open(self, key: RunKey) -> RunDocument:
        """Return a run, which is read if it is not open yet.

        Raises:
            RunMissing: There is no such run.
            UsageError: It cannot be read.
        """
        document = await self.open_beginning(key)
        try:
            await document.wait_until_read()
        except Exception:
            self._open.pop(key, None)
            raise
        return document

    async def open_beginning(self, key: RunKey) -> RunDocument:
        """Return a run as `open` does, but a long one as soon as its beginning was read."""
        source = self.find_source(key[0])
        reading = self._open.get(key)
        if reading is None:
            reading = self._open[key] = asyncio.create_task(source.open(key[1]))
            self._drop_old()
        self._open.move_to_end(key)
        try:
            return await asyncio.shield(reading)
        except Exception:  # whatever it was, the next request reads the run anew
            self._open.pop(key, None)
            raise

    def _drop_old(self) -> None:
        for key, task in list(self._open.items()):
            if len(self._open) <= MAX_OPEN_RUNS:
                return
            if task.done() and key not in self._followers:
                del self._open[key]

    def start_following(self, key: RunKey, document: RunDocument) -> None:
        """Follow a run that is still going on, unless that is done already."""
        if document.is_live and key not in self._followers:
            source = self.find_source(key[0])
            task = asyncio.create_task(self._follow(source, key, document))
            self._followers[key] = task

    async def _follow(self, source: RunSource, key: RunKey, document: RunDocument) -> None:
        try:
            await source.follow(key[1], document)
        except UsageError as error:
            document.finish(str(error))
        except ToolspeakError as error:
            document.finish(f"the run can no longer be followed: {error}")
        finally:
            self._followers.pop(key, None)

    def stop_following(self, key: RunKey, document: RunDocument) -> None:
        """Follow a run no longer if nobody watches it. It is read anew when somebody asks for it again."""
        if document.is_watched:
            return
        task = self._followers.pop(key, None)
        if task is not None:
            task.cancel()
            self._open.pop(key, None)

    async def close(self) -> None:
        """End all tasks and close the sources."""
        tasks: set[asyncio.Task[Any]] = {*self._followers.values(), *self._open.values()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for source in self.sources.values():
            await source.close()
