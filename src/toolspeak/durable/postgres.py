"""Durable runs in a Postgres database: for workers on many machines. It needs the extra `cluster`.

`postgres_runs.py` has the rules for locks. The clock is that of the server. Changes are notified when they are
committed (`NOTIFY`), so whoever follows a run need not poll.
"""

from collections.abc import Collection, Sequence

from toolspeak.durable.journal import JournalSession
from toolspeak.durable.postgres_connection import NOW, PostgresWatch, hide_password
from toolspeak.durable.postgres_runs import PostgresRuns
from toolspeak.durable.rows import STORED_FORMAT, CommandRow, DeltaRow, FactRow, RunRow, Sweep, WorkerRow

DAY_MS = 24 * 3600 * 1000


class PostgresJournal:
    """A database of runs.

    Attributes:
        url: Its address, without a password.
    """

    def __init__(self, url: str) -> None:
        self._address = url
        self.url = hide_password(url)

    def connect(self) -> JournalSession:
        """Open a session."""
        return PostgresSession(self._address)

    def watch(self) -> PostgresWatch:
        """Begin to watch for changes."""
        return PostgresWatch(self._address)


class PostgresSession(PostgresRuns):
    """A session of a database; see `JournalSession` for the methods."""

    # Facts, blobs and deltas

    def read_facts(self, run_id: str, after: int = -1, limit: int | None = None) -> list[FactRow]:
        """Return the facts of a run whose number is higher than `after`, in order."""
        rows = self._read(
            "SELECT seq, at, data FROM ts_facts WHERE run_id = %s AND seq > %s ORDER BY seq LIMIT %s",
            run_id,
            after,
            limit,
        )
        return [FactRow(*row) for row in rows]

    def read_blob(self, run_id: str, name: str) -> str | None:
        """Return a text that facts of a run refer to; None if there is no such text."""
        rows = self._read("SELECT data FROM ts_blobs WHERE run_id = %s AND name = %s", run_id, name)
        return rows[0][0] if rows else None

    def add_deltas(self, deltas: Sequence[DeltaRow]) -> None:
        """Store deltas, of any runs."""
        with self._writing():
            self._write(
                "INSERT INTO ts_deltas SELECT * FROM unnest(%b::text[], %b::int[], %b::int[], %b::text[])"
                " ON CONFLICT DO NOTHING",
                *([list(column) for column in zip(*deltas, strict=True)] or [[], [], [], []]),
            )
            self._notify()

    def read_deltas(self, run_id: str, after: tuple[int, int], through: int) -> list[DeltaRow]:
        """Return deltas of a run in order."""
        rows = self._read(
            "SELECT run_id, seq, pos, data FROM ts_deltas"
            " WHERE run_id = %s AND (seq, pos) > (%s, %s) AND seq <= %s ORDER BY seq, pos",
            run_id,
            *after,
            through,
        )
        return [DeltaRow(*row) for row in rows]

    def drop_deltas(self, before: int) -> int:
        """Delete deltas of runs that ended before a time, or are no longer in the journal."""
        with self._writing():
            return self._write(
                "DELETE FROM ts_deltas d WHERE NOT EXISTS (SELECT 1 FROM ts_runs r WHERE r.run_id = d.run_id"
                " AND (r.status <> 'done' OR r.updated >= %s))",
                before,
            )

    # Commands

    def add_command(self, run_id: str, name: str, data: str) -> bool:
        """Store a command, unless the run has one of this name, and wake the run if it is paused."""
        with self._writing():
            rows = self._read("SELECT status FROM ts_runs WHERE run_id = %s FOR UPDATE", run_id)
            if not rows or rows[0][0] == "done":
                return False
            count = self._write(
                f"INSERT INTO ts_commands (run_id, name, data, at) VALUES (%s, %s, %s, {NOW}) ON CONFLICT DO NOTHING",
                run_id,
                name,
                data,
            )
            if count:
                self._write(
                    "UPDATE ts_runs SET epoch = epoch + (status = 'paused')::int, status = 'queued', ready = 0,"
                    f" updated = {NOW} WHERE run_id = %s AND status IN ('paused', 'queued')",
                    run_id,
                )
                self._notify()
        return bool(count)

    def read_commands(self, run_ids: Collection[str], *, names: Collection[str] = ()) -> list[CommandRow]:
        """Return the commands of these runs that are not handled, in the order in which they came."""
        rows = self._read(
            "SELECT run_id, name, data, at, is_handled FROM ts_commands WHERE NOT is_handled"
            " AND run_id = ANY(%s::text[]) AND (%s OR name = ANY(%s::text[])) ORDER BY number",
            list(run_ids),
            not names,
            list(names),
        )
        return [CommandRow(*row) for row in rows]

    def list_commanded(self, names: Collection[str], limit: int) -> list[RunRow]:
        """Return queued runs that are ready and have a command with one of these names."""
        return self._find(
            f"WHERE status = 'queued' AND ready <= {NOW} AND format <= %s AND EXISTS (SELECT 1 FROM ts_commands c"
            " WHERE c.run_id = ts_runs.run_id AND NOT c.is_handled AND c.name = ANY(%s::text[]))"
            " ORDER BY priority DESC, number LIMIT %s",
            STORED_FORMAT,
            list(names),
            limit,
        )

    def find_command(self, run_id: str, name: str) -> CommandRow | None:
        """Return a command, handled or not; None if there is none of this name."""
        rows = self._read(
            "SELECT run_id, name, data, at, is_handled FROM ts_commands WHERE run_id = %s AND name = %s", run_id, name
        )
        return CommandRow(*rows[0]) if rows else None

    # Workers

    def beat(self, worker: str, lease_ms: int, info: str = "{}") -> int:
        """Say that a worker lives."""
        with self._writing():
            rows = self._read(
                f"WITH clock AS (SELECT {NOW} AS now) INSERT INTO ts_workers SELECT %s, now, now + %s, %s FROM clock"
                " ON CONFLICT (worker) DO UPDATE SET beat = excluded.beat, expires = excluded.expires,"
                " info = excluded.info RETURNING beat",
                worker,
                lease_ms,
                info,
            )
        return rows[0][0]

    def leave(self, worker: str) -> None:
        """Remove a worker, and queue what it still owns."""
        with self._writing():
            count = self._write(
                f"UPDATE ts_runs SET status = 'queued', owner = '', epoch = epoch + 1, updated = {NOW}"
                " WHERE status = 'running' AND owner = %s",
                worker,
            )
            if count:
                self._notify()
            self._write("DELETE FROM ts_workers WHERE worker = %s", worker)

    def list_workers(self) -> list[WorkerRow]:
        """Return all workers that have beaten within the last day."""
        rows = self._read(
            f"SELECT worker, beat, expires, info FROM ts_workers WHERE beat > {NOW} - %s ORDER BY worker",
            DAY_MS,
        )
        return [WorkerRow(*row) for row in rows]

    def sweep(self) -> Sweep:
        """Take runs from lost owners, and wake those whose deadline is over."""
        with self._writing():
            taken = self._read(
                "UPDATE ts_runs SET status = 'queued', owner = '', epoch = epoch + 1, deaths = deaths + 1,"
                f" takeovers = takeovers + 1, updated = {NOW} WHERE number IN ("
                " SELECT number FROM ts_runs WHERE status = 'running' AND NOT EXISTS"
                f" (SELECT 1 FROM ts_workers w WHERE w.worker = ts_runs.owner AND w.expires > {NOW})"
                " FOR UPDATE SKIP LOCKED) RETURNING run_id, epoch - 1"
            )
            late = self._read(
                "SELECT run_id FROM ts_runs r WHERE status IN ('queued', 'paused') AND deadline IS NOT NULL"
                f" AND deadline <= {NOW} AND NOT EXISTS"
                " (SELECT 1 FROM ts_commands c WHERE c.run_id = r.run_id AND c.name = 'deadline')"
                " FOR UPDATE SKIP LOCKED"
            )
            for (run_id,) in late:
                self.add_command(run_id, "deadline", "{}")
            self._write(f"DELETE FROM ts_workers WHERE beat < {NOW} - %s", DAY_MS)
            alive = self._read(f"SELECT worker FROM ts_workers WHERE expires > {NOW} ORDER BY worker")
            if taken:
                self._notify()
        return Sweep(tuple((run_id, epoch) for run_id, epoch in taken), tuple(row[0] for row in alive))

    # For an engine that dispatches runs

    def list_undispatched(self, limit: int) -> list[RunRow]:
        """Return queued runs that are ready and whose epoch is higher than `dispatched`."""
        return self._find(
            f"WHERE status = 'queued' AND dispatched < epoch AND ready <= {NOW}"
            " ORDER BY priority DESC, number LIMIT %s",
            limit,
        )

    def mark_dispatched(self, entries: Collection[tuple[str, int]]) -> None:
        """Note that an engine has got runs, each with its epoch."""
        with self._writing():
            self._write(
                "UPDATE ts_runs r SET dispatched = found.epoch FROM (SELECT number, new.epoch"
                " FROM ts_runs JOIN unnest(%s::text[], %s::int[]) AS new (run_id, epoch) USING (run_id)"
                " WHERE dispatched < new.epoch FOR UPDATE OF ts_runs SKIP LOCKED) AS found"
                " WHERE r.number = found.number",
                [run_id for run_id, _ in entries],
                [epoch for _, epoch in entries],
            )

    def list_dispatched(self, before: int, *, after: str = "", limit: int = 1000) -> list[RunRow]:
        """Return queued runs that an engine has got with their epoch, in the order of their ids."""
        return self._find(
            "WHERE status = 'queued' AND dispatched >= epoch AND updated < %s AND run_id > %s ORDER BY run_id LIMIT %s",
            before,
            after,
            limit,
        )

    def requeue(self, run_id: str, epoch: int, *, delay_ms: int = 0) -> bool:
        """Raise the epoch of a queued run, because an engine has lost it."""
        with self._writing():
            count = self._write(
                f"UPDATE ts_runs SET epoch = epoch + 1, ready = {NOW} + %s, updated = {NOW} WHERE number IN"
                " (SELECT number FROM ts_runs WHERE run_id = %s AND epoch = %s AND status = 'queued'"
                " FOR UPDATE SKIP LOCKED)",
                delay_ms,
                run_id,
                epoch,
            )
            if count:
                self._notify()
        return bool(count)

    # Retention

    def prune(self, before: int, limit: int = 1000) -> list[str]:
        """Delete runs that ended before a time, with all that belongs to them."""
        with self._writing():
            rows = self._read(
                "SELECT run_id, chat FROM ts_runs r WHERE status = 'done' AND updated < %s"
                " AND (chat = '' OR NOT EXISTS (SELECT 1 FROM ts_runs o WHERE o.chat = r.chat"
                " AND (o.status <> 'done' OR o.updated >= %s)))"
                " ORDER BY chat, number LIMIT %s",
                before,
                before,
                limit,
            )
            run_ids = {run_id for run_id, _ in rows}
            if rows and (last := rows[-1][1]):  # the limit may have cut this chat in two
                run_ids |= {row[0] for row in self._read("SELECT run_id FROM ts_runs WHERE chat = %s", last)}
            for table in ("ts_facts", "ts_blobs", "ts_commands", "ts_deltas", "ts_runs"):
                self._write(f"DELETE FROM {table} WHERE run_id = ANY(%s::text[])", list(run_ids))
        return list(run_ids)
