"""The tables of durable runs in SQLite, and how a file gets them.

`PRAGMA user_version` is the number of the schema, and each entry of `MIGRATIONS` brings a file from one number to the
next. `PRAGMA application_id` tells such a file from other databases. Deltas are in a file of their own
(`sqlite_deltas.py`).
"""

import sqlite3
from pathlib import Path

from toolspeak.errors import UsageError
from toolspeak.store.schema import BUSY_SECONDS, create_file, transaction, use_write_ahead_log

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
