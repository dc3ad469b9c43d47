"""Durable runs: those of a store that workers drive, live, with answers to their approvals."""

import asyncio
import getpass
import time
from urllib.parse import urlsplit

from toolspeak.durable import Runs, RunUnknown
from toolspeak.durable.descriptions import read_prompt
from toolspeak.durable.event_feed import find_run
from toolspeak.durable.journal import JournalSession
from toolspeak.durable.records import load_timed_facts
from toolspeak.durable.rows import RunRow
from toolspeak.page.document import RunDocument
from toolspeak.page.previews import preview_text
from toolspeak.page.sources.source import RunEntry, RunMissing
from toolspeak.store import StoredFact

MAX_LISTED_RUNS = 500


class DurableStore:
    """A store of durable runs."""

    name = "store"

    def __init__(self, url: str) -> None:
        """Name a store; nothing is opened yet.

        Raises:
            UsageError: The address cannot be used.
        """
        self._runs = Runs(url)
        self.label = _name_store(url)

    async def list_runs(self) -> list[RunEntry]:
        """Return the runs that were started last."""
        return [_describe(row) for row in await self._runs.list(limit=MAX_LISTED_RUNS)]

    async def open(self, run_id: str) -> RunDocument:
        """Read a run as far as it is stored."""
        row, facts = await self._read(run_id)
        document = RunDocument()
        document.started = facts[0].at if facts else row.created / 1000
        for stored in facts:
            document.add(stored.fact, stored.at - document.started)
        document.is_live = row.status != "done"
        if not facts:
            document.fold.summary |= {"status": row.status, "title": preview_text(read_prompt(row))}
        return document

    async def _read(self, run_id: str) -> tuple[RunRow, list[StoredFact]]:
        def read_run(session: JournalSession) -> tuple[RunRow, list[StoredFact]]:
            row = find_run(session, run_id)
            return row, load_timed_facts(session, row)

        try:
            return await self._runs.read(read_run)
        except RunUnknown as error:
            raise RunMissing(str(error)) from None

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Add the events of a run as they are committed, text that is arriving included."""
        last = len(document.facts) - 1
        started = document.started or 0.0
        async for event in self._runs.handle(run_id).events(f"{last}.0" if last >= 0 else None):
            document.add(event.event, max(0.0, time.time() - started))
        document.finish()

    async def approve(self, run_id: str, call_id: str, approved: bool | str, digest: str | None) -> bool:
        """Answer whether a call may run, in the name of the user of this machine."""
        return await self._runs.handle(run_id).approve(call_id, approved, by=getpass.getuser(), digest=digest)

    async def cancel(self, run_id: str) -> bool:
        """End a run early."""
        return await self._runs.handle(run_id).cancel()

    async def close(self) -> None:
        """End the threads of the store."""
        await asyncio.to_thread(self._runs.close)


def _describe(row: RunRow) -> RunEntry:
    return RunEntry(
        id=row.run_id,
        title=preview_text(read_prompt(row)),
        where=row.agent,
        status=row.status,
        reason=row.stop_reason,
        updated=row.updated / 1000,
        size=f"{row.next_seq} facts",
    )


def _name_store(url: str) -> str:
    """Return what people call a store: its file, or its host and database. Nothing else of its address is shown."""
    parts = urlsplit(url)
    if parts.scheme.startswith("sqlite"):
        return parts.path.rpartition("/")[2] or url
    return f"{parts.hostname or ''}{parts.path}"
