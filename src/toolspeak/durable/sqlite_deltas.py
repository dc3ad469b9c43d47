"""`SqliteDeltas`: the deltas of runs, in a file of their own beside that of the facts. It is never flushed to the disk.

Deltas may be lost, so this file cannot stop a run: its errors are logged, and the deltas are not stored or not found. A
damaged file is replaced by an empty one; other processes notice that the file is another one, and open it anew.

Deltas are committed just before the facts of their transaction. A process that dies in between leaves deltas under
numbers that no fact has. Whoever claims the run then deletes them (`cut`) before it uses these numbers.
"""

import sqlite3
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from toolspeak.durable.rows import DeltaRow
from toolspeak.durable.sqlite_schema import identify, open_deltas
from toolspeak.log import LOG
from toolspeak.store.schema import create_file, transaction

T = TypeVar("T")

DELTAS_SUFFIX = ".deltas"


class SqliteDeltas:
    """A connection to the file of deltas, opened when it is first used.

    Args:
        path: The file of the runs to which the deltas belong.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + DELTAS_SUFFIX)
        self._file: tuple[int, int] | None = None
        self._connection: sqlite3.Connection | None = None
        self._is_failing = False

    def add(self, deltas: Sequence[DeltaRow]) -> None:
        """Store deltas; those that exist already are left as they are."""

        def insert(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.executemany("INSERT INTO ts_deltas VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", deltas)

        if deltas:
            self._use(insert, None)

    def read(self, run_id: str, after: tuple[int, int], through: int) -> list[DeltaRow]:
        """Return the deltas of a run after `(seq, pos)` whose `seq` is at most `through`, in order."""

        def select(connection: sqlite3.Connection) -> list[DeltaRow]:
            rows = connection.execute(
                "SELECT run_id, seq, pos, data FROM ts_deltas"
                " WHERE run_id = ? AND (seq, pos) > (?, ?) AND seq <= ? ORDER BY seq, pos",
                (run_id, *after, through),
            )
            return [DeltaRow(*row) for row in rows]

        return self._use(select, [])

    def cut(self, run_id: str, next_seq: int) -> None:
        """Delete the deltas of a run that come after facts which were never committed: those from `next_seq` on."""
        self._use(
            lambda connection: connection.execute(
                "DELETE FROM ts_deltas WHERE run_id = ? AND seq >= ?", (run_id, next_seq)
            ),
            None,
        )

    def list_runs(self) -> list[str]:
        """Return the ids of all runs that have deltas."""
        rows = self._use(
            lambda connection: connection.execute("SELECT DISTINCT run_id FROM ts_deltas").fetchall(), list[str]()
        )
        return [row[0] for row in rows]

    def delete(self, run_ids: Collection[str]) -> int:
        """Delete all deltas of these runs, and return how many there were."""

        def delete(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                return connection.executemany(
                    "DELETE FROM ts_deltas WHERE run_id = ?", [(run_id,) for run_id in run_ids]
                ).rowcount

        return self._use(delete, 0) if run_ids else 0

    def read_version(self) -> tuple[object, int]:
        """Return what is another value after another connection has changed the file, or it was replaced."""
        version = self._use(lambda connection: connection.execute("PRAGMA data_version").fetchone()[0], 0)
        return self._file, version

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _use(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Do something with the file. If it is damaged, do it with a new one; if it fails, return `otherwise`."""
        for _ in range(2):
            try:
                value = work(self._connect())
            except (sqlite3.Error, OSError) as error:
                if not self._is_failing:
                    LOG.warning("the file of deltas %s cannot be used: %s", self._path, error)
                self._is_failing = True
                self.close()
                if not _is_damaged(error):
                    break
                with suppress(OSError):
                    self._remove()
            else:
                self._is_failing = False
                return value
        return otherwise

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None or identify(self._path) != self._file:
            self.close()
            create_file(self._path)
            self._file = identify(self._path)
            self._connection = open_deltas(self._path)
        return self._connection

    def _remove(self) -> None:
        """Remove the damaged file, unless another process has replaced it already."""
        if identify(self._path) == self._file:
            for suffix in ("-wal", "-shm", ""):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _is_damaged(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details of an extended code
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
