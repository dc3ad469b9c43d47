"""`RunLibrary`: the sources of the page and the runs that are open in it; `RunSource`: what a source must do.

A run is read once, whoever looks at it. As long as somebody watches it, one task follows it. Runs that nobody has asked
for lately are dropped.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from toolspeak.page.annotations import NOTHING_SAID, Annotation
from toolspeak.page.document import RunDocument
from toolspeak.values.errors import ToolspeakError, UsageError
from toolspeak.values.events import Allow
from toolspeak.values.frozen import frozen

MAX_OPEN_RUNS = 6

RunKey: TypeAlias = tuple[str, str]
"""The name of a source, and the id of a run in it."""

EntryStatus: TypeAlias = Literal["queued", "running", "paused", "done", "unknown"]


class RunMissing(UsageError):
    """A run is no longer where it was."""


@frozen
class RunEntry:
    """A run in a list. A field that is not known is empty."""

    id: str  # unique in its source
    title: str  # the beginning of its prompt
    where: str = ""  # the file, agent or conversation that it belongs to
    model: str = ""
    status: EntryStatus = "unknown"
    reason: str = ""  # why it ended
    updated: float | None = None  # when something last happened, in seconds since 1970
    size: str = ""  # in bytes or facts, in words
    conversation: str = ""  # what tells the conversation that it belongs to from others
    labels: tuple[str, ...] = ()  # by what its program finds it, as `tenant: acme`
    annotation: Annotation = NOTHING_SAID
    run_id: str = ""  # what the run calls itself, where `id` is something else
    version: str = ""  # differs whenever more of the run may be there


class RunSource(Protocol):
    """A place that holds runs."""

    name: str  # stands in addresses of the page
    label: str  # what people call it
    place: str  # the path or the address of what holds the runs

    async def list_runs(self) -> list[RunEntry]:
        """Return the runs, the newest first."""
        ...

    async def open(self, run_id: str) -> RunDocument:
        """Read a run as far as it has come; raise `RunMissing` if there is none.

        The rest of a long run may be read by a task (`RunDocument.read_on`).
        """
        ...

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Add what arrives to a document until the run has ended. Cancelled when nobody watches any more."""
        ...

    async def close(self) -> None:
        """Let go of files, connections and threads."""
        ...


@runtime_checkable
class RunControl(Protocol):
    """A source whose runs can be controlled: somebody approves their calls, or ends them."""

    async def approve(self, run_id: str, call_id: str, approved: bool | str | Allow, digest: str | None) -> bool:
        """Answer whether a call may run, and return whether this answer counts: the first one does."""
        ...

    async def cancel(self, run_id: str) -> bool:
        """End a run early, and return whether this did it."""
        ...


@runtime_checkable
class AnnotatedRuns(Protocol):
    """A source that keeps what people say of its runs, and lists it with them."""

    async def annotate(self, run_id: str, annotation: Annotation) -> None:
        """Keep what people say of a run instead of what they said before; raise `RunMissing` if there is none."""
        ...


class RunLibrary:
    """The sources by name, and the open runs."""

    def __init__(self, sources: Sequence[RunSource]) -> None:
        self.sources = {source.name: source for source in sources}
        self.closers: list[Callable[[], Awaitable[None]]] = []  # close what uses the sources, before they are closed
        self._open: dict[RunKey, asyncio.Task[RunDocument]] = {}  # the one that was asked for last is the last
        self._followers: dict[RunKey, asyncio.Task[None]] = {}

    def find_source(self, name: str) -> RunSource:
        """Return a source; raise `RunMissing` if there is none of that name."""
        source = self.sources.get(name)
        if source is None:
            raise RunMissing("there is no such source of runs")
        return source

    async def open(self, key: RunKey) -> RunDocument:
        """Return a run, which is read if it is not open yet; raise `UsageError` if it cannot be read."""
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
        reading = self._open.pop(key, None)
        if reading is None:
            self._drop_old()
            reading = asyncio.create_task(source.open(key[1]))
        self._open[key] = reading
        try:
            return await asyncio.shield(reading)
        except Exception:  # whatever it was, the next request reads the run anew
            self._open.pop(key, None)
            raise

    def _drop_old(self) -> None:
        """Make room for one more run."""
        for key, task in list(self._open.items()):
            if len(self._open) < MAX_OPEN_RUNS:
                return
            if task.done() and key not in self._followers:
                del self._open[key]

    @property
    def is_reading(self) -> bool:
        """Whether a run is being read that somebody wants to see."""
        return any(not task.done() or _is_reading(task) for task in self._open.values())

    def start_following(self, key: RunKey, document: RunDocument) -> None:
        """Follow a run that is still going on, unless that is done already."""
        if document.is_live and key not in self._followers:
            self._followers[key] = asyncio.create_task(self._follow(self.find_source(key[0]), key, document))

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
        if not document.is_watched and (task := self._followers.pop(key, None)) is not None:
            task.cancel()
            self._open.pop(key, None)

    async def close(self) -> None:
        """End all tasks and close the sources."""
        for close in self.closers:
            await close()
        tasks: set[asyncio.Task[Any]] = {*self._followers.values(), *self._open.values()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for source in self.sources.values():
            await source.close()


def _is_reading(task: asyncio.Task[RunDocument]) -> bool:
    return not task.cancelled() and task.exception() is None and task.result().is_reading
