"""Durable runs in a Postgres database: for workers on many machines. It needs the extra `cluster`.

`postgres_runs.py` has the rules for locks. The clock is that of the server. Changes are notified when they are
committed (`NOTIFY`), so whoever follows a run need not poll.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Literal

from toolspeak.durable.common_queries import (
    explain_busy_chat,
    explain_full_lane,
    explain_unknown_lane,
    explain_used_key,
)
from toolspeak.durable.journal import Fenced, JournalSession, StartRefused
from toolspeak.durable.postgres_connection import (
    COLUMNS,
    NOW,
    PostgresConnection,
    PostgresWatch,
    hide_password,
    make_runs,
)
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

# Starting, finding and holding runs in Postgres; see `JournalSession` for what the methods do.
#
# Transactions see what others committed (`READ COMMITTED`). A statement that decides by other rows than the one that it
# changes locks that row first, in a statement before: only the next statement sees what was committed while it waited.
# Whoever looks for runs of others skips those that are locked, so that two workers never wait for each other.
#
# Long texts are sent in the binary form of arrays (`%b`): in the other form each quotation mark of them is escaped.


CHAT_LOCK = 0x7453_6452
"""The space of the advisory locks that starts of runs of a chat take, one for each chat."""

CLAIM_LOCK = 0x7453_6452_0002
"""The advisory lock of whoever claims runs of lanes with limits."""

_NEW_FIELDS = [field.name for field in fields(NewRun) if field.name != "deadline_ms"]

_START = f"""
    INSERT INTO ts_runs ({", ".join(_NEW_FIELDS)}, parent, status, deadline, created, updated)
    SELECT {", ".join(["%s"] * len(_NEW_FIELDS))}, %s, 'queued', now + %s::bigint, now, now
    FROM (SELECT {NOW} AS now) AS clock
    ON CONFLICT (run_id) DO NOTHING
    RETURNING {COLUMNS}
"""

_CLAIM = f"""
    WITH claimed AS (
        UPDATE ts_runs SET status = 'running', owner = %s, updated = {NOW}
        WHERE number IN (
            SELECT number FROM ts_runs
            WHERE status = 'queued' AND ready <= {NOW} AND format <= %s AND deaths <= %s
                AND agent = ANY(%s::text[]) AND lane <> ALL(%s::text[])
            ORDER BY priority DESC, number LIMIT %s FOR UPDATE SKIP LOCKED
        )
        RETURNING *
    )
    SELECT {COLUMNS} FROM claimed ORDER BY priority DESC, number
"""

_APPEND = f"""
    WITH held AS (
        UPDATE ts_runs SET next_seq = next_seq + %s, updated = {NOW},
            deaths = CASE WHEN %s THEN 0 ELSE deaths END, stop_reason = %s,
            status = CASE WHEN %s THEN 'done' ELSE status END, owner = CASE WHEN %s THEN '' ELSE owner END
        WHERE run_id = %s AND epoch = %s AND owner = %s AND next_seq = %s AND status = 'running'
        RETURNING run_id, updated
    ), stored AS (
        INSERT INTO ts_facts (run_id, seq, at, data)
        SELECT held.run_id, %s + new.number - 1, held.updated, new.data
        FROM held, unnest(%b::text[]) WITH ORDINALITY AS new (data, number)
    )
    SELECT run_id FROM held
"""


class PostgresRuns(PostgresConnection):
    """The runs of a database, and who holds them."""

    # Lanes

    def set_lanes(self, lanes: Mapping[str, Lane]) -> None:
        """Store lanes by name."""
        with self._writing():
            for name, lane in sorted(lanes.items()):
                self._write(
                    "INSERT INTO ts_lanes (lane, concurrency, rate, period, waiting) VALUES (%s, %s, %s, %s, %s)"
                    " ON CONFLICT (lane) DO UPDATE SET concurrency = excluded.concurrency, rate = excluded.rate,"
                    " period = excluded.period, waiting = excluded.waiting",
                    name,
                    lane.concurrency,
                    lane.rate,
                    lane.period,
                    lane.waiting,
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
        """Store a run as queued, unless its id exists already."""
        with self._writing():
            if run.chat:
                self._read("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", CHAT_LOCK, run.chat)
            values = [getattr(run, name) for name in _NEW_FIELDS]
            known = self.read_run(run.run_id) if run.key or run.lane or run.chat else None
            if known is None:
                self._check_lane(run.lane)
                parent = self._find_parent(run.chat)
                if new := make_runs(self._read(_START, *values, parent, run.deadline_ms)):
                    self._notify()
                    return Started(new[0], is_new=True)
                [known] = self._find("WHERE run_id = %s", run.run_id)
            if known.request_digest != run.request_digest:
                raise StartRefused(explain_used_key(known, run))
            return Started(known, is_new=False)

    def _check_lane(self, name: str) -> None:
        if not name:
            return
        rows = self._read("SELECT waiting FROM ts_lanes WHERE lane = %s FOR UPDATE", name)  # one after another
        if not rows:
            raise StartRefused(explain_unknown_lane(name, self.read_lanes()))
        waiting = rows[0][0]
        if waiting is not None and self._count("status = 'queued' AND lane = %s", name) >= waiting:
            raise StartRefused(explain_full_lane(name, waiting))

    def _find_parent(self, chat: str) -> str:
        earlier = self._find("WHERE chat = %s ORDER BY number DESC LIMIT 1", chat) if chat else []
        if not earlier:
            return ""
        if earlier[0].status != "done":
            raise StartRefused(explain_busy_chat(chat, earlier[0]))
        return earlier[0].run_id

    def _count(self, condition: str, *values: object) -> int:
        return self._read(f"SELECT count(*) FROM ts_runs WHERE {condition}", *values)[0][0]

    def read_run(self, run_id: str) -> RunRow | None:
        """Return a run, or None if there is no such run."""
        found = self._find("WHERE run_id = %s", run_id)
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
        for condition, value in (
            ("status = ANY(%s::text[])", list(statuses)),
            ("agent = %s", agent),
            ("chat = %s", chat),
            ("created < %s", before),
        ):
            if value:
                conditions.append(condition)
                values.append(value)
        return self._find(f"WHERE {' AND '.join(conditions)} ORDER BY number DESC LIMIT %s", *values, limit)

    # Holding a run

    def claim(self, run_id: str, epoch: int, owner: str) -> RunRow | None:
        """Make `owner` the owner of a queued run with this epoch."""
        with self._writing():
            rows = self._read(
                f"UPDATE ts_runs SET status = 'running', owner = %s, updated = {NOW}"
                f" WHERE run_id = %s AND epoch = %s AND status = 'queued' RETURNING {COLUMNS}",
                owner,
                run_id,
                epoch,
            )
            if rows:
                self._notify()
        return make_runs(rows)[0] if rows else None

    def claim_next(self, owner: str, wanted: Wanted) -> list[RunRow]:
        """Make `owner` the owner of the runs that are next."""
        with self._writing():
            limited = {name: lane for name, lane in self.read_lanes().items() if lane.concurrency or lane.rate}
            if not limited:
                claimed = self._claim_next(owner, wanted, [], wanted.count)
            else:
                self._read("SELECT pg_advisory_xact_lock(%s)", CLAIM_LOCK)
                claimed = self._claim_one_by_one(owner, wanted, limited)
            if claimed:
                self._notify()
        return claimed

    def _claim_one_by_one(self, owner: str, wanted: Wanted, limited: Mapping[str, Lane]) -> list[RunRow]:
        claimed: list[RunRow] = []
        while len(claimed) < wanted.count:
            full = [name for name, lane in limited.items() if not self._has_room(name, lane)]
            found = self._claim_next(owner, wanted, full, 1)
            if not found:
                break
            claimed += found
            lane = limited.get(found[0].lane)
            if lane is not None and lane.rate is not None:
                self._write(f"INSERT INTO ts_lane_claims VALUES (%s, {NOW})", found[0].lane)
                self._write(
                    f"DELETE FROM ts_lane_claims WHERE lane = %s AND at <= {NOW} - %s",
                    found[0].lane,
                    round(lane.period * 1000),
                )
        return claimed

    def _claim_next(self, owner: str, wanted: Wanted, full: Sequence[str], count: int) -> list[RunRow]:
        max_deaths = 2**31 - 1 if wanted.max_deaths is None else wanted.max_deaths
        return make_runs(self._read(_CLAIM, owner, wanted.format, max_deaths, list(wanted.agents), list(full), count))

    def _has_room(self, name: str, lane: Lane) -> bool:
        if lane.concurrency is not None and self._count("status = 'running' AND lane = %s", name) >= lane.concurrency:
            return False
        if lane.rate is None:
            return True
        rows = self._read(
            f"SELECT count(*) FROM ts_lane_claims WHERE lane = %s AND at > {NOW} - %s",
            name,
            round(lane.period * 1000),
        )
        return rows[0][0] < lane.rate

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
        has_ended = bool(stop_reason)
        with self._writing():
            changes = (len(facts), has_progress, stop_reason, has_ended, has_ended)
            held = self._read(_APPEND, *changes, *hold, hold.next_seq, list(facts))
            if not held:
                raise Fenced(hold.run_id)
            for name, data in (blobs or {}).items():
                self._write("INSERT INTO ts_blobs VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", hold.run_id, name, data)
            if handled:
                self._write(
                    "UPDATE ts_commands SET is_handled = TRUE WHERE run_id = %s AND name = ANY(%s::text[])",
                    hold.run_id,
                    list(handled),
                )
            self._notify()
        return hold._replace(next_seq=hold.next_seq + len(facts))

    def release(self, hold: Hold, status: Literal["paused", "queued"]) -> RunStatus:
        """Give a run up: its epoch goes up, and it has no owner."""
        with self._writing():
            if not self.is_held(hold):
                raise Fenced(hold.run_id)
            rows = self._read(
                f"UPDATE ts_runs SET owner = '', epoch = epoch + 1, updated = {NOW},"
                " status = CASE WHEN EXISTS (SELECT 1 FROM ts_commands c WHERE c.run_id = ts_runs.run_id"
                " AND NOT c.is_handled) THEN 'queued' ELSE %s END WHERE run_id = %s RETURNING status",
                status,
                hold.run_id,
            )
            self._notify()
        return rows[0][0]

    def is_held(self, hold: Hold) -> bool:
        """Whether the worker still holds the run; if so, it does until the present transaction ends."""
        held = "run_id = %s AND epoch = %s AND owner = %s AND next_seq = %s AND status = 'running'"
        return bool(self._read(f"SELECT 1 FROM ts_runs WHERE {held} FOR UPDATE", *hold))

    def list_held(self, owner: str) -> list[tuple[str, int]]:
        """Return the runs that a worker owns, each with its epoch."""
        return self._read("SELECT run_id, epoch FROM ts_runs WHERE status = 'running' AND owner = %s", owner)

    def fail(self, run_id: str, epoch: int, owner: str, *, delay_ms: int = 0, is_death: bool = True) -> bool:
        """Queue a run again that its owner does not drive to an end."""
        with self._writing():
            count = self._write(
                f"UPDATE ts_runs SET status = 'queued', owner = '', epoch = epoch + 1, deaths = deaths + %s,"
                f" ready = {NOW} + %s, updated = {NOW}"
                " WHERE run_id = %s AND epoch = %s AND owner = %s AND status = 'running'",
                int(is_death),
                delay_ms,
                run_id,
                epoch,
                owner,
            )
            if count:
                self._notify()
        return bool(count)


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
