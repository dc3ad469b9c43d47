"""The figures of a store in the text format of Prometheus.

All of them come from the store, so whoever reads them sees the runs and workers of all machines. They are gauges: a run
that is pruned is counted no more.
"""

import json
from collections.abc import Iterable
from typing import Any

from toolspeak.durable.journal import JournalSession
from toolspeak.durable.rows import WorkerRow
from toolspeak.durable.runs import Runs
from toolspeak.telemetry.prometheus import Sample, format_figure


async def render_metrics(runs: Runs) -> str:
    """Return the figures of a store."""
    return await runs.read(_render)


def _render(session: JournalSession) -> str:
    figures = session.read_figures()
    workers = [each for each in session.list_workers() if each.expires > figures.now]
    waited = 0 if figures.queued_since is None else max(0, figures.now - figures.queued_since)
    counts = sorted(session.count_runs().items())
    lanes = sorted(session.read_lanes().items())
    limits = [
        Sample(limit, {"lane": name, "limit": kind})
        for name, lane in lanes
        for kind, limit in (("concurrency", lane.concurrency), ("waiting", lane.waiting))
        if limit is not None
    ]
    return "".join(
        (
            format_figure(
                "runs",
                "Runs in the store.",
                (Sample(count, {"lane": lane, "status": status}) for (lane, status), count in counts),
            ),
            format_figure("lane_limit", "The limits of lanes.", limits),
            format_figure("queued_seconds", "How long the oldest queued run has waited.", [Sample(waited / 1000, {})]),
            format_figure(
                "takeovers", "Times that runs in the store were taken over.", [Sample(float(figures.takeovers), {})]
            ),
            format_figure("workers", "Workers that say that they live.", [Sample(len(workers), {})]),
            format_figure("worker_slots", "Runs that a worker drives at once.", _count(workers, "slots")),
            format_figure("worker_running", "Runs that a worker drives now.", _count(workers, "running")),
            format_figure(
                "worker_beat_seconds",
                "Seconds since a worker said that it lives.",
                (Sample(max(0, figures.now - each.beat) / 1000, {"worker": each.worker}) for each in workers),
            ),
        )
    )


def _count(workers: Iterable[WorkerRow], name: str) -> Iterable[Sample]:
    """Yield a number that workers say of themselves."""
    for worker in workers:
        info: dict[str, Any] = json.loads(worker.info)
        if isinstance(number := info.get(name), int):
            yield Sample(number, {"worker": worker.worker})
