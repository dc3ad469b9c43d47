"""Runs that DBOS hands out."""

import gc
from collections.abc import Callable, Iterator

import pytest

from toolspeak.durable.dbos_dispatcher import DbosDispatcher
from toolspeak.durable.dispatch import Dispatcher
from toolspeak.durable.journal import Journal
from toolspeak.durable.postgres import PostgresJournal

from .dispatcher_contract import DispatcherContract

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # DBOS leaves connections


@pytest.fixture(autouse=True)
def _collect_garbage() -> Iterator[None]:
    """Let connections that DBOS left be collected in the test that made them, where the warning is ignored."""
    yield
    gc.collect()


class TestDbos(DispatcherContract):
    @pytest.fixture
    def journal(self, postgres_url: str) -> Journal:
        return PostgresJournal(postgres_url)

    @pytest.fixture
    def make_dispatcher(self, postgres_url: str) -> Callable[[], Dispatcher]:
        return lambda: DbosDispatcher(postgres_url)
