"""Queries that SQLite and Postgres write alike."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

from toolspeak.durable.rows import JournalFigures, NewRun, RunRow, RunStatus

# Why a start is refused, in words for whoever started the run.


def explain_used_key(known: RunRow, run: NewRun) -> str:
    """Explain that a key belongs to another request."""
    name = f"the key {run.key!r}" if run.key else f"the id {run.run_id}"
    return (
        f"{name} was used for another request to {known.agent} (run {known.run_id}, {known.status}); a key stands for "
        "one request: use another key, or send the same request again"
    )


def explain_unknown_lane(name: str, lanes: Collection[str]) -> str:
    """Explain that a lane does not exist."""
    known = f"the store has {', '.join(sorted(lanes))}" if lanes else "the store has none"
    return f"there is no lane {name!r} ({known}); define it: Runs(url, lanes={{{name!r}: Lane(concurrency=…)}})"


def explain_full_lane(name: str, waiting: int) -> str:
    """Explain that a lane is full."""
    return (
        f"the lane {name!r} is full: {waiting} runs wait in it; try again later, add workers, or raise Lane(waiting=…)"
    )


def explain_busy_chat(chat: str, run: RunRow) -> str:
    """Explain that the last run of a chat has not ended."""
    return (
        f"the chat {chat!r} goes on from its last run, {run.run_id}, which is {run.status}; wait for its outcome, or "
        "cancel it"
    )


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
