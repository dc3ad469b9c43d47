"""SQLite files: how they are created, opened, brought up to date and written, whatever they hold.

`PRAGMA user_version` is the number of the schema of a file. One with a lower number is brought up to date when it is
opened; one with a higher number was written by a newer toolspeak, and is refused. `PRAGMA application_id` tells files
of durable runs from other databases; the log and the deltas have none.

A file is never opened beside SQLite: closing it would release the locks that SQLite holds on it in this process, and
another process would then take this one for gone and delete its write-ahead log.
"""

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from toolspeak.durable.schema import DELTA_MIGRATIONS, INDEX_MIGRATIONS, LOG_MIGRATIONS, SQLITE_MIGRATIONS, Migrations
from toolspeak.settings.files import create_folder, find_foreign_way, is_own
from toolspeak.values.errors import StoreUnavailable, UsageError

BUSY_SECONDS = 10.0
"""How long a transaction waits for that of another process."""

LOCK_POLL_SECONDS = 0.001
"""How often a transaction that waits looks whether that of another process has ended. SQLite itself would wait longer
each time, up to 0.1 s, while a commit takes a few milliseconds."""


INCREMENTAL = 2
"""What `PRAGMA auto_vacuum` is in a file that can be shrunk."""

WRITE_LOCK_BYTE = "120"
"""The byte of the file beside a database that whoever writes has locked, in SQLite's write-ahead log."""


class FileKind(NamedTuple):
    """What a file is for, its schema, how safe a commit is, and what `PRAGMA application_id` is in it (0: nothing)."""

    holds: str
    migrations: Migrations
    synchronous: str
    application_id: int = 0


RUNS = FileKind("durable runs", SQLITE_MIGRATIONS, "FULL", 0x7453_6452)
DELTAS = FileKind("deltas", DELTA_MIGRATIONS, "OFF")
LOG = FileKind("the log", LOG_MIGRATIONS, "NORMAL")
INDEX = FileKind("an index of runs", INDEX_MIGRATIONS, "OFF", 0x7453_6958)


def open_file(path: Path, kind: FileKind) -> sqlite3.Connection:
    """Open a file, and create it or bring it up to date if needed. Only its owner may read it.

    Raises:
        UsageError: The file holds something else, or was written by a newer toolspeak.
        sqlite3.Error: It cannot be used as a database.
        OSError: It cannot be created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    create_file(path)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # counts for a file that is empty; `shrink` uses it
        _use_write_ahead_log(connection)
        connection.execute(f"PRAGMA synchronous = {kind.synchronous}")
        _migrate(connection, path, kind)
    except BaseException:
        connection.close()
        raise
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work at once. For this switch SQLite does not wait for others, so it is repeated."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _migrate(connection: sqlite3.Connection, path: Path, kind: FileKind) -> None:
    newest = len(kind.migrations)
    if _read_schema(connection, path, kind) == newest:
        return
    with transaction(connection):
        for number in range(
            _read_schema(connection, path, kind), newest
        ):  # again: another process may have been faster
            for statement in kind.migrations[number]:
                connection.execute(statement)
        if kind.application_id:
            connection.execute(f"PRAGMA application_id = {kind.application_id}")
        connection.execute(f"PRAGMA user_version = {newest}")


def _read_schema(connection: sqlite3.Connection, path: Path, kind: FileKind) -> int:
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0  # first: others may migrate
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if kind.application_id not in (0, application) and not is_empty:
        raise UsageError(f"{path} is a database of something else than {kind.holds}; name another file")
    if number > len(kind.migrations):
        raise UsageError(
            f"{path} was written by a newer toolspeak (schema {number}; this one reads {len(kind.migrations)}): "
            "upgrade toolspeak"
        )
    return number


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Run the statements within this context as one transaction, which waits for those of other processes.

    It takes the lock for writing at its beginning, so none has to be repeated.
    """
    _begin(connection)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        raise


def _begin(connection: sqlite3.Connection) -> None:
    ends = time.monotonic() + BUSY_SECONDS
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            is_last = time.monotonic() > ends
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if is_last or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:  # without the details of its kind
                    raise
            time.sleep(LOCK_POLL_SECONDS)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000)}")


def shrink(connection: sqlite3.Connection, pages: int) -> bool:
    """Give pages of a file that hold nothing back to the disk; return whether there may be more.

    A file that an older release has made keeps them, and uses them again.
    """
    if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != INCREMENTAL:
        return False
    with transaction(connection):
        connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
        return connection.execute("PRAGMA freelist_count").fetchone()[0] > 0


def find_writer(path: Path) -> str:
    """Return in words which process holds the lock for writing a file, where the system tells; else ""."""
    found = identify(path.with_name(f"{path.name}-shm"))
    try:
        lines = [] if found is None else Path("/proc/locks").read_text().splitlines()
    except OSError:
        return ""
    place = [str(found[1]) if found is not None else "", WRITE_LOCK_BYTE, WRITE_LOCK_BYTE]
    for fields in map(str.split, lines):
        if fields[3:4] == ["WRITE"] and [fields[5].rpartition(":")[2], *fields[6:]] == place:
            return f": process {fields[4]} has held its lock for {BUSY_SECONDS:g} s; is it stopped?"
    return ""


@contextmanager
def name_errors(name: str, kind: type[Exception] = StoreUnavailable, path: Path | None = None) -> Generator[None]:
    """Raise errors of the database and of the file system as errors that name the file, and who keeps it busy."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        is_busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
        who = find_writer(path) if is_busy and path is not None else ""
        raise kind(f"{name} cannot be used: {getattr(error, 'strerror', None) or error}{who}") from error


_creating = threading.Lock()


def create_file(path: Path) -> None:
    """Create an empty file that only its owner may read, if there is none. A file that exists is not opened."""
    with _creating, suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def create_private(path: Path) -> None:
    """Create a file and its folder, if they do not exist. Only their owner may read them, whoever could before.

    Raises `PermissionError` if another user has made one of them, or a file beside it, which SQLite would read.
    """
    folder = path.parent
    create_folder(folder, 0o700)
    create_file(path)
    if os.name == "posix":
        for each in (folder, path, *(path.with_name(f"{path.name}-{end}") for end in ("wal", "shm", "journal"))):
            with suppress(FileNotFoundError):
                if not is_own(each.lstat()) and find_foreign_way(each) is not None:
                    raise PermissionError(errno.EPERM, f"{each} belongs to another user")
        for each, mode in ((folder, 0o700), (path, 0o600)):  # SQLite gives the files beside it the same mode
            if each.stat().st_mode & 0o077:
                each.chmod(mode)


def identify(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one under the same name; None if there is no such file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
