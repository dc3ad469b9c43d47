"""The program of a worker process in tests; `processes.py` forks it."""

import gc
import os
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.durable.clocks import ShiftedJournal
from tests.durable.effects import EffectsFile, build_agents
from toolspeak.durable import Runs, Worker
from toolspeak.durable.dbos_dispatcher import DbosDispatcher
from toolspeak.durable.dispatch import ClaimDispatcher, Dispatcher
from toolspeak.durable.journal import ChangeWatch, Journal, JournalSession

if TYPE_CHECKING:
    from tests.durable.processes import WorkerSettings

gc.freeze()  # processes that are forked share the memory of what was imported


class StoppingSession:
    """A session that stops its process, once, when it has committed that calls are started."""

    def __init__(self, session: JournalSession) -> None:
        self._session = session
        self._starts = self._has_stopped = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def append(self, hold: Any, facts: list[str], **options: Any) -> Any:
        self._starts |= any('"tool_started"' in each for each in facts)
        return self._session.append(hold, facts, **options)

    @contextmanager
    def transaction(self) -> Generator[None]:
        self._starts = False
        with self._session.transaction():
            yield
        if self._starts and not self._has_stopped:
            self._has_stopped = True
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(0.1)  # the threads stop one after the other, and this one must not begin a transaction before


class StoppingJournal:
    """A journal whose sessions stop their process."""

    def __init__(self, journal: Journal) -> None:
        self.url = journal.url
        self._journal = journal

    def connect(self) -> JournalSession:
        session: Any = StoppingSession(self._journal.connect())
        return session

    def watch(self) -> ChangeWatch:
        return self._journal.watch()


async def serve(settings: "WorkerSettings") -> None:
    """Drive runs until SIGTERM arrives."""
    agents = build_agents(EffectsFile(Path(settings.effects)), settings.seconds)
    async with Runs(settings.store) as runs:
        if settings.shift:
            runs.journal = ShiftedJournal(Path(settings.store.removeprefix("sqlite:///")), Path(settings.shift))
        if settings.stops:
            runs.journal = StoppingJournal(runs.journal)
        dispatcher: Dispatcher = ClaimDispatcher(runs.watcher, can_isolate=False)
        if settings.dispatcher == "dbos":
            dispatcher = DbosDispatcher(settings.store)
        await Worker(runs, agents, slots=settings.slots, lease=settings.lease, dispatcher=dispatcher).arun()
