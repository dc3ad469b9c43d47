"""`toolspeak serve --store`: durable runs over HTTP and, with `--agents`, a worker that drives them in this process."""

import signal
from collections.abc import Generator
from contextlib import contextmanager

from starlette.routing import Route

from toolspeak.cli.worker import build_worker, log_warnings
from toolspeak.durable import Runs
from toolspeak.gateway import AccessRules
from toolspeak.gateway.run_routes import run_routes
from toolspeak.run import portal


@contextmanager
def open_run_routes(store: str, agents: str | None, rules: AccessRules) -> Generator[list[Route]]:
    """Open a store, and give the routes of its runs. A worker parks its runs when the context is left.

    Raises:
        StoreUnavailable: The store cannot be used.
        UsageError: The address of the store or the place of the agents is wrong.
    """
    with Runs(store) as runs:
        portal.call(runs.count())  # a store that cannot be used is told now, not to the first client
        routes = run_routes(runs, rules)
        if agents is None:
            yield routes
            return
        log_warnings()
        worker = build_worker(runs, agents)
        with _stop_in_order(), worker:
            yield routes


@contextmanager
def _stop_in_order() -> Generator[None]:
    """Let SIGTERM end the server alone: uvicorn sends it again when it has stopped, and the worker must park first."""
    previous = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
