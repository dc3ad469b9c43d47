"""The thread that uses a journal: what shares a transaction, and what is done again when one fails."""

import threading
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.durable.clocks import FakeClock
from tests.durable.journal_contract import new_run
from tests.durable.loops import in_loop
from toolspeak.durable import Runs
from toolspeak.durable.journal import ChangeWatch, Journal, JournalSession, OutcomeUnknown
from toolspeak.durable.sqlite import SqliteJournal
from toolspeak.durable.writer import Heartbeat, Writer
from toolspeak.values.errors import StoreUnavailable

WAIT_SECONDS = 60


class TransactionHook:
    """What a test does when a transaction begins, and after its commit."""

    def before(self) -> None:
        """Do something before a transaction begins."""

    def after(self) -> None:
        """Do something after a commit."""


class HookedTransactions:
    """A journal whose sessions have a hook in their transactions."""

    def __init__(self, journal: Journal, hook: TransactionHook) -> None:
        self.url = journal.url
        self._journal = journal
        self._hook = hook

    def connect(self) -> JournalSession:
        session: Any = self._journal.connect()
        begin = session.transaction

        @contextmanager
        def transaction() -> Generator[None]:
            self._hook.before()
            with begin():
                yield
            self._hook.after()

        session.transaction = transaction
        return session

    def watch(self) -> ChangeWatch:
        return self._journal.watch()


class SlowBegin(TransactionHook):
    """A transaction that waits for another process until it may begin."""

    def __init__(self) -> None:
        self.waits, self.may_begin, self.count = threading.Event(), threading.Event(), 0

    def before(self) -> None:
        self.waits.set()
        assert self.may_begin.wait(WAIT_SECONDS)
        self.count += 1


def test_jobs_that_come_while_a_transaction_waits_join_it(tmp_path: Path) -> None:
    hook = SlowBegin()
    with closing(Writer(HookedTransactions(SqliteJournal(tmp_path / "runs.db"), hook))) as writer:
        first = writer.submit(lambda session: session.start(new_run("r1")))
        assert hook.waits.wait(WAIT_SECONDS)
        second = writer.submit(lambda session: session.start(new_run("r2")))
        found = writer.submit(lambda session: session.read_run("r2"), writes=False)
        hook.may_begin.set()
        assert first.result(WAIT_SECONDS).is_new
        assert second.result(WAIT_SECONDS).is_new
        assert found.result(WAIT_SECONDS) is not None
    assert hook.count == 1


class LostCommit(TransactionHook):
    """The database is lost during some commits, which take effect all the same."""

    def __init__(self) -> None:
        self.losses = 0

    def after(self) -> None:
        if self.losses:
            self.losses -= 1
            raise OutcomeUnknown("lost during a commit")


def test_jobs_of_a_commit_with_an_unknown_outcome_are_not_repeated(tmp_path: Path) -> None:
    lost, slow = LostCommit(), SlowBegin()
    lost.losses = 1
    journal = HookedTransactions(HookedTransactions(SqliteJournal(tmp_path / "runs.db"), lost), slow)
    with closing(Writer(journal)) as writer:
        jobs: list[Future[Any]] = [writer.submit(lambda session: session.start(new_run("r1")))]
        assert slow.waits.wait(WAIT_SECONDS)
        jobs.append(writer.submit(lambda session: session.add_command("r1", "cancel", "{}")))
        slow.may_begin.set()
        for job in jobs:
            assert isinstance(job.exception(WAIT_SECONDS), OutcomeUnknown)
        assert not writer.submit(lambda session: session.add_command("r1", "cancel", "{}")).result(WAIT_SECONDS)


@in_loop
async def test_a_start_of_unknown_outcome_is_repeated_only_if_nobody_else_can_have_made_it(tmp_path: Path) -> None:
    hook = LostCommit()
    runs = Runs(f"sqlite:///{tmp_path}/runs.db")
    runs.writer = Writer(HookedTransactions(runs.journal, hook))
    async with runs:
        hook.losses = 1
        run = await runs.start("echo", "Hi.")
        assert run.is_new
        hook.losses = 1
        with pytest.raises(OutcomeUnknown):
            await runs.start("echo", "Hi.", key="ticket-7")
        again = await runs.start("echo", "Hi.", key="ticket-7")
        assert not again.is_new
        assert len(await runs.list()) == 2


class CountedSessions:
    """A journal that counts the sessions that are open."""

    def __init__(self, journal: Journal) -> None:
        self.url = journal.url
        self.opened, self.open = 0, 0
        self._journal = journal

    def connect(self) -> JournalSession:
        session: Any = self._journal.connect()
        close = session.close
        self.opened, self.open = self.opened + 1, self.open + 1

        def count_and_close() -> None:
            self.open -= 1
            close()

        session.close = count_and_close
        return session

    def watch(self) -> ChangeWatch:
        return self._journal.watch()


def test_a_session_that_is_given_up_is_closed(tmp_path: Path) -> None:
    """What a worker says of itself cannot be told, so the session is replaced by another one."""
    journal = CountedSessions(SqliteJournal(tmp_path / "runs.db"))
    texts = iter(["{}"])
    with closing(Writer(journal, Heartbeat("w1", 30, lambda: next(texts), lambda: True))) as writer:
        while journal.opened < 3:
            with suppress(Exception):
                writer.submit(lambda session: session.read_clock(), writes=False).result(WAIT_SECONDS)
        assert journal.open <= 1
    assert journal.open == 0


class Life:
    """What a worker says of itself, or why it cannot; and how often it did."""

    def __init__(self) -> None:
        self.beats = 0
        self.problem: Exception | None = None

    def describe(self) -> str:
        if self.problem is not None:
            raise self.problem
        self.beats += 1
        return "{}"


def test_a_worker_whose_lease_is_over_says_that_it_lives_before_all_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock, life = FakeClock(), Life()
    beat = Heartbeat("w1", 30_000, life.describe, lambda: True)
    with closing(Writer(SqliteJournal(tmp_path / "runs.db"), beat, clock)) as writer:

        def count_beats() -> int:
            return writer.submit(lambda _: life.beats).result(WAIT_SECONDS)

        assert count_beats() == 1
        assert count_beats() == 1
        clock.now += 40  # the machine slept
        assert count_beats() == 2
        life.problem = StoreUnavailable("the disk is full")
        clock.now += 12
        assert count_beats() == 2  # the lease is not over
        clock.now += 20
        for _ in range(3):
            clock.now += 0.3  # jobs that come more often than it is tried again do not put that off
            with pytest.raises(StoreUnavailable, match="the lease of the worker is over and could not be renewed"):
                count_beats()
        life.problem = None
        clock.now += 0.5
        assert count_beats() == 3  # it is tried again at once, and not a third of a lease later
    assert caplog.text.count("worker w1 says nothing until this is over: the disk is full") == 1
