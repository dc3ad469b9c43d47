"""`Journal`: what a database must do so that runs last in it, and the SQL that SQLite and Postgres share for that.

A journal stores texts and numbers. What they mean is decided above it: `records.py` turns facts into texts and back,
`worker.py` decides when something is written. `sqlite.py` and `postgres.py` have what the two databases do differently.

The rules that a journal keeps:

1. A run is written by one owner at a time, who holds it by `(epoch, owner, next_seq)`. Each write compares all three
   before it changes anything, under the lock of the run's row, and raises `Fenced` if they do not match. The epoch goes
   up whenever the run leaves its owner, so an owner who was taken for dead can write nothing more.
2. The facts of a run are dense: their numbers are 0, 1, 2 … without a gap. What a method wrote survives the death of
   the process and of the machine as soon as its transaction is committed. Deltas may be lost.
3. Times are whole milliseconds since 1970 by the clock of the database (`read_clock`), never by that of a worker.
4. A method that raises `Fenced` or `StartRefused` has written nothing. So many jobs of many runs can share a
   transaction (`writer.py`), and the refusal of one does not touch the others.
5. Every failure of the database itself is raised as `StoreUnavailable`, with words that name the store. The
   transaction is then rolled back, and the session can be used again; it reconnects by itself.
6. A session is used by one thread at a time. Any number of sessions, in any number of processes, work at once.

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
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from typing import Any, ClassVar, Literal, Protocol

from toolspeak.durable.rows import (
    STORED_FORMAT,
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


DAY_MS = 24 * 3600 * 1000
MAX_INTEGER = 2**31 - 1
NEW_FIELDS = [field.name for field in fields(NewRun) if field.name not in ("deadline_ms", "labels")]
RUN_FIELDS = [field.name for field in fields(RunRow)]
RUN_COLUMNS = ", ".join(RUN_FIELDS)
HELD = "run_id = ? AND epoch = ? AND owner = ? AND next_seq = ? AND status = 'running'"
"""What a run is that is held; the values are those of a `Hold`."""

_COMMANDS = "SELECT run_id, name, data, at, is_handled FROM ts_commands WHERE"


class JournalSession(ABC):
    """A connection to the database. Outside of `transaction`, each method is a transaction of its own."""

    NOW: ClassVar[str]
    AMONG: ClassVar[str]
    FOR_UPDATE: ClassVar[str] = ""
    SKIP_LOCKED: ClassVar[str] = ""
    TABLES: ClassVar[tuple[str, ...]] = ("ts_facts", "ts_blobs", "ts_commands", "ts_labels", "ts_runs")
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
        """Let starts of runs of a chat happen one after another, or, for None, claims of runs of lanes with limits."""

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

    # Lanes

    def set_lanes(self, lanes: Mapping[str, Lane]) -> None:
        """Store lanes by name. Lanes that are not named stay as they are."""
        with self._writing():
            for name, lane in sorted(lanes.items()):
                self._write(
                    "INSERT INTO ts_lanes (lane, concurrency, rate, period, waiting) VALUES (?, ?, ?, ?, ?)"
                    " ON CONFLICT (lane) DO UPDATE SET concurrency = excluded.concurrency, rate = excluded.rate,"
                    " period = excluded.period, waiting = excluded.waiting",
                    (name, lane.concurrency, lane.rate, lane.period, lane.waiting),
                )

    def read_lanes(self) -> dict[str, Lane]:
        """Return all lanes by name."""
        rows = self._read("SELECT lane, concurrency, rate, period, waiting FROM ts_lanes ORDER BY lane")
        return {
            name: Lane(concurrency=concurrency, rate=rate, period=period, waiting=waiting)
            for name, concurrency, rate, period, waiting in rows
        }

    # Starting and finding runs

    def start(self, run: NewRun) -> Started:
        """Store a run as `queued`, with epoch 1 and without facts, unless its id exists already.

        A run that exists is returned as it is, if its `request_digest` is the same. Otherwise the parent of a run with
        a chat is the run of that chat that was started last and is in the journal.

        Raises:
            StartRefused: The id was used for another request; the lane does not exist, or as many of its runs are
                queued as may wait; the parent has not ended. The words say which, and what to do.
        """
        with self._writing():
            if run.chat:
                self._lock(run.chat)
            known = self.read_run(run.run_id) if run.key or run.lane or run.chat else None
            if known is None:
                self._check_lane(run.lane)
                new = self._change_run(
                    run.run_id,
                    f"INSERT INTO ts_runs ({', '.join(NEW_FIELDS)}, parent, status, deadline, created, updated)"
                    f" SELECT {', '.join('?' * len(NEW_FIELDS))}, ?, 'queued', now + CAST(? AS BIGINT), now, now"
                    f" FROM (SELECT {self.NOW} AS now) AS clock WHERE TRUE ON CONFLICT (run_id) DO NOTHING",
                    [*(getattr(run, name) for name in NEW_FIELDS), self._find_parent(run.chat), run.deadline_ms],
                )
                if new is not None:
                    for label in run.labels:
                        self._write("INSERT INTO ts_labels VALUES (?, ?, ?)", (run.run_id, *label))
                    self._notify()
                    return Started(new, is_new=True)
                [known] = self._find("WHERE run_id = ?", (run.run_id,))
            if known.request_digest != run.request_digest:
                name = f"the key {run.key!r}" if run.key else f"the id {run.run_id}"
                raise StartRefused(
                    f"{name} was used for another request to {known.agent} (run {known.run_id}, {known.status}); a key "
                    "stands for one request: use another key, or send the same request again"
                )
            return Started(known, is_new=False)

    def _check_lane(self, name: str) -> None:
        if not name:
            return
        # With the lock of the lane, so that starts are counted one after another.
        rows = self._read(f"SELECT waiting FROM ts_lanes WHERE lane = ? {self.FOR_UPDATE}", (name,))
        if not rows:
            lanes = self.read_lanes()
            known = f"the store has {', '.join(sorted(lanes))}" if lanes else "the store has none"
            raise StartRefused(
                f"there is no lane {name!r} ({known}); define it: Runs(url, lanes={{{name!r}: Lane(concurrency=…)}})"
            )
        waiting = rows[0][0]
        if waiting is not None and self._count("ts_runs WHERE status = 'queued' AND lane = ?", (name,)) >= waiting:
            raise StartRefused(
                f"the lane {name!r} is full: {waiting} runs wait in it; try again later, add workers, or raise "
                "Lane(waiting=…)"
            )

    def _find_parent(self, chat: str) -> str:
        earlier = self._find("WHERE chat = ? ORDER BY number DESC LIMIT 1", (chat,)) if chat else []
        if not earlier:
            return ""
        if earlier[0].status != "done":
            raise StartRefused(
                f"the chat {chat!r} goes on from its last run, {earlier[0].run_id}, which is {earlier[0].status}; wait "
                "for its outcome, or cancel it"
            )
        return earlier[0].run_id

    def read_run(self, run_id: str) -> RunRow | None:
        """Return a run, or None if there is no such run."""
        found = self._find("WHERE run_id = ?", (run_id,))
        return found[0] if found else None

    def list_runs(
        self,
        *,
        statuses: Collection[RunStatus] = (),
        agent: str = "",
        chat: str = "",
        labels: Iterable[tuple[str, str]] = (),
        limit: int = 100,
        before: int = 0,
    ) -> list[RunRow]:
        """Return runs, those that were started last first.

        Args:
            statuses: Only runs with one of these; all if empty.
            agent: Only runs of this agent; of all if "".
            chat: Only runs of this chat; of all if "".
            labels: Only runs that have all of these.
            limit: How many at most.
            before: Only runs that were created before this time; 0 for all.
        """
        by_label = "run_id IN (SELECT run_id FROM ts_labels WHERE name = ? AND value = ?)"
        asked: list[tuple[str, tuple[object, ...]]] = [
            (f"status {self.AMONG}", (list(statuses),)),
            ("agent = ?", (agent,)),
            ("chat = ?", (chat,)),
            ("created < ?", (before,)),
            *((by_label, label) for label in labels),
        ]
        wanted = [each for each in asked if any(each[1])]
        conditions, values = " AND ".join(each[0] for each in wanted), [value for each in wanted for value in each[1]]
        return self._find(f"WHERE {conditions or 'TRUE'} ORDER BY number DESC LIMIT ?", [*values, limit])

    def count_runs(self) -> dict[tuple[str, RunStatus], int]:
        """Return how many runs there are, by lane and status."""
        rows = self._read("SELECT lane, status, count(*) FROM ts_runs GROUP BY lane, status")
        return {(lane, status): count for lane, status, count in rows}

    def read_figures(self) -> JournalFigures:
        """Return what is watched besides the counts of runs."""
        ((takeovers, queued_since),) = self._read(
            "SELECT coalesce(sum(takeovers), 0), min(CASE WHEN status = 'queued' THEN updated END) FROM ts_runs"
        )
        return JournalFigures(int(takeovers), queued_since, self.read_clock())

    # Holding a run

    def claim(self, run_id: str, epoch: int, owner: str) -> RunRow | None:
        """Make `owner` the owner of a queued run with this epoch, and return the run; None if it is not so.

        An engine that decides on lanes and order by itself calls this. `ready` is not compared.
        """
        with self._writing():
            run = self._change_run(
                run_id,
                f"UPDATE ts_runs SET status = 'running', owner = ?, updated = {self.NOW}"
                " WHERE run_id = ? AND epoch = ? AND status = 'queued'",
                (owner, run_id, epoch),
            )
            if run is not None:
                self._notify()
        return run

    def claim_next(self, owner: str, wanted: Wanted) -> list[RunRow]:
        """Make `owner` the owner of the runs that are next, and return them.

        These are queued runs that are ready, that the worker can take, and whose lane has room: the highest priority
        first, then the oldest. The lane of a run that is not the first is checked with those before it counted.
        """
        with self._writing():
            lanes = self.read_lanes()
            limited = {name: lane for name, lane in lanes.items() if lane.concurrency or lane.rate}
            if not limited:
                return self._claim_first(owner, wanted, [], wanted.count)
            self._lock(None)
            claimed: list[RunRow] = []
            while len(claimed) < wanted.count:
                full = [name for name, lane in limited.items() if not self._has_room(name, lane)]
                found = self._claim_first(owner, wanted, full, 1)
                if not found:
                    break
                claimed += found
                self._note_claim(found[0].lane, limited.get(found[0].lane))
        return claimed

    def _claim_first(self, owner: str, wanted: Wanted, full: list[str], count: int) -> list[RunRow]:
        max_deaths = MAX_INTEGER if wanted.max_deaths is None else wanted.max_deaths
        found = self._find(
            f"WHERE status = 'queued' AND ready <= {self.NOW} AND format <= ? AND deaths <= ? AND agent {self.AMONG}"
            f" AND NOT lane {self.AMONG} ORDER BY priority DESC, number LIMIT ? {self.SKIP_LOCKED}",
            (wanted.format, max_deaths, list(wanted.agents), full, count),
        )
        claimed = [self.claim(run.run_id, run.epoch, owner) for run in found]
        return [run for run in claimed if run is not None]

    def _has_room(self, name: str, lane: Lane) -> bool:
        if lane.concurrency is not None:
            running = self._count("ts_runs WHERE status = 'running' AND lane = ?", (name,))
            if running >= lane.concurrency:
                return False
        if lane.rate is None:
            return True
        period_ms = round(lane.period * 1000)
        return self._count(f"ts_lane_claims WHERE lane = ? AND at > {self.NOW} - ?", (name, period_ms)) < lane.rate

    def _note_claim(self, name: str, lane: Lane | None) -> None:
        """Note that a run of a lane was claimed, and forget the claims that no longer count."""
        if lane is not None and lane.rate is not None:
            self._write(f"INSERT INTO ts_lane_claims VALUES (?, {self.NOW})", (name,))
            period_ms = round(lane.period * 1000)
            self._write(f"DELETE FROM ts_lane_claims WHERE lane = ? AND at <= {self.NOW} - ?", (name, period_ms))

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
        with self._writing():
            if not self._append(hold, facts, has_progress=has_progress, stop_reason=stop_reason):
                raise Fenced(hold.run_id)
            for name, data in (blobs or {}).items():
                self._write("INSERT INTO ts_blobs VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (hold.run_id, name, data))
            if handled:
                self._write(
                    f"UPDATE ts_commands SET is_handled = TRUE WHERE run_id = ? AND name {self.AMONG}",
                    (hold.run_id, list(handled)),
                )
            self._notify()
        return hold._replace(next_seq=hold.next_seq + len(facts))

    def release(self, hold: Hold, status: Literal["paused", "queued"]) -> RunStatus:
        """Give a run up: its epoch goes up, and it has no owner. Return the status that it has now.

        If it should pause and there is a command that was not handled, it is queued instead.

        Raises:
            Fenced: As in `append`.
        """
        with self._writing():
            run = None
            if self.is_held(hold):
                run = self._change_run(
                    hold.run_id,
                    f"UPDATE ts_runs SET owner = '', epoch = epoch + 1, updated = {self.NOW},"
                    " status = CASE WHEN EXISTS (SELECT 1 FROM ts_commands c WHERE c.run_id = ts_runs.run_id"
                    " AND NOT c.is_handled) THEN 'queued' ELSE ? END WHERE run_id = ?",
                    (status, hold.run_id),
                )
            if run is None:
                raise Fenced(hold.run_id)
            self._notify()
        return run.status

    def is_held(self, hold: Hold) -> bool:
        """Whether the worker still holds the run; if so, it does until the present transaction ends."""
        return bool(self._read(f"SELECT 1 FROM ts_runs WHERE {HELD} {self.FOR_UPDATE}", hold))

    def list_held(self, owner: str) -> list[tuple[str, int]]:
        """Return the runs that a worker owns, each with its epoch."""
        return self._read("SELECT run_id, epoch FROM ts_runs WHERE status = 'running' AND owner = ?", (owner,))

    def fail(self, run_id: str, epoch: int, owner: str, *, delay_ms: int = 0, is_death: bool = True) -> bool:
        """Queue a run again that its owner does not drive to an end, under the next epoch, and ready after a delay.

        It is a death if the run may have ended the process that drove it. Return False if the run is not `running` with
        this epoch and owner: nothing was done then.
        """
        with self._writing():
            count = self._write(
                f"UPDATE ts_runs SET status = 'queued', owner = '', epoch = epoch + 1, deaths = deaths + ?,"
                f" ready = {self.NOW} + ?, updated = {self.NOW}"
                " WHERE run_id = ? AND epoch = ? AND owner = ? AND status = 'running'",
                (int(is_death), delay_ms, run_id, epoch, owner),
            )
            if count:
                self._notify()
        return bool(count)

    # Facts, blobs and deltas

    def read_facts(self, run_id: str, after: int = -1, limit: int | None = None) -> list[FactRow]:
        """Return the facts of a run whose number is higher than `after`, in order."""
        rows = self._read(
            "SELECT seq, at, data FROM ts_facts WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?",
            (run_id, after, MAX_INTEGER if limit is None else limit),
        )
        return [FactRow(*row) for row in rows]

    def read_blob(self, run_id: str, name: str) -> str | None:
        """Return a text that facts of a run refer to; None if there is no such text."""
        rows = self._read("SELECT data FROM ts_blobs WHERE run_id = ? AND name = ?", (run_id, name))
        return rows[0][0] if rows else None

    @abstractmethod
    def add_deltas(self, deltas: Sequence[DeltaRow]) -> None:
        """Store deltas, of any runs. They need not survive a crash, so no flush to the disk is waited for.

        Whoever sees a fact sees all deltas that were added before that fact was appended. A delta that exists already
        is left as it is.
        """

    @abstractmethod
    def read_deltas(self, run_id: str, after: tuple[int, int], through: int) -> list[DeltaRow]:
        """Return deltas of a run in order: those after `(seq, pos)` whose `seq` is at most `through`.

        A reader asks for facts first and then for deltas through the last fact that it knows. So it sees every event in
        its order.
        """

    @abstractmethod
    def drop_deltas(self, before: int) -> int:
        """Delete deltas of runs that ended before a time, or are no longer in the journal; return how many."""

    # Commands

    def add_command(self, run_id: str, name: str, data: str) -> bool:
        """Store a command, unless the run has one of this name; return whether this one was stored.

        If it was stored, a paused run is queued under the next epoch, and a queued run is ready at once. A run that is
        done takes no command.
        """
        with self._writing():
            rows = self._read(f"SELECT status FROM ts_runs WHERE run_id = ? {self.FOR_UPDATE}", (run_id,))
            if not rows or rows[0][0] == "done":
                return False
            count = self._write(
                f"INSERT INTO ts_commands (run_id, name, data, at) VALUES (?, ?, ?, {self.NOW}) ON CONFLICT DO NOTHING",
                (run_id, name, data),
            )
            if count:
                self._write(
                    "UPDATE ts_runs SET epoch = epoch + CASE WHEN status = 'paused' THEN 1 ELSE 0 END,"
                    f" status = 'queued', ready = 0, updated = {self.NOW}"
                    " WHERE run_id = ? AND status IN ('paused', 'queued')",
                    (run_id,),
                )
                self._notify()
        return bool(count)

    def read_commands(self, run_ids: Collection[str], *, names: Collection[str] = ()) -> list[CommandRow]:
        """Return the commands of these runs that are not handled, with one of these names or any, as they came."""
        named = f"AND name {self.AMONG}" if names else ""
        rows = self._read(
            f"{_COMMANDS} NOT is_handled AND run_id {self.AMONG} {named} ORDER BY number",
            [list(run_ids), *([list(names)] if names else [])],
        )
        return [CommandRow(*row[:4], is_handled=bool(row[4])) for row in rows]

    def list_commanded(self, names: Collection[str], limit: int) -> list[RunRow]:
        """Return queued runs that are ready and have such a command, not handled, whatever their lane and agent."""
        return self._find(
            f"WHERE status = 'queued' AND ready <= {self.NOW} AND format <= ? AND EXISTS (SELECT 1 FROM ts_commands c"
            f" WHERE c.run_id = ts_runs.run_id AND NOT c.is_handled AND c.name {self.AMONG})"
            " ORDER BY priority DESC, number LIMIT ?",
            (STORED_FORMAT, list(names), limit),
        )

    def find_command(self, run_id: str, name: str) -> CommandRow | None:
        """Return a command, handled or not; None if there is none of this name."""
        rows = self._read(f"{_COMMANDS} run_id = ? AND name = ?", (run_id, name))
        return CommandRow(*rows[0][:4], is_handled=bool(rows[0][4])) if rows else None

    # Workers

    def beat(self, worker: str, lease_ms: int, info: str = "{}") -> int:
        """Say that a worker lives, and will be counted as lost if it says nothing for this long. Return the time."""
        with self._writing():
            self._write(
                f"INSERT INTO ts_workers SELECT ?, now, now + ?, ? FROM (SELECT {self.NOW} AS now) AS clock WHERE TRUE"
                " ON CONFLICT (worker) DO UPDATE SET beat = excluded.beat, expires = excluded.expires,"
                " info = excluded.info",
                (worker, lease_ms, info),
            )
            return self._read("SELECT beat FROM ts_workers WHERE worker = ?", (worker,))[0][0]

    def leave(self, worker: str) -> None:
        """Remove a worker. Runs that it still owns are queued under the next epoch; no death is counted."""
        with self._writing():
            count = self._write(
                f"UPDATE ts_runs SET status = 'queued', owner = '', epoch = epoch + 1, updated = {self.NOW}"
                " WHERE status = 'running' AND owner = ?",
                (worker,),
            )
            if count:
                self._notify()
            self._write("DELETE FROM ts_workers WHERE worker = ?", (worker,))

    def list_workers(self) -> list[WorkerRow]:
        """Return all workers that have beaten within the last day, in the order of their names."""
        columns = "SELECT worker, beat, expires, info FROM ts_workers"
        rows = self._read(f"{columns} WHERE beat > {self.NOW} - ? ORDER BY worker", (DAY_MS,))
        return [WorkerRow(*row) for row in rows]

    def sweep(self) -> Sweep:
        """Take runs from lost owners, and wake those whose deadline is over.

        A running run whose owner has no row, or one that is expired, is queued under the next epoch, with a death and a
        takeover more. A queued or paused run whose deadline is over gets the command `deadline`, as `add_command` does.
        """
        with self._writing():
            taken = self._read(
                "SELECT run_id, epoch FROM ts_runs WHERE status = 'running' AND NOT EXISTS"
                f" (SELECT 1 FROM ts_workers w WHERE w.worker = ts_runs.owner AND w.expires > {self.NOW})"
                f" {self.SKIP_LOCKED}"
            )
            if taken:
                self._write(
                    "UPDATE ts_runs SET status = 'queued', owner = '', epoch = epoch + 1, deaths = deaths + 1,"
                    f" takeovers = takeovers + 1, updated = {self.NOW} WHERE run_id {self.AMONG}",
                    ([run_id for run_id, _ in taken],),
                )
                self._notify()
            late = self._read(
                "SELECT run_id FROM ts_runs r WHERE status IN ('queued', 'paused') AND deadline IS NOT NULL"
                f" AND deadline <= {self.NOW} AND NOT EXISTS"
                " (SELECT 1 FROM ts_commands c WHERE c.run_id = r.run_id AND c.name = 'deadline')"
                f" {self.SKIP_LOCKED}"
            )
            for (run_id,) in late:
                self.add_command(run_id, "deadline", "{}")
            self._write(f"DELETE FROM ts_workers WHERE beat < {self.NOW} - ?", (DAY_MS,))
            alive = self._read(f"SELECT worker FROM ts_workers WHERE expires > {self.NOW} ORDER BY worker")
        return Sweep(tuple(taken), tuple(row[0] for row in alive))

    # For an engine that dispatches runs

    def list_undispatched(self, limit: int) -> list[RunRow]:
        """Return queued runs that are ready and whose epoch is higher than `dispatched`; in the order of claims."""
        return self._find(
            f"WHERE status = 'queued' AND dispatched < epoch AND ready <= {self.NOW}"
            " ORDER BY priority DESC, number LIMIT ?",
            (limit,),
        )

    @abstractmethod
    def mark_dispatched(self, entries: Collection[tuple[str, int]]) -> None:
        """Note that an engine has got runs, each with its epoch."""

    def list_dispatched(self, before: int, *, after: str = "", limit: int = 1000) -> list[RunRow]:
        """Return queued runs that an engine has got with their epoch and that have not changed since a time.

        They are in the order of their ids, from the one behind `after` on.
        """
        return self._find(
            "WHERE status = 'queued' AND dispatched >= epoch AND updated < ? AND run_id > ? ORDER BY run_id LIMIT ?",
            (before, after, limit),
        )

    def requeue(self, run_id: str, epoch: int, *, delay_ms: int = 0) -> bool:
        """Raise the epoch of a queued run, because an engine has lost it; return whether it was queued with this epoch.

        It is ready after a delay. Deaths are not counted.
        """
        with self._writing():
            count = self._write(
                f"UPDATE ts_runs SET epoch = epoch + 1, ready = {self.NOW} + ?, updated = {self.NOW} WHERE number IN"
                " (SELECT number FROM ts_runs WHERE run_id = ? AND epoch = ? AND status = 'queued'"
                f" {self.SKIP_LOCKED})",
                (delay_ms, run_id, epoch),
            )
            if count:
                self._notify()
        return bool(count)

    # Retention

    def prune(self, before: int, limit: int = 1000) -> list[str]:
        """Delete runs that ended before a time, with all that belongs to them, and return their ids.

        The runs of a chat go on from each other. So they are deleted together, when the last of them has ended, even if
        these are a few more than the limit.
        """
        ended = (
            "SELECT run_id, chat FROM ts_runs r WHERE status = 'done' AND updated < ?"
            " AND (chat = '' OR NOT EXISTS (SELECT 1 FROM ts_runs o WHERE o.chat = r.chat"
            " AND (o.status <> 'done' OR o.updated >= ?)))"
        )
        with self._writing():
            rows = self._read(f"{ended} ORDER BY chat, number LIMIT ?", (before, before, limit))
            run_ids = [run_id for run_id, chat in rows if not chat]
            chats = self._lock_idle(sorted({chat for _, chat in rows if chat}))
            # Again: a run of a chat may have begun before the lock, and the limit may have cut a chat in two.
            rows = self._read(f"{ended} AND chat {self.AMONG}", (before, before, chats)) if chats else []
            run_ids += [run_id for run_id, _ in rows]
            for table in self.TABLES:
                self._write(f"DELETE FROM {table} WHERE run_id {self.AMONG}", (run_ids,))
        return run_ids


def make_runs(rows: list[Any]) -> list[RunRow]:
    """Make runs from rows of `RUN_COLUMNS`."""
    return [RunRow(**dict(zip(RUN_FIELDS, row, strict=True))) for row in rows]


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
