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
from toolspeak.durable.postgres_schema import migrate
from toolspeak.durable.rows import RunRow
from toolspeak.errors import StoreUnavailable, UsageError

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
