"""A connection to a Postgres database of durable runs: transactions, reconnects, errors in words, a watch for changes.

A connection that was lost is opened again when it is next used. What was lost with it is never repeated here, except
the beginning of a transaction and a single read, which change nothing. If a connection is lost during a commit, nobody
knows whether the commit took effect.
"""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import fields
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from toolspeak.durable.common_queries import CommonQueries
from toolspeak.durable.journal import OutcomeUnknown
from toolspeak.durable.rows import RunRow
from toolspeak.values.errors import StoreUnavailable, UsageError

# The tables of durable runs in Postgres, and how a database gets them.
#
# The table `ts_schema` has the number of the schema, and each entry of `MIGRATIONS` brings a database from one number
# to the next. Whoever migrates holds an advisory lock, so any number of processes may start at once on an empty
# database. The table of deltas is unlogged: a crash of the server empties it.


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


CHANNEL = "ts_changes"
"""The channel on which each change of a run is notified."""

NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
"""The time of the server in milliseconds, as an expression of SQL."""

IDLE_TRANSACTION_MS = 5000
"""How long the server lets a transaction be idle. A process that stops within one would lock its runs for ever."""

_DEFAULTS = {
    "application_name": "toolspeak",
    "connect_timeout": "10",
    "keepalives_idle": "5",
    "keepalives_interval": "3",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
"""Settings for connections whose address does not have them: a server that is gone is noticed within seconds."""

_NOTIFY_AND_COMMIT = f"NOTIFY {CHANNEL}; COMMIT".encode()

_FIELDS = [field.name for field in fields(RunRow)]
COLUMNS = ", ".join(_FIELDS)


class PostgresConnection(CommonQueries):
    """A connection to the database; the sessions are built on it."""

    def __init__(self, url: str) -> None:
        self._url = url
        with name_errors(url):
            self._connection = connect(url)
            try:
                migrate(self._connection, hide_password(url))
            except BaseException:
                self._connection.close()
                raise
        self._in_transaction = False
        self._has_changes = False

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Make all that is done in this context one transaction."""
        with name_errors(self._url):
            self._begin()
            self._in_transaction = True
            self._has_changes = False
            try:
                yield
                self._commit()
            except BaseException:
                with suppress(psycopg.Error):
                    self._connection.execute("ROLLBACK")
                if self._connection.info.transaction_status != TransactionStatus.IDLE:
                    self._connection.close()  # it is opened again when it is next used
                raise
            finally:
                self._in_transaction = False

    def _begin(self) -> None:
        try:
            self._connection.execute("BEGIN")
        except psycopg.OperationalError:
            if not self._connection.closed:
                raise
            self._connection = connect(self._url)
            self._connection.execute("BEGIN")

    def _commit(self) -> None:
        """Commit, and wake those who watch; raise if the server rolls back instead, because a statement had failed."""
        store = hide_password(self._url)
        if self._connection.info.transaction_status == TransactionStatus.INERROR:
            raise StoreUnavailable(f"the store {store} has rolled a transaction back")
        try:
            cursor = self._connection.execute(_NOTIFY_AND_COMMIT if self._has_changes else b"COMMIT")
        except psycopg.OperationalError as error:
            if not self._connection.closed:
                raise
            raise OutcomeUnknown(
                f"the store {store} was lost during a commit, and it is unknown whether that took effect: "
                f"{_shorten(error)}"
            ) from error
        while cursor.nextset():
            pass
        if cursor.statusmessage != "COMMIT":
            raise StoreUnavailable(f"the store {store} has rolled a transaction back")

    @contextmanager
    def _writing(self) -> Generator[None]:
        """Write within the transaction that is under way, or in one of its own."""
        if self._in_transaction:
            yield
        else:
            with self.transaction():
                yield

    def _read(self, statement: str, *values: object) -> list[Any]:
        with name_errors(self._url):
            try:
                return self._connection.execute(statement.encode(), values).fetchall()
            except psycopg.OperationalError:
                if self._in_transaction or not self._connection.closed:
                    raise
                self._connection = connect(self._url)
                return self._connection.execute(statement.encode(), values).fetchall()

    def _write(self, statement: str, *values: object) -> int:
        """Change something, and return how many rows were changed."""
        return self._connection.execute(statement.encode(), values).rowcount

    def _notify(self) -> None:
        """Wake those who watch, when the transaction is committed."""
        self._has_changes = True

    def _find(self, condition: str, *values: object) -> list[RunRow]:
        return make_runs(self._read(f"SELECT {COLUMNS} FROM ts_runs {condition}", *values))

    def read_clock(self) -> int:
        """Return the time of the server."""
        return self._read(f"SELECT {NOW}")[0][0]


class PostgresWatch:
    """Listens to the notifications of the server."""

    def __init__(self, url: str) -> None:
        self._url = url
        with name_errors(url):
            self._connection = self._listen()

    def _listen(self) -> Connection[Any]:
        connection = connect(self._url)
        connection.execute(f"LISTEN {CHANNEL}".encode())
        return connection

    def wait(self, seconds: float) -> bool:
        """Wait until something was committed since the last call, or until this time is over."""
        with name_errors(self._url):
            try:
                found = any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))
                if found:  # all that has arrived by now belongs to this call
                    list(self._connection.notifies(timeout=0))
            except psycopg.OperationalError:
                if not self._connection.closed:
                    raise
                self._connection = self._listen()
                return True  # what was committed meanwhile was not heard
        return found

    def close(self) -> None:
        """Stop watching."""
        self._connection.close()


def make_runs(rows: list[Any]) -> list[RunRow]:
    """Make runs from rows of `COLUMNS`."""
    return [RunRow(**dict(zip(_FIELDS, row, strict=True))) for row in rows]


def connect(url: str) -> Connection[Any]:
    """Open a connection on which each statement is a transaction of its own, unless one was begun."""
    settings = {name: value for name, value in _DEFAULTS.items() if name not in conninfo_to_dict(url)}
    connection = psycopg.connect(make_conninfo(url, **settings), autocommit=True)
    try:
        connection.execute(f"SET idle_in_transaction_session_timeout = {IDLE_TRANSACTION_MS}".encode())
        connection.execute(  # a commit must be safe when it returns, whatever the server does otherwise
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def name_errors(url: str) -> Generator[None]:
    """Raise errors of the database as errors that name it."""
    try:
        yield
    except psycopg.DataError as error:
        raise UsageError(f"a value cannot be stored in {hide_password(url)}: {_shorten(error)}") from error
    except psycopg.Error as error:
        raise StoreUnavailable(f"the store {hide_password(url)} cannot be used: {_shorten(error)}") from error


def _shorten(error: psycopg.Error) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def hide_password(url: str) -> str:
    """Return an address without its password."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    query = "&".join(each for each in parts.query.split("&") if not each.startswith("password="))
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}{at}{host}", query=query))
