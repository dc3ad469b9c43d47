"""`Agenda`: what a journal does by time: it starts scheduled runs, wakes runs whose waits are over, and sends webhooks.

It is a part of `JournalSession` (`journal.py`), whose rules hold here too.

- A schedule has the time at which it is next due. Whoever finds it due starts its run and sets the next time in one
  transaction, and the id of the run is made of the schedule and that time. So a time starts one run at most, however
  many workers look and whenever they die.
- A webhook is sent after its run has ended. Whoever takes it puts it off for a while first; if that worker dies,
  another one takes it then. So it is sent at least once, and whoever gets it knows the run by its id.
- A signal has one value, the first. It is committed, and then the paused runs that wait for it are queued, in another
  transaction: a wait that is stored too late to be found then finds the signal, when its run is released
  (`JournalSession.release`). Until that is done, the signal is marked, so another worker does it if this one dies.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from toolspeak.durable.cron import Cron, parse_cron
from toolspeak.durable.rows import (
    NewRun,
    NewWait,
    Schedule,
    Started,
    WaitRow,
    Webhook,
    decode_new_run,
    encode_new_run,
    make_run_id,
)
from toolspeak.durable.session import BaseSession
from toolspeak.values.errors import UsageError

DAY_MS = 24 * 3600 * 1000

MAX_SIGNALS = 100
"""How many signals wake their runs in one transaction."""

MAX_MISSED = 100
"""After so many missed times of a schedule, those that are not made up for are passed over."""


_SCHEDULES = "SELECT name, run, cron, zone, seconds, catch_up, due FROM ts_schedules"


class Agenda(BaseSession):
    """The part of a session that does what is due."""

    _new_signals: frozenset[str] = frozenset()
    """The signals that were stored in the transaction that is under way, if others can write beside it."""

    @abstractmethod
    def start(self, run: NewRun) -> Started:
        """Store a run; see `JournalSession`."""

    # Schedules

    def set_schedule(self, schedule: Schedule) -> Schedule:
        """Store a schedule, and return it with the time at which it is next due.

        One of the same name is replaced. If its times are the same, it stays due when it was: a program that sets its
        schedules whenever it starts must not put them off each time. A schedule that says when it is due keeps that.
        """
        with self._writing():
            known = self.find_schedule(schedule.name)
            times = (schedule.cron, schedule.zone, schedule.seconds)
            if not schedule.due:
                is_same = known is not None and (known.cron, known.zone, known.seconds) == times
                due = known.due if known and is_same else _find_next(schedule, self.read_clock())
                schedule = replace(schedule, due=due)
            self._write("DELETE FROM ts_schedules WHERE name = ?", (schedule.name,))
            self._write(
                "INSERT INTO ts_schedules (name, run, cron, zone, seconds, catch_up, due) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (schedule.name, encode_new_run(schedule.run), *times, schedule.catch_up, schedule.due),
            )
        return schedule

    def find_schedule(self, name: str) -> Schedule | None:
        """Return a schedule; None if there is none of this name."""
        rows = self._read(f"{_SCHEDULES} WHERE name = ?", (name,))
        return _make_schedule(rows[0]) if rows else None

    def list_schedules(self) -> list[Schedule]:
        """Return all schedules, in the order of their names."""
        return [_make_schedule(row) for row in self._read(f"{_SCHEDULES} ORDER BY name")]

    def drop_schedule(self, name: str) -> bool:
        """Delete a schedule; return whether there was one. Runs that it has started go on."""
        with self._writing():
            return bool(self._write("DELETE FROM ts_schedules WHERE name = ?", (name,)))

    def start_due(self) -> list[Started | Exception]:
        """Start the runs whose time has come, and return what came of each start.

        If several times of a schedule have passed, because no worker lived, the latest are made up for: `catch_up` of
        them. A start that is refused, because a lane is full, is left out; the next time is set all the same.
        """
        with self._writing():
            due = [
                _make_schedule(row)
                for row in self._read(f"{_SCHEDULES} WHERE due <= {self.NOW} ORDER BY name {self.SKIP_LOCKED}")
            ]
            started: list[Started | Exception] = []
            for schedule in due:
                now = self.read_clock()
                times, following = _list_times(schedule, now)
                self._write("UPDATE ts_schedules SET due = ? WHERE name = ?", (following, schedule.name))
                started += [self._start_one(schedule, time) for time in times]
        return started

    def _start_one(self, schedule: Schedule, time: int) -> Started | Exception:
        stamp = _read_time(time).strftime("%Y-%m-%dT%H:%M:%S.%fZ").replace(".000000", "")
        key = f"{schedule.name} {stamp}"
        try:
            return self.start(replace(schedule.run, run_id=make_run_id(f"schedule {key}"), key=key))
        except Exception as error:  # nothing was written: rule 4
            refused = UsageError(f"the schedule {schedule.name!r} has started no run for {stamp}: {error}")
            refused.__cause__ = error
            return refused

    # Waits and signals

    def add_signal(self, name: str, value: str) -> bool:
        """Store a signal, unless one of this name came before; return whether this one was stored.

        `wake_due` must be called after this is committed.
        """
        with self._writing():
            stored = self._write(
                f"INSERT INTO ts_signals (name, value, at) VALUES (?, ?, {self.NOW}) ON CONFLICT DO NOTHING",
                (name, value),
            )
        return bool(stored)

    @property
    def _over_waits(self) -> str:
        """The statement that finds waits of the run in `ts_runs` that are over."""
        return (
            f"SELECT 1 FROM ts_waits w WHERE w.run_id = ts_runs.run_id AND (w.until <= {self.NOW}"
            " OR EXISTS (SELECT 1 FROM ts_signals s WHERE s.name = w.signal))"
        )

    def _set_waits(self, run_id: str, waits: Sequence[NewWait], over: Collection[str]) -> None:
        """Forget what calls of a run have waited for, and store what calls wait for now."""
        self._write(f"DELETE FROM ts_waits WHERE run_id = ? AND call {self.AMONG}", (run_id, list(over)))
        for wait in waits:
            ms = None if wait.seconds is None else round(wait.seconds * 1000)
            self._write(
                f"INSERT INTO ts_waits VALUES (?, ?, ?, ?, {self.NOW} + CAST(? AS BIGINT)) ON CONFLICT (run_id, call)"
                " DO UPDATE SET number = excluded.number, signal = excluded.signal, until = excluded.until",
                (run_id, wait.call, wait.number, wait.signal, ms),
            )

    def list_waits(self, run_id: str) -> list[WaitRow]:
        """Return what the calls of a run wait for, with the values of signals that have come."""
        rows = self._read(
            "SELECT call, number, signal, until, value FROM ts_waits LEFT JOIN ts_signals ON name = signal"
            " WHERE run_id = ? ORDER BY call",
            (run_id,),
        )
        return [WaitRow(*row) for row in rows]

    def wake_due(self) -> None:
        """Queue the paused runs of which a call has waited long enough, or whose signal has come."""
        with self._writing():
            self._wake(
                self._read(
                    "SELECT run_id FROM ts_runs WHERE status = 'paused' AND run_id IN"
                    f" (SELECT run_id FROM ts_waits WHERE until <= {self.NOW}) {self.SKIP_LOCKED}"
                )
            )
            untold = f"SELECT name FROM ts_signals WHERE NOT is_told ORDER BY at LIMIT {MAX_SIGNALS} {self.SKIP_LOCKED}"
            for (name,) in self._read(untold):
                if name in self._new_signals:  # it is not committed: whoever begins to wait now cannot find it
                    continue
                waiting = self._read("SELECT DISTINCT run_id FROM ts_waits WHERE signal = ?", (name,))
                # Whatever their status: one that is locked may be on its way to a pause, and is looked at again.
                found = f"SELECT run_id FROM ts_runs WHERE run_id {self.AMONG} {self.SKIP_LOCKED}"
                free = self._read(found, ([run_id for (run_id,) in waiting],)) if waiting else []
                self._wake(free)
                if len(free) == len(waiting):
                    self._write("UPDATE ts_signals SET is_told = TRUE WHERE name = ?", (name,))

    def _wake(self, rows: list[Any]) -> None:
        """Queue those of these runs that are paused, under the next epoch."""
        if rows:
            self._write(
                f"UPDATE ts_runs SET status = 'queued', epoch = epoch + 1, ready = 0, updated = {self.NOW}"
                f" WHERE status = 'paused' AND run_id {self.AMONG}",
                ([run_id for (run_id,) in rows],),
            )
            self._notify()

    # Webhooks

    def add_webhook(self, run_id: str, url: str) -> None:
        """Store the address to which the end of a run is sent."""
        self._write("INSERT INTO ts_webhooks (run_id, url) VALUES (?, ?) ON CONFLICT DO NOTHING", (run_id, url))

    def has_webhooks(self) -> bool:
        """Whether there is a webhook to send, now or when its run has ended."""
        return bool(self._read("SELECT 1 FROM ts_webhooks LIMIT 1"))

    def take_webhooks(self, count: int, delay_ms: int) -> list[Webhook]:
        """Return webhooks of runs that have ended, and put each off for a while, in which it can be sent."""
        with self._writing():
            rows = self._read(
                "SELECT run_id, url, attempts FROM ts_webhooks w WHERE ready <= "
                f"{self.NOW} AND EXISTS (SELECT 1 FROM ts_runs r WHERE r.run_id = w.run_id AND r.status = 'done')"
                f" ORDER BY ready LIMIT ? {self.SKIP_LOCKED}",
                (count,),
            )
            for run_id, _, _ in rows:
                self._write(
                    f"UPDATE ts_webhooks SET ready = {self.NOW} + ?, attempts = attempts + 1 WHERE run_id = ?",
                    (delay_ms, run_id),
                )
        return [Webhook(*row) for row in rows]

    def delay_webhook(self, run_id: str, delay_ms: int) -> None:
        """Let a webhook that was not taken be sent again after a while."""
        with self._writing():
            self._write(f"UPDATE ts_webhooks SET ready = {self.NOW} + ? WHERE run_id = ?", (delay_ms, run_id))

    def drop_webhook(self, run_id: str) -> None:
        """Forget a webhook: it was taken, or it is given up."""
        with self._writing():
            self._write("DELETE FROM ts_webhooks WHERE run_id = ?", (run_id,))


def _make_schedule(row: Any) -> Schedule:
    name, run, cron, zone, seconds, catch_up, due = row
    return Schedule(
        name=name, run=decode_new_run(run), cron=cron, zone=zone, seconds=seconds, catch_up=catch_up, due=due
    )


def _read_time(time: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time)


def _find_next(schedule: Schedule, after: int) -> int:
    if schedule.seconds is not None:
        return after + round(schedule.seconds * 1000)
    return _find_cron(parse_cron(schedule.cron, schedule.zone), after)


def _find_cron(cron: Cron, after: int) -> int:
    return round(cron.find_next(_read_time(after)).timestamp() * 1000)


def _list_times(schedule: Schedule, now: int) -> tuple[list[int], int]:
    """Return the last times of a schedule that have passed, and the one that follows."""
    time = schedule.due
    if schedule.seconds is not None:
        width = round(schedule.seconds * 1000)
        passed = (now - time) // width
        times = [time + width * n for n in range(max(0, passed + 1 - schedule.catch_up), passed + 1)]
        return times, time + width * (passed + 1)
    cron = parse_cron(schedule.cron, schedule.zone)
    found: deque[int] = deque(maxlen=schedule.catch_up)
    count = longest = 0
    while time <= now:
        found.append(time)
        count += 1
        following = _find_cron(cron, time)
        longest = max(longest, following - time)
        if count == MAX_MISSED:
            following = max(following, _find_cron(cron, now - longest * (schedule.catch_up + 1)))
        time = following
    return list(found), time
