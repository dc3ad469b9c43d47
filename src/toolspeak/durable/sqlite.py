"""Durable runs in an SQLite file: for all processes of one machine.

Every transaction that writes takes the lock for writing at its beginning (`BEGIN IMMEDIATE`), so none has to be
repeated. The clock of the database is that of the machine. Deltas are in a file of their own (`sqlite_deltas.py`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Literal

from toolspeak.durable.common_queries import (
    explain_busy_chat,
    explain_full_lane,
    explain_unknown_lane,
    explain_used_key,
)
from toolspeak.durable.journal import Fenced, JournalSession, StartRefused
from toolspeak.durable.rows import (
    STORED_FORMAT,
    CommandRow,
    DeltaRow,
    FactRow,
    Hold,
    Lane,
    NewRun,
    RunRow,
    RunStatus,
    Started,
    Sweep,
    Wanted,
    WorkerRow,
)
from toolspeak.durable.sqlite_connection import SqliteConnection, SqliteWatch, make_marks, name_errors
from toolspeak.values.errors import UsageError

# Starting, finding and holding runs in an SQLite file; see `JournalSession` for what the methods do.


_NEW_FIELDS = [field.name for field in fields(NewRun) if field.name != "deadline_ms"]
_NEW_COLUMNS = ", ".join(_NEW_FIELDS)


class SqliteRuns(SqliteConnection):
    """The runs of a file, and who holds them."""

    # Lanes

    def set_lanes(self, lanes: Mapping[str, Lane]) -> None:
        """Store lanes by name."""
        with self._writing():
            self._lanes.store(lanes)

    def read_lanes(self) -> dict[str, Lane]:
        """Return all lanes by name."""
        with name_errors(self._path):
            return self._lanes.read()

    # Starting and finding runs

    def start(self, run: NewRun) -> Started:
        """Store a run as queued, unless its id exists already."""
        with self._writing() as now:
            if (known := self.read_run(run.run_id)) is not None:
                if known.request_digest != run.request_digest:
                    raise StartRefused(explain_used_key(known, run))
                return Started(known, is_new=False)
            self._check_lane(run.lane)
            earlier = self._find("WHERE chat = ? AND chat <> '' ORDER BY number DESC LIMIT 1", run.chat)
            if earlier and earlier[0].status != "done":
                raise StartRefused(explain_busy_chat(run.chat, earlier[0]))
            values = [getattr(run, name) for name in _NEW_FIELDS]
            parent = earlier[0].run_id if earlier else ""
            deadline = None if run.deadline_ms is None else now + run.deadline_ms
            self._write(
                f"INSERT INTO ts_runs ({_NEW_COLUMNS}, parent, status, deadline, created, updated)"
                f" VALUES ({make_marks(values)}, ?, 'queued', ?, ?, ?)",
                *values,
                parent,
                deadline,
                now,
                now,
            )
            return Started(self._find("WHERE run_id = ?", run.run_id)[0], is_new=True)

    def _check_lane(self, name: str) -> None:
        if not name:
            return
        lanes = self._lanes.read()
        if name not in lanes:
            raise StartRefused(explain_unknown_lane(name, lanes))
        if (waiting := lanes[name].waiting) is not None and self._lanes.count_queued(name) >= waiting:
            raise StartRefused(explain_full_lane(name, waiting))

    def read_run(self, run_id: str) -> RunRow | None:
        """Return a run, or None if there is no such run."""
        found = self._find("WHERE run_id = ?", run_id)
        return found[0] if found else None

    def list_runs(
        self,
        *,
        statuses: Collection[RunStatus] = (),
        agent: str = "",
        chat: str = "",
        limit: int = 100,
        before: int = 0,
    ) -> list[RunRow]:
        """Return runs, those that were started last first."""
        conditions, values = ["TRUE"], list[object]()
        if statuses:
            conditions.append(f"status IN ({make_marks(statuses)})")
            values += statuses
        for column, value in (("agent", agent), ("chat", chat)):
            if value:
                conditions.append(f"{column} = ?")
                values.append(value)
        if before:
            conditions.append("created < ?")
            values.append(before)
        return self._find(f"WHERE {' AND '.join(conditions)} ORDER BY number DESC LIMIT ?", *values, limit)

    # Holding a run

    def claim(self, run_id: str, epoch: int, owner: str) -> RunRow | None:
        """Make `owner` the owner of a queued run with this epoch."""
        with self._writing() as now:
            count = self._write(
                "UPDATE ts_runs SET status = 'running', owner = ?, updated = ?"
                " WHERE run_id = ? AND epoch = ? AND status = 'queued'",
                owner,
                now,
                run_id,
                epoch,
            )
            run = self.read_run(run_id) if count else None
            if run is not None and run.epoch > 1:
                self._deltas.cut(run_id, run.next_seq)
            return run

    def claim_next(self, owner: str, wanted: Wanted) -> list[RunRow]:
        """Make `owner` the owner of the runs that are next."""
        claimed: list[RunRow] = []
        with self._writing() as now:
            while len(claimed) < wanted.count:
                full = self._lanes.list_full(now)
                found = self._find(
                    f"WHERE status = 'queued' AND ready <= ? AND format <= ? AND deaths <= ?"
                    f" AND agent IN ({make_marks(wanted.agents)}) AND lane NOT IN ({make_marks(full)})"
                    " ORDER BY priority DESC, number LIMIT 1",
                    now,
                    wanted.format,
                    2**31 if wanted.max_deaths is None else wanted.max_deaths,
                    *wanted.agents,
                    *full,
                )
                run = self.claim(found[0].run_id, found[0].epoch, owner) if found else None
                if run is None:
                    break
                self._lanes.note_claim(run.lane, now)
                claimed.append(run)
        return claimed

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
        """Store the next facts of a run."""
        with self._writing() as now:
            following = hold._replace(next_seq=hold.next_seq + len(facts))
            changes = "status = 'done', owner = '', stop_reason = ?" if stop_reason else "stop_reason = ?"
            count = self._write(
                f"UPDATE ts_runs SET next_seq = ?, updated = ?, deaths = CASE WHEN ? THEN 0 ELSE deaths END, {changes}"
                " WHERE run_id = ? AND epoch = ? AND owner = ? AND next_seq = ? AND status = 'running'",
                following.next_seq,
                now,
                has_progress,
                stop_reason,
                *hold,
            )
            if not count:
                raise Fenced(hold.run_id)
            for name, data in (blobs or {}).items():
                self._write("INSERT INTO ts_blobs VALUES (?, ?, ?) ON CONFLICT DO NOTHING", hold.run_id, name, data)
            rows = [(hold.run_id, hold.next_seq + n, now, data) for n, data in enumerate(facts)]
            self._runs.executemany("INSERT INTO ts_facts VALUES (?, ?, ?, ?)", rows)
            for name in handled:
                self._write("UPDATE ts_commands SET is_handled = 1 WHERE run_id = ? AND name = ?", hold.run_id, name)
        return following

    def release(self, hold: Hold, status: Literal["paused", "queued"]) -> RunStatus:
        """Give a run up: its epoch goes up, and it has no owner."""
        with self._writing() as now:
            is_awaited = bool(self._read("SELECT 1 FROM ts_commands WHERE run_id = ? AND is_handled = 0", hold.run_id))
            following: RunStatus = "queued" if is_awaited else status
            count = self._write(
                "UPDATE ts_runs SET status = ?, owner = '', epoch = epoch + 1, updated = ?"
                " WHERE run_id = ? AND epoch = ? AND owner = ? AND next_seq = ? AND status = 'running'",
                following,
                now,
                *hold,
            )
            if not count:
                raise Fenced(hold.run_id)
        return following

    def is_held(self, hold: Hold) -> bool:
        """Whether the worker still holds the run; if so, it does until the present transaction ends."""
        held = "run_id = ? AND epoch = ? AND owner = ? AND next_seq = ? AND status = 'running'"
        return bool(self._read(f"SELECT 1 FROM ts_runs WHERE {held}", *hold))

    def list_held(self, owner: str) -> list[tuple[str, int]]:
        """Return the runs that a worker owns, each with its epoch."""
        return self._read("SELECT run_id, epoch FROM ts_runs WHERE status = 'running' AND owner = ?", owner)

    def fail(self, run_id: str, epoch: int, owner: str, *, delay_ms: int = 0, is_death: bool = True) -> bool:
        """Queue a run again that its owner does not drive to an end."""
        with self._writing() as now:
            count = self._write(
                "UPDATE ts_runs SET status = 'queued', owner = '', epoch = epoch + 1, deaths = deaths + ?, ready = ?,"
                " updated = ? WHERE run_id = ? AND epoch = ? AND owner = ? AND status = 'running'",
                int(is_death),
                now + delay_ms,
                now,
                run_id,
                epoch,
                owner,
            )
        return bool(count)


DAY_MS = 24 * 3600 * 1000


class SqliteJournal:
    """A file of runs.

    Attributes:
        url: Its address.
        path: The file.
    """

    def __init__(self, path: str | Path) -> None:
        if not str(path) or str(path) == ":memory:":
            raise UsageError("the address of a store names its file: sqlite:///runs.db")
        self.path = Path(path)
        self.url = f"sqlite:///{path}"

    def connect(self) -> JournalSession:
        """Open a session."""
        return SqliteSession(self.path)

    def watch(self) -> "SqliteWatch":
        """Begin to watch for changes."""
        return SqliteWatch(self.path)


class SqliteSession(SqliteRuns):
    """A session of a file; see `JournalSession` for the methods."""

    # Facts, blobs and deltas

    def read_facts(self, run_id: str, after: int = -1, limit: int | None = None) -> list[FactRow]:
        """Return the facts of a run whose number is higher than `after`, in order."""
        rows = self._read(
            "SELECT seq, at, data FROM ts_facts WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?",
            run_id,
            after,
            -1 if limit is None else limit,
        )
        return [FactRow(*row) for row in rows]

    def read_blob(self, run_id: str, name: str) -> str | None:
        """Return a text that facts of a run refer to; None if there is no such text."""
        rows = self._read("SELECT data FROM ts_blobs WHERE run_id = ? AND name = ?", run_id, name)
        return rows[0][0] if rows else None

    def add_deltas(self, deltas: Sequence[DeltaRow]) -> None:
        """Store deltas, of any runs: at once, or together with the transaction that is under way."""
        if self._runs.in_transaction:
            self._new_deltas += deltas
        else:
            self._deltas.add(deltas)

    def read_deltas(self, run_id: str, after: tuple[int, int], through: int) -> list[DeltaRow]:
        """Return deltas of a run in order."""
        return self._deltas.read(run_id, after, through)

    def drop_deltas(self, before: int) -> int:
        """Delete deltas of runs that ended before a time, or are no longer in the journal."""
        runs = [(run_id, self.read_run(run_id)) for run_id in self._deltas.list_runs()]
        ended = [name for name, run in runs if run is None or (run.status == "done" and run.updated < before)]
        return self._deltas.delete(ended)

    # Commands

    def add_command(self, run_id: str, name: str, data: str) -> bool:
        """Store a command, unless the run has one of this name, and wake the run if it is paused."""
        with self._writing() as now:
            count = self._write(
                "INSERT INTO ts_commands (run_id, name, data, at) SELECT run_id, ?, ?, ? FROM ts_runs"
                " WHERE run_id = ? AND status <> 'done' ON CONFLICT DO NOTHING",
                name,
                data,
                now,
                run_id,
            )
            if count:
                self._write(
                    "UPDATE ts_runs SET epoch = epoch + (status = 'paused'), status = 'queued', ready = 0, updated = ?"
                    " WHERE run_id = ? AND status IN ('paused', 'queued')",
                    now,
                    run_id,
                )
        return bool(count)

    def read_commands(self, run_ids: Collection[str], *, names: Collection[str] = ()) -> list[CommandRow]:
        """Return the commands of these runs that are not handled, in the order in which they came."""
        condition = f"AND name IN ({make_marks(names)})" if names else ""
        rows = self._read(
            "SELECT run_id, name, data, at, is_handled FROM ts_commands"
            f" WHERE is_handled = 0 AND run_id IN ({make_marks(run_ids)}) {condition} ORDER BY number",
            *run_ids,
            *names,
        )
        return [CommandRow(*row[:4], is_handled=bool(row[4])) for row in rows]

    def list_commanded(self, names: Collection[str], limit: int) -> list[RunRow]:
        """Return queued runs that are ready and have a command with one of these names."""
        return self._find(
            "WHERE status = 'queued' AND ready <= ? AND format <= ? AND EXISTS (SELECT 1 FROM ts_commands c"
            f" WHERE c.run_id = ts_runs.run_id AND c.is_handled = 0 AND c.name IN ({make_marks(names)}))"
            " ORDER BY priority DESC, number LIMIT ?",
            self.read_clock(),
            STORED_FORMAT,
            *names,
            limit,
        )

    def find_command(self, run_id: str, name: str) -> CommandRow | None:
        """Return a command, handled or not; None if there is none of this name."""
        rows = self._read(
            "SELECT run_id, name, data, at, is_handled FROM ts_commands WHERE run_id = ? AND name = ?", run_id, name
        )
        return CommandRow(*rows[0][:4], is_handled=bool(rows[0][4])) if rows else None

    # Workers

    def beat(self, worker: str, lease_ms: int, info: str = "{}") -> int:
        """Say that a worker lives."""
        with self._writing() as now:
            self._write(
                "INSERT INTO ts_workers VALUES (?, ?, ?, ?) ON CONFLICT (worker) DO UPDATE"
                " SET beat = excluded.beat, expires = excluded.expires, info = excluded.info",
                worker,
                now,
                now + lease_ms,
                info,
            )
            return now

    def leave(self, worker: str) -> None:
        """Remove a worker, and queue what it still owns."""
        with self._writing() as now:
            self._write(
                "UPDATE ts_runs SET status = 'queued', owner = '', epoch = epoch + 1, updated = ?"
                " WHERE status = 'running' AND owner = ?",
                now,
                worker,
            )
            self._write("DELETE FROM ts_workers WHERE worker = ?", worker)

    def list_workers(self) -> list[WorkerRow]:
        """Return all workers that have beaten within the last day."""
        rows = self._read(
            "SELECT worker, beat, expires, info FROM ts_workers WHERE beat > ? ORDER BY worker",
            self.read_clock() - DAY_MS,
        )
        return [WorkerRow(*row) for row in rows]

    def sweep(self) -> Sweep:
        """Take runs from lost owners, and wake those whose deadline is over."""
        with self._writing() as now:
            taken = self._read(
                "SELECT run_id, epoch FROM ts_runs WHERE status = 'running' AND owner NOT IN"
                " (SELECT worker FROM ts_workers WHERE expires > ?)",
                now,
            )
            for run_id, epoch in taken:
                self._write(
                    "UPDATE ts_runs SET status = 'queued', owner = '', epoch = epoch + 1, deaths = deaths + 1,"
                    " takeovers = takeovers + 1, updated = ? WHERE run_id = ? AND epoch = ?",
                    now,
                    run_id,
                    epoch,
                )
            late = self._read("SELECT run_id FROM ts_runs WHERE status IN ('queued', 'paused') AND deadline <= ?", now)
            for (run_id,) in late:
                self.add_command(run_id, "deadline", "{}")
            self._write("DELETE FROM ts_workers WHERE beat < ?", now - DAY_MS)
            alive = self._read("SELECT worker FROM ts_workers WHERE expires > ? ORDER BY worker", now)
        return Sweep(tuple((run_id, epoch) for run_id, epoch in taken), tuple(row[0] for row in alive))

    # For an engine that dispatches runs

    def list_undispatched(self, limit: int) -> list[RunRow]:
        """Return queued runs that are ready and whose epoch is higher than `dispatched`."""
        return self._find(
            "WHERE status = 'queued' AND dispatched < epoch AND ready <= ? ORDER BY priority DESC, number LIMIT ?",
            self.read_clock(),
            limit,
        )

    def mark_dispatched(self, entries: Collection[tuple[str, int]]) -> None:
        """Note that an engine has got runs, each with its epoch."""
        with self._writing():
            self._runs.executemany(
                "UPDATE ts_runs SET dispatched = ? WHERE run_id = ? AND dispatched < ?",
                [(epoch, run_id, epoch) for run_id, epoch in entries],
            )

    def list_dispatched(self, before: int, *, after: str = "", limit: int = 1000) -> list[RunRow]:
        """Return queued runs that an engine has got with their epoch, in the order of their ids."""
        return self._find(
            "WHERE status = 'queued' AND dispatched >= epoch AND updated < ? AND run_id > ? ORDER BY run_id LIMIT ?",
            before,
            after,
            limit,
        )

    def requeue(self, run_id: str, epoch: int, *, delay_ms: int = 0) -> bool:
        """Raise the epoch of a queued run, because an engine has lost it."""
        with self._writing() as now:
            count = self._write(
                "UPDATE ts_runs SET epoch = epoch + 1, ready = ?, updated = ?"
                " WHERE run_id = ? AND epoch = ? AND status = 'queued'",
                now + delay_ms,
                now,
                run_id,
                epoch,
            )
        return bool(count)

    # Retention

    def prune(self, before: int, limit: int = 1000) -> list[str]:
        """Delete runs that ended before a time, with all that belongs to them."""
        with self._writing():
            rows = self._read(
                "SELECT run_id, chat FROM ts_runs r WHERE status = 'done' AND updated < ?"
                " AND (chat = '' OR NOT EXISTS (SELECT 1 FROM ts_runs o WHERE o.chat = r.chat"
                " AND (o.status <> 'done' OR o.updated >= ?)))"
                " ORDER BY chat, number LIMIT ?",
                before,
                before,
                limit,
            )
            run_ids = {run_id for run_id, _ in rows}
            if rows and (last := rows[-1][1]):  # the limit may have cut this chat in two
                run_ids |= {row[0] for row in self._read("SELECT run_id FROM ts_runs WHERE chat = ?", last)}
            for table in ("ts_facts", "ts_blobs", "ts_commands", "ts_runs"):
                statement = f"DELETE FROM {table} WHERE run_id = ?"
                self._runs.executemany(statement, [(run_id,) for run_id in run_ids])
        self._deltas.delete(run_ids)
        return list(run_ids)
