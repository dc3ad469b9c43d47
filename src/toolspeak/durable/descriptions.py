"""Runs as JSON data, for people and programs that look at them: the command line and the HTTP routes show the same."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from toolspeak.durable.approvals import WaitingCall
from toolspeak.durable.journal import JournalSession
from toolspeak.durable.rows import RunRow, WaitRow, WorkerRow, read_shared_lane
from toolspeak.durable.runs import Runs
from toolspeak.telemetry.prometheus import Sample, format_figure
from toolspeak.values import codec
from toolspeak.values.messages import Message


async def render_metrics(runs: Runs) -> str:
    """Return the figures of a store in the text format of Prometheus.

    All of them come from the store, so whoever reads them sees the runs and workers of all machines. They are gauges: a
    run that is pruned is counted no more.
    """
    return await runs.read(_render)


def _render(session: JournalSession) -> str:
    figures = session.read_figures()
    workers = [each for each in session.list_workers() if each.expires > figures.now]
    waited = 0 if figures.queued_since is None else max(0, figures.now - figures.queued_since)
    counts: Counter[tuple[str, str]] = Counter()
    for (lane, status), count in session.count_runs().items():  # a lane that a run has named itself has no figure
        counts["" if read_shared_lane(lane) is not None else lane, status] += count
    lanes = sorted(session.read_lanes().items())
    limits = [
        Sample(limit, {"lane": name, "limit": kind})
        for name, lane in lanes
        for kind, limit in (("concurrency", lane.concurrency), ("waiting", lane.waiting))
        if limit is not None
    ]
    runs = [Sample(count, {"lane": lane, "status": status}) for (lane, status), count in sorted(counts.items())]
    silent = [Sample(max(0, figures.now - each.beat) / 1000, {"worker": each.worker}) for each in workers]
    shown: Sequence[tuple[str, str, Iterable[Sample]]] = (
        ("runs", "Runs in the store.", runs),
        ("lane_limit", "The limits of lanes.", limits),
        ("queued_seconds", "How long the oldest queued run has waited.", [Sample(waited / 1000, {})]),
        ("takeovers", "Times that runs in the store were taken over.", [Sample(float(figures.takeovers), {})]),
        ("workers", "Workers that say that they live.", [Sample(len(workers), {})]),
        ("worker_slots", "Runs that a worker drives at once.", _count(workers, "slots")),
        ("worker_running", "Runs that a worker drives now.", _count(workers, "running")),
        ("worker_beat_seconds", "Seconds since a worker said that it lives.", silent),
    )
    return "".join(format_figure(*each) for each in shown)


def _count(workers: Iterable[WorkerRow], name: str) -> Iterable[Sample]:
    """Yield a number that workers say of themselves."""
    for worker in workers:
        info: dict[str, Any] = json.loads(worker.info)
        if isinstance(number := info.get(name), int):
            yield Sample(number, {"worker": worker.worker})


def describe_run(run: RunRow) -> dict[str, Any]:
    """Return what a store knows of a run. Times are in seconds since 1970, by the clock of the database."""
    return {
        "id": run.run_id,
        "agent": run.agent,
        "prompt": read_prompt(run),
        "status": run.status,
        "stop_reason": run.stop_reason or None,
        "key": run.key or None,
        "lane": run.lane or None,
        "priority": run.priority,
        "chat": run.chat or None,
        "data": run.data,
        "worker": run.owner or None,
        "facts": run.next_seq,
        "takeovers": run.takeovers,
        "deaths": run.deaths,
        "created": run.created / 1000,
        "updated": run.updated / 1000,
        "deadline": None if run.deadline is None else run.deadline / 1000,
    }


def read_prompt(run: RunRow) -> str:
    """Return the text of the prompt with which a run was started; "" if there is none."""
    stored = json.loads(run.request).get("prompt")
    if isinstance(stored, dict):
        message = codec.decode(stored)
        return message.text if isinstance(message, Message) else ""
    return stored or ""


def describe_waiting(waiting: WaitingCall) -> dict[str, Any]:
    """Return a call that waits for an approval, with the digest that an answer is bound to and the values in doubt."""
    arguments = {name: codec.encode_argument(value) for name, value in waiting.call.arguments.items()}
    doubts = [
        {
            "parameter": each.parameter,
            "value": each.value,
            "tool": each.tool or None,
            "around": each.around or None,
            "reason": each.summary,
        }
        for each in waiting.doubts
    ]
    described = {"id": waiting.id, "name": waiting.call.name, "arguments": arguments, "digest": waiting.digest}
    return {**described, "doubts": doubts} if doubts else described


def describe_wait(wait: WaitRow) -> dict[str, Any]:
    """Return what a call waits for: a signal, a time in seconds since 1970, or whichever comes first."""
    until = None if wait.until is None else wait.until / 1000
    return {"call_id": wait.call_id, "signal": wait.signal or None, "until": until}
