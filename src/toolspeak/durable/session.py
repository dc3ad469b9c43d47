"""`BaseSession`: what the SQL of a journal is written with, and what a database does in its own way.

How the SQL is written:

- Values are `?`; a list is one value, which `AMONG` compares with. `NOW` is the time, the same in all of a statement
  that takes it from a subquery.
- In Postgres, transactions see what others committed (`READ COMMITTED`). A method that decides by other rows than the
  one that it changes locks that row first (`FOR_UPDATE`), in a statement before: only the next statement sees what was
  committed while it waited. Whoever looks for runs of others skips those that are locked (`SKIP_LOCKED`), so that two
  workers never wait for each other. SQLite has one writer at a time, and needs neither.
- Whatever changes a run calls `_notify`, which wakes those who watch when the transaction is committed.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from typing import Any, ClassVar

from toolspeak.durable.rows import Hold, RunRow

RUN_FIELDS = [field.name for field in fields(RunRow)]
RUN_COLUMNS = ", ".join(RUN_FIELDS)


class BaseSession(ABC):
    """A connection to the database. Outside of `transaction`, each method is a transaction of its own."""

    NOW: ClassVar[str]
    AMONG: ClassVar[str]
    FOR_UPDATE: ClassVar[str] = ""
    SKIP_LOCKED: ClassVar[str] = ""
    TABLES: ClassVar[tuple[str, ...]] = (
        *("ts_facts", "ts_blobs", "ts_commands", "ts_labels", "ts_webhooks", "ts_waits", "ts_annotations", "ts_runs"),
    )
    """What holds rows of a run, and goes when the run is pruned."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Make all that is done in this context one transaction that is safe when the context is left.

        An exception rolls it back. Transactions are not nested. One that writes may assume that it holds the lock for
        writing from the beginning, or it must repeat itself if the database finds a conflict.

        Raises:
            StoreUnavailable: The database failed, and nothing was committed.
            OutcomeUnknown: The database was lost during the commit, which may have taken effect.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    @abstractmethod
    def read_clock(self) -> int:
        """Return the time of the database."""

    # What a database does in its own way

    @property
    @abstractmethod
    def _in_transaction(self) -> bool:
        """Whether a transaction is under way."""

    @abstractmethod
    def _read(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a statement."""

    @abstractmethod
    def _write(self, statement: str, values: Sequence[object] = ()) -> int:
        """Change something, within a transaction, and return how many rows were changed."""

    @abstractmethod
    def _change_run(self, run_id: str, statement: str, values: Sequence[object] = ()) -> RunRow | None:
        """Insert or change the row of a run, and return it as it is then; None if the statement changed nothing."""

    @abstractmethod
    def _append(self, hold: Hold, facts: Sequence[str], *, has_progress: bool, stop_reason: str) -> bool:
        """Store facts and change the row of their run, as `append` says; return False if the run is not held."""

    @abstractmethod
    def _notify(self) -> None:
        """Wake those who watch, when the transaction is committed."""

    @abstractmethod
    def _lock(self, chat: str | None) -> None:
        """Let starts of runs of a chat happen one after another, or, for None, claims of runs."""

    @abstractmethod
    def _lock_idle(self, chats: list[str]) -> list[str]:
        """Keep runs of chats from being started, except of those in which one is started now; return those chats."""

    @contextmanager
    def _writing(self) -> Generator[None]:
        """Write within the transaction that is under way, or in one of its own."""
        if self._in_transaction:
            yield
        else:
            with self.transaction():
                yield

    def _find(self, condition: str, values: Sequence[object] = ()) -> list[RunRow]:
        return make_runs(self._read(f"SELECT {RUN_COLUMNS} FROM ts_runs {condition}", values))

    def _count(self, condition: str, values: Sequence[object] = ()) -> int:
        return self._read(f"SELECT count(*) FROM {condition}", values)[0][0]


def make_runs(rows: list[Any]) -> list[RunRow]:
    """Make runs from rows of `RUN_COLUMNS`."""
    return [RunRow(**dict(zip(RUN_FIELDS, row, strict=True))) for row in rows]
