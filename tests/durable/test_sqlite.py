"""The journal in an SQLite file."""

import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.durable.journal_contract import JournalContract, hold_of, new_run, start_and_claim
from toolspeak import Agent
from toolspeak.durable import Runs, Worker
from toolspeak.durable.journal import Journal
from toolspeak.durable.rows import DeltaRow
from toolspeak.durable.runs import open_journal
from toolspeak.durable.sqlite import SqliteJournal
from toolspeak.durable.sqlite_file import name_errors
from toolspeak.testing import ScriptedModel, says
from toolspeak.values.errors import StoreUnavailable, UsageError

SAVED = Path(__file__).parent / "data" / "runs_schema_1.sqlite"


class TestSqliteJournal(JournalContract):
    @pytest.fixture
    def journal(self, tmp_path: Path) -> Journal:
        return SqliteJournal(tmp_path / "runs.db")


def test_a_file_of_schema_1_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(SAVED.read_bytes())
    agent = Agent(ScriptedModel([says("Hello again.")]))
    with Runs(f"sqlite:///{path}") as runs, Worker(runs, {"echo": agent}):
        ended, queued = (
            runs.start_sync("echo", text, key=key) for key, text in (("ended", "Hi."), ("queued", "Hi again."))
        )
        assert (ended.is_new, queued.is_new) == (False, False)
        assert (ended.outcome_sync(timeout=60).text, queued.outcome_sync(timeout=60).text) == ("Hello.", "Hello again.")
        new = runs.start_sync("nobody", "Hi.", data={"tenant": "acme"})
        assert [row.run_id for row in runs.list_sync(data={"tenant": "acme"})] == [new.id]
        assert queued.row_sync().data == {}


def test_a_file_of_schema_4_is_brought_up_to_date_and_takes_annotations(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(SAVED.with_name("runs_schema_4.sqlite").read_bytes())
    session = SqliteJournal(path).connect()
    [run] = session.list_runs(labels=[("tenant", "acme")])
    assert session.read_annotations() == {}
    assert session.annotate(run.run_id, '{"score": 5}')
    session.close()
    again = SqliteJournal(path).connect()
    assert again.read_annotations() == {run.run_id: '{"score": 5}'}
    assert again.read_run(run.run_id) == run
    again.close()


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
    session.add_deltas([DeltaRow("r1", 0, 1, "x")])
    runs, deltas = getattr(session, "_runs"), getattr(getattr(session, "_deltas"), "_connection")  # noqa: B009 (they are private)
    assert runs.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert runs.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert deltas.execute("PRAGMA synchronous").fetchone()[0] == 0
    session.close()


def test_deltas_of_facts_that_were_never_committed_are_not_told(tmp_path: Path) -> None:
    """A process that dies between the commits of both files leaves deltas under numbers of facts to come."""
    session = SqliteJournal(tmp_path / "runs.db").connect()
    hold = session.append(start_and_claim(session), ["a"])
    session.add_deltas([DeltaRow("r1", 0, 1, "told"), DeltaRow("r1", 1, 1, "never told"), DeltaRow("r1", 2, 1, "nor")])
    session.fail("r1", hold.epoch, "w1")
    session.append(hold_of(session.claim("r1", 2, "w2")), ["resumed", "b"])
    session.add_deltas([DeltaRow("r1", 2, 1, "anew")])
    assert [row.data for row in session.read_deltas("r1", (-1, 0), 2)] == ["told", "anew"]
    session.close()


def test_deltas_of_a_transaction_that_fails_are_not_stored(tmp_path: Path) -> None:
    session = SqliteJournal(tmp_path / "runs.db").connect()
    with suppress(ZeroDivisionError), session.transaction():
        session.add_deltas([DeltaRow("r1", 0, 1, "x")])
        raise ZeroDivisionError
    with session.transaction():
        session.add_deltas([DeltaRow("r1", 0, 2, "y")])
    assert [row.data for row in session.read_deltas("r1", (-1, 0), 0)] == ["y"]
    session.close()


def test_a_damaged_file_of_deltas_is_replaced(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    (tmp_path / "runs.db.deltas").write_bytes(b"SQLite format 3\0" + b"\xa5" * 8192)
    session, watch = journal.connect(), journal.watch()
    with session.transaction():
        session.append(start_and_claim(session), ["a"])
        session.add_deltas([DeltaRow("r1", 0, 1, "x")])
    assert len(session.read_facts("r1")) == 1
    assert [row.data for row in session.read_deltas("r1", (-1, 0), 0)] == ["x"]
    assert watch.wait(0)
    session.add_deltas([DeltaRow("r1", 0, 2, "y")])
    assert watch.wait(0)
    session.close()
    watch.close()


def test_sessions_find_a_file_of_deltas_that_was_replaced(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    session, other, watch = journal.connect(), journal.connect(), journal.watch()
    for each in (session, other):
        each.add_deltas([DeltaRow("r1", 0, 1, "x")])
    watch.wait(0)
    for path in tmp_path.glob("runs.db.deltas*"):
        path.unlink()
    session.add_deltas([DeltaRow("r1", 0, 1, "new")])
    assert [row.data for row in other.read_deltas("r1", (-1, 0), 0)] == ["new"]
    assert watch.wait(0)
    for each in (session, other, watch):
        each.close()


def test_a_file_of_deltas_that_cannot_be_used_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "runs.db.deltas").mkdir()
    journal = SqliteJournal(tmp_path / "runs.db")
    session, watch = journal.connect(), journal.watch()
    with session.transaction():
        hold = session.append(start_and_claim(session), ["a"])
        session.add_deltas([DeltaRow("r1", 0, 1, "x")])
        session.append(hold, ["b"], stop_reason="answered")
    assert len(session.read_facts("r1")) == 2
    assert session.read_deltas("r1", (-1, 0), 1) == []
    assert session.drop_deltas(session.read_clock()) == 0
    assert session.prune(session.read_clock() + 1000) == ["r1"]
    assert watch.wait(0)
    assert sum("runs.db.deltas cannot be used" in message for message in caplog.messages) == 2  # session and watch
    session.close()
    watch.close()


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


def test_a_process_that_keeps_the_file_busy_is_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    SqliteJournal(path).connect().close()
    program = f"""
import sqlite3
connection = sqlite3.connect({str(path)!r}, isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
input()
"""
    holder = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdout.readline()
    waiting = sqlite3.connect(path, timeout=0, isolation_level=None)
    who = rf"locked: process {holder.pid} has held its lock" if Path("/proc/locks").exists() else "locked"
    with pytest.raises(StoreUnavailable, match=who), name_errors("the store", path=path):
        waiting.execute("BEGIN IMMEDIATE")
    waiting.close()
    holder.communicate(b"\n")


def test_a_file_shrinks_when_runs_are_pruned(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Runs(f"sqlite:///{path}") as runs, Worker(runs, {"echo": Agent(ScriptedModel([says("Hello.")]))}):
        for _ in range(5):
            runs.start_sync("echo", "x" * 1_000_000).outcome_sync(timeout=60)
        checkpoint(path)
        before = path.stat().st_size
        assert runs.prune_sync(0) == 5
        checkpoint(path)
        after = path.stat().st_size
    assert before > 5_000_000
    assert after < 500_000


def checkpoint(path: Path) -> None:
    """Move what was committed into the file."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
