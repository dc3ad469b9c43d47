"""A connection to an SQLite file of durable runs: transactions, errors in words, and a watch for changes."""

import sqlite3
import time
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from toolspeak.durable.common_queries import CommonQueries
from toolspeak.durable.rows import DeltaRow, RunRow
from toolspeak.durable.sqlite_deltas import SqliteDeltas
from toolspeak.durable.sqlite_lanes import SqliteLanes
from toolspeak.durable.sqlite_schema import identify, open_runs
from toolspeak.errors import StoreUnavailable
from toolspeak.store.schema import BUSY_SECONDS

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
