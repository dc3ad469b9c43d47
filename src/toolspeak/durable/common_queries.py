"""Queries that SQLite and Postgres write alike."""

from abc import ABC, abstractmethod
from typing import Any

from toolspeak.durable.rows import JournalFigures, RunStatus


class CommonQueries(ABC):
    """What a session of any SQL database can answer from the table of runs."""

    @abstractmethod
    def _read(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a query."""

    @abstractmethod
    def read_clock(self) -> int:
        """Return the time of the database."""

    def count_runs(self) -> dict[tuple[str, RunStatus], int]:
        """Return how many runs there are, by lane and status."""
        rows = self._read("SELECT lane, status, count(*) FROM ts_runs GROUP BY lane, status")
        return {(lane, status): count for lane, status, count in rows}

    def read_figures(self) -> JournalFigures:
        """Return what is watched besides the counts of runs."""
        ((takeovers, queued_since),) = self._read(
            "SELECT coalesce(sum(takeovers), 0), min(CASE WHEN status = 'queued' THEN updated END) FROM ts_runs"
        )
        return JournalFigures(int(takeovers), queued_since, self.read_clock())
