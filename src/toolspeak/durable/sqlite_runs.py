"""Starting, finding and holding runs in an SQLite file; see `JournalSession` for what the methods do."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Literal

from toolspeak.durable.journal import Fenced, StartRefused
from toolspeak.durable.refusals import explain_busy_chat, explain_full_lane, explain_unknown_lane, explain_used_key
from toolspeak.durable.rows import Hold, Lane, NewRun, RunRow, RunStatus, Started, Wanted
from toolspeak.durable.sqlite_connection import SqliteConnection, make_marks, name_errors

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
