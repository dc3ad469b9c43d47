"""Durable runs in a Postgres database: for workers on many machines. It needs the extra `cluster`.

The clock is that of the server. Changes are notified when they are committed (`NOTIFY`), so whoever follows a run need
not poll. `journal.py` has the rules for locks; an advisory lock takes the place of a row that there is not.

Every statement has a deadline: a proxy may take it and never answer, and TCP notices only hosts that are gone.

A connection that was lost is opened again when it is next used. What was lost with it is never repeated here, except
the beginning of a transaction and a single read, which change nothing. If a connection is lost during a commit, nobody
knows whether the commit took effect, and it is not repeated: the server's status of a transaction number is no proof
after a crash, since numbers that were not flushed are given again.

The table `ts_schema` has the number of the schema. Whoever migrates holds an advisory lock, so any number of processes
may start at once on an empty database.
"""

import time
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from toolspeak.durable.journal import HELD, JournalSession, OutcomeUnknown
from toolspeak.durable.rows import DeltaRow, Hold, RunRow
from toolspeak.durable.schema import POSTGRES_MIGRATIONS
from toolspeak.durable.session import RUN_COLUMNS, make_runs
from toolspeak.values.address import hide_secrets, is_postgres_address
from toolspeak.values.errors import StoreUnavailable, UsageError

T = TypeVar("T")

CHAT_LOCK = 0x7453_6452
"""The space of the advisory locks that starts of runs of a chat take, one for each chat."""

MIGRATION_LOCK = 0x7453_6452_0001
"""The advisory lock of whoever creates or upgrades the tables."""

CLAIM_LOCK = 0x7453_6452_0002
"""The advisory lock of whoever claims runs of lanes with limits."""

CHANNEL = "ts_changes"
"""The channel on which each change of a run is notified."""

IDLE_TRANSACTION_MS = 5000
"""How long the server lets a transaction be idle. A process that stops within one would lock its runs for ever."""

MAX_STATEMENT_SECONDS = 30.0
"""How long the answer to a statement is waited for. Then the connection is given up."""

SCHEMA = len(POSTGRES_MIGRATIONS)
"""The number of the schema that is written, and the highest that can be read."""

_DEFAULTS = {
    "application_name": "toolspeak",
    "connect_timeout": "10",
    "keepalives_idle": "5",
    "keepalives_interval": "3",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
"""Settings for connections whose address does not have them: a server that is gone is noticed within seconds."""

_NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

# Long texts are sent in the binary form of arrays (`%b`): in the other form each quotation mark of them is escaped.
_APPEND = f"""
    WITH held AS (
        UPDATE ts_runs SET next_seq = next_seq + ?, updated = {_NOW},
            deaths = CASE WHEN ? THEN 0 ELSE deaths END, stop_reason = ?,
            status = CASE WHEN ? THEN 'done' ELSE status END, owner = CASE WHEN ? THEN '' ELSE owner END
        WHERE {HELD}
        RETURNING run_id, updated
    ), stored AS (
        INSERT INTO ts_facts (run_id, seq, at, data)
        SELECT held.run_id, ? + new.number - 1, held.updated, new.data
        FROM held, unnest(%b::text[]) WITH ORDINALITY AS new (data, number)
    )
    SELECT run_id FROM held
"""


class PostgresJournal:
    """A database of runs.

    Attributes:
        url: Its address, without secrets.
    """

    def __init__(self, url: str) -> None:
        _check_address(url)
        self._address = url
        self.url = hide_secrets(url)

    def connect(self) -> JournalSession:
        """Open a session."""
        return PostgresSession(self._address)

    def watch(self) -> "PostgresWatch":
        """Begin to watch for changes."""
        return PostgresWatch(self._address)


class PostgresSession(JournalSession):
    """A session of a database."""

    NOW = _NOW
    AMONG = "= ANY(?::text[])"
    FOR_UPDATE = "FOR UPDATE"
    SKIP_LOCKED = "FOR UPDATE SKIP LOCKED"
    TABLES = (*JournalSession.TABLES, "ts_deltas")

    def __init__(self, url: str) -> None:
        self._url = url
        with name_errors(url):
            self._connection = connect(url)
            try:
                self._connection.max_seconds = None  # a large table takes its time
                migrate(self._connection, hide_secrets(url))
                self._connection.max_seconds = MAX_STATEMENT_SECONDS
            except BaseException:
                self._connection.close()
                raise
        self._is_writing = False
        self._has_changes = False

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Make all that is done in this context one transaction."""
        with name_errors(self._url):
            self._begin()
            self._is_writing = True
            self._has_changes = False
            self._new_signals = frozenset()
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
                self._is_writing = False

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
        store = hide_secrets(self._url)
        if self._connection.info.transaction_status == TransactionStatus.INERROR:
            raise StoreUnavailable(f"the store {store} has rolled a transaction back")
        try:
            cursor = self._connection.execute(f"NOTIFY {CHANNEL}; COMMIT".encode() if self._has_changes else b"COMMIT")
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

    @property
    def _in_transaction(self) -> bool:
        return self._is_writing

    def _execute(self, statement: str, values: Sequence[object]) -> "psycopg.Cursor[Any]":
        return self._connection.execute(statement.replace("?", "%s").encode(), values)

    def _read(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        with name_errors(self._url):
            try:
                return self._execute(statement, values).fetchall()
            except psycopg.OperationalError:
                if self._is_writing or not self._connection.closed:
                    raise
                self._connection = connect(self._url)
                return self._execute(statement, values).fetchall()

    def _write(self, statement: str, values: Sequence[object] = ()) -> int:
        return self._execute(statement, values).rowcount

    def _change_run(self, run_id: str, statement: str, values: Sequence[object] = ()) -> RunRow | None:
        rows = make_runs(self._read(f"{statement} RETURNING {RUN_COLUMNS}", values))
        return rows[0] if rows else None

    def _notify(self) -> None:
        self._has_changes = True

    def _lock(self, chat: str | None) -> None:
        if chat is None:
            self._read("SELECT pg_advisory_xact_lock(?)", (CLAIM_LOCK,))
        else:
            self._read("SELECT pg_advisory_xact_lock(?, hashtext(?))", (CHAT_LOCK, chat))

    def _lock_idle(self, chats: list[str]) -> list[str]:
        # Without waiting: whoever starts runs may hold the lock of one chat and wait for that of another.
        locked = "SELECT chat FROM unnest(?::text[]) AS chat WHERE pg_try_advisory_xact_lock(?, hashtext(chat))"
        return [row[0] for row in self._read(locked, (chats, CHAT_LOCK))]

    def add_signal(self, name: str, value: str) -> bool:
        """Store a signal, unless one of this name came before."""
        with self._writing():
            self._new_signals |= {name}
            return super().add_signal(name, value)

    def read_clock(self) -> int:
        """Return the time of the server."""
        return self._read(f"SELECT {_NOW}")[0][0]

    def _append(self, hold: Hold, facts: Sequence[str], *, has_progress: bool, stop_reason: str) -> bool:
        has_ended = bool(stop_reason)
        changes = (len(facts), has_progress, stop_reason, has_ended, has_ended)
        return bool(self._read(_APPEND, (*changes, *hold, hold.next_seq, list(facts))))

    def mark_dispatched(self, entries: Collection[tuple[str, int]]) -> None:
        """Note that an engine has got runs, each with its epoch."""
        with self._writing():
            self._write(
                "UPDATE ts_runs r SET dispatched = found.epoch FROM (SELECT number, new.epoch"
                " FROM ts_runs JOIN unnest(?::text[], ?::int[]) AS new (run_id, epoch) USING (run_id)"
                " WHERE dispatched < new.epoch FOR UPDATE OF ts_runs SKIP LOCKED) AS found"
                " WHERE r.number = found.number",
                ([run_id for run_id, _ in entries], [epoch for _, epoch in entries]),
            )

    def add_deltas(self, deltas: Sequence[DeltaRow]) -> None:
        """Store deltas, of any runs."""
        with self._writing():
            self._write(
                "INSERT INTO ts_deltas SELECT * FROM unnest(%b::text[], %b::int[], %b::int[], %b::text[])"
                " ON CONFLICT DO NOTHING",
                [list(column) for column in zip(*deltas, strict=True)] or [[], [], [], []],
            )
            self._notify()

    def read_deltas(self, run_id: str, after: tuple[int, int], through: int) -> list[DeltaRow]:
        """Return deltas of a run in order."""
        rows = self._read(
            "SELECT run_id, seq, pos, data FROM ts_deltas"
            " WHERE run_id = ? AND (seq, pos) > (?, ?) AND seq <= ? ORDER BY seq, pos",
            (run_id, *after, through),
        )
        return [DeltaRow(*row) for row in rows]

    def drop_deltas(self, before: int) -> int:
        """Delete deltas of runs that ended before a time, or are no longer in the journal."""
        with self._writing():
            return self._write(
                "DELETE FROM ts_deltas d WHERE NOT EXISTS (SELECT 1 FROM ts_runs r WHERE r.run_id = d.run_id"
                " AND (r.status <> 'done' OR r.updated >= ?))",
                (before,),
            )


class PostgresWatch:
    """Listens to the notifications of the server."""

    def __init__(self, url: str) -> None:
        self._url = url
        with name_errors(url):
            self._connection = self._listen()

    def _listen(self) -> "TimedConnection":
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


class TimedConnection(Connection[Any]):
    """A connection whose statements have a deadline.

    Attributes:
        max_seconds: How long the answer to a statement is waited for; None for any time.
    """

    max_seconds: float | None = MAX_STATEMENT_SECONDS

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **options: Any) -> T:
        """Wait for the server; close the connection if it does not answer."""
        return super().wait(self._watch(gen), *args, **options)

    def _watch(self, steps: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        began = time.monotonic()
        try:
            wanted = next(steps)
            while True:
                ready = yield wanted
                if not ready and self.max_seconds is not None and time.monotonic() - began > self.max_seconds:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"there was no answer for {self.max_seconds:g} seconds")
                wanted = steps.send(ready)
        except StopIteration as end:
            return end.value


def connect(url: str) -> TimedConnection:
    """Open a connection on which each statement is a transaction of its own, unless one was begun."""
    settings = {name: value for name, value in _DEFAULTS.items() if name not in conninfo_to_dict(url)}
    connection = TimedConnection.connect(make_conninfo(url, **settings), autocommit=True)
    try:
        connection.execute(f"SET idle_in_transaction_session_timeout = {IDLE_TRANSACTION_MS}".encode())
        connection.execute(  # a commit must be safe when it returns, whatever the server does otherwise
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
    except BaseException:
        connection.close()
        raise
    return connection


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
            for statement in POSTGRES_MIGRATIONS[number]:
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


@contextmanager
def name_errors(url: str) -> Generator[None]:
    """Raise errors of the database as errors that name it."""
    try:
        yield
    except psycopg.DataError as error:
        raise UsageError(f"a value cannot be stored in {hide_secrets(url)}: {_shorten(error)}") from error
    except psycopg.Error as error:
        raise StoreUnavailable(f"the store {hide_secrets(url)} cannot be used: {_shorten(error)}") from error


def _shorten(error: psycopg.Error) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _check_address(url: str) -> None:
    """Raise `UsageError` if libpq cannot read an address. Its own words quote the address, and so the password."""
    if not is_postgres_address(url):
        raise UsageError(
            "the address of the store cannot be read; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and in the "
            "user and the password %40 for @, %2F for / and %25 for %"
        )
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        problem = str(error).partition('"')[0].strip(" :")
        raise UsageError(f"the address of the store {hide_secrets(url)} cannot be read: {problem}") from None
