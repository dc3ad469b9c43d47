"""`toolspeak runs show` and `follow`: a durable run as the terminal draws it, as far as it is, or live."""

import json
import sys
import time
from collections.abc import Mapping
from typing import TextIO

from rich.text import Text

from toolspeak import codec
from toolspeak.cli.call_timer import CallTimer
from toolspeak.cli.format import format_call_line
from toolspeak.cli.log import format_time
from toolspeak.cli.log_transcript import draw_run, encode_timed_facts
from toolspeak.cli.run import ExitCode
from toolspeak.cli.runs import find_handle, format_status, open_store
from toolspeak.cli.safe_text import escape_line, write_output
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.durable import RunHandle, RunRow, Runs
from toolspeak.durable.approvals import find_waiting
from toolspeak.durable.event_feed import find_run
from toolspeak.durable.journal import JournalSession
from toolspeak.durable.records import load_timed_facts
from toolspeak.events import (
    ApprovalGiven,
    ApprovalNeeded,
    Delta,
    Event,
    NestedFact,
    RunEnded,
    RunResumed,
    StopReason,
    join_ids,
)
from toolspeak.run import portal
from toolspeak.store import StoredFact

WAITS_AGAIN = " again, since the tool has changed"
"""What is added where somebody answered, and is asked once more; see `run/approvals.py`."""


def show_run(store: str, run_id: str | None, *, as_json: bool) -> None:
    """Print a run as far as it is, and the calls that wait for an approval."""
    with open_store(store) as runs:
        found = find_handle(runs, run_id).id

        def load(session: JournalSession) -> tuple[RunRow, list[StoredFact]]:
            run = find_run(session, found)
            return run, load_timed_facts(session, run)

        run, facts = portal.call(runs.read(load))
    if as_json:
        write_output("".join(encode_timed_facts(found, facts)))
    else:
        _draw(run, facts)


def _draw(run: RunRow, facts: list[StoredFact]) -> None:
    console = create_console(sys.stdout)
    parts = [run.run_id, format_time(run.created / 1000), escape_line(run.agent), format_status(run)]
    if run.takeovers:
        parts.append(f"taken over {run.takeovers} time{'' if run.takeovers == 1 else 's'}")
    console.print(Text(" · ".join(parts), "dim"), soft_wrap=True)
    if facts:
        draw_run(console, facts)
    for waiting in find_waiting([each.fact for each in facts]).values():
        what = f"waits for approval{WAITS_AGAIN if waiting.question > 1 else ''}"
        text = f"{what}: {format_call_line(waiting.call)} ({escape_line(waiting.id)})"
        console.print(Text(text, "yellow"), soft_wrap=True)


def follow_run(store: str, run_id: str | None, *, after: str | None, as_json: bool) -> int:
    """Show a run live until it has ended, and return the exit code for its end."""
    with open_store(store) as runs:
        return follow_handle(runs, find_handle(runs, run_id), after=after, as_json=as_json)


def follow_handle(runs: Runs, run: RunHandle, *, after: str | None, as_json: bool) -> int:
    """Show a run live until it has ended, and return the exit code for its end."""
    viewer = _JsonViewer(sys.stdout) if as_json else _TranscriptViewer(run.id, _load_times(runs, run.id))
    reason: StopReason | None = None
    try:
        for each in run.events_sync(after):
            viewer.show(each.id, each.event)
            if isinstance(each.event, RunEnded):
                reason = each.event.reason
    finally:
        viewer.close()
    if reason is None:  # the end was before the place from which the run was followed
        reason = run.outcome_sync().stop_reason
    match reason:
        case "answered":
            return ExitCode.ANSWERED
        case "cancelled":
            return ExitCode.INTERRUPTED
        case _:
            return ExitCode.STOPPED


def _load_times(runs: Runs, run_id: str) -> dict[str, float]:
    """Return when the facts of a run so far were stored, by the ids of their events."""

    def load(session: JournalSession) -> dict[str, float]:
        find_run(session, run_id)
        return {f"{row.seq}.0": row.at / 1000 for row in session.read_facts(run_id)}

    return portal.call(runs.read(load))


class _JsonViewer:
    """Prints events as JSON, one a line, each with the id behind which `--after` goes on."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event_id: str, event: Event) -> None:
        self._out.write(json.dumps({"id": event_id, **codec.encode_event(event)}) + "\n")
        self._out.flush()

    def close(self) -> None:
        pass


class _TranscriptViewer:
    """Draws the events of a run: the answer on standard output, all else there too if it is a terminal."""

    def __init__(self, run_id: str, times: Mapping[str, float]) -> None:
        """Begin to draw.

        Args:
            run_id: The run.
            times: When the facts that are stored already happened; the others happen when they are shown.
        """
        is_terminal = sys.stdout.isatty()
        self._run_id = run_id
        self._times = times
        self._now = 0.0
        self._answered_ids: set[str] = set()
        self._timer = CallTimer(lambda: self._now)
        console = create_console(sys.stdout if is_terminal else sys.stderr)
        self._transcript = Transcript(console, self._timer, None if is_terminal else sys.stdout)
        self._transcript.write_line(f"run {run_id}", "dim")

    def show(self, event_id: str, event: Event) -> None:
        if not isinstance(event, Delta):
            self._now = self._times.get(event_id) or time.time()
            self._timer.record(event)
        self._transcript.show(event)
        path, own = (event.path, event.event) if isinstance(event, NestedFact) else ((), event)
        match own:
            case ApprovalNeeded(call=call):
                call_id = join_ids(path, call.id)
                again = WAITS_AGAIN if call_id in self._answered_ids else ""
                command = f"toolspeak runs approve {self._run_id} {call_id}"
                self._transcript.write_line(f"  waits for approval{again}: {escape_line(command)}", "yellow")
            case ApprovalGiven(call_id=call_id):
                self._answered_ids.add(join_ids(path, call_id))
            case RunResumed() if not path:
                self._transcript.write_line("(a worker goes on with the run)", "dim")
            case _:
                pass

    def close(self) -> None:
        self._transcript.end_line()
