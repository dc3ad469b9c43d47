"""The program that drives one suspect run: `python -m toolspeak.durable.isolated_run URL AGENTS OWNER RUN EPOCH`.

The worker that started it holds the run and says that it lives. This process writes in its name, and is fenced when the
worker loses the run.
"""

import asyncio
import signal
import sys
from contextlib import suppress

from toolspeak.durable.journal import Fenced
from toolspeak.durable.quarantine import load_agents
from toolspeak.durable.segment import Segment
from toolspeak.durable.stores import open_journal
from toolspeak.durable.writer import Writer


async def drive_alone(url: str, target: str, owner: str, run_id: str, epoch: int) -> None:
    """Drive a run that a worker has claimed."""
    writer = Writer(open_journal(url))
    run = await writer.read(lambda session: session.read_run(run_id))
    if run is None or (run.epoch, run.owner, run.status) != (epoch, owner, "running"):
        return
    segment = Segment(run, load_agents(target)[run.agent], writer, None, owner)
    with suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, segment.park)
    with suppress(Fenced):
        await segment.drive()
    writer.close()


if __name__ == "__main__":
    address, agents, holder, run_name, number = sys.argv[1:]
    asyncio.run(drive_alone(address, agents, holder, run_name, int(number)))
