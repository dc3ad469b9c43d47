"""The log of the command line: the conversations of `toolspeak run` and `toolspeak chat`, a run for each prompt."""

import asyncio
import threading
from pathlib import Path

from toolspeak.errors import UsageError
from toolspeak.page.document import RunDocument
from toolspeak.page.sources.source import EntryStatus, RunEntry, RunMissing
from toolspeak.store import ConversationStore, StoredFact

MAX_LISTED_RUNS = 500
POLL_SECONDS = 0.5


class LoggedRuns:
    """The log of conversations. Its runs are followed while the command that makes them still runs."""

    name = "log"
    label = "Your conversations"

    def __init__(self, path: Path) -> None:
        """Open the log.

        Raises:
            UsageError: It cannot be used.
        """
        self._store = ConversationStore(path)
        self._lock = threading.Lock()  # a store may be used from several threads, one at a time

    async def list_runs(self) -> list[RunEntry]:
        """Return the last runs of the last conversations."""
        return await asyncio.to_thread(self._list)

    def _list(self) -> list[RunEntry]:
        with self._lock:
            summaries = self._store.list_latest_runs(MAX_LISTED_RUNS)
        return [
            RunEntry(
                id=each.run_id,
                title=each.title,
                where=each.conversation[:8],
                model=each.model,
                status=_read_status(each.status),
                reason=each.stop_reason,
                updated=each.updated,
                size=f"{each.facts} facts",
            )
            for each in summaries
        ]

    async def open(self, run_id: str) -> RunDocument:
        """Read a run as far as it is stored."""
        facts = await asyncio.to_thread(self._load, run_id)
        document = RunDocument()
        document.started = facts[0].at if facts else None
        self._add(document, facts)
        document.is_live = document.fold.summary["status"] != "done"
        return document

    def _load(self, run_id: str) -> list[StoredFact]:
        try:
            with self._lock:
                return self._store.load_facts(run_id)
        except UsageError as error:
            raise RunMissing(str(error)) from None

    def _add(self, document: RunDocument, facts: list[StoredFact]) -> None:
        for stored in facts[len(document.facts) :]:
            document.add(stored.fact, stored.at - (document.started or 0.0))

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Add the facts that are stored later."""
        while document.fold.summary["status"] != "done":
            await asyncio.sleep(POLL_SECONDS)
            self._add(document, await asyncio.to_thread(self._load, run_id))
        document.finish()

    async def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._store.close()


def _read_status(text: str) -> EntryStatus:
    return text if text in ("running", "paused", "done") else "unknown"
