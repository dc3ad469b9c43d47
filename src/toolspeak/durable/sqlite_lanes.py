"""Lanes in SQLite: which of them have room for a run more."""

import sqlite3
from collections.abc import Mapping

from toolspeak.durable.rows import Lane


class SqliteLanes:
    """The lanes of a file, through the connection of a session."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def store(self, lanes: Mapping[str, Lane]) -> None:
        """Store lanes by name, instead of those of the same name."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO ts_lanes (lane, concurrency, rate, period, waiting) VALUES (?, ?, ?, ?, ?)",
            [(name, each.concurrency, each.rate, each.period, each.waiting) for name, each in lanes.items()],
        )

    def read(self) -> dict[str, Lane]:
        """Return all lanes by name."""
        rows = self._connection.execute("SELECT lane, concurrency, rate, period, waiting FROM ts_lanes ORDER BY lane")
        return {
            name: Lane(concurrency=concurrency, rate=rate, period=period, waiting=waiting)
            for name, concurrency, rate, period, waiting in rows
        }

    def count_queued(self, name: str) -> int:
        """Return how many runs of a lane are queued."""
        return self._count("SELECT count(*) FROM ts_runs WHERE status = 'queued' AND lane = ?", name)

    def list_full(self, now: int) -> list[str]:
        """Return the lanes that have no room for a run more."""
        return [name for name, lane in self.read().items() if not self._has_room(name, lane, now)]

    def _has_room(self, name: str, lane: Lane, now: int) -> bool:
        if lane.concurrency is not None:
            running = self._count("SELECT count(*) FROM ts_runs WHERE status = 'running' AND lane = ?", name)
            if running >= lane.concurrency:
                return False
        if lane.rate is None:
            return True
        since = now - round(lane.period * 1000)
        return self._count("SELECT count(*) FROM ts_lane_claims WHERE lane = ? AND at > ?", name, since) < lane.rate

    def note_claim(self, name: str, now: int) -> None:
        """Note that a run of a lane was claimed, and forget the claims that no longer count."""
        lane = self.read().get(name)
        if lane is None or lane.rate is None:
            return
        self._connection.execute("INSERT INTO ts_lane_claims VALUES (?, ?)", (name, now))
        self._connection.execute(
            "DELETE FROM ts_lane_claims WHERE lane = ? AND at <= ?", (name, now - round(lane.period * 1000))
        )

    def _count(self, statement: str, *values: object) -> int:
        return self._connection.execute(statement, values).fetchone()[0]
