"""Durable runs in an SQLite file: for all processes of one machine.

Every transaction that writes takes the lock for writing at its beginning (`BEGIN IMMEDIATE`), so none has to be
repeated. The clock of the database is that of the machine. Deltas are in a file of their own (`sqlite_deltas.py`).
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from toolspeak.durable.journal import JournalSession
from toolspeak.durable.rows import STORED_FORMAT, CommandRow, DeltaRow, FactRow, RunRow, Sweep, WorkerRow
from toolspeak.durable.sqlite_connection import SqliteWatch, make_marks
from toolspeak.durable.sqlite_runs import SqliteRuns
from toolspeak.errors import UsageError

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
