"""The program of a worker process in tests; `processes.py` forks it."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from tests.durable.effects import EffectsFile, build_agents
from toolspeak.durable import Runs, Worker
from toolspeak.durable.dbos_dispatcher import DbosDispatcher
from toolspeak.durable.dispatch import ClaimDispatcher, Dispatcher

if TYPE_CHECKING:
    from tests.durable.processes import WorkerSettings

gc.freeze()  # processes that are forked share the memory of what was imported


async def serve(settings: "WorkerSettings") -> None:
    """Drive runs until SIGTERM arrives."""
    agents = build_agents(EffectsFile(Path(settings.effects)), settings.seconds)
    async with Runs(settings.store) as runs:
        dispatcher: Dispatcher = ClaimDispatcher(runs.watcher, can_isolate=False)
        if settings.dispatcher == "dbos":
            dispatcher = DbosDispatcher(settings.store)
        await Worker(runs, agents, slots=settings.slots, lease=settings.lease, dispatcher=dispatcher).arun()
