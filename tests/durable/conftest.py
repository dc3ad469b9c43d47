"""A Postgres server for the tests of durable runs, started once by each test process."""

from collections.abc import Iterator

import pytest

from .postgres import MISSING, PostgresServer, find_binaries


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running server; a test that needs it is skipped with the reason if there is none on this machine."""
    if find_binaries() is None:
        pytest.skip(MISSING)
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """The address of an empty database."""
    return postgres.create_database()


@pytest.fixture
def postgres_schema(postgres: PostgresServer) -> str:
    """The address of an empty schema: faster than a database, for tests without DBOS."""
    return postgres.create_schema()
