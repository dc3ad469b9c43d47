"""The program that drives one suspect run: `python -m toolspeak.durable.isolated_run AGENTS OWNER RUN EPOCH`.

It reads the address of the store and the folders of Python's path from its standard input: arguments of processes are
no secret. The worker that started it holds the run and says that it lives. This process writes in its name, and is
fenced when the worker loses the run.
"""

import asyncio
import json
import signal
import sys
from contextlib import suppress

from toolspeak.durable.journal import Fenced
from toolspeak.durable.quarantine import COULD_NOT_DRIVE, load_program
from toolspeak.durable.runs import open_journal
from toolspeak.durable.segment import COMMAND_FACTS, Segment
from toolspeak.durable.writer import Writer
from toolspeak.values.errors import StoreUnavailable
from toolspeak.values.log import LOG

POLL_SECONDS = 0.5
"""How long a cancellation stays unnoticed."""

ASSUMED_LEASE_SECONDS = 3.0
"""A short lease: this process does not know that of the worker, and asks the store more often than it must."""


async def drive_alone(url: str, target: str, deps: str | None, owner: str, run_id: str, epoch: int) -> None:
    """Drive a run that a worker has claimed.

    Raises:
        SystemExit: The run could not be driven, because of an exception.
    """
    writer = Writer(open_journal(url))
    run = await writer.read(lambda session: session.read_run(run_id))
    if run is None or (run.epoch, run.owner, run.status) != (epoch, owner, "running"):
        return
    agents, make_deps = load_program(target, deps)
    segment = Segment(run, agents[run.agent], writer, make_deps, owner, ASSUMED_LEASE_SECONDS)
    with suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, segment.park)
    watching = asyncio.create_task(_watch_commands(writer, segment))
    try:
        with suppress(Fenced):
            await segment.drive()
    except Exception:
        LOG.warning("run %s could not be driven, and is tried again", run_id, exc_info=True)
        raise SystemExit(COULD_NOT_DRIVE) from None
    finally:
        watching.cancel()
        writer.close()


async def _watch_commands(writer: Writer, segment: Segment) -> None:
    """Carry out a cancellation. A store that cannot be used is asked again."""
    run_id, names = segment.run.run_id, list(COMMAND_FACTS)
    while True:
        with suppress(StoreUnavailable):
            for command in await writer.read(lambda session: session.read_commands([run_id], names=names)):
                segment.interrupt(command.name)
        await asyncio.sleep(POLL_SECONDS)


if __name__ == "__main__":
    place, holder, run_name, number = sys.argv[1:]
    given = json.load(sys.stdin)
    sys.path += [folder for folder in given["path"] if folder not in sys.path]  # behind everything that is installed
    asyncio.run(drive_alone(given["url"], place, given["deps"], holder, run_name, int(number)))
