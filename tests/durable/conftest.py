"""A Postgres server for the tests of durable runs, started once by each test process.

Tests that are marked `heavy` are run by `make test-durable`, which sets `TOOLSPEAK_KILLS`.
"""

import os
from collections.abc import Iterator

import pytest

from .postgres import MISSING, PostgresServer, find_binaries


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip heavy tests in a plain run."""
    if item.get_closest_marker("heavy") is not None and "TOOLSPEAK_KILLS" not in os.environ:
        pytest.skip("make test-durable runs it")


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
