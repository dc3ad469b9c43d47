"""`toolspeak worker`: drives durable runs until it is stopped."""

import asyncio
import logging
import sys
from pathlib import Path

from toolspeak.cli.debug import SafeFormatter, print_log
from toolspeak.cli.safe_text import write_output
from toolspeak.cli.stdout import reserve_stdout
from toolspeak.durable import Runs, Worker
from toolspeak.log import LOG


def run_worker(target: str, store: str, *, slots: int, lease: float, grace: float, debug: bool) -> None:
    """Drive runs until SIGTERM or Ctrl-C, and park those that are under way."""
    if debug:
        print_log()
    else:
        log_warnings()
    runs = Runs(store)
    worker = build_worker(runs, target, slots=slots, lease=lease, grace=grace)

    def announce() -> None:
        names = ", ".join(worker.agents)
        write_output(f"{worker.name} drives {names} from {runs.journal.url}; Ctrl-C parks its runs and stops it\n")
        sys.stdout.flush()

    async def work() -> None:
        async with runs:
            await worker.arun(announce)

    asyncio.run(work())


def build_worker(runs: Runs, target: str, *, slots: int = 8, lease: float = 30.0, grace: float = 30.0) -> Worker:
    """Return a worker for the agents of a target, which may be a module in the working directory.

    The working directory stays on the path, behind everything that is installed: tools import when they are called.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    with reserve_stdout():
        return Worker(runs, target, slots=slots, lease=lease, grace=grace)


def log_warnings() -> None:
    """Print what goes wrong on standard error: takeovers, stores that are away, tools that fail."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(message)s"))
    handler.setLevel(logging.WARNING)
    LOG.addHandler(handler)
