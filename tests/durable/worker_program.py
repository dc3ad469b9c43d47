"""The program of a worker process in tests; `processes.py` forks it."""

from pathlib import Path
from typing import TYPE_CHECKING

from tests.durable.effects import EffectsFile, build_agents
from toolspeak.durable import Runs, Worker

if TYPE_CHECKING:
    from tests.durable.processes import WorkerSettings


async def serve(settings: "WorkerSettings") -> None:
    """Drive runs until SIGTERM arrives."""
    agents = build_agents(EffectsFile(Path(settings.effects)), settings.seconds)
    async with Runs(settings.store) as runs:
        await Worker(runs, agents, slots=settings.slots, lease=settings.lease).arun()
