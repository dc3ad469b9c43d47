"""The commands `worker` and `runs …`, with their options. Their work is imported when they are called."""

from enum import StrEnum
from typing import Annotated

import typer

from toolspeak.cli.options import DebugOption, JsonOption
from toolspeak.errors import UsageError

STORE_VARIABLE = "TOOLSPEAK_STORE"

runs_app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Durable runs: start, follow, approve them.")

StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar=STORE_VARIABLE,
        show_default=False,
        help="Where the runs are kept: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
    ),
]

AgentsArgument = Annotated[
    str,
    typer.Argument(
        metavar="APP.py:NAME",
        show_default=False,
        help="The agents: a file or module, and the variable with a dict of agents by name, or with one agent.",
    ),
]

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", show_default=False, help="The id of the run, or its beginning.")
]

OptionalRunArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[RUN]", show_default=False, help="The id of the run, or its beginning; the last run if left out."
    ),
]


class StatusChoice(StrEnum):
    """The values of `--status`: where a run is."""

    queued = "queued"
    running = "running"
    paused = "paused"
    done = "done"


def worker_command(
    agents: AgentsArgument,
    store: StoreOption,
    slots: Annotated[int, typer.Option("--slots", metavar="N", min=1, help="Drive N runs at once.")] = 8,
    lease: Annotated[
        float,
        typer.Option(
            "--lease", metavar="SECONDS", min=0.1, help="Without a sign of life for so long, others take the runs over."
        ),
    ] = 30.0,
    grace: Annotated[
        float,
        typer.Option("--grace", metavar="SECONDS", min=0, help="Time for runs to come to a quiet point at the end."),
    ] = 30.0,
    debug: DebugOption = False,
) -> None:
    """Drive durable runs until SIGTERM or Ctrl-C.

    Runs that are under way are then parked, and another worker goes on with them. Any number of workers, on any number
    of machines, share a store.
    """
    from toolspeak.cli.worker import run_worker

    run_worker(agents, store, slots=slots, lease=lease, grace=grace, debug=debug)


@runs_app.callback()
def runs_command() -> None:
    """Start, list, follow, approve and end durable runs.

    A worker drives them: toolspeak worker.
    """


@runs_app.command("list")
def runs_list_command(
    store: StoreOption,
    status: Annotated[
        list[StatusChoice] | None, typer.Option("--status", help="Only runs with this status. Repeatable.")
    ] = None,
    agent: Annotated[str, typer.Option("--agent", metavar="NAME", help="Only runs of this agent.")] = "",
    chat: Annotated[str, typer.Option("--chat", metavar="NAME", help="Only runs of this conversation.")] = "",
    count: Annotated[int, typer.Option("-n", "--count", metavar="N", min=1, help="Show at most N runs.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List runs, the newest first: id, time, agent, status and the first words."""
    from toolspeak.cli.runs import list_runs

    list_runs(
        store, statuses=[each.value for each in status or ()], agent=agent, chat=chat, count=count, as_json=as_json
    )


@runs_app.command("start")
def runs_start_command(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The name under which workers know the agent.")],
    store: StoreOption,
    prompt: Annotated[
        str | None, typer.Argument(metavar="[PROMPT]", help="What is asked; - for standard input.")
    ] = None,
    key: Annotated[
        str, typer.Option("--key", metavar="KEY", help="A name for this request: a second start gives the same run.")
    ] = "",
    priority: Annotated[int, typer.Option("--priority", metavar="N", help="Higher ones are driven first.")] = 0,
    lane: Annotated[str, typer.Option("--lane", metavar="NAME", help="The lane whose limits hold for the run.")] = "",
    deadline: Annotated[
        float | None,
        typer.Option("--deadline", metavar="SECONDS", min=0, help="End the run after so many seconds from now."),
    ] = None,
    chat: Annotated[
        str, typer.Option("--chat", metavar="NAME", help="The conversation that the run goes on with.")
    ] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show the run live.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Start a run, and print its id."""
    from toolspeak.cli.prompt import read_prompt
    from toolspeak.cli.runs import StartOptions, start_run

    options = StartOptions(key=key, priority=priority, lane=lane, deadline=deadline, chat=chat)
    code = start_run(store, agent, read_prompt(prompt), options, follow=follow, as_json=as_json)
    raise typer.Exit(code)


@runs_app.command("show")
def runs_show_command(
    store: StoreOption,
    run: OptionalRunArgument = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON, one a line.")] = False,
) -> None:
    """Show what has happened in a run, and the calls that wait for an approval."""
    from toolspeak.cli.runs_transcript import show_run

    show_run(store, run, as_json=as_json)


@runs_app.command("follow")
def runs_follow_command(
    store: StoreOption,
    run: OptionalRunArgument = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="ID", help="Begin behind this event, as --json names it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the events as JSON, one a line.")] = False,
) -> None:
    """Show a run live until it has ended. Ctrl-C ends the command, not the run.

    The exit code is that of toolspeak run.
    """
    from toolspeak.cli.runs_transcript import follow_run

    raise typer.Exit(follow_run(store, run, after=after, as_json=as_json))


@runs_app.command("approve")
def runs_approve_command(
    run: RunArgument,
    store: StoreOption,
    call: Annotated[
        str | None, typer.Argument(metavar="[CALL]", help="The id of the call; not needed if only one waits.")
    ] = None,
    no: Annotated[bool, typer.Option("--no", help="Refuse the call.")] = False,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="With --no: why, for the model.")] = "",
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who answers; your user name if left out.")] = "",
    digest: Annotated[
        str | None,
        typer.Option("--digest", metavar="DIGEST", help="Count only if the call is still the one with this digest."),
    ] = None,
) -> None:
    """Allow a call that waits for an approval. The first answer counts."""
    from toolspeak.cli.runs import approve_call

    if reason and not no:
        raise UsageError("--reason says why a call is refused; add --no")
    raise typer.Exit(approve_call(store, run, call, (reason or False) if no else True, by=by, digest=digest))


@runs_app.command("cancel")
def runs_cancel_command(run: RunArgument, store: StoreOption) -> None:
    """End a run early."""
    from toolspeak.cli.runs import cancel_run

    raise typer.Exit(cancel_run(store, run))


@runs_app.command("prune")
def runs_prune_command(
    store: StoreOption,
    days: Annotated[
        float, typer.Option("--days", metavar="N", min=0, help="Delete runs that ended more than N days ago.")
    ],
) -> None:
    """Delete runs that ended long ago. The runs of a conversation are deleted together."""
    from toolspeak.cli.runs import prune_runs

    prune_runs(store, days)
