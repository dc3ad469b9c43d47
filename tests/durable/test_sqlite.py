"""The journal in an SQLite file."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.durable.journal_contract import JournalContract, new_run
from toolspeak.durable.journal import Journal
from toolspeak.durable.sqlite import SqliteJournal
from toolspeak.durable.stores import open_journal
from toolspeak.errors import StoreUnavailable, UsageError


class TestSqliteJournal(JournalContract):
    @pytest.fixture
    def journal(self, tmp_path: Path) -> Journal:
        return SqliteJournal(tmp_path / "runs.db")


def test_a_file_that_was_removed_is_named_and_takes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    session = SqliteJournal(path).connect()
    path.unlink()
    with pytest.raises(StoreUnavailable, match=r"runs\.db was removed"):
        session.start(new_run())
    session.close()


def test_a_full_disk_is_told_in_words_and_nothing_is_written(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    session = journal.connect()
    runs: sqlite3.Connection = getattr(session, "_runs")  # noqa: B009 (it is private)
    pages = runs.execute("PRAGMA page_count").fetchone()[0]
    runs.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailable, match="full"):
        session.start(new_run(request="x" * 100_000))
    runs.execute(f"PRAGMA max_page_count = {pages + 1000}")
    assert session.read_run("r1") is None
    assert session.start(new_run()).is_new
    session.close()


def test_another_database_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE notes (text)")
    connection.commit()
    connection.close()
    with pytest.raises(UsageError, match="something else"):
        SqliteJournal(tmp_path / "other.db").connect()


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    journal.connect().close()
    connection = sqlite3.connect(tmp_path / "runs.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(UsageError, match="newer toolspeak"):
        journal.connect()


def test_facts_are_flushed_and_deltas_are_not(tmp_path: Path) -> None:
    session = SqliteJournal(tmp_path / "runs.db").connect()
    runs, deltas = getattr(session, "_runs"), getattr(session, "_deltas")  # noqa: B009 (they are private)
    assert runs.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert runs.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert deltas.execute("PRAGMA synchronous").fetchone()[0] == 0
    session.close()


@pytest.mark.parametrize("url", ["runs.db", "mysql://x", "sqlite:///", "sqlite:///:memory:", ""])
def test_an_address_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="sqlite:///"):
        open_journal(url)


def test_a_process_that_leaves_does_not_take_the_log_of_those_that_stay(tmp_path: Path) -> None:
    """Opening a session must not release the locks of the sessions that this process has already."""
    journal = SqliteJournal(tmp_path / "runs.db")
    first, second = journal.connect(), journal.connect()
    code = "import sys; from toolspeak.durable.sqlite import SqliteJournal as J; J(sys.argv[1]).connect().close()"
    subprocess.run([sys.executable, "-c", code, str(journal.path)], check=True)
    assert journal.path.with_name("runs.db-wal").exists()
    first.start(new_run())
    third = journal.connect()
    assert third.read_run("r1") is not None
    for session in (first, second, third):
        session.close()
