"""`Journal`: what a database must do so that runs last in it.

A journal stores texts and numbers. What they mean is decided above it: `records.py` turns facts into texts and back,
`worker.py` decides when something is written. So a journal is small, and SQLite and Postgres differ in nothing else.

The rules that a journal keeps:

1. A run is written by one owner at a time, who holds it by `(epoch, owner, next_seq)`. Each write compares all three in
   the statement that changes the row of the run, and raises `Fenced` if they do not match. The epoch goes up whenever
   the run leaves its owner, so an owner who was taken for dead can write nothing more.
2. The facts of a run are dense: their numbers are 0, 1, 2 … without a gap. What a method wrote survives the death of
   the process and of the machine as soon as its transaction is committed. Deltas may be lost.
3. Times are whole milliseconds since 1970 by the clock of the database (`read_clock`), never by that of a worker.
4. A method that raises `Fenced` or `StartRefused` has written nothing. So many jobs of many runs can share a
   transaction (`writer.py`), and the refusal of one does not touch the others.
5. Every failure of the database itself is raised as `StoreUnavailable`, with words that name the store. The
   transaction is then rolled back, and the session can be used again; it reconnects by itself.
6. A session is used by one thread at a time. Any number of sessions, in any number of processes, work at once.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from toolspeak.durable.rows import (
    CommandRow,
    DeltaRow,
    FactRow,
    Hold,
    JournalFigures,
    Lane,
    NewRun,
    RunRow,
    RunStatus,
    Started,
    Sweep,
    Wanted,
    WorkerRow,
)
from toolspeak.values.errors import StoreUnavailable, UsageError


class Fenced(Exception):
    """The run is not held by whoever tried to write: another worker has it, or it has ended."""


class OutcomeUnknown(StoreUnavailable):
    """The database was lost during a commit, and nobody knows whether it took effect."""


class StartRefused(UsageError):
    """A run was not started: its key was used for another request, its lane is full or its chat is busy."""


class RunUnknown(UsageError):
    """There is no such run in the store."""


class ApprovalRefused(UsageError):
    """An answer was not taken: nobody was asked about the call, or the call is another one by now."""


class JournalSession(Protocol):
    """A connection to the database. Outside of `transaction`, each method is a transaction of its own."""

    def transaction(self) -> AbstractContextManager[None]:
        """Make all that is done in this context one transaction that is safe when the context is left.

        An exception rolls it back. Transactions are not nested. One that writes may assume that it holds the lock for
        writing from the beginning, or it must repeat itself if the database finds a conflict.

        Raises:
            StoreUnavailable: The database failed, and nothing was committed.
            OutcomeUnknown: The database was lost during the commit, which may have taken effect.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...

    def read_clock(self) -> int:
        """Return the time of the database."""
        ...

    # Lanes

    def set_lanes(self, lanes: Mapping[str, Lane]) -> None:
        """Store lanes by name. Lanes that are not named stay as they are."""
        ...

    def read_lanes(self) -> dict[str, Lane]:
        """Return all lanes by name."""
        ...

    # Starting and finding runs

    def start(self, run: NewRun) -> Started:
        """Store a run as `queued`, with epoch 1 and without facts, unless its id exists already.

        A run that exists is returned as it is, if its `request_digest` is the same. Otherwise the parent of a run with
        a chat is the run of that chat that was started last and is in the journal.

        Raises:
            StartRefused: The id was used for another request; the lane does not exist, or as many of its runs are
                queued as may wait; the parent has not ended. The words say which, and what to do.
        """
        ...

    def read_run(self, run_id: str) -> RunRow | None:
        """Return a run, or None if there is no such run."""
        ...

    def list_runs(
        self,
        *,
        statuses: Collection[RunStatus] = (),
        agent: str = "",
        chat: str = "",
        limit: int = 100,
        before: int = 0,
    ) -> list[RunRow]:
        """Return runs, those that were started last first.

        Args:
            statuses: Only runs with one of these; all if empty.
            agent: Only runs of this agent; of all if "".
            chat: Only runs of this chat; of all if "".
            limit: How many at most.
            before: Only runs that were created before this time; 0 for all.
        """
        ...

    def count_runs(self) -> dict[tuple[str, RunStatus], int]:
        """Return how many runs there are, by lane and status."""
        ...

    def read_figures(self) -> JournalFigures:
        """Return what is watched besides the counts of runs."""
        ...

    # Holding a run

    def claim(self, run_id: str, epoch: int, owner: str) -> RunRow | None:
        """Make `owner` the owner of a queued run with this epoch, and return the run; None if it is not so.

        An engine that decides on lanes and order by itself calls this. `ready` is not compared.
        """
        ...

    def claim_next(self, owner: str, wanted: Wanted) -> list[RunRow]:
        """Make `owner` the owner of the runs that are next, and return them.

        These are queued runs that are ready, that the worker can take, and whose lane has room: the highest priority
        first, then the oldest. The lane of a run that is not the first is checked with those before it counted.
        """
        ...

    def append(
        self,
        hold: Hold,
        facts: Sequence[str],
        *,
        blobs: Mapping[str, str] | None = None,
        handled: Collection[str] = (),
        has_progress: bool = False,
        stop_reason: str = "",
    ) -> Hold:
        """Store the next facts of a run, and return the hold with which it goes on.

        Args:
            hold: What the caller believes to hold.
            facts: The texts of the facts; possibly none.
            blobs: Texts that the facts refer to, by their names, which are digests of the texts.
            handled: Names of commands that these facts carry out.
            has_progress: Whether the run got further, so that its deaths are counted anew.
            stop_reason: Why the run has ended with these facts, which makes it `done` and takes it from its owner;
                "" if it goes on.

        Raises:
            Fenced: The run is not `running`, or its epoch, owner or `next_seq` is another. Nothing was written.
        """
        ...

    def release(self, hold: Hold, status: Literal["paused", "queued"]) -> RunStatus:
        """Give a run up: its epoch goes up, and it has no owner. Return the status that it has now.

        If it should pause and there is a command that was not handled, it is queued instead.

        Raises:
            Fenced: As in `append`.
        """
        ...

    def is_held(self, hold: Hold) -> bool:
        """Whether the worker still holds the run; if so, it does until the present transaction ends."""
        ...

    def list_held(self, owner: str) -> list[tuple[str, int]]:
        """Return the runs that a worker owns, each with its epoch."""
        ...

    def fail(self, run_id: str, epoch: int, owner: str, *, delay_ms: int = 0, is_death: bool = True) -> bool:
        """Queue a run again that its owner does not drive to an end, under the next epoch, and ready after a delay.

        Args:
            run_id: The run.
            epoch: Its epoch.
            owner: Its owner.
            delay_ms: How long it is not claimed.
            is_death: Whether the run may have ended the process that drove it, which counts as a death.

        Returns:
            Whether this was so. False, if the run is not `running` with this epoch and owner: nothing was done then.
        """
        ...

    # Facts, blobs and deltas

    def read_facts(self, run_id: str, after: int = -1, limit: int | None = None) -> list[FactRow]:
        """Return the facts of a run whose number is higher than `after`, in order."""
        ...

    def read_blob(self, run_id: str, name: str) -> str | None:
        """Return a text that facts of a run refer to; None if there is no such text."""
        ...

    def add_deltas(self, deltas: Sequence[DeltaRow]) -> None:
        """Store deltas, of any runs. They need not survive a crash, so no flush to the disk is waited for.

        Whoever sees a fact sees all deltas that were added before that fact was appended. A delta that exists already
        is left as it is.
        """
        ...

    def read_deltas(self, run_id: str, after: tuple[int, int], through: int) -> list[DeltaRow]:
        """Return deltas of a run in order: those after `(seq, pos)` whose `seq` is at most `through`.

        A reader asks for facts first and then for deltas through the last fact that it knows. So it sees every event in
        its order.
        """
        ...

    def drop_deltas(self, before: int) -> int:
        """Delete deltas of runs that ended before a time, or are no longer in the journal; return how many."""
        ...

    # Commands

    def add_command(self, run_id: str, name: str, data: str) -> bool:
        """Store a command, unless the run has one of this name; return whether this one was stored.

        If it was stored, a paused run is queued under the next epoch, and a queued run is ready at once. A run that is
        done takes no command.
        """
        ...

    def read_commands(self, run_ids: Collection[str], *, names: Collection[str] = ()) -> list[CommandRow]:
        """Return the commands of these runs that are not handled, in the order in which they came.

        Args:
            run_ids: The runs.
            names: Only commands with one of these names; all if empty.
        """
        ...

    def list_commanded(self, names: Collection[str], limit: int) -> list[RunRow]:
        """Return queued runs that are ready and have a command with one of these names, whatever their lane and agent.

        Args:
            names: The names of commands; one that is handled does not count.
            limit: How many at most.
        """
        ...

    def find_command(self, run_id: str, name: str) -> CommandRow | None:
        """Return a command, handled or not; None if there is none of this name."""
        ...

    # Workers

    def beat(self, worker: str, lease_ms: int, info: str = "{}") -> int:
        """Say that a worker lives, and will be counted as lost if it says nothing for this long. Return the time."""
        ...

    def leave(self, worker: str) -> None:
        """Remove a worker. Runs that it still owns are queued under the next epoch; no death is counted."""
        ...

    def list_workers(self) -> list[WorkerRow]:
        """Return all workers that have beaten within the last day, in the order of their names."""
        ...

    def sweep(self) -> Sweep:
        """Take runs from lost owners, and wake those whose deadline is over.

        A running run whose owner has no row, or one that is expired, is queued under the next epoch, with a death and a
        takeover more. A queued or paused run whose deadline is over gets the command `deadline`, as `add_command` does.
        """
        ...

    # For an engine that dispatches runs

    def list_undispatched(self, limit: int) -> list[RunRow]:
        """Return queued runs that are ready and whose epoch is higher than `dispatched`; in the order of claims."""
        ...

    def mark_dispatched(self, entries: Collection[tuple[str, int]]) -> None:
        """Note that an engine has got runs, each with its epoch."""
        ...

    def list_dispatched(self, before: int, *, after: str = "", limit: int = 1000) -> list[RunRow]:
        """Return queued runs that an engine has got with their epoch, in the order of their ids.

        Args:
            before: Only runs that have not changed since this time.
            after: Only runs with a higher id.
            limit: How many at most.
        """
        ...

    def requeue(self, run_id: str, epoch: int, *, delay_ms: int = 0) -> bool:
        """Raise the epoch of a queued run, because an engine has lost it; return whether it was queued with this epoch.

        It is ready after a delay. Deaths are not counted.
        """
        ...

    # Retention

    def prune(self, before: int, limit: int = 1000) -> list[str]:
        """Delete runs that ended before a time, with all that belongs to them, and return their ids.

        The runs of a chat go on from each other. So they are deleted together, when the last of them has ended, even if
        these are a few more than the limit.
        """
        ...


class ChangeWatch(Protocol):
    """Notices that something was committed. It is used by one thread."""

    def wait(self, seconds: float) -> bool:
        """Wait until something was committed since the last call, by any process, or until this time is over.

        Returns:
            Whether something was committed. It may be True without reason, but never False if something was.
        """
        ...

    def close(self) -> None:
        """Stop watching."""
        ...


class Journal(Protocol):
    """A store of runs.

    Attributes:
        url: Its address, without a password; for errors.
    """

    url: str

    def connect(self) -> JournalSession:
        """Open a session, and create or upgrade the tables if that is needed; safe if many processes do it at once.

        Raises:
            StoreUnavailable: The database cannot be reached or used.
            UsageError: The tables were made by a newer toolspeak, or the database belongs to something else.
        """
        ...

    def watch(self) -> ChangeWatch:
        """Begin to watch for changes."""
        ...
