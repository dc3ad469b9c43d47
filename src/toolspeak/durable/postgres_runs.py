"""Starting, finding and holding runs in Postgres; see `JournalSession` for what the methods do.

Transactions see what others committed (`READ COMMITTED`). A statement that decides by other rows than the one that it
changes locks that row first, in a statement before: only the next statement sees what was committed while it waited.
Whoever looks for runs of others skips those that are locked, so that two workers never wait for each other.

Long texts are sent in the binary form of arrays (`%b`): in the other form each quotation mark of them is escaped.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Literal

from toolspeak.durable.journal import Fenced, StartRefused
from toolspeak.durable.postgres_connection import COLUMNS, NOW, PostgresConnection, make_runs
from toolspeak.durable.refusals import explain_busy_chat, explain_full_lane, explain_unknown_lane, explain_used_key
from toolspeak.durable.rows import Hold, Lane, NewRun, RunRow, RunStatus, Started, Wanted

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
