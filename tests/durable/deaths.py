"""Processes that die before or after the n-th commit of a run.

A process without threads reads lines of JSON and forks for each a child that drives one run and dies where the line
says; it answers with the exit code of the child.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.durable.effects import EffectsFile, build_agents
from toolspeak.durable import Runs, Worker
from toolspeak.durable.dispatch import ClaimDispatcher
from toolspeak.durable.journal import ChangeWatch, Journal, JournalSession

ROOT = Path(__file__).parents[2]
DEAD = 9
"""The exit code of a child that died where it should."""


class DyingSession:
    """A session that ends the process before or after the n-th commit that appends facts."""

    def __init__(self, session: JournalSession, commit: int, when: str) -> None:
        self._session = session
        self._left = commit
        self._when = when
        self._appends = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def append(self, *args: Any, **options: Any) -> Any:
        self._appends = True
        return self._session.append(*args, **options)

    @contextmanager
    def transaction(self) -> Generator[None]:
        self._appends = False
        with self._session.transaction():
            yield
            self._left -= self._appends
            if self._left == 0 and self._appends and self._when == "before":
                os._exit(DEAD)
        if self._left == 0 and self._appends:
            os._exit(DEAD)


class DyingJournal:
    """A journal whose sessions end the process."""

    def __init__(self, journal: Journal, commit: int, when: str) -> None:
        self.url = journal.url
        self._journal = journal
        self._commit = commit
        self._when = when

    def connect(self) -> JournalSession:
        session: Any = DyingSession(self._journal.connect(), self._commit, self._when)
        return session

    def watch(self) -> ChangeWatch:
        return self._journal.watch()


async def drive(store: str, effects: str, run_id: str, agent: str, commit: int, when: str) -> None:
    """Drive one run, whose agent has a name of its own so that no other run is claimed, and die on the way."""
    runs = Runs(store)
    runs.journal = DyingJournal(runs.journal, commit, when)
    agents = {agent: build_agents(EffectsFile(Path(effects)), 0.0)["busy"]}
    dispatcher = ClaimDispatcher(runs.watcher, can_isolate=False)  # on Postgres too: DBOS takes a second to start
    async with Worker(runs, agents, lease=0.3, dispatcher=dispatcher):
        await runs.handle(run_id).outcome()


class Deaths:
    """Forks children that die."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.durable.deaths"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )

    def drive(self, **settings: Any) -> int:
        """Drive a run in a child as `drive` says, and return its exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(settings).encode() + b"\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __enter__(self) -> "Deaths":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def main() -> None:
    """Fork a child for each line of the standard input, and print its exit code."""
    for line in sys.stdin:
        if pid := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
            continue
        asyncio.run(drive(**json.loads(line)))
        os._exit(0)


if __name__ == "__main__":
    main()
