"""The journal in a Postgres database, with a real server that crashes and comes back."""

import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import closing, suppress

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.cases import each_case
from toolspeak.durable.journal import Fenced, Journal, JournalSession
from toolspeak.durable.postgres import IDLE_TRANSACTION_MS, SCHEMA, PostgresJournal, TimedConnection
from toolspeak.durable.rows import NewWait
from toolspeak.durable.runs import Runs, open_journal
from toolspeak.durable.schema import POSTGRES_MIGRATIONS
from toolspeak.durable.writer import Writer
from toolspeak.values.errors import StoreUnavailable, UsageError

from .journal_contract import JournalContract, end, new_run, pause, read_status, start_and_claim
from .postgres import PostgresServer


class TestPostgresJournal(JournalContract):
    @pytest.fixture
    def journal(self, postgres_schema: str) -> Journal:
        return open_journal(postgres_schema)


@pytest.mark.slow
def test_ten_processes_may_start_at_once_on_an_empty_database(postgres_schema: str) -> None:
    program = """
import os, sys
from toolspeak.durable.runs import Runs, open_journal
from toolspeak.durable.writer import Writer
reading, writing = os.pipe()
for _ in range(10):
    if not os.fork():
        os.close(writing)
        os.read(reading, 1)  # returns when the parent closes its end
        open_journal(sys.argv[1]).connect().close()
        os._exit(0)
os.close(writing)
print([os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(10)])
"""
    done = subprocess.run([sys.executable, "-c", program, postgres_schema], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (str([0] * 10), "")
    with psycopg.connect(postgres_schema) as connection:
        assert connection.execute("SELECT version FROM ts_schema").fetchall() == [(SCHEMA,)]


def test_tables_of_schema_1_are_brought_up_to_date(postgres_schema: str) -> None:
    with psycopg.connect(postgres_schema) as connection:
        for statement in POSTGRES_MIGRATIONS[0]:
            connection.execute(statement.encode())
        connection.execute("CREATE TABLE ts_schema (version INTEGER NOT NULL)")
        connection.execute("INSERT INTO ts_schema VALUES (1)")
    session = PostgresJournal(postgres_schema).connect()
    session.start(new_run(labels=(("tenant", "acme"),)))
    assert [run.run_id for run in session.list_runs(labels=[("tenant", "acme")])] == ["r1"]
    session.close()


def test_a_signal_is_not_lost_that_is_committed_while_a_run_begins_to_wait(postgres_schema: str) -> None:
    journal = PostgresJournal(postgres_schema)
    session, other = journal.connect(), journal.connect()
    with other.transaction():
        other.add_signal("first", "1")
        assert pause(session, NewWait('["c"]', 1, "first", None)) == "paused"  # the signal is not committed yet
    other.wake_due()
    assert read_status(session) == ("queued", 3)
    hold = session.append(start_and_claim(session, "r2"), ['"w"'], waits=[NewWait('["c"]', 1, "second", None)])
    with session.transaction():
        assert session.release(hold, "paused") == "paused"
        other.add_signal("second", "1")
        other.wake_due()  # the run is locked, and its release has not seen the signal
    assert read_status(session, "r2")[0] == "paused"
    other.wake_due()
    assert read_status(session, "r2") == ("queued", 3)
    with other.transaction():
        other.add_signal("third", "1")
        other.wake_due()  # another job in the same transaction
        assert pause(session, NewWait('["c"]', 1, "third", None), run_id="r3") == "paused"
    other.wake_due()
    assert read_status(session, "r3") == ("queued", 3)
    session.close()
    other.close()


def test_tables_of_a_newer_version_are_refused(postgres_schema: str) -> None:
    journal = PostgresJournal(postgres_schema)
    journal.connect().close()
    with psycopg.connect(postgres_schema) as connection:
        connection.execute("UPDATE ts_schema SET version = 99")
    with pytest.raises(UsageError, match="newer toolspeak"):
        journal.connect()


def test_a_session_survives_a_server_that_crashes(postgres: PostgresServer, postgres_schema: str) -> None:
    journal = PostgresJournal(postgres_schema)
    session, watch = journal.connect(), journal.watch()
    hold = session.append(start_and_claim(session), ['"one"'])
    postgres.crash()
    with pytest.raises(StoreUnavailable, match="postgresql:"):
        session.append(hold, ['"lost"'])
    with pytest.raises(StoreUnavailable):
        session.read_facts("r1")
    postgres.start()
    session.append(hold, ['"two"'])
    assert [fact.data for fact in session.read_facts("r1")] == ['"one"', '"two"']
    assert watch.wait(60)  # what happened meanwhile was not heard; it may take a moment to notice that
    assert not watch.wait(0)
    session.beat("w1", 1000)
    session.close()
    watch.close()


def test_a_transaction_that_a_crash_cuts_off_has_written_nothing(
    postgres: PostgresServer, postgres_schema: str
) -> None:
    session = PostgresJournal(postgres_schema).connect()
    hold = start_and_claim(session)

    def write() -> None:
        with session.transaction():
            session.append(hold, ['"one"'])
            postgres.crash()
            session.start(new_run("r2"))

    with pytest.raises(StoreUnavailable):
        write()
    postgres.start()
    assert session.read_facts("r1") == []
    assert session.read_run("r2") is None
    assert session.append(hold, ['"one"']).next_seq == 1
    session.close()


@pytest.mark.slow
def test_a_process_that_stops_within_a_transaction_loses_its_run(postgres_schema: str) -> None:
    journal = PostgresJournal(postgres_schema)
    stopped, other = journal.connect(), journal.connect()
    hold = start_and_claim(stopped)
    stopped.beat("w1", 0)

    def stop_within() -> None:
        with stopped.transaction():
            stopped.append(hold, ['"zombie"'])
            assert other.sweep().taken == ()  # nobody waits for the lock
            _wait_until(lambda: other.sweep().taken == (("r1", 1),), IDLE_TRANSACTION_MS / 1000 + 60)

    with pytest.raises(StoreUnavailable):
        stop_within()
    assert other.read_facts("r1") == []
    with pytest.raises(Fenced):
        stopped.append(hold, ['"zombie"'])
    stopped.close()
    other.close()


def test_a_run_that_pauses_while_it_is_told_something_is_queued(postgres_schema: str) -> None:
    """The command is committed while the release waits for the lock; the release must still see it."""
    journal = PostgresJournal(postgres_schema)
    owner, person = journal.connect(), journal.connect()
    hold = start_and_claim(owner)
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(owner.release(hold, "paused")))
    with person.transaction():
        assert person.add_command("r1", "cancel", "{}")
        thread.start()
        _wait_until(lambda: _is_waiting_for_a_lock(postgres_schema), 60)
    thread.join()
    assert found == ["queued"]
    owner.close()
    person.close()


def test_a_chat_in_which_a_run_begins_is_not_pruned(postgres_schema: str) -> None:
    journal = PostgresJournal(postgres_schema)
    starting, pruning = journal.connect(), journal.connect()
    for chat in ("idle", "busy"):
        end(starting, start_and_claim(starting, f"{chat}-1", chat=chat))
    later = starting.read_clock() + 60_000
    with starting.transaction():
        starting.start(new_run("busy-2", chat="busy"))
        assert pruning.prune(later) == ["idle-1"]
    found = pruning.read_run("busy-2")
    assert found is not None
    assert pruning.read_run(found.parent) is not None
    assert pruning.prune(later) == []
    starting.close()
    pruning.close()


def test_a_run_that_begins_while_its_chat_is_pruned_begins_a_chat(postgres_schema: str) -> None:
    journal = PostgresJournal(postgres_schema)
    starting, pruning = journal.connect(), journal.connect()
    end(starting, start_and_claim(starting, "r1", chat="c"))
    thread = threading.Thread(target=lambda: starting.start(new_run("r2", chat="c")))
    with pruning.transaction():
        assert pruning.prune(pruning.read_clock() + 60_000) == ["r1"]
        thread.start()
        _wait_until(lambda: _is_waiting_for_a_lock(postgres_schema), 60)
    thread.join()
    found = pruning.read_run("r2")
    assert found is not None
    assert found.parent == ""
    starting.close()
    pruning.close()


def test_a_lost_server_is_named_without_the_password(postgres: PostgresServer) -> None:
    url = postgres.url("nowhere").replace("toolspeak@", "toolspeak:secret@")
    with pytest.raises(StoreUnavailable, match="nowhere") as raised:
        open_journal(url).connect()
    assert "secret" not in str(raised.value)
    assert "secret" not in open_journal(url).url


@each_case("url, problem", [
    ("postgresql://ann:one@S3CRET@127.0.0.1:9/runs", "%40 for @"),  # libpq takes S3CRET for a part of the host,
    ("postgresql://ann:S3CRET/two@127.0.0.1:9/runs", "%2F for /"),  # here for the port,
    ("postgresql://ann:12/S3CRET@127.0.0.1:9/runs", "%2F for /"),  # and here for the database
    ("postgresql://ann:S3CRET/runs", "USER:PASSWORD@HOST"),
    ("postgresql://ann:S3CRET%zz@127.0.0.1:9/runs", "ann@127.0.0.1:9/runs cannot be read: invalid percent-encoded"),
    ("postgresql://ann@127.0.0.1:9/runs?S3CRET", "missing key/value separator"),
    ("postgresql://ann@127.0.0.1:9/runs?password=a=S3CRET", "extra key/value separator"),
    ("POSTGRESQL://ann:S3CRET@127.0.0.1:9/runs", "is not the address of a store"),
    ("postgresql+psycopg://ann:S3CRET@127.0.0.1:9/runs", "is not the address of a store"),
    ("host=127.0.0.1 port=9 password=S3CRET", "is not the address of a store"),
])  # fmt: skip
def test_an_address_that_cannot_be_read_is_refused_without_its_password(url: str, problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        open_journal(url)
    assert problem in str(raised.value)
    assert "S3CRET" not in "".join(traceback.format_exception(raised.value))


@each_case("url", [
    "postgresql://ann:S3CRET#x@127.0.0.1:9/runs",
    "postgresql://ann:S3CRET?x@127.0.0.1:9/runs",
    "postgresql://ann:x?password=S3CRET@127.0.0.1:9/runs",
    "postgresql://ann@127.0.0.1:9/runs?sslpassword=S3CRET",
    "postgresql://ann@127.0.0.1:9/runs?pass%77ord=S3CRET",
    "postgresql://ann@127.0.0.1:9/runs?passfile=S3CRET",
    "postgresql://ann:S3CRET@127.0.0.1:9,127.0.0.1:10/runs",
    "postgresql://ann:%53S3CRET@127.0.0.1:9/runs",
    "postgresql://:S3CRET@127.0.0.1:9",
])  # fmt: skip
def test_a_password_is_shown_nowhere(url: str) -> None:
    journal = open_journal(url)
    with pytest.raises(StoreUnavailable) as raised:
        journal.connect()
    shown = [journal.url, repr(journal), "".join(traceback.format_exception(raised.value)), repr(Runs(url))]
    assert not any("S3CRET" in each for each in shown)
    assert "127.0.0.1:9" in journal.url


def test_a_text_that_postgres_cannot_store_is_refused_in_words(postgres_schema: str) -> None:
    session: JournalSession = PostgresJournal(postgres_schema).connect()
    with pytest.raises(UsageError, match="cannot be stored"):
        session.start(new_run(chat="nul \x00"))
    assert session.start(new_run()).is_new
    session.close()


def test_a_refused_job_takes_nothing_of_its_group_with_it(postgres_schema: str) -> None:
    """A value that Postgres refuses ends the transaction: what others of the group wrote must be written again."""
    writer, gate = Writer(PostgresJournal(postgres_schema)), threading.Event()
    held = writer.submit(lambda _: gate.wait(60), writes=False)  # so that the next jobs form a group
    good = writer.submit(lambda session: session.start(new_run("good")))
    bad = writer.submit(lambda session: session.list_runs(limit=2**70))
    gate.set()
    assert held.result(60)
    assert good.result(60).is_new
    with pytest.raises(UsageError, match="cannot be stored"):
        bad.result(60)
    assert writer.submit(lambda session: session.read_run("good")).result(60) is not None
    writer.close()


def test_a_transaction_that_the_server_rolls_back_is_not_taken_for_committed(postgres_schema: str) -> None:
    session = PostgresJournal(postgres_schema).connect()

    def write() -> None:
        with session.transaction():
            session.start(new_run("good"))
            with suppress(UsageError):
                session.list_runs(limit=2**70)

    with pytest.raises(StoreUnavailable, match="rolled a transaction back"):
        write()
    assert session.read_run("good") is None
    assert session.start(new_run()).is_new
    session.close()


def test_commits_reach_the_disk_even_if_the_server_is_set_up_otherwise(postgres_schema: str) -> None:
    with psycopg.connect(postgres_schema, autocommit=True) as connection:
        connection.execute("ALTER ROLE toolspeak SET synchronous_commit = off")
        try:
            session = PostgresJournal(postgres_schema).connect()
            private = getattr(session, "_connection")  # noqa: B009 (it is private)
            assert private.execute("SHOW synchronous_commit").fetchone() == ("on",)
            session.close()
        finally:
            connection.execute("ALTER ROLE toolspeak RESET synchronous_commit")


def _wait_until(condition: Callable[[], bool], seconds: float) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)


def _is_waiting_for_a_lock(url: str) -> bool:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return bool(rows.fetchall())


class HangingProxy:
    """A proxy on loopback that takes what a client sends and, when it hangs, answers nothing and closes nothing."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.may_pass = threading.Event()
        self.may_pass.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                self._sockets += [client, server]
                server.connect(self._target)
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.may_pass.wait()
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.may_pass.set()
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def test_a_proxy_that_hangs_is_given_up_and_named(postgres: PostgresServer, postgres_url: str) -> None:
    with closing(HangingProxy(f"{postgres.folder}/.s.PGSQL.5432")) as proxy:
        name = conninfo_to_dict(postgres_url)["dbname"]
        session = PostgresJournal(f"postgresql://toolspeak@127.0.0.1:{proxy.port}/{name}").connect()
        hold = start_and_claim(session)
        connection: TimedConnection = getattr(session, "_connection")  # noqa: B009 (it is private)
        connection.max_seconds = 0.2

        def append_in_vain() -> None:
            with session.transaction():
                proxy.may_pass.clear()
                session.append(hold, ['"one"'])

        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1.*no answer for 0\.2 seconds"):
            append_in_vain()
        proxy.may_pass.set()
        session.append(hold, ['"two"'])  # on another connection
        assert [fact.data for fact in session.read_facts("r1")] == ['"two"']
        session.close()
