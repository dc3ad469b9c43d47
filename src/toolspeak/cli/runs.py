"""`toolspeak runs` and `toolspeak worker`: durable runs, listed, started, driven, shown, approved and pruned."""

import asyncio
import getpass
import json
import logging
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO, cast, get_args

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from toolspeak.cli import prompt
from toolspeak.cli.agent_config import find_named_target
from toolspeak.cli.format import format_call_line
from toolspeak.cli.http_server import SafeFormatter, print_log
from toolspeak.cli.log import RowList, draw_run, encode_timed_facts, format_time
from toolspeak.cli.record import CallTimer
from toolspeak.cli.run import ExitCode
from toolspeak.cli.safe_text import escape_line, print_error, reserve_stdout, write_output
from toolspeak.cli.server_options import StartOptions
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.durable import RunHandle, RunRow, Runs, RunStatus, RunUnknown, WaitingCall, Worker
from toolspeak.durable.approvals import list_waiting
from toolspeak.durable.descriptions import describe_run, read_prompt
from toolspeak.durable.event_feed import find_run
from toolspeak.durable.journal import JournalSession
from toolspeak.durable.log import StoredFact
from toolspeak.durable.records import load_timed_facts
from toolspeak.durable.rows import WaitRow
from toolspeak.durable.runs import SQLITE_PREFIX
from toolspeak.run import portal
from toolspeak.values import codec, events
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Allow
from toolspeak.values.log import LOG


def require_store(url: str) -> None:
    """Raise `UsageError` if there is no such file: a command that only reads makes none of a misspelled path."""
    file = url.removeprefix(SQLITE_PREFIX)
    if file != url and not Path(file).exists():
        raise UsageError(f"there is no store {url}; toolspeak worker and toolspeak runs start create one")


def run_worker(
    target: str, store: str, *, deps: str | None, slots: int, lease: float, grace: float, debug: bool
) -> None:
    """Drive runs until SIGTERM or Ctrl-C, and park those that are under way."""
    if debug:
        print_log()
    else:
        log_warnings()
    runs = Runs(store)
    worker = build_worker(runs, target, deps, slots=slots, lease=lease, grace=grace)

    def announce() -> None:
        names = ", ".join(worker.agents)
        write_output(f"{worker.name} drives {names} from {runs.journal.url}; Ctrl-C parks its runs and stops it\n")
        sys.stdout.flush()

    async def work() -> None:
        async with runs:
            await worker.arun(announce)

    asyncio.run(work())


def build_worker(
    runs: Runs, target: str, deps: str | None = None, *, slots: int = 8, lease: float = 30.0, grace: float = 30.0
) -> Worker:
    """Return a worker for the agents of a target, which may be a module in the working directory; so may `deps`."""
    made = None if deps is None else find_named_target(deps)
    with reserve_stdout():
        return Worker(runs, find_named_target(target), deps=made, slots=slots, lease=lease, grace=grace)


def log_warnings() -> None:
    """Print what goes wrong on standard error: takeovers, stores that are away, tools that fail."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(message)s"))
    handler.setLevel(logging.WARNING)
    LOG.addHandler(handler)


def open_store(url: str) -> Runs:
    """Return a store that is there already. Raises `UsageError` if it is not, or cannot be used."""
    require_store(url)
    return Runs(url)


def list_runs(
    store: str,
    *,
    statuses: Sequence[str],
    agent: str,
    chat: str,
    stops: Sequence[str],
    since: str,
    data: Sequence[str],
    count: int,
    as_json: bool,
) -> None:
    """Print the newest runs."""
    if wrong := [each for each in stops if each not in get_args(events.StopReason)]:
        raise UsageError(f"--stop {wrong[0]}: a run ends for one of {', '.join(get_args(events.StopReason))}")
    with open_store(store) as runs:
        rows = runs.list_sync(
            statuses=cast("Sequence[RunStatus]", statuses),
            agent=agent,
            chat=chat,
            stop_reasons=stops,
            since=read_time(since, "--since"),
            data=read_data(data),
            limit=count,
        )
    if as_json:
        write_output(json.dumps([describe_run(row) for row in rows], indent=2, ensure_ascii=False) + "\n")
    elif sys.stdout.isatty():
        _print_table(rows)
    else:
        for row in rows:
            cells = (row.run_id, format_time(row.created / 1000), row.agent, format_status(row), read_prompt(row))
            sys.stdout.write("\t".join(map(escape_line, cells)) + "\n")


def read_data(entries: Sequence[str]) -> dict[str, str]:
    """Return the data of a run from texts like `tenant=acme`."""
    data = dict[str, str]()
    for entry in entries:
        name, sign, value = entry.partition("=")
        if not name or not sign:
            raise UsageError(f"--data {entry} has no name or no value; write --data NAME=VALUE")
        data[name] = value
    return data


def read_time(text: str, option: str) -> float | None:
    """Return the seconds of a text like `15m`; None if it is empty."""
    number, unit = text[:-1], _UNITS.get(text[-1:])
    if not text:
        return None
    if unit is None or not number.replace(".", "", 1).isdecimal():
        raise UsageError(f"{option} {text} is not a time; write 90s, 15m, 2h or 1d")
    return float(number) * unit


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def start_run(options: StartOptions) -> int:
    """Start a run, print its id or the run itself, and return the exit code."""
    text = prompt.build_prompt(prompt.read_prompt(options.prompt))
    names = ("key", "priority", "lane", "concurrency", "deadline", "chat", "webhook")
    given: dict[str, Any] = {name: getattr(options, name) for name in names}
    given |= {"data": read_data(options.data), "delay": read_time(options.delay, "--delay") or 0.0}
    with Runs(options.store) as runs:
        run = runs.start_sync(options.agent, text, **given)
        if run.is_new:
            _warn_of_missing_worker(runs, run.row_sync())
        if options.follow:
            return follow_handle(runs, run, after=None, as_json=options.as_json)
        started = json.dumps({"id": run.id, "is_new": run.is_new}) if options.as_json else run.id
        write_output(f"{started}\n")
    return 0


def schedule_run(
    store: str,
    name: str,
    agent: str,
    text: str | None,
    *,
    cron: str,
    timezone: str,
    every: str,
    data: Sequence[str],
    lane: str,
    concurrency: int | None,
    webhook: str,
) -> None:
    """Store a schedule, and print when it is next due."""
    asked = prompt.build_prompt(prompt.read_prompt(text))
    with Runs(store) as runs:
        made = runs.schedule_sync(
            name,
            agent,
            asked,
            cron=cron,
            timezone=timezone,
            every=read_time(every, "--every"),
            data=read_data(data),
            lane=lane,
            concurrency=concurrency,
            webhook=webhook,
        )
    write_output(f"{escape_line(f'{name} starts {agent}')} next at {format_time(made.due / 1000)}\n")


def list_schedules(store: str, *, as_json: bool) -> None:
    """Print the schedules of a store."""
    with open_store(store) as runs:
        found = runs.schedules_sync()
    if as_json:
        listed = [
            {"name": each.name, "agent": each.run.agent, "cron": each.cron or None, "timezone": each.zone}
            | {"every": each.seconds, "catch_up": each.catch_up, "due": each.due / 1000}
            for each in found
        ]
        write_output(json.dumps(listed, indent=2, ensure_ascii=False) + "\n")
        return
    for each in found:
        when = f"{each.cron} {each.zone}" if each.cron else f"every {each.seconds:g} s"
        line = f"{each.name}  {each.run.agent}  {when}  next at {format_time(each.due / 1000)}"
        write_output(f"{escape_line(line)}\n")


def drop_schedule(store: str, name: str) -> int:
    """Delete a schedule, and return the exit code: 1 if there is none."""
    with open_store(store) as runs:
        if runs.unschedule_sync(name):
            write_output(f"{name} starts no more runs\n")
            return 0
        known = ", ".join(each.name for each in runs.schedules_sync()) or "none"
    print_error(f"there is no schedule {name!r}; there are: {known}")
    return 1


def show_stats(store: str, *, since: str, as_json: bool) -> None:
    """Print how the runs of each agent ended, how long they took, and how long they waited."""
    with open_store(store) as runs:
        stats = runs.stats_sync(since=read_time(since, "--since"))
    if as_json:
        write_output(json.dumps([asdict(each) for each in stats], indent=2) + "\n")
        return
    rows = [("agent", "runs", "open", "ended", "median", "p95", "taken over")]
    for each in stats:
        ended = ", ".join(f"{count} {reason}" for reason, count in each.ended.items()) or "-"
        median, p95 = (f"{seconds:.1f} s" if seconds is not None else "-" for seconds in (each.median, each.p95))
        rows.append((each.agent, str(each.runs), str(each.open), ended, median, p95, str(each.takeovers)))
    widths = [max(cell_len(escape_line(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [set_cell_size(escape_line(cell), width) for cell, width in zip(row, widths, strict=True)]
        write_output("  ".join(cells).rstrip() + "\n")


def _warn_of_missing_worker(runs: Runs, run: RunRow) -> None:
    """Say so if a run that was started just now waits for a worker that nobody has started, or for a misspelt agent."""
    alive = [worker for worker in runs.workers_sync() if worker.expires > run.updated]
    known = sorted({name for worker in alive for name in json.loads(worker.info)["agents"]})
    if not alive:
        print_error("no worker is running; the run waits for one: toolspeak worker APP.py:agents")
    elif run.agent not in known:
        print_error(f"no worker has the agent {run.agent!r}, and the run waits for one; they have {', '.join(known)}")


LATE_ANSWERS = {
    "late": "the call {call_id} was answered before; the first answer counts",
    "cancelled": "the run {run_id} was cancelled before, so the answer to {call_id} does not count",
    "ended": "the run {run_id} has ended before, so the answer to {call_id} does not count",
}
"""What is printed for an answer that does not count."""


def approve_call(
    store: str, run_id: str, call_id: str | None, approved: bool | str | Allow, *, by: str, digest: str | None
) -> int:
    """Answer whether a call may run, and return the exit code: 1 if the answer does not count."""
    with open_store(store) as runs:
        run = find_handle(runs, run_id)
        waiting = {each.id: each for each in run.waiting_sync()}
        if call_id is None:
            call_id = _find_only_call(run, list(waiting.values()))
        asked = waiting.get(call_id)
        if digest is None and asked is not None:
            digest = asked.digest  # the answer is for the call that is printed below
        result = run.approve_sync(call_id, approved, by=by or getpass.getuser(), digest=digest)
    if not result:
        print_error(LATE_ANSWERS[result.state].format(call_id=call_id, run_id=run.id))
        return 1
    what = format_call_line(asked.call) if asked is not None else call_id
    write_output(f"{'approved' if approved is True or isinstance(approved, Allow) else 'refused'}: {what}\n")
    return 0


def _find_only_call(run: RunHandle, waiting: Sequence[WaitingCall]) -> str:
    """Return the id of the call that waits, if there is exactly one."""
    match waiting:
        case [one]:
            return one.id
        case []:
            raise UsageError(f"no call of run {run.id} waits for an approval (the run is {run.status_sync()})")
        case _:
            calls = ", ".join(f"{each.id} ({each.call.name})" for each in waiting)
            raise UsageError(f"several calls of run {run.id} wait for an approval, so name one: {calls}")


def send_signal(store: str, name: str, text: str) -> int:
    """Send a signal whose value is a JSON text, and return the exit code: 1 if one of this name came before."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not JSON ({error}); a text stands in quotes: '\"paid\"'") from None
    with open_store(store) as runs:
        if runs.signal_sync(name, value):
            write_output(f"{escape_line(name)} is sent\n")
            return 0
    print_error(f"the signal {name} came before; the first one counts")
    return 1


def cancel_run(store: str, run_id: str) -> int:
    """End a run early, and return the exit code: 1 if it has ended, or is cancelled already."""
    with open_store(store) as runs:
        run = find_handle(runs, run_id)
        if run.cancel_sync():
            write_output(f"{run.id} is cancelled\n")
            return 0
        row = run.row_sync()
    print_error(f"{run.id} was cancelled before" if row.status != "done" else f"{run.id} has ended already")
    return 1


def retry_run(store: str, run_id: str, deadline: float | None) -> None:
    """Go on with a run that ended without an answer."""
    with open_store(store) as runs:
        run = find_handle(runs, run_id)
        run.retry_sync(deadline=deadline)
        write_output(f"{run.id} is queued again\n")
        _warn_of_missing_worker(runs, run.row_sync())


def fork_run(store: str, run_id: str, text: str | None, turns: int | None) -> None:
    """Start another run with the first turns of a run, and print its id."""
    asked = None if text is None else prompt.build_prompt(prompt.read_prompt(text))
    with open_store(store) as runs:
        run = find_handle(runs, run_id).fork_sync(asked, turns=turns)
        write_output(f"{run.id}\n")
        _warn_of_missing_worker(runs, run.row_sync())


def prune_runs(store: str, days: float) -> None:
    """Delete runs that ended more than so many days ago."""
    with open_store(store) as runs:
        count = runs.prune_sync(days * 86_400.0)
    write_output(f"{count} run{'' if count == 1 else 's'} deleted\n")


def find_handle(runs: Runs, run_id: str | None) -> RunHandle:
    """Return the handle of a run by its id or the beginning of it; without an id, of the one that was started last.

    Raises:
        UsageError: There are no runs, or several whose ids begin like that.
        RunUnknown: There is no such run.
    """
    if run_id is None:
        newest = runs.list_sync(limit=1)
        if not newest:
            raise UsageError(f"there are no runs in {runs.journal.url}")
        return runs.handle(newest[0].run_id)
    handle = runs.handle(run_id)
    try:
        handle.row_sync()
    except RunUnknown:
        newest = runs.list_sync(limit=1000)
        found = [row for row in newest if run_id and row.run_id.startswith(run_id)]
        if not found:
            raise
        if len(found) > 1:
            listed = ", ".join(f"{row.run_id} ({row.agent}, {format_status(row)})" for row in found[:5])
            raise UsageError(f"{len(found)} runs have ids that begin with {run_id}: {listed}") from None
        return runs.handle(found[0].run_id)
    return handle


def format_status(run: RunRow) -> str:
    """Return where a run is; of one that has ended, why."""
    return run.stop_reason if run.status == "done" else run.status


def _print_table(rows: Sequence[RunRow]) -> None:
    cells = [
        [
            Text(row.run_id, "cyan"),
            Text(format_time(row.created / 1000)),
            Text(escape_line(row.agent), "dim"),
            Text(format_status(row), "yellow" if row.status == "paused" else "dim"),
        ]
        for row in rows
    ]
    RowList(("id", "time", "agent", "status", "first words"), cells).print([read_prompt(row) for row in rows])


WAITS_AGAIN = " again, since the tool has changed"
"""What is added where somebody answered, and is asked once more; see `run/approvals.py`."""


def show_run(store: str, run_id: str | None, *, as_json: bool) -> None:
    """Print a run as far as it is, and the calls that wait."""
    with open_store(store) as runs:
        found = find_handle(runs, run_id).id

        def load(session: JournalSession) -> tuple[RunRow, list[StoredFact], list[WaitingCall], list[WaitRow]]:
            run = find_run(session, found)
            return run, load_timed_facts(session, run), list_waiting(session, run), session.list_waits(found)

        run, facts, waiting_calls, waits = portal.call(runs.read(load))
    if as_json:
        write_output("".join(encode_timed_facts(found, facts)))
        return
    console = create_console(sys.stdout)
    parts = [run.run_id, format_time(run.created / 1000), escape_line(run.agent), format_status(run)]
    if run.takeovers:
        parts.append(f"taken over {run.takeovers} time{'' if run.takeovers == 1 else 's'}")
    parts += [
        escape_line(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
        for name, value in run.data.items()
    ]
    console.print(Text(" · ".join(parts), "dim"), soft_wrap=not console.is_terminal)
    if facts:
        draw_run(console, facts)
    for waiting in waiting_calls:
        what = f"waits for approval{WAITS_AGAIN if waiting.question > 1 else ''}"
        text = f"{what}: {format_call_line(waiting.call)} ({escape_line(waiting.id)})"
        console.print(Text(text, "yellow"), soft_wrap=not console.is_terminal)
        for each in waiting.doubts:
            console.print(Text(f"  in doubt: {each.summary}", "yellow"), soft_wrap=not console.is_terminal)
    for wait in waits:
        what = " ".join(
            (
                "waits",
                *((f"for {wait.signal}",) if wait.signal else ()),
                *((f"until {format_time(wait.until / 1000)}",) if wait.until is not None else ()),
            )
        )
        console.print(
            Text(f"{escape_line(what)} ({escape_line(wait.call_id)})", "yellow"), soft_wrap=not console.is_terminal
        )


def follow_run(store: str, run_id: str | None, *, after: str | None, as_json: bool) -> int:
    """Show a run live until it has ended, and return the exit code for its end."""
    with open_store(store) as runs:
        return follow_handle(runs, find_handle(runs, run_id), after=after, as_json=as_json)


def follow_handle(runs: Runs, run: RunHandle, *, after: str | None, as_json: bool) -> int:
    """Show a run live until it has ended, and return the exit code for its end."""
    viewer = _JsonViewer(sys.stdout) if as_json else _TranscriptViewer(run.id, _load_times(runs, run.id))
    reason: events.StopReason | None = None
    try:
        for each in run.events_sync(after):
            viewer.show(each.id, each.event)
            if isinstance(each.event, events.RunEnded):
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

    def show(self, event_id: str, event: events.Event) -> None:
        self._out.write(json.dumps({"id": event_id, **codec.encode_event(event)}) + "\n")
        self._out.flush()

    def close(self) -> None:
        pass


def _end_options(word: str) -> list[str]:
    return ["--"] if word.startswith("-") else []


class _TranscriptViewer:
    """Draws the events of a run: the answer on standard output, all else there too if it is a terminal."""

    def __init__(self, run_id: str, times: Mapping[str, float]) -> None:
        """Begin to draw. `times` says when the facts that are stored happened; others happen when they are shown."""
        is_terminal = sys.stdout.isatty()
        self._run_id = run_id
        self._times = times
        self._now = 0.0
        self._answered_ids: set[str] = set()
        self._timer = CallTimer(lambda: self._now)
        console = create_console(sys.stdout if is_terminal else sys.stderr)
        self._transcript = Transcript(console, self._timer, None if is_terminal else sys.stdout)
        self._transcript.write_line(f"run {run_id}", "dim")

    def show(self, event_id: str, event: events.Event) -> None:
        if not isinstance(event, events.Delta):
            self._now = self._times.get(event_id) or time.time()
            self._timer.record(event)
        self._transcript.show(event)
        path, own = (event.path, event.event) if isinstance(event, events.NestedFact) else ((), event)
        match own:
            case events.ApprovalNeeded(call=call, doubts=doubts):
                for each in doubts:
                    self._transcript.write_line(f"  in doubt: {each.summary}", "yellow")
                call_id = events.join_ids(path, call.id)
                again = WAITS_AGAIN if call_id in self._answered_ids else ""
                # The endpoint chose the id, and the line is there to be pasted into a shell: "--" ends the options.
                command = shlex.join(["toolspeak", "runs", "approve", self._run_id, *_end_options(call_id), call_id])
                self._transcript.write_line(f"  waits for approval{again}: {escape_line(command)}", "yellow")
            case events.ApprovalGiven(call_id=call_id):
                self._answered_ids.add(events.join_ids(path, call_id))
            case events.RunEnded():
                self._transcript.explain_error(event)
            case events.RunResumed() if not path:
                self._transcript.write_line("(a worker goes on with the run)", "dim")
            case _:
                pass

    def close(self) -> None:
        self._transcript.end_line()
