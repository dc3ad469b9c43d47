"""The tables, and how a file gets them.

`PRAGMA user_version` is the number of the schema. Each entry of `MIGRATIONS` brings a file from one number to the next,
so an older file is brought up to date when it is opened, and an entry is never changed once it was released. A file
with a higher number was written by a newer toolspeak, and is refused.

`ts_runs` has columns that only durable runs use (from `priority` to `deadline`). A run with the agent `''` was recorded
by the program that ran it, and no other program may take it over.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolspeak.errors import UsageError

BUSY_SECONDS = 10.0
"""How long a transaction waits for that of another process."""

_SCHEMA_1 = (
    """
    CREATE TABLE ts_runs (
        run_id TEXT PRIMARY KEY,
        agent TEXT NOT NULL DEFAULT '',
        status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'paused', 'done')),
        stop_reason TEXT,
        model TEXT NOT NULL DEFAULT '',
        turns INTEGER NOT NULL DEFAULT 0,
        format INTEGER NOT NULL,
        conversation TEXT,
        parent TEXT,
        inherited INTEGER NOT NULL DEFAULT 0,
        request TEXT,
        priority INTEGER NOT NULL DEFAULT 0,
        lane TEXT NOT NULL DEFAULT '',
        epoch INTEGER NOT NULL DEFAULT 0,
        dispatched INTEGER NOT NULL DEFAULT 0,
        next_seq INTEGER NOT NULL DEFAULT 0,
        owner TEXT,
        attempts INTEGER NOT NULL DEFAULT 0,
        takeovers INTEGER NOT NULL DEFAULT 0,
        deadline REAL,
        created REAL NOT NULL,
        updated REAL NOT NULL
    )
    """,
    "CREATE INDEX ts_runs_by_conversation ON ts_runs (conversation, created)",
    """
    CREATE TABLE ts_facts (
        run_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at REAL NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (run_id, seq)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE ts_conversations (
        conversation TEXT PRIMARY KEY,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        title TEXT NOT NULL,
        model TEXT NOT NULL,
        options TEXT NOT NULL DEFAULT '{}'
    )
    """,
    "CREATE INDEX ts_conversations_by_time ON ts_conversations (updated)",
    """
    CREATE TABLE ts_texts (
        run_id TEXT PRIMARY KEY,
        conversation TEXT NOT NULL,
        folded TEXT NOT NULL,
        text TEXT NOT NULL
    )
    """,
)

MIGRATIONS = (_SCHEMA_1,)

SCHEMA = len(MIGRATIONS)
"""The number of the schema that is written, and the highest that can be read."""


def open_database(path: Path) -> sqlite3.Connection:
    """Open the file, and create it or bring it up to date if needed. Only its owner may read it, and its folder.

    Raises:
        UsageError: The file cannot be opened, is not a database, or was written by a newer toolspeak.
    """
    with name_errors(path):
        create_private(path)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            use_write_ahead_log(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")  # what was deleted cannot be read from the file
            _migrate(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Run the statements within this context as one transaction, which waits for those of other processes."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def name_errors(path: Path) -> Generator[None]:
    """Raise errors of the database and of the file system as errors that name the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise UsageError(f"the log in {path} cannot be used: {error}") from None
    except OSError as error:
        raise UsageError(f"the log in {path} cannot be used: {error.strerror}") from None


def create_private(path: Path) -> None:
    """Create a file and its folder, if they do not exist. Only their owner may read them."""
    folder = path.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    create_file(path)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        path.chmod(0o600)  # SQLite gives the files beside it the same mode


def create_file(path: Path) -> None:
    """Create an empty file that only its owner may read, if there is none.

    A file that exists is not opened: closing it would release the locks that SQLite holds on it in this process, and
    another process would then take this one for gone and delete its write-ahead log.
    """
    with _creating, suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


_creating = threading.Lock()


def use_write_ahead_log(connection: sqlite3.Connection) -> None:
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


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if _read_schema(connection, path) == SCHEMA:
        return
    with transaction(connection):
        for number in range(_read_schema(connection, path), SCHEMA):  # again: another process may have been faster
            for statement in MIGRATIONS[number]:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _read_schema(connection: sqlite3.Connection, path: Path) -> int:
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if number > SCHEMA:
        raise UsageError(
            f"{path} was written by a newer toolspeak (schema {number}; this one reads {SCHEMA}): upgrade toolspeak"
        )
    return number
