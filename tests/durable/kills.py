"""Kills workers at random moments while they drive runs, and judges what is left."""

import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolspeak.durable import RunHandle, Runs
from toolspeak.durable.records import load_facts
from toolspeak.durable.rows import RunRow
from toolspeak.values.events import Fact

from .effects import EFFECTS, TURNS, EffectsFile, Verdict, judge, judge_waits
from .processes import Nursery, WorkerProcess, WorkerSettings

WORKERS = 3
RUNS_AT_ONCE = 6
KILL_GAP_SECONDS = (0.3, 1.6)
MAX_DEATHS = 2
"""A worker is not killed while it drives a run that has lost so many workers without getting further."""

DRAIN_SECONDS = 120.0
"""How long all runs may take to end after the last kill."""


class KillingSpree:
    """Keeps some workers and some runs going, and kills a worker that drives something again and again.

    Attributes:
        agent: The agent of the runs.
        kills: How many workers were killed.
        handles: The runs that were started.
        interruptions: How many runs they were driving then.
        takeover_seconds: How long it took until such a run was driven by another worker.
    """

    agent = "busy"

    def __init__(self, store: str, dispatcher: str, folder: Path, seed: int) -> None:
        self.effects = EffectsFile(folder / "effects")
        self._settings = WorkerSettings(store=store, effects=str(self.effects.path), dispatcher=dispatcher)
        self._runs = Runs(store)
        self._random = random.Random(seed)
        self._log = folder / "workers.log"
        self.handles: list[RunHandle] = []
        self._orphans: dict[str, tuple[float, int]] = {}  # when the owner was killed, and the epoch that it had
        self.kills = self.interruptions = 0
        self.takeover_seconds: list[float] = []

    def run(self, kills: int, seconds: float) -> Verdict:
        """Kill so many workers, or as many as the time allows; wait until all runs have ended, and judge."""
        ends = time.monotonic() + seconds
        with self._runs, Nursery(self._log) as nursery:
            workers = [nursery.start_worker(self._settings) for _ in range(WORKERS)]
            while self.kills < kills and time.monotonic() < ends:
                self._start_runs()
                self._observe_for(self._random.uniform(*KILL_GAP_SECONDS))
                victim = self._choose_victim(workers)
                if victim is not None:
                    self._kill(victim)
                    workers.remove(victim)
                    workers.append(nursery.start_worker(self._settings))
            ends = time.monotonic() + DRAIN_SECONDS
            while self._list_open() and time.monotonic() < ends:
                self._observe_for(0.1)
            stuck = [
                f"{run.run_id}: it is still {run.status} (epoch {run.epoch}, owner {run.owner!r})"
                for run in self._list_open()
            ]
            facts = {handle.id: self._read_facts(handle.id) for handle in self.handles}
            verdict = self._judge(facts)
        return verdict._replace(violations=stuck + verdict.violations)

    def _judge(self, facts: Mapping[str, Sequence[tuple[int, Fact]]]) -> Verdict:
        return judge(facts, self.effects, TURNS * len(EFFECTS))

    def _start_runs(self) -> None:
        for _ in range(RUNS_AT_ONCE - len(self._list_open())):
            self.handles.append(self._runs.start_sync(self.agent, "Go on."))

    def _list_open(self) -> Sequence[RunRow]:
        return self._runs.list_sync(statuses=["queued", "running", "paused"])

    def _choose_victim(self, workers: Sequence[WorkerProcess]) -> WorkerProcess | None:
        """Choose a worker that drives something, but no run that has lost its workers again and again.

        Such a run is ended after some deaths without progress, which is right and not what is tested here.
        """
        driven = {worker: [run for run in self._list_open() if f"-{worker.pid}-" in run.owner] for worker in workers}
        busy = [worker for worker, runs in driven.items() if runs and all(run.deaths < MAX_DEATHS for run in runs)]
        return self._random.choice(busy) if busy else None

    def _kill(self, victim: WorkerProcess) -> None:
        driven = [run for run in self._list_open() if f"-{victim.pid}-" in run.owner]
        victim.kill()
        self.kills += 1
        self.interruptions += len(driven)
        for run in driven:
            self._orphans[run.run_id] = time.monotonic(), run.epoch

    def _observe_for(self, seconds: float) -> None:
        """Note which runs have been taken over."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            for run in self._list_open():
                killed, epoch = self._orphans.get(run.run_id, (0.0, run.epoch))
                if run.epoch > epoch:
                    self.takeover_seconds.append(time.monotonic() - killed)
                    del self._orphans[run.run_id]
            self._act()
            time.sleep(0.05)

    def _act(self) -> None:
        """Do something beside the workers."""

    def _read_facts(self, run_id: str) -> list[tuple[int, Fact]]:
        session = self._runs.journal.connect()
        try:
            run = session.read_run(run_id)
            assert run is not None, f"{run_id} is lost"
            numbers = [row.seq for row in session.read_facts(run_id)]
            return list(zip(numbers, load_facts(session, run), strict=True))
        finally:
            session.close()


class SignalSpree(KillingSpree):
    """Sends the signals that runs wait for, some before the wait and some long after it, while workers are killed.

    Attributes:
        sent: How many signals were sent.
        refused: How many of them were told that one of their name came before.
    """

    agent = "patient"

    def __init__(self, store: str, dispatcher: str, folder: Path, seed: int) -> None:
        super().__init__(store, dispatcher, folder, seed)
        self.sent = self.refused = 0
        self._unsent: dict[str, list[int]] = {}

    def _act(self) -> None:
        for handle in self.handles:
            turns = self._unsent.setdefault(handle.id, list(range(TURNS)))
            if turns and self._random.random() < 0.1:
                turn = turns.pop(self._random.randrange(len(turns)))
                self.refused += not self._runs.signal_sync(f"{handle.id} {turn}", turn)
                self.sent += 1

    def _judge(self, facts: Mapping[str, Sequence[tuple[int, Fact]]]) -> Verdict:
        return judge_waits(facts, self.effects)
