"""The tables of durable runs in SQLite, and how a file gets them.

`PRAGMA user_version` is the number of the schema, and each entry of `MIGRATIONS` brings a file from one number to the
next. `PRAGMA application_id` tells such a file from other databases. Deltas are in a file of their own
(`sqlite_deltas.py`).
"""

import os
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolspeak.values.errors import UsageError

# The tables, and how a file gets them.
#
# `PRAGMA user_version` is the number of the schema. Each entry of `LOG_MIGRATIONS` brings a file from one number to the
# next, so an older file is brought up to date when it is opened, and an entry is never changed once it was released. A
# file with a higher number was written by a newer toolspeak, and is refused.
#
# `ts_runs` has columns that only durable runs use (from `priority` to `deadline`). A run with the agent `''` was
# recorded by the program that ran it, and no other program may take it over.


BUSY_SECONDS = 10.0
"""How long a transaction waits for that of another process."""

_LOG_SCHEMA_1 = (
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

LOG_MIGRATIONS = (_LOG_SCHEMA_1,)

LOG_SCHEMA = len(LOG_MIGRATIONS)
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
            _migrate_log(connection, path)
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


def _migrate_log(connection: sqlite3.Connection, path: Path) -> None:
    if _read_log_schema(connection, path) == LOG_SCHEMA:
        return
    with transaction(connection):
        for number in range(
            _read_log_schema(connection, path), LOG_SCHEMA
        ):  # again: another process may have been faster
            for statement in LOG_MIGRATIONS[number]:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {LOG_SCHEMA}")


def _read_log_schema(connection: sqlite3.Connection, path: Path) -> int:
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if number > LOG_SCHEMA:
        raise UsageError(
            f"{path} was written by a newer toolspeak (schema {number}; this one reads {LOG_SCHEMA}): upgrade toolspeak"
        )
    return number


APPLICATION_ID = 0x7453_6452
"""What `PRAGMA application_id` is in a file of durable runs."""

_SCHEMA_1 = (
    """
    CREATE TABLE ts_runs (
        number INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        request TEXT NOT NULL,
        request_digest TEXT NOT NULL,
        key TEXT NOT NULL,
        format INTEGER NOT NULL,
        priority INTEGER NOT NULL,
        lane TEXT NOT NULL,
        chat TEXT NOT NULL,
        parent TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'paused', 'done')),
        stop_reason TEXT NOT NULL DEFAULT '',
        epoch INTEGER NOT NULL DEFAULT 1,
        owner TEXT NOT NULL DEFAULT '',
        next_seq INTEGER NOT NULL DEFAULT 0,
        deaths INTEGER NOT NULL DEFAULT 0,
        takeovers INTEGER NOT NULL DEFAULT 0,
        deadline INTEGER,
        ready INTEGER NOT NULL DEFAULT 0,
        dispatched INTEGER NOT NULL DEFAULT 0,
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL
    )
    """,
    "CREATE INDEX ts_runs_queued ON ts_runs (priority DESC, number) WHERE status = 'queued'",
    "CREATE INDEX ts_runs_running ON ts_runs (owner) WHERE status = 'running'",
    "CREATE INDEX ts_runs_late ON ts_runs (deadline) WHERE status IN ('queued', 'paused') AND deadline IS NOT NULL",
    "CREATE INDEX ts_runs_by_chat ON ts_runs (chat, number) WHERE chat <> ''",
    "CREATE INDEX ts_runs_done ON ts_runs (updated) WHERE status = 'done'",
    """
    CREATE TABLE ts_facts (
        run_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at INTEGER NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (run_id, seq)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE ts_blobs (
        run_id TEXT NOT NULL,
        name TEXT NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (run_id, name)
    )
    """,
    """
    CREATE TABLE ts_commands (
        number INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL,
        name TEXT NOT NULL,
        data TEXT NOT NULL,
        at INTEGER NOT NULL,
        is_handled INTEGER NOT NULL DEFAULT 0,
        UNIQUE (run_id, name)
    )
    """,
    """
    CREATE TABLE ts_workers (
        worker TEXT PRIMARY KEY,
        beat INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        info TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE ts_lanes (
        lane TEXT PRIMARY KEY,
        concurrency INTEGER,
        rate INTEGER,
        period REAL NOT NULL,
        waiting INTEGER
    )
    """,
    "CREATE TABLE ts_lane_claims (lane TEXT NOT NULL, at INTEGER NOT NULL)",
    "CREATE INDEX ts_lane_claims_by_time ON ts_lane_claims (lane, at)",
)

MIGRATIONS = (_SCHEMA_1,)

SCHEMA = len(MIGRATIONS)
"""The number of the schema that is written, and the highest that can be read."""

_DELTAS = """
    CREATE TABLE IF NOT EXISTS ts_deltas (
        run_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        pos INTEGER NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (run_id, seq, pos)
    ) WITHOUT ROWID
"""


def open_runs(path: Path) -> sqlite3.Connection:
    """Open the file of runs and facts, and create it or bring it up to date if needed. Only its owner may read it."""
    connection = _open(path)
    try:
        use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = FULL")
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def open_deltas(path: Path) -> sqlite3.Connection:
    """Open a file of deltas, and create it if needed."""
    connection = _open(path)
    try:
        use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(_DELTAS)
    except BaseException:
        connection.close()
        raise
    return connection


def identify(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one under the same name; None if there is no such file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    create_file(path)
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if _read_schema(connection, path) == SCHEMA:
        return
    with transaction(connection):
        for number in range(_read_schema(connection, path), SCHEMA):  # again: another process may have been faster
            for statement in MIGRATIONS[number]:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _read_schema(connection: sqlite3.Connection, path: Path) -> int:
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0  # first: others may migrate
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID and not is_empty:
        raise UsageError(f"{path} is a database of something else than durable runs; name another file")
    if number > SCHEMA:
        raise UsageError(
            f"{path} was written by a newer toolspeak (schema {number}; this one reads {SCHEMA}): upgrade toolspeak"
        )
    return number
