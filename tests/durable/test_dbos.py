"""Runs that DBOS hands out."""

from collections.abc import Callable

import pytest

from toolspeak.durable.dbos_dispatcher import DbosDispatcher
from toolspeak.durable.dispatch import Dispatcher
from toolspeak.durable.journal import Journal
from toolspeak.durable.postgres import PostgresJournal

from .dispatcher_contract import DispatcherContract


class TestDbos(DispatcherContract):
    @pytest.fixture
    def journal(self, postgres_url: str) -> Journal:
        return PostgresJournal(postgres_url)

    @pytest.fixture
    def make_dispatcher(self, postgres_url: str) -> Callable[[], Dispatcher]:
        return lambda: DbosDispatcher(postgres_url)
