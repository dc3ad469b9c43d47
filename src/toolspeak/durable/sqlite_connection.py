"""A connection to an SQLite file of durable runs: transactions, errors in words, and a watch for changes."""

import sqlite3
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from toolspeak.durable.common_queries import CommonQueries
from toolspeak.durable.rows import DeltaRow, Lane, RunRow
from toolspeak.durable.sqlite_schema import BUSY_SECONDS, create_file, identify, open_deltas, open_runs, transaction
from toolspeak.values.errors import StoreUnavailable
from toolspeak.values.log import LOG

# Lanes in SQLite: which of them have room for a run more.


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


# `SqliteDeltas`: the deltas of runs, in a file of their own beside that of the facts. It is never flushed to the disk.
#
# Deltas may be lost, so this file cannot stop a run: its errors are logged, and the deltas are not stored or not found.
# A damaged file is replaced by an empty one; other processes notice that the file is another one, and open it anew.
#
# Deltas are committed just before the facts of their transaction. A process that dies in between leaves deltas under
# numbers that no fact has. Whoever claims the run then deletes them (`cut`) before it uses these numbers.


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


LOCK_POLL_SECONDS = 0.001
"""How often a transaction that waits looks whether that of another process has ended. SQLite itself would wait longer
each time, up to 0.1 s, while a commit takes a few milliseconds."""

POLL_SECONDS = 0.01
"""How often a watch looks whether another process has committed something."""

_FIELDS = [field.name for field in fields(RunRow)]
_COLUMNS = ", ".join(_FIELDS)


class SqliteConnection(CommonQueries):
    """A connection to the file of runs and one to that of deltas; the sessions are built on it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with name_errors(path):
            self._runs = open_runs(path)
            self._file = identify(path)
        self._deltas = SqliteDeltas(path)
        self._new_deltas: list[DeltaRow] = []
        self._lanes = SqliteLanes(self._runs)

    def close(self) -> None:
        """Close both connections."""
        self._runs.close()
        self._deltas.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Make all that is done in this context one transaction."""
        with name_errors(self._path):
            self._begin()
            try:
                yield
                self._deltas.add(self._new_deltas)  # before the facts: whoever sees those sees the deltas
                self._runs.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    if self._runs.in_transaction:
                        self._runs.execute("ROLLBACK")
                raise
            finally:
                self._new_deltas = []

    def _begin(self) -> None:
        if identify(self._path) != self._file:  # else the facts would go into a file that nobody finds again
            raise StoreUnavailable(f"the store {self._path} was removed or replaced while it was in use; restart")
        ends = time.monotonic() + BUSY_SECONDS
        self._runs.execute("PRAGMA busy_timeout = 0")
        try:
            while not self._try_to_begin(is_last=time.monotonic() > ends):
                time.sleep(LOCK_POLL_SECONDS)
        finally:
            self._runs.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000)}")

    def _try_to_begin(self, *, is_last: bool) -> bool:
        """Take the lock for writing; return False if another process has it."""
        try:
            self._runs.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if is_last or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:  # without the details of its kind
                raise
            return False
        return True

    @contextmanager
    def _writing(self) -> Generator[int]:
        """Write within the transaction that is under way, or in one of its own; yield the time."""
        if self._runs.in_transaction:
            yield self.read_clock()
        else:
            with self.transaction():
                yield self.read_clock()

    def _read(self, statement: str, *values: object) -> list[Any]:
        with name_errors(self._path):
            return self._runs.execute(statement, values).fetchall()

    def _write(self, statement: str, *values: object) -> int:
        return self._runs.execute(statement, values).rowcount

    def _find(self, condition: str, *values: object) -> list[RunRow]:
        rows = self._read(f"SELECT {_COLUMNS} FROM ts_runs {condition}", *values)
        return [RunRow(**dict(zip(_FIELDS, row, strict=True))) for row in rows]

    def read_clock(self) -> int:
        """Return the time of the machine."""
        return time.time_ns() // 1_000_000


class SqliteWatch:
    """Looks every few milliseconds whether the files have changed: SQLite tells nobody."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with name_errors(path):
            self._runs = open_runs(path)
            self._deltas = SqliteDeltas(path)
            self._seen = self._read_versions()

    def wait(self, seconds: float) -> bool:
        """Wait until something was committed since the last call, or until this time is over."""
        end = time.monotonic() + seconds
        with name_errors(self._path):
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


@contextmanager
def name_errors(path: Path) -> Generator[None]:
    """Raise errors of the database and of the file system as errors that name the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreUnavailable(f"the store {path} cannot be used: {error}") from error
    except OSError as error:
        raise StoreUnavailable(f"the store {path} cannot be used: {error.strerror or error}") from error


def make_marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))
