"""The server that the other tests rely on: what was committed is there after a crash."""

import psycopg
import pytest

from .postgres import PostgresServer


def test_a_crash_keeps_what_was_committed_and_nothing_else(postgres: PostgresServer, postgres_url: str) -> None:
    connection = psycopg.connect(postgres_url)
    connection.execute("CREATE TABLE rows (number INT)")
    connection.execute("INSERT INTO rows VALUES (1)")
    connection.commit()
    connection.execute("INSERT INTO rows VALUES (2)")
    postgres.crash()
    with pytest.raises(psycopg.OperationalError):
        connection.commit()
    postgres.start()
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT number FROM rows").fetchall() == [(1,)]
