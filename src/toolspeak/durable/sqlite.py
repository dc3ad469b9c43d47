"""Durable runs in an SQLite file: for all processes of one machine.

The clock of the database is that of the machine. Deltas are in a file of their own beside that of the facts, which is
never flushed to the disk. They may be lost, so that file cannot stop a run: its errors are logged, and the deltas are
not stored or not found. A damaged file of deltas is replaced by an empty one; other processes notice that the file is
another one, and open it anew.

Deltas are committed just before the facts of their transaction. A process that dies in between leaves deltas under
numbers that no fact has. Whoever claims the run then deletes them (`SqliteDeltas.cut`) before it uses these numbers.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from toolspeak.durable.journal import HELD, JournalSession
from toolspeak.durable.rows import DeltaRow, Hold, RunRow
from toolspeak.durable.sqlite_file import (
    DELTAS,
    RUNS,
    create_file,
    identify,
    name_errors,
    open_file,
    shrink,
    transaction,
)
from toolspeak.values.errors import StoreUnavailable, UsageError
from toolspeak.values.log import LOG

T = TypeVar("T")

POLL_SECONDS = 0.01
"""How often a watch looks whether another process has committed something."""


SHRUNK_PAGES = 2000
"""How many pages are given back to the disk in one transaction."""


class SqliteJournal:
    """A file of runs.

    Attributes:
        url: Its address.
        path: The file.
    """

    def __init__(self, path: str | Path) -> None:
        if not str(path) or str(path) == ":memory:":
            raise UsageError("the address of a store names its file: sqlite:///runs.db")
        self.path = Path(path)
        self.url = f"sqlite:///{path}"

    def connect(self) -> JournalSession:
        """Open a session."""
        return SqliteSession(self.path)

    def watch(self) -> "SqliteWatch":
        """Begin to watch for changes."""
        return SqliteWatch(self.path)


class SqliteSession(JournalSession):
    """A session of a file: a connection to the file of runs, and one to that of deltas."""

    NOW = "ts_now()"
    AMONG = "IN (SELECT value FROM json_each(?))"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = f"the store {path}"
        with name_errors(self._name, path=self._path):
            self._runs = open_file(path, RUNS)
            self._file = identify(path)
        self._deltas = SqliteDeltas(path)
        self._new_deltas: list[DeltaRow] = []
        self._time = time_of_statement = [0]
        self._runs.create_function("ts_now", 0, lambda: time_of_statement[0], deterministic=True)

    def close(self) -> None:
        """Close both connections."""
        self._runs.close()
        self._deltas.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Make all that is done in this context one transaction."""
        with name_errors(self._name, path=self._path):
            if identify(self._path) != self._file:  # else the facts would go into a file that nobody finds again
                raise StoreUnavailable(f"{self._name} was removed or replaced while it was in use; restart")
            try:
                with transaction(self._runs):
                    yield
                    self._deltas.add(self._new_deltas)  # before the facts: whoever sees those sees the deltas
            finally:
                self._new_deltas = []

    @property
    def _in_transaction(self) -> bool:
        return self._runs.in_transaction

    def _execute(self, statement: str, values: Sequence[object]) -> sqlite3.Cursor:
        self._time[0] = self.read_clock()
        return self._runs.execute(statement, [json.dumps(each) if isinstance(each, list) else each for each in values])

    def _read(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        with name_errors(self._name, path=self._path):
            return self._execute(statement, values).fetchall()

    def _write(self, statement: str, values: Sequence[object] = ()) -> int:
        return self._execute(statement, values).rowcount

    def _change_run(self, run_id: str, statement: str, values: Sequence[object] = ()) -> RunRow | None:
        return self.read_run(run_id) if self._write(statement, values) else None

    def _notify(self) -> None:
        """Do nothing: a watch sees by itself that the files have changed."""

    def _lock(self, chat: str | None) -> None:
        """Do nothing: there is one transaction at a time."""

    def _lock_idle(self, chats: list[str]) -> list[str]:
        return chats

    def read_clock(self) -> int:
        """Return the time of the machine."""
        return time.time_ns() // 1_000_000

    def claim(self, run_id: str, epoch: int, owner: str) -> RunRow | None:
        """Make `owner` the owner of a queued run with this epoch."""
        with self._writing():
            run = super().claim(run_id, epoch, owner)
            if run is not None and run.epoch > 1:
                self._deltas.cut(run_id, run.next_seq)
        return run

    def _append(self, hold: Hold, facts: Sequence[str], *, has_progress: bool, stop_reason: str) -> bool:
        ends = "status = 'done', owner = ''," if stop_reason else ""
        count = self._write(
            "UPDATE ts_runs SET next_seq = next_seq + ?, updated = ts_now(),"
            f" deaths = CASE WHEN ? THEN 0 ELSE deaths END, {ends} stop_reason = ? WHERE {HELD}",
            (len(facts), has_progress, stop_reason, *hold),
        )
        if count:
            now = self._time[0]
            rows = [(hold.run_id, hold.next_seq + n, now, data) for n, data in enumerate(facts)]
            self._runs.executemany("INSERT INTO ts_facts VALUES (?, ?, ?, ?)", rows)
        return bool(count)

    def mark_dispatched(self, entries: Collection[tuple[str, int]]) -> None:
        """Note that an engine has got runs, each with its epoch."""
        with self._writing():
            for run_id, epoch in entries:
                self._write(
                    "UPDATE ts_runs SET dispatched = ? WHERE run_id = ? AND dispatched < ?", (epoch, run_id, epoch)
                )

    def add_deltas(self, deltas: Sequence[DeltaRow]) -> None:
        """Store deltas, of any runs: at once, or together with the transaction that is under way."""
        if self._in_transaction:
            self._new_deltas += deltas
        else:
            self._deltas.add(deltas)

    def read_deltas(self, run_id: str, after: tuple[int, int], through: int) -> list[DeltaRow]:
        """Return deltas of a run in order."""
        return self._deltas.read(run_id, after, through)

    def drop_deltas(self, before: int) -> int:
        """Delete deltas of runs that ended before a time, or are no longer in the journal."""
        runs = [(run_id, self.read_run(run_id)) for run_id in self._deltas.list_runs()]
        ended = [name for name, run in runs if run is None or (run.status == "done" and run.updated < before)]
        return self._deltas.delete(ended)

    def prune(self, before: int, limit: int = 1000) -> list[str]:
        """Delete runs that ended before a time, with all that belongs to them."""
        pruned = super().prune(before, limit)
        self._deltas.delete(pruned)
        return pruned

    def shrink(self) -> bool:
        """Give room that was freed back to the disk, some at a time; return whether there may be more."""
        with name_errors(self._name, path=self._path):
            return shrink(self._runs, SHRUNK_PAGES)


class SqliteDeltas:
    """A connection to the file of deltas, opened when it is first used.

    Args:
        path: The file of the runs to which the deltas belong.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f"{path.name}.deltas")
        self._file: tuple[int, int] | None = None
        self._connection: sqlite3.Connection | None = None
        self._is_failing = False

    def add(self, deltas: Sequence[DeltaRow]) -> None:
        """Store deltas; those that exist already are left as they are."""
        if deltas:
            self._write_all("INSERT INTO ts_deltas VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", deltas)

    def read(self, run_id: str, after: tuple[int, int], through: int) -> list[DeltaRow]:
        """Return the deltas of a run after `(seq, pos)` whose `seq` is at most `through`, in order."""
        rows = self._read(
            "SELECT run_id, seq, pos, data FROM ts_deltas"
            " WHERE run_id = ? AND (seq, pos) > (?, ?) AND seq <= ? ORDER BY seq, pos",
            (run_id, *after, through),
        )
        return [DeltaRow(*row) for row in rows]

    def cut(self, run_id: str, next_seq: int) -> None:
        """Delete the deltas of a run that come after facts which were never committed: those from `next_seq` on."""
        self._write_all("DELETE FROM ts_deltas WHERE run_id = ? AND seq >= ?", [(run_id, next_seq)])

    def list_runs(self) -> list[str]:
        """Return the ids of all runs that have deltas."""
        return [row[0] for row in self._read("SELECT DISTINCT run_id FROM ts_deltas")]

    def delete(self, run_ids: Collection[str]) -> int:
        """Delete all deltas of these runs, and return how many there were."""
        return self._write_all("DELETE FROM ts_deltas WHERE run_id = ?", [(run_id,) for run_id in run_ids])

    def read_version(self) -> tuple[object, object]:
        """Return what is another value after another connection has changed the file, or it was replaced."""
        version = self._read("PRAGMA data_version")
        return self._file, version

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _read(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        return self._use(lambda connection: connection.execute(statement, values).fetchall(), [])

    def _write_all(self, statement: str, rows: Sequence[tuple[object, ...]]) -> int:
        """Execute a statement for each row, in one transaction; return how many rows of the table it changed."""

        def write(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                return connection.executemany(statement, rows).rowcount

        return self._use(write, 0) if rows else 0

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
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details of an extended code
                if code not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
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
            self._connection = open_file(self._path, DELTAS)
        return self._connection

    def _remove(self) -> None:
        """Remove the damaged file, unless another process has replaced it already."""
        if identify(self._path) == self._file:
            for suffix in ("-wal", "-shm", ""):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


class SqliteWatch:
    """Looks every few milliseconds whether the files have changed: SQLite tells nobody."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = f"the store {path}"
        with name_errors(self._name, path=self._path):
            self._runs = open_file(path, RUNS)
            self._deltas = SqliteDeltas(path)
            self._seen = self._read_versions()

    def wait(self, seconds: float) -> bool:
        """Wait until something was committed since the last call, or until this time is over."""
        end = time.monotonic() + seconds
        with name_errors(self._name, path=self._path):
            while (versions := self._read_versions()) == self._seen:
                left = end - time.monotonic()
                if left <= 0:
                    return False
                time.sleep(min(POLL_SECONDS, left))
        self._seen = versions
        return True

    def _read_versions(self) -> tuple[object, ...]:
        return self._runs.execute("PRAGMA data_version").fetchone()[0], self._deltas.read_version()

    def close(self) -> None:
        """Stop watching."""
        self._runs.close()
        self._deltas.close()
