"""The table of clients is collected while the tests run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .installed import find_version
from .table import Cell, Table

TABLE = pytest.StashKey[Table]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-table", type=Path, help="write the table of clients into this file")


@pytest.fixture
def cell(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Say which cell of the table the test fills: the client, its package, the API and the column."""

    def fill(client: str, package: str, api: str, column: str) -> None:
        record_property("cell", (client, find_version(package), api, column))

    return fill


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TABLE] = Table()
    config.pluginmanager.register(_Collector(config.stash[TABLE]))


def pytest_sessionfinish(session: pytest.Session) -> None:
    path: Path | None = session.config.getoption("--write-table")
    if path is not None and not hasattr(session.config, "workerinput"):  # workers of xdist saw a part only
        session.config.stash[TABLE].write(path)


class _Collector:
    def __init__(self, table: Table) -> None:
        self._table = table

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties: dict[str, Any] = dict(report.user_properties)
        if report.when == "call" and "cell" in properties:
            self._table.add(Cell(*properties["cell"]), report.outcome)
