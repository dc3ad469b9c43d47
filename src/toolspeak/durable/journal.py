"""`Journal`: what a database must do so that runs last in it, and the SQL that SQLite and Postgres share for that.

A journal stores texts and numbers. What they mean is decided above it: `records.py` turns facts into texts and back,
`worker.py` decides when something is written. `session.py` says how the SQL is written; `sqlite.py` and `postgres.py`
have what the two databases do differently.

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
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Literal, Protocol, TypeAlias

from toolspeak.durable.agenda import DAY_MS, Agenda
from toolspeak.durable.rows import (
    STORED_FORMAT,
    CommandRow,
    DeltaRow,
    FactRow,
    Hold,
    JournalFigures,
    Lane,
    NewRun,
    NewWait,
    RunRow,
    RunStatus,
    Started,
    Sweep,
    Wanted,
    WorkerRow,
    read_shared_lane,
)
from toolspeak.values.errors import StoreUnavailable, UsageError


class Fenced(Exception):
    """The run is not held by whoever tried to write: another worker has it, or it has ended."""


class OutcomeUnknown(StoreUnavailable):
    """The connection to the database was lost during a commit, so it is unknown whether it took effect."""


class StartRefused(UsageError):
    """A run was not started: its key was used for another request, or its lane is full or unknown."""


class RunUnknown(UsageError):
    """There is no such run in the store."""


class RetryRefused(UsageError):
    """A run was not queued again: it has not ended, was answered, or cannot go on from where it ended."""


class ApprovalRefused(UsageError):
    """A decision was refused: nobody was asked about the call, or the call has changed."""


MAX_INTEGER = 2**31 - 1
NEW_FIELDS = [
    field.name for field in fields(NewRun) if field.name not in ("deadline_ms", "delay_ms", "labels", "webhook")
]
HELD = "run_id = ? AND epoch = ? AND owner = ? AND next_seq = ? AND status = 'running'"
"""What a run is that is held; the values are those of a `Hold`."""

_RUNNING = "SELECT lane, count(*) FROM ts_runs WHERE status = 'running' AND lane <> '' GROUP BY lane"

IS_FIRST = (
    "(chat = '' OR NOT EXISTS (SELECT 1 FROM ts_runs o WHERE o.chat = ts_runs.chat AND o.number < ts_runs.number"
    " AND o.chat <> '' AND o.status <> 'done'))"
)
"""Whether all earlier runs of the chat of a run have ended: the runs of a chat happen one after the other."""

FindLiving: TypeAlias = Callable[[list[WorkerRow]], Collection[str]]
"""A function that returns those of all workers from which nothing may be taken, whatever the clock says."""

_UNLESS_ENDING = (
    "CASE WHEN EXISTS (SELECT 1 FROM ts_commands c WHERE c.run_id = ts_runs.run_id"
    " AND c.name IN ('cancel', 'deadline')) THEN 0 ELSE"
)
"""When a run is ready: at once if it is only to be ended, and otherwise at the time that follows, with `END`."""

_COMMANDS = "SELECT run_id, name, data, at, is_handled FROM ts_commands WHERE"


class JournalSession(Agenda):
    """A connection to the database. Outside of `transaction`, each method is a transaction of its own."""

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
                queued as may wait. The words say which, and what to do.
        """
        with self._writing():
            if run.chat:
                self._lock(run.chat)
            known = self.read_run(run.run_id) if run.key or run.lane or run.chat else None
            if known is None:
                self.check_lane(run.lane)
                ready = f"now + {run.delay_ms:d}" if run.delay_ms else "0"
                new = self._change_run(
                    run.run_id,
                    f"INSERT INTO ts_runs ({', '.join(NEW_FIELDS)}, parent, status, deadline, ready, created, updated)"
                    f" SELECT {', '.join('?' * len(NEW_FIELDS))}, ?, 'queued', now + CAST(? AS BIGINT), {ready}, now,"
                    f" now FROM (SELECT {self.NOW} AS now) AS clock WHERE TRUE ON CONFLICT (run_id) DO NOTHING",
                    [*(getattr(run, name) for name in NEW_FIELDS), self._find_parent(run.chat), run.deadline_ms],
                )
                if new is not None:
                    if run.webhook:
                        self.add_webhook(run.run_id, run.webhook)
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

    def check_lane(self, name: str, *, needs_room: bool = True) -> None:
        """Raise `StartRefused` if there is no such lane, or no room in it for a run."""
        if not name or read_shared_lane(name) is not None:
            return
        # With the lock of the lane, so that starts are counted one after another.
        rows = self._read(f"SELECT waiting FROM ts_lanes WHERE lane = ? {self.FOR_UPDATE}", (name,))
        if not rows:
            lanes = self.read_lanes()
            known = f"the store has {', '.join(sorted(lanes))}" if lanes else "the store has none"
            raise StartRefused(
                f"there is no lane {name!r} ({known}); define it: Runs(url, lanes={{{name!r}: Lane(concurrency=…)}})"
            )
        waiting = rows[0][0] if needs_room else None
        if waiting is not None and self._count("ts_runs WHERE status = 'queued' AND lane = ?", (name,)) >= waiting:
            raise StartRefused(
                f"the lane {name!r} is full (runs that wait: {waiting}); try again later, add workers, or raise "
                "Lane(waiting=…)"
            )

    def _find_parent(self, chat: str) -> str:
        earlier = self._find("WHERE chat = ? ORDER BY number DESC LIMIT 1", (chat,)) if chat else []
        return earlier[0].run_id if earlier else ""

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
        stop_reasons: Collection[str] = (),
        labels: Iterable[tuple[str, str]] = (),
        limit: int = 100,
        since: int = 0,
        before: int = 0,
    ) -> list[RunRow]:
        """Return runs, those that were started last first.

        Args:
            statuses: Only runs with one of these; all if empty.
            agent: Only runs of this agent; of all if "".
            chat: Only runs of this chat; of all if "".
            stop_reasons: Only runs that ended for one of these; all if empty.
            labels: Only runs that have all of these.
            limit: How many at most.
            since: Only runs that were created at this time or later; 0 for all.
            before: Only runs that were created before this time; 0 for all.
        """
        by_label = "run_id IN (SELECT run_id FROM ts_labels WHERE name = ? AND value = ?)"
        asked: list[tuple[str, tuple[object, ...]]] = [
            (f"status {self.AMONG}", (list(statuses),)),
            ("agent = ?", (agent,)),
            ("chat = ?", (chat,)),
            (f"stop_reason {self.AMONG}", (list(stop_reasons),)),
            ("created >= ?", (since,)),
            ("created < ?", (before,)),
            *((by_label, label) for label in labels),
        ]
        wanted = [each for each in asked if any(each[1])]
        conditions, values = " AND ".join(each[0] for each in wanted), [value for each in wanted for value in each[1]]
        return self._find(f"WHERE {conditions or 'TRUE'} ORDER BY number DESC LIMIT ?", [*values, limit])

    def annotate(self, run_id: str, data: str) -> bool:
        """Store what people say of a run instead of what they said before; return whether there is such a run."""
        with self._writing():
            self._write("DELETE FROM ts_annotations WHERE run_id = ?", (run_id,))
            insert = f"INSERT INTO ts_annotations SELECT run_id, ?, {self.NOW} FROM ts_runs WHERE run_id = ?"
            return self._write(insert, (data, run_id)) == 1

    def read_annotations(self) -> dict[str, str]:
        """Return what people have said of runs, by their ids."""
        return dict(self._read("SELECT run_id, data FROM ts_annotations"))

    def count_runs(self) -> dict[tuple[str, RunStatus], int]:
        """Return how many runs there are, by lane and status."""
        rows = self._read("SELECT lane, status, count(*) FROM ts_runs GROUP BY lane, status")
        return {(lane, status): count for lane, status, count in rows}

    def read_figures(self) -> JournalFigures:
        """Return what is watched besides the counts of runs."""
        ((takeovers, queued_since),) = self._read(
            "SELECT coalesce(sum(takeovers), 0), min(CASE WHEN status = 'queued' AND ready <= updated THEN updated"
            f" WHEN status = 'queued' AND ready <= {self.NOW} THEN ready END) FROM ts_runs"
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
            self._lock(None)  # always: the name of a lane may hold a limit, too
            lanes = self.read_lanes()
            running: Counter[str] = Counter(dict(self._read(_RUNNING)))
            full = {name for name in {*lanes, *running} if not self._has_room(name, lanes.get(name), running)}
            claimed: list[RunRow] = []
            while len(claimed) < wanted.count:
                seen = len(full)
                for run in self._find_next(wanted, full, wanted.count - len(claimed)):
                    if run.lane in full or (found := self.claim(run.run_id, run.epoch, owner)) is None:
                        continue
                    claimed.append(found)
                    if run.lane:
                        running[run.lane] += 1
                        self._note_claim(run.lane, lanes.get(run.lane))
                        if not self._has_room(run.lane, lanes.get(run.lane), running):
                            full.add(run.lane)
                if len(full) == seen:  # no run was passed over because its lane became full meanwhile
                    break
        return claimed

    def _find_next(self, wanted: Wanted, full: Collection[str], count: int) -> list[RunRow]:
        max_deaths = MAX_INTEGER if wanted.max_deaths is None else wanted.max_deaths
        return self._find(
            f"WHERE status = 'queued' AND ready <= {self.NOW} AND format <= ? AND deaths <= ? AND agent {self.AMONG}"
            f" AND NOT lane {self.AMONG} AND {IS_FIRST} ORDER BY priority DESC, number LIMIT ? {self.SKIP_LOCKED}",
            (wanted.format, max_deaths, list(wanted.agents), sorted(full), count),
        )

    def _has_room(self, name: str, lane: Lane | None, running: Mapping[str, int]) -> bool:
        """Whether one more run of a lane may go on, beside those of all lanes that do."""
        concurrency = read_shared_lane(name) if lane is None else lane.concurrency
        if concurrency is not None and running.get(name, 0) >= concurrency:
            return False
        if lane is None or lane.rate is None:
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
        waits: Sequence[NewWait] = (),
        waits_over: Collection[str] = (),
        has_progress: bool = False,
        stop_reason: str = "",
    ) -> Hold:
        """Store the next facts of a run, and return the hold with which it goes on.

        Args:
            hold: What the caller believes to hold.
            facts: The texts of the facts; possibly none.
            blobs: Texts that the facts refer to, by their names, which are digests of the texts.
            handled: Names of commands that these facts carry out.
            waits: What calls wait for from now on, each in place of what the same call has waited for before.
            waits_over: Calls, as in `NewWait`, that wait no more.
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
            if waits or waits_over:
                self._set_waits(hold.run_id, waits, waits_over)
            self._notify()
        return hold._replace(next_seq=hold.next_seq + len(facts))

    def release(self, hold: Hold, status: Literal["paused", "queued"]) -> RunStatus:
        """Give a run up: its epoch goes up, and it has no owner. Return the status that it has now.

        If it should pause, and there is a command that was not handled, or a wait that is over, it is queued instead.

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
                    f" AND NOT c.is_handled) OR EXISTS ({self._over_waits}) THEN 'queued' ELSE ? END WHERE run_id = ?",
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
                f" ready = {_UNLESS_ENDING} {self.NOW} + ? END, updated = {self.NOW}"
                " WHERE run_id = ? AND epoch = ? AND owner = ? AND status = 'running'",
                (int(is_death), delay_ms, run_id, epoch, owner),
            )
            if count:
                self._notify()
        return bool(count)

    def retry(self, run_id: str, *, deadline_ms: int | None = None, anew: bool = False) -> RunRow:
        """Queue a run again that has ended without an answer, under the next epoch, as if it had not ended.

        Its deadline is the given one, or it has none any more. A cancellation is forgotten. If it begins anew, its
        facts are deleted.

        Raises:
            RetryRefused: It has not ended, it was answered, or its chat has gone on without it.
        """
        with self._writing():
            [run] = self._find(f"WHERE run_id = ? {self.FOR_UPDATE}", (run_id,))
            if run.status != "done":
                raise RetryRefused(f"run {run_id} has not ended, it is {run.status}; there is nothing to retry")
            if run.stop_reason == "answered":
                raise RetryRefused(f"run {run_id} was answered; start another run")
            if self._count("ts_runs WHERE parent = ? AND chat = ?", (run_id, run.chat)) and run.chat:
                raise RetryRefused(f"the chat {run.chat!r} has gone on without run {run_id}; start another run")
            self._write(
                f"DELETE FROM ts_commands WHERE run_id = ? AND name {self.AMONG}", (run_id, ["cancel", "deadline"])
            )
            if anew:
                self._write("DELETE FROM ts_facts WHERE run_id = ?", (run_id,))
            queued = self._change_run(
                run_id,
                "UPDATE ts_runs SET status = 'queued', stop_reason = '', epoch = epoch + 1, deaths = 0, ready = 0,"
                f" deadline = {self.NOW} + CAST(? AS BIGINT), next_seq = ?, updated = {self.NOW} WHERE run_id = ?",
                (deadline_ms, 0 if anew else run.next_seq, run_id),
            )
            self._notify()
        return run if queued is None else queued

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

    def add_command(self, run_id: str, name: str, data: str, *, unless: Collection[str] = ()) -> bool:
        """Store a command, unless the run has one of this name or of those; return whether this one was stored.

        If it was stored, a paused run is queued under the next epoch, and a queued run is ready at once. A run that is
        done takes no command.
        """
        with self._writing():
            rows = self._read(f"SELECT status FROM ts_runs WHERE run_id = ? {self.FOR_UPDATE}", (run_id,))
            if not rows or rows[0][0] == "done":
                return False
            if unless and self._count(f"ts_commands WHERE run_id = ? AND name {self.AMONG}", (run_id, list(unless))):
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

    def sweep(self, find_living: FindLiving | None = None) -> Sweep:
        """Take runs from lost owners, and wake those whose deadline is over.

        A running run whose owner has no row, or one that is expired, is queued under the next epoch, with a death and a
        takeover more. A queued or paused run whose deadline is over gets the command `deadline`, as `add_command` does.

        Args:
            find_living: Finds the workers that are not lost even if their lease seems to be over (`SilenceWatch`).
        """
        with self._writing():
            rows = self._read("SELECT worker, beat, expires, info FROM ts_workers ORDER BY worker")
            living = list(find_living([WorkerRow(*row) for row in rows])) if find_living is not None else []
            # A beat that is more than a lease ahead was before the clock was set back.
            taken = self._read(
                "SELECT run_id, epoch FROM ts_runs WHERE status = 'running' AND NOT EXISTS (SELECT 1 FROM ts_workers w"
                f" WHERE w.worker = ts_runs.owner AND (w.worker {self.AMONG}"
                f" OR w.expires > {self.NOW} AND 2 * w.beat - w.expires <= {self.NOW})) {self.SKIP_LOCKED}",
                (living,),
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
            self._write(
                f"DELETE FROM ts_workers WHERE beat < {self.NOW} - ? AND NOT worker {self.AMONG}", (DAY_MS, living)
            )
            alive = self._read(f"SELECT worker FROM ts_workers WHERE expires > {self.NOW} ORDER BY worker")
        return Sweep(tuple(taken), tuple(row[0] for row in alive), tuple(living))

    # For an engine that dispatches runs

    def list_undispatched(self, limit: int) -> list[RunRow]:
        """Return queued runs that are ready and whose epoch is higher than `dispatched`; in the order of claims."""
        return self._find(
            f"WHERE status = 'queued' AND dispatched < epoch AND ready <= {self.NOW} AND {IS_FIRST}"
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
                f"UPDATE ts_runs SET epoch = epoch + 1, ready = {_UNLESS_ENDING} {self.NOW} + ? END,"
                f" updated = {self.NOW} WHERE number IN"
                " (SELECT number FROM ts_runs WHERE run_id = ? AND epoch = ? AND status = 'queued'"
                f" {self.SKIP_LOCKED})",
                (delay_ms, run_id, epoch),
            )
            if count:
                self._notify()
        return bool(count)

    # Retention

    def prune(self, before: int, limit: int = 1000) -> list[str]:
        """Delete runs that ended before a time, with all that belongs to them, and signals that came before it.

        Return the ids of the runs. The runs of a chat go on from each other. So they are deleted together, when the
        last of them has ended, even if these are a few more than the limit.
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
            self._write("DELETE FROM ts_signals WHERE at < ?", (before,))
        return run_ids

    def shrink(self) -> bool:
        """Give room that was freed back to the disk, if that is not done by itself; return whether there may be more.

        It is a transaction of its own.
        """
        return False


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
