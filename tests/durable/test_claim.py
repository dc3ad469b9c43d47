"""Runs that workers take straight from the journal."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from toolspeak.durable.dispatch import ClaimDispatcher, Dispatcher
from toolspeak.durable.journal import Journal
from toolspeak.durable.postgres import PostgresJournal
from toolspeak.durable.sqlite import SqliteJournal
from toolspeak.durable.watcher import Watcher

from .dispatcher_contract import DispatcherContract


class TestClaimInSqlite(DispatcherContract):
    @pytest.fixture
    def journal(self, tmp_path: Path) -> Journal:
        return SqliteJournal(tmp_path / "runs.db")

    @pytest.fixture
    def make_dispatcher(self, journal: Journal) -> Iterator[Callable[[], Dispatcher]]:
        with closing(Watcher(journal)) as watcher:
            yield lambda: ClaimDispatcher(watcher, can_isolate=True)


class TestClaimInPostgres(DispatcherContract):
    @pytest.fixture
    def journal(self, postgres_schema: str) -> Journal:
        return PostgresJournal(postgres_schema)

    @pytest.fixture
    def make_dispatcher(self, journal: Journal) -> Iterator[Callable[[], Dispatcher]]:
        with closing(Watcher(journal)) as watcher:
            yield lambda: ClaimDispatcher(watcher, can_isolate=True)
