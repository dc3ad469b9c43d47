"""`Catalogue`: the runs of all sources with their figures, as the home of the page lists them, and the search in them.

A list asks each source for its runs. What a source does not know (turns, tokens, errors, …) is measured by reading the
run once (`figures.py`); a task does that in the background, the newest runs first, and keeps figures and words in an
index (`durable/run_index.py`). A run is read again when its version differs. Somebody who opens a run comes first: the
task waits until it was read.

Each change of an entry has a number. A browser that has seen the changes up to some number asks for those after it, so
a list of ten thousand runs is sent once. Figures stay the JSON text that the index has: to parse ten thousand of them
and to write them again would take longer than all else.
"""

import asyncio
import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolspeak.page.annotations import NOTHING_SAID
from toolspeak.page.figures import FIGURES_FORMAT, collect_words, measure_run
from toolspeak.page.library import RunEntry, RunKey, RunLibrary, RunMissing, RunSource
from toolspeak.values.errors import StoreUnavailable, UsageError
from toolspeak.wire.json_data import dump_compact

if TYPE_CHECKING:
    from toolspeak.durable.run_index import RunIndex, RunText

NO_FIGURES = "{}"

NAMED_BY_FIGURES = '{"title":"","model":"","reason":"",'
"""The fields that figures have if a source does not know them."""

PAUSE_FACTOR = 5.0
"""How much longer than listing the runs of a source takes nothing is asked of it: a list of many takes a while."""

BATCH_RUNS = 100
BATCH_SECONDS = 1.0
"""After how many runs, or how long, what was measured is stored and shown."""

WAIT_SECONDS = 0.1
MAX_EXCERPTS = 200


class SourceListing:
    """The runs of one source, as they were listed last.

    Attributes:
        entries: The runs by their ids, the newest first.
        figures: What was measured of them, as JSON, each with the version of the run that it belongs to.
        failure: Why they could not be listed; "" if they could.
    """

    def __init__(self, source: RunSource) -> None:
        self.source = source
        self.entries: dict[str, RunEntry] = {}
        self.figures: dict[str, tuple[str, str]] = {}
        self.failure = ""
        self.index: RunIndex | None = None
        self._changes: dict[str, int] = {}  # the number of the last change of each run
        self._gone: dict[str, int] = {}
        self._listed = 0.0
        self._took = 0.0

    async def refresh(self, revision: int, *, at_once: bool) -> bool:
        """List the runs, unless that was done a moment ago; return whether something has changed."""
        began = time.monotonic()
        if not at_once and began - self._listed < PAUSE_FACTOR * self._took:
            return False
        before = self.failure
        try:
            listed = {entry.id: entry for entry in await self.source.list_runs()}
            self.failure = ""
        except (UsageError, StoreUnavailable) as error:
            listed, self.failure = {}, str(error)
        self._listed = time.monotonic()
        self._took = self._listed - began
        changed = [run_id for run_id, entry in listed.items() if self.entries.get(run_id) != entry]
        gone = [run_id for run_id in self.entries if run_id not in listed]
        self.entries = listed
        self.note_changes(changed, revision)
        for run_id in gone:
            self._changes.pop(run_id, None)
            self._gone[run_id] = revision
        if gone and not self.failure and self.index is not None:
            for run_id in gone:
                self.figures.pop(run_id, None)
            with suppress(StoreUnavailable):
                await asyncio.to_thread(self.index.remove, gone)
        return bool(changed or gone or before != self.failure)

    def note_changes(self, run_ids: list[str], revision: int) -> None:
        """Note that runs have changed."""
        self._changes.update(dict.fromkeys(run_ids, revision))
        for run_id in run_ids:
            self._gone.pop(run_id, None)

    async def open_index(self) -> "RunIndex":
        """Return the index, which is opened at its first use; what it knows is known from then on."""
        if self.index is None:
            self.index, known = await asyncio.to_thread(_open_index, self.source.place, self.source.name)
            self.figures = known | self.figures
            gone = [run_id for run_id in known if run_id not in self.entries]
            if gone and not self.failure:
                await asyncio.to_thread(self.index.remove, gone)
        return self.index

    def list_unmeasured(self) -> list[str]:
        """Return the runs whose figures are not known, or belong to an earlier version, the newest first."""
        return [
            run_id
            for run_id, entry in self.entries.items()
            if run_id not in self.figures or self.figures[run_id][0] != _make_version(entry)
        ]

    def encode(self, since: int) -> str:
        """Return the source as JSON, with the runs that changed after a number; with all of them after 0."""
        runs = [
            self._encode_run(entry) for run_id, entry in self.entries.items() if self._changes.get(run_id, 0) > since
        ]
        data: dict[str, Any] = {
            "name": self.source.name,
            "label": self.source.label,
            "failure": self.failure,
            "count": len(self.entries),
            "unread": len(self.list_unmeasured()) if self.index is not None else 0,
        }
        if since and (gone := [run_id for run_id, revision in self._gone.items() if revision > since]):
            data["gone"] = gone
        return f'{dump_compact(data)[:-1]},"runs":[{",".join(runs)}]}}'

    def _encode_run(self, entry: RunEntry) -> str:
        """Return a run as JSON: its figures, then what the source says. Of two fields of one name the last counts."""
        figures = self.figures.get(entry.id, ("", NO_FIGURES))[1]
        # Of an unknown status figures may know more, but not whether the run goes on.
        measured = json.loads(figures).get("status") if entry.status == "unknown" else None
        data: dict[str, Any] = {
            "id": entry.id,
            "where": entry.where,
            "updated": entry.updated,
            "size": entry.size,
            "status": measured if measured in ("paused", "done") else entry.status,
        }
        optional = ("title", "model", "reason", "run_id", "conversation", "labels")
        data |= {name: value for name in optional if (value := getattr(entry, name))}
        if (said := entry.annotation) is not NOTHING_SAID:
            texts = {"score": said.score, "note": said.note, "tags": said.tags}
            data |= {name: value for name, value in texts.items() if value}
        known = "" if figures == NO_FIGURES else f"{figures[1:-1]},"
        return f"{NAMED_BY_FIGURES}{known}{dump_compact(data)[1:]}"


class Catalogue:
    """The runs of all sources."""

    def __init__(self, library: RunLibrary) -> None:
        self._library = library
        self._listings = {name: SourceListing(source) for name, source in library.sources.items()}
        self._revision = 1
        self._listing = asyncio.Lock()
        self._preparing: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def prepare(self) -> None:
        """List the runs already: a browser that opens the page will ask for them when it has loaded its modules."""
        if self._preparing is None:  # the address counts once, but a browser may ask twice
            self._preparing = asyncio.create_task(self.refresh(at_once=True))

    async def list_runs(self, since: int = 0) -> str:
        """Return the runs of all sources as JSON, or what has changed. A source that fails says why, and hides none.

        Who asks again and again for what has changed may be told a moment later, so that a long list is not made anew
        each time.
        """
        prepared, self._preparing = self._preparing, None
        if prepared is not None:
            await prepared
        await self.refresh(at_once=not since and prepared is None)
        self._start_measuring()
        sources = ",".join(each.encode(since) for each in self._listings.values())
        return f'{{"revision":{self._revision},"sources":[{sources}]}}'

    async def refresh(self, *, at_once: bool) -> None:
        """Let all sources list their runs, or only those that were not asked a moment ago."""
        async with self._listing:
            revision = self._revision + 1
            refreshed = await asyncio.gather(
                *(each.refresh(revision, at_once=at_once) for each in self._listings.values())
            )
            if any(refreshed):
                self._revision = revision
            if self._has_many:
                await asyncio.gather(*(each.open_index() for each in self._listings.values() if each.entries))

    async def search(self, words: str) -> dict[str, Any]:
        """Return the runs in which all words occur: the newest with excerpts, and the ids of further ones by source."""
        found: list[dict[str, str]] = []
        further: dict[str, list[str]] = {}
        unread = 0
        for name, listing in self._listings.items():
            index = await listing.open_index()
            unread += len(listing.list_unmeasured())
            runs = await asyncio.to_thread(index.search, words, MAX_EXCERPTS, tuple(listing.entries))
            listed = [each for each in runs if each.run_id in listing.entries]
            found += [{"source": name, "id": each.run_id, "excerpt": each.excerpt} for each in listed[:MAX_EXCERPTS]]
            further[name] = [each.run_id for each in listed[MAX_EXCERPTS:]]
        return {"found": found, "further": further, "unread": unread}

    def find_entry(self, key: RunKey) -> RunEntry | None:
        """Return a run as it was listed last; None if it was not."""
        listing = self._listings.get(key[0])
        return None if listing is None else listing.entries.get(key[1])

    # Figures

    @property
    def _has_many(self) -> bool:
        """Whether there is more than one run: else nobody needs a list."""
        return sum(len(each.entries) for each in self._listings.values()) > 1

    def _start_measuring(self) -> None:
        if self._has_many and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._measure())

    async def _measure(self) -> None:
        """Measure the runs that are new or have changed, until a store cannot be reached."""
        for listing in self._listings.values():
            with suppress(StoreUnavailable):
                waiting = listing.list_unmeasured()
                while waiting:
                    batch, waiting = waiting[:BATCH_RUNS], waiting[BATCH_RUNS:]
                    await self._measure_batch(listing, batch)

    async def _measure_batch(self, listing: SourceListing, run_ids: list[str]) -> None:
        texts: list[RunText] = []
        began = time.monotonic()
        for run_id in run_ids:
            while self._library.is_reading:
                await asyncio.sleep(WAIT_SECONDS)
            entry = listing.entries.get(run_id)
            text = None if entry is None else await _read_run(listing.source, entry)
            if text is None:
                continue
            texts.append(text)
            if time.monotonic() - began > BATCH_SECONDS:
                await self._keep(listing, texts)
                texts, began = [], time.monotonic()
        await self._keep(listing, texts)

    async def _keep(self, listing: SourceListing, texts: "list[RunText]") -> None:
        """Store what was measured. If that fails it is still known here, and measured again by the next server.

        It is known when it is stored and noted as a change, so that a list without unread runs is complete.
        """
        measured = {each.run_id: (each.version, each.figures) for each in texts}
        readable = [each for each in texts if each.text or "unreadable" not in json.loads(each.figures)]
        index = await listing.open_index()
        with suppress(StoreUnavailable):
            await asyncio.to_thread(index.store, readable)
        listing.figures |= measured
        self._note(listing, list(measured))

    def _note(self, listing: SourceListing, run_ids: list[str]) -> None:
        if run_ids:
            self._revision += 1
            listing.note_changes(run_ids, self._revision)

    async def close(self) -> None:
        """End the task, and close the indexes."""
        for task in (self._preparing, self._task):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, StoreUnavailable):
                    await task
        for listing in self._listings.values():
            if listing.index is not None:
                listing.index.close()


def _open_index(place: str, name: str) -> "tuple[RunIndex, dict[str, tuple[str, str]]]":
    """Open the index of a source. A folder may be a source of files and of the playground, so its name counts."""
    from toolspeak.durable.run_index import RunIndex  # with sqlite3, which the first page does not need

    index = RunIndex(place if name != "playground" else f"playground {place}")
    return index, {run_id: (each.version, each.figures) for run_id, each in index.load().items()}


def _make_version(entry: RunEntry) -> str:
    return f"{FIGURES_FORMAT} {entry.version}"


async def _read_run(source: RunSource, entry: RunEntry) -> "RunText | None":
    """Read a run and measure it; None if it is gone. One that cannot be read is tried again when it has changed."""
    from toolspeak.durable.run_index import RunText

    version = _make_version(entry)
    try:
        document = await source.open(entry.id)
        await document.wait_until_read()
    except RunMissing:
        return None
    except UsageError as error:
        return RunText(entry.id, version, dump_compact({"unreadable": str(error)}), "")
    figures, words = await asyncio.to_thread(lambda: (measure_run(document), collect_words(document)))
    if document.failure:
        figures["unreadable"] = document.failure
    return RunText(entry.id, version, dump_compact(figures), words)
