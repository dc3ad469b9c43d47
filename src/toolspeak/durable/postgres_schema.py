"""The tables of durable runs in Postgres, and how a database gets them.

The table `ts_schema` has the number of the schema, and each entry of `MIGRATIONS` brings a database from one number to
the next. Whoever migrates holds an advisory lock, so any number of processes may start at once on an empty database.
The table of deltas is unlogged: a crash of the server empties it.
"""

from typing import Any

from psycopg import Connection

from toolspeak.errors import UsageError

MIGRATION_LOCK = 0x7453_6452_0001
"""The advisory lock of whoever creates or upgrades the tables."""

_SCHEMA_1 = (
    """
    CREATE TABLE ts_runs (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
        deadline BIGINT,
        ready BIGINT NOT NULL DEFAULT 0,
        dispatched INTEGER NOT NULL DEFAULT 0,
        created BIGINT NOT NULL,
        updated BIGINT NOT NULL
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
        at BIGINT NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (run_id, seq)
    )
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
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        run_id TEXT NOT NULL,
        name TEXT NOT NULL,
        data TEXT NOT NULL,
        at BIGINT NOT NULL,
        is_handled BOOLEAN NOT NULL DEFAULT FALSE,
        UNIQUE (run_id, name)
    )
    """,
    """
    CREATE TABLE ts_workers (
        worker TEXT PRIMARY KEY,
        beat BIGINT NOT NULL,
        expires BIGINT NOT NULL,
        info TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE ts_lanes (
        lane TEXT PRIMARY KEY,
        concurrency INTEGER,
        rate INTEGER,
        period DOUBLE PRECISION NOT NULL,
        waiting INTEGER
    )
    """,
    "CREATE TABLE ts_lane_claims (lane TEXT NOT NULL, at BIGINT NOT NULL)",
    "CREATE INDEX ts_lane_claims_by_time ON ts_lane_claims (lane, at)",
    """
    CREATE UNLOGGED TABLE ts_deltas (
        run_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        pos INTEGER NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (run_id, seq, pos)
    )
    """,
)

MIGRATIONS = (_SCHEMA_1,)

SCHEMA = len(MIGRATIONS)
"""The number of the schema that is written, and the highest that can be read."""


def migrate(connection: Connection[Any], url: str) -> None:
    """Create the tables or bring them up to date, if that is needed.

    Raises:
        UsageError: The tables were made by a newer toolspeak.
    """
    if _read_schema(connection, url) == SCHEMA:
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        connection.execute("CREATE TABLE IF NOT EXISTS ts_schema (version INTEGER NOT NULL)")
        for number in range(_read_schema(connection, url), SCHEMA):  # again: another process may have been faster
            for statement in MIGRATIONS[number]:
                connection.execute(statement.encode())
        connection.execute("DELETE FROM ts_schema")
        connection.execute("INSERT INTO ts_schema VALUES (%s)", (SCHEMA,))


def _read_schema(connection: Connection[Any], url: str) -> int:
    if connection.execute("SELECT to_regclass('ts_schema')").fetchall() == [(None,)]:
        return 0
    rows = connection.execute("SELECT version FROM ts_schema").fetchall()
    number = rows[0][0] if rows else 0
    if number > SCHEMA:
        raise UsageError(
            f"the tables in {url} were made by a newer toolspeak (schema {number}; this one reads {SCHEMA}): "
            "upgrade toolspeak"
        )
    return number
