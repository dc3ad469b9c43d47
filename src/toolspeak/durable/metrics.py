"""The figures of a store in the text format of Prometheus.

All of them come from the store, so whoever reads them sees the runs and workers of all machines. They are gauges: a run
that is pruned is counted no more.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from toolspeak.durable.journal import JournalSession
from toolspeak.durable.rows import WorkerRow
from toolspeak.durable.runs import Runs

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Sample(NamedTuple):
    """One value of a figure, and the labels that tell it from others."""

    value: float
    labels: dict[str, str]


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
            _format(
                "runs",
                "Runs in the store.",
                (Sample(count, {"lane": lane, "status": status}) for (lane, status), count in counts),
            ),
            _format("lane_limit", "The limits of lanes.", limits),
            _format("queued_seconds", "How long the oldest queued run has waited.", [Sample(waited / 1000, {})]),
            _format(
                "takeovers", "Times that runs in the store were taken over.", [Sample(float(figures.takeovers), {})]
            ),
            _format("workers", "Workers that say that they live.", [Sample(len(workers), {})]),
            _format("worker_slots", "Runs that a worker drives at once.", _count(workers, "slots")),
            _format("worker_running", "Runs that a worker drives now.", _count(workers, "running")),
            _format(
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


def _format(name: str, help_text: str, samples: Iterable[Sample]) -> str:
    lines = [f"# HELP toolspeak_{name} {help_text}", f"# TYPE toolspeak_{name} gauge"]
    for value, labels in samples:
        shown = ",".join(f'{label}="{_escape(text)}"' for label, text in labels.items())
        lines.append(f"toolspeak_{name}{{{shown}}} {value:g}" if shown else f"toolspeak_{name} {value:g}")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
