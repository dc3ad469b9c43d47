"""`toolspeak runs`: durable runs, listed, started, approved, cancelled and pruned."""

import getpass
import json
import sys
from collections.abc import Sequence
from typing import cast

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from toolspeak._frozen import frozen
from toolspeak.cli.console import SafeConsole
from toolspeak.cli.format import format_call_line
from toolspeak.cli.log import MIN_TITLE_CELLS, TIME_CHARS, cut_title, format_time
from toolspeak.cli.safe_text import escape_line, print_error, write_output
from toolspeak.cli.stores import require_store
from toolspeak.durable import RunHandle, RunRow, Runs, RunStatus, RunUnknown, WaitingCall
from toolspeak.durable.descriptions import describe_run, read_prompt
from toolspeak.errors import UsageError

DAY_SECONDS = 86_400.0

MAX_SEARCHED = 1000
"""How many of the newest runs are looked at for one whose id begins as was given."""


MAX_NAMED = 5
"""How many runs are named when several are meant."""


@frozen
class StartOptions:
    """The options of `toolspeak runs start`; see `Runs.start`."""

    key: str = ""
    priority: int = 0
    lane: str = ""
    deadline: float | None = None
    chat: str = ""


def open_store(url: str) -> Runs:
    """Return a store that is there already.

    Raises:
        UsageError: There is no such file, or the address cannot be used.
    """
    require_store(url)
    return Runs(url)


def list_runs(store: str, *, statuses: Sequence[str], agent: str, chat: str, count: int, as_json: bool) -> None:
    """Print the newest runs."""
    with open_store(store) as runs:
        wanted = cast("Sequence[RunStatus]", statuses)
        rows = runs.list_sync(statuses=wanted, agent=agent, chat=chat, limit=count)
    if as_json:
        write_output(json.dumps([describe_run(row) for row in rows], indent=2, ensure_ascii=False) + "\n")
    elif sys.stdout.isatty():
        _print_table(rows)
    else:
        for row in rows:
            cells = (row.run_id, format_time(row.created / 1000), row.agent, format_status(row), read_prompt(row))
            sys.stdout.write("\t".join(map(escape_line, cells)) + "\n")


def start_run(store: str, agent: str, prompt: str, options: StartOptions, *, follow: bool, as_json: bool) -> int:
    """Start a run, print its id or the run itself, and return the exit code."""
    with Runs(store) as runs:
        run = runs.start_sync(
            agent,
            prompt,
            key=options.key,
            priority=options.priority,
            lane=options.lane,
            deadline=options.deadline,
            chat=options.chat,
        )
        if run.is_new:
            _warn_of_missing_worker(runs, run.row_sync())
        if follow:
            from toolspeak.cli.runs_transcript import follow_handle

            return follow_handle(runs, run, after=None, as_json=as_json)
        write_output(json.dumps({"id": run.id, "is_new": run.is_new}) + "\n" if as_json else f"{run.id}\n")
    return 0


def _warn_of_missing_worker(runs: Runs, run: RunRow) -> None:
    """Say so if a run that was started just now waits for a worker that nobody has started, or for a misspelt agent."""
    alive = [worker for worker in runs.workers_sync() if worker.expires > run.created]
    known = sorted({name for worker in alive for name in json.loads(worker.info)["agents"]})
    if not alive:
        print_error("no worker is running; the run waits for one: toolspeak worker APP.py:agents")
    elif run.agent not in known:
        print_error(f"no worker has the agent {run.agent!r}, and the run waits for one; they have {', '.join(known)}")


def approve_call(
    store: str, run_id: str, call_id: str | None, approved: bool | str, *, by: str, digest: str | None
) -> int:
    """Answer whether a call may run, and return the exit code: 1 if another answer came first."""
    with open_store(store) as runs:
        run = find_handle(runs, run_id)
        waiting = {each.id: each for each in run.waiting_sync()}
        if call_id is None:
            call_id = _find_only_call(run, list(waiting.values()))
        asked = waiting.get(call_id)
        if digest is None and asked is not None:
            digest = asked.digest  # the answer is for the call that is printed below
        counts = run.approve_sync(call_id, approved, by=by or getpass.getuser(), digest=digest)
    if not counts:
        print_error(f"the call {call_id} was answered before; the first answer counts")
        return 1
    what = format_call_line(asked.call) if asked is not None else call_id
    write_output(f"{'approved' if approved is True else 'refused'}: {what}\n")
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


def prune_runs(store: str, days: float) -> None:
    """Delete runs that ended more than so many days ago."""
    with open_store(store) as runs:
        count = runs.prune_sync(days * DAY_SECONDS)
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
        found = [row for row in runs.list_sync(limit=MAX_SEARCHED) if run_id and row.run_id.startswith(run_id)]
        if not found:
            raise
        if len(found) > 1:
            listed = ", ".join(f"{row.run_id} ({row.agent}, {format_status(row)})" for row in found[:MAX_NAMED])
            raise UsageError(f"{len(found)} runs have ids that begin with {run_id}: {listed}") from None
        return runs.handle(found[0].run_id)
    return handle


# Formats


def format_status(run: RunRow) -> str:
    """Return where a run is; of one that has ended, why."""
    return run.stop_reason if run.status == "done" else run.status


def _print_table(rows: Sequence[RunRow]) -> None:
    console = SafeConsole()
    agents = [escape_line(row.agent) for row in rows]
    statuses = [format_status(row) for row in rows]
    id_cells = max((len(row.run_id) for row in rows), default=0)
    agent_cells = min(max(map(cell_len, agents), default=0), console.width // 4)
    status_cells = max(map(len, statuses), default=0)
    title_cells = max(MIN_TITLE_CELLS, console.width - id_cells - TIME_CHARS - agent_cells - status_cells - 8)
    for row, agent, status in zip(rows, agents, statuses, strict=True):
        line = Text.assemble((f"{row.run_id:{id_cells}}", "cyan"), f"  {format_time(row.created / 1000)}  ")
        line.append(f"{set_cell_size(agent, agent_cells)}  ", "dim")
        line.append(f"{status:{status_cells}}  ", "yellow" if row.status == "paused" else "dim")
        line.append(cut_title(escape_line(read_prompt(row)), title_cells))
        console.print(line, soft_wrap=True)
