"""What a worker process of these tests does; `processes.py` forks it."""

import gc
from pathlib import Path

import dbos  # imported here, before the fork
import psycopg  # noqa: F401 (as above)

from toolspeak.durable import Runs, Worker
from toolspeak.durable.claim import ClaimDispatcher
from toolspeak.durable.dbos_dispatcher import DbosDispatcher

from .effects import EffectsFile, build_agents
from .processes import WorkerSettings

assert dbos.DBOS
gc.freeze()  # processes that are forked share the memory of what was imported


async def serve(settings: WorkerSettings) -> None:
    """Drive runs until a signal arrives."""
    runs = Runs(settings.store)
    by_name = {"claim": ClaimDispatcher(runs.watcher, can_isolate=False), "dbos": DbosDispatcher(settings.store)}
    agents = build_agents(EffectsFile(Path(settings.effects)), settings.seconds)
    dispatcher = by_name[settings.dispatcher]
    await Worker(runs, agents, slots=settings.slots, lease=settings.lease, dispatcher=dispatcher).arun()
    runs.close()
