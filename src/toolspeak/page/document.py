"""`RunDocument`: one run as the page has it, whole or still arriving, and those who watch it.

A source adds events as it reads them. Facts are kept and folded into rows; a delta is added to the draft of its row,
which is dropped when the fact arrives that holds the whole. How far a call is stands beside its row until it has ended.
Everything here happens in the event loop of the server, so that nothing needs a lock.

Facts are folded in the server, once, and not in the browser: whoever connects again asks for the rows after a fact, and
the same form serves a whole run, a live one and an export.
"""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from toolspeak.page.rows import RowFold, preview_text
from toolspeak.values.events import (
    ArgsDelta,
    CallReady,
    Delta,
    Event,
    Fact,
    HandedOver,
    NestedDelta,
    NestedFact,
    RunResumed,
    RunStarted,
    ToolFinished,
    ToolProgress,
    TurnEnded,
    TurnRestarted,
)

if TYPE_CHECKING:
    from toolspeak.dialects import Shown

MAX_QUEUED_CHANGES = 5_000
"""How many changes wait for somebody who watches and does not read them. Then the connection is ended."""

MAX_DRAFT_CHARS = 20_000
"""How much of a text that is arriving is kept for those who begin to watch: its end."""


class PageFact(NamedTuple):
    """A fact, and the seconds since the first fact of its run, if they are known."""

    fact: Fact
    at: float | None


class RunOrigin(NamedTuple):
    """The run that another one goes on from, by its place in the page."""

    source: str
    id: str
    title: str = ""
    is_fork: bool = False  # whether the new run begins with facts of the other one, and not with its messages alone


class RunDocument:
    """A run: its facts, its outline, and what is arriving.

    Attributes:
        facts: The facts so far.
        tool_facts: The numbers of the facts that name tools: the starts of runs, and hand-overs.
        fold: Their outline.
        started: When the run started, in seconds since 1970; None if that is not known.
        is_live: Whether more may arrive.
        failure: Why the run could not be read to its end; "" if it could.
        origin: The run that it goes on from; None if there is none.
        shown: What the model was shown word for word, by the number of the turn, where the source knows that.
    """

    def __init__(self) -> None:
        self.facts: list[PageFact] = []
        self.tool_facts: list[int] = []
        self.fold = RowFold()
        self.started: float | None = None
        self.is_live = False
        self.failure = ""
        self.origin: RunOrigin | None = None
        self.shown: dict[int, Shown] = {}
        self._reading: asyncio.Task[None] | None = None
        self._drafts: dict[tuple[int, str], str] = {}
        self._progress: dict[int, str] = {}
        self._watchers: set[asyncio.Queue[dict[str, Any]]] = set()

    # Filled by a source

    def go_on_from(self, origin: RunOrigin | None) -> None:
        """Say which run this one goes on from, before facts are added."""
        self.origin = origin
        self.fold.is_fork = origin is not None and origin.is_fork

    def add(self, event: Event, at: float | None = None) -> None:
        """Add the next event. `at` is its time in seconds since the first fact."""
        if isinstance(event, Delta):
            self._add_delta(event)
        else:
            self._add_fact(event, at)

    def _add_fact(self, fact: Fact, at: float | None) -> None:
        event = fact.event if isinstance(fact, NestedFact) else fact
        if isinstance(event, RunStarted | HandedOver):
            self.tool_facts.append(len(self.facts))
        self.facts.append(PageFact(fact, at))
        rows = self.fold.add(fact, at)
        if isinstance(event, RunResumed | TurnRestarted):
            self._drafts.clear()
            self._progress.clear()
        elif isinstance(event, TurnEnded | CallReady):
            ended = self.fold.row_by_fact[-1]
            self._drafts = {key: text for key, text in self._drafts.items() if key[0] != ended}
        elif isinstance(event, ToolFinished):
            self._progress.pop(self.fold.row_by_fact[-1], None)
        if self._watchers:
            changed = [row.encode() for row in rows]
            self._tell({"type": "rows", "facts": len(self.facts), "rows": changed, "summary": self.fold.summary})

    def _add_delta(self, delta: Delta) -> None:
        path, event = (delta.path, delta.event) if isinstance(delta, NestedDelta) else ((), delta)
        row = self.fold.find_draft_row(path, event.call_id if isinstance(event, ArgsDelta | ToolProgress) else None)
        if row is None:
            return
        if isinstance(event, ToolProgress):
            self._progress[row.index] = text = preview_text(event.summary)
            self._tell({"type": "progress", "row": row.index, "text": text})
            return
        key = row.index, event.kind.removesuffix("_delta")
        self._drafts[key] = (self._drafts.get(key, "") + event.text)[-MAX_DRAFT_CHARS:]
        self._tell({"type": "draft", "row": key[0], "part": key[1], "text": event.text})

    def read_on(self, rest: Coroutine[Any, Any, None]) -> None:
        """Let a task add the rest of a long run. Until then the document is a beginning; see `wait_until_read`."""
        self._reading = asyncio.create_task(rest)

    def finish(self, failure: str = "") -> None:
        """Say that nothing more arrives; `failure` says why, if the run could not be read to its end."""
        self.is_live, self.failure = False, failure
        self._tell({"type": "end", "failure": failure})

    # Read by the routes

    @property
    def is_reading(self) -> bool:
        """Whether the source is still reading what was there when the run was opened."""
        return self._reading is not None and not self._reading.done()

    async def wait_until_read(self) -> None:
        """Wait for the rest of a long run."""
        if self._reading is not None:
            await asyncio.shield(self._reading)

    def encode_outline(self, after: int = 0) -> dict[str, Any]:
        """Return the outline as JSON data: the rows that changed with the fact number `after` or later."""
        rows = self.fold.rows if after <= 0 else [row for row in self.fold.rows if row.changed >= after]
        return {
            "facts": len(self.facts),
            "rows": [row.encode() for row in rows],
            "summary": self.fold.summary,
            "started": self.started,
            "live": self.is_live,
            "reading": self.is_reading,
            "failure": self.failure,
            "origin": None if self.origin is None else self.origin._asdict(),
            "drafts": [{"row": row, "part": part, "text": text} for (row, part), text in self._drafts.items()],
            "progress": [{"row": row, "text": text} for row, text in self._progress.items()],
        }

    @contextmanager
    def watch(self) -> Generator[asyncio.Queue[dict[str, Any]]]:
        """Return a queue of what changes from now on. If it gets too long, `lost` is the last change in it."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MAX_QUEUED_CHANGES + 1)
        self._watchers.add(queue)
        try:
            yield queue
        finally:
            self._watchers.discard(queue)

    @property
    def is_watched(self) -> bool:
        """Whether somebody watches the run."""
        return bool(self._watchers)

    def _tell(self, change: dict[str, Any]) -> None:
        for queue in list(self._watchers):
            if queue.qsize() < MAX_QUEUED_CHANGES:
                queue.put_nowait(change)
            else:
                self._watchers.discard(queue)
                queue.put_nowait({"type": "lost"})
