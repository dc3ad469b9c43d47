"""The commands `mcp …`, `worker`, `runs …` and `page`. Their work is imported when they are called."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolspeak.cli.options import DebugOption, JsonOption, explain_missing, option, take_options
from toolspeak.cli.server_options import McpServeOptions, PageOptions, StartOptions, StoreOption
from toolspeak.values.errors import UsageError

if TYPE_CHECKING:
    from toolspeak.settings.user_files import ServerPin

mcp_app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Use the tools of MCP servers, and serve your functions to MCP clients.",
)


ID_CHARS = 8  # characters of the code by which servers of the same name are told apart

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of the server, or its code, as mcp list shows them.")
]


ServerArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a server that asked for a login, or its address.")
]

ServersFileOption = Annotated[
    Path | None, option("--servers FILE", "The mcp.json that names the server, if it was not used yet.", dir_okay=False)
]


@mcp_app.command("list")
def list_command() -> None:
    """List the MCP servers whose tools were used.

    A server that has changed its tools since they were accepted is marked, with the difference.
    """
    from toolspeak.cli.safe_text import escape_line, write_output
    from toolspeak.mcp.connection import INSTRUCTIONS
    from toolspeak.mcp.tool_specs import format_changes
    from toolspeak.settings.user_files import find_login, list_pins

    pins = list_pins()
    if not pins:
        write_output("no MCP server has been used\n")
    names = [pin.name for pin in pins]
    for pin in pins:
        notes = ", hints trusted" if pin.trust_hints else ""
        notes += ", logged in" if (find_login(pin.identity) or {}).get("tokens") else ""
        state = f", changed in {len(pin.changed)}: see below" if pin.changed else ""
        name = pin.name if names.count(pin.name) == 1 else f"{pin.name} ({pin.identity[:ID_CHARS]})"
        count = len(pin.tools.keys() - {INSTRUCTIONS})
        line = f"{name}  {pin.place}  {count} tool{'s' * (count != 1)}{notes}{state}"
        write_output(f"{escape_line(line)}\n")
        for each in format_changes(pin.tools, pin.changed):
            write_output(f"    {escape_line(each)}\n")


@mcp_app.command("trust")
def trust_server_command(
    name: NameArgument,
    hints: Annotated[
        bool | None,
        option("--hints/--no-hints", "Trust the server's hints that a tool is read-only or may be repeated."),
    ] = None,
) -> None:
    """Accept the current tools of an MCP server."""
    from toolspeak.cli.safe_text import escape_line, write_output
    from toolspeak.mcp.tool_specs import format_changes
    from toolspeak.settings.user_files import accept_change, save_pin

    pin = _find_pin(name)
    for each in format_changes(pin.tools, pin.changed):
        write_output(f"{escape_line(each)}\n")
    save_pin(accept_change(pin, trust_hints=hints))
    write_output(f"the tools of {escape_line(pin.name)} ({escape_line(pin.place)}) are accepted\n")


@mcp_app.command("remove")
def remove_command(name: NameArgument) -> None:
    """Forget an MCP server. Its tools are accepted again when it is next used."""
    from toolspeak.cli.safe_text import escape_line, write_output
    from toolspeak.settings.user_files import remove_pin

    pin = _find_pin(name)
    remove_pin(pin)
    write_output(f"{escape_line(pin.name)} ({escape_line(pin.place)}) is forgotten\n")


@mcp_app.command("login")
def login_command(
    name: ServerArgument,
    servers: ServersFileOption = None,
    browser: Annotated[
        bool, option("--browser/--no-browser", "Open the address in a browser, or only print it.")
    ] = True,
) -> None:
    """Log in to an MCP server over HTTP, so that its tools can be used.

    Prints the address at which you log in. The tokens are kept in your config folder, and used by every run.
    """
    with explain_missing("MCP", "mcp"):
        from toolspeak.cli.mcp import log_in_to
    log_in_to(name, servers, browser=browser)


@mcp_app.command("logout")
def logout_command(name: ServerArgument, servers: ServersFileOption = None) -> None:
    """Delete the login at an MCP server on this machine. The server is not told."""
    from toolspeak.cli.mcp import forget_login

    forget_login(name, servers)


@mcp_app.command("serve")
@take_options(McpServeOptions)
def mcp_serve_command(options: McpServeOptions) -> None:
    """Serve functions to an MCP client, such as Claude Code or Claude Desktop.

    Over standard input and output, for a client that starts this command; with --http, over HTTP. What the functions
    print goes to standard error.
    """
    with explain_missing("MCP", "mcp"):
        from toolspeak.cli.mcp import serve
    serve(options)


def _find_pin(name: str) -> "ServerPin":
    """Return the server with a name, or with the code that tells servers of the same name apart."""
    from toolspeak.settings.user_files import list_pins

    pins = list_pins()
    found = [pin for pin in pins if pin.name == name]
    if len(name) >= ID_CHARS and not found:
        found = [pin for pin in pins if pin.identity.startswith(name)]
    if not found:
        known = ", ".join(dict.fromkeys(pin.name for pin in pins)) or "none"
        raise UsageError(f"no MCP server named {name!r} has been used; known are: {known}")
    if len(found) > 1:
        places = "; ".join(f"{pin.identity[:ID_CHARS]} is {pin.place}" for pin in found)
        raise UsageError(f"several MCP servers are named {name!r}; give the code instead: {places}")
    return found[0]


runs_app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Start, follow and approve durable runs.")

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The id of the run, or its beginning.")]

OptionalRunArgument = Annotated[
    str | None, typer.Argument(metavar="RUN", help="The id of the run, or its beginning; the last run if left out.")
]


SinceOption = Annotated[str, option("--since TIME", "Only runs that were started within the last 90s, 15m, 2h or 1d.")]


class StatusChoice(StrEnum):
    """The values of `--status`: where a run is."""

    queued = "queued"
    running = "running"
    paused = "paused"
    done = "done"


def worker_command(
    agents: Annotated[
        str,
        typer.Argument(
            metavar="APP.py:NAME",
            help="The agents: a file or module, and the variable with a dict of agents by name, or with one agent.",
        ),
    ],
    store: StoreOption,
    deps: Annotated[
        str | None,
        option("--deps APP.py:NAME", "The function that creates the deps of a run, for tools that take a Context."),
    ] = None,
    slots: Annotated[int, option("--slots N", "Execute N runs at once.", min=1)] = 8,
    lease: Annotated[
        float,
        option("--lease SECONDS", "Other workers take over its runs after this long without a heartbeat.", min=0.1),
    ] = 30.0,
    grace: Annotated[
        float, option("--grace SECONDS", "Time for runs to reach a safe point on shutdown.", min=0)
    ] = 30.0,
    debug: DebugOption = False,
) -> None:
    """Execute durable runs until SIGTERM or Ctrl-C.

    Then it parks the runs in progress, and another worker resumes them. Any number of workers, on any number
    of machines, share a store.
    """
    from toolspeak.cli.runs import run_worker

    run_worker(agents, store, deps=deps, slots=slots, lease=lease, grace=grace, debug=debug)


@runs_app.callback()
def runs_command() -> None:
    """Start, list, follow, approve and end durable runs.

    A worker executes them: toolspeak worker.
    """


@runs_app.command("list")
def runs_list_command(
    store: StoreOption,
    status: Annotated[list[StatusChoice] | None, option("--status", "Only runs with this status. Repeatable.")] = None,
    agent: Annotated[str, option("--agent NAME", "Only runs of this agent.")] = "",
    chat: Annotated[str, option("--chat NAME", "Only runs of this conversation.")] = "",
    data: Annotated[
        list[str] | None, option("--data NAME=VALUE", "Only runs that were started with this data. Repeatable.")
    ] = None,
    since: SinceOption = "",
    stop: Annotated[
        list[str] | None, option("--stop REASON", "Only runs with this stop reason, such as error. Repeatable.")
    ] = None,
    count: Annotated[int, option("-n --count N", "Show at most N runs.", min=1)] = 20,
    as_json: JsonOption = False,
) -> None:
    """List runs, newest first: id, time, agent, status and the first words."""
    from toolspeak.cli.runs import list_runs

    list_runs(
        store,
        statuses=[each.value for each in status or ()],
        agent=agent,
        chat=chat,
        stops=stop or (),
        since=since,
        data=data or (),
        count=count,
        as_json=as_json,
    )


@runs_app.command("start")
@take_options(StartOptions)
def runs_start_command(options: StartOptions) -> None:
    """Start a run, and print its id."""
    from toolspeak.cli.runs import start_run

    raise typer.Exit(start_run(options))


@runs_app.command("schedule")
def runs_schedule_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the schedule.")],
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The name of the agent in the workers.")],
    store: StoreOption,
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="The prompt; - for standard input.")] = None,
    cron: Annotated[str, option("--cron TEXT", "When: minute, hour, day, month, weekday: '30 9 * * mon-fri'.")] = "",
    timezone: Annotated[str, option("--timezone ZONE", "The time zone of --cron.")] = "UTC",
    every: Annotated[str, option("--every TIME", "Or an interval: 90s, 15m, 2h or 1d.")] = "",
    data: Annotated[
        list[str] | None, option("--data NAME=VALUE", "Data for deps, rules and runs list. Repeatable.")
    ] = None,
    lane: Annotated[str, option("--lane NAME", "The lane of its runs.")] = "",
    concurrency: Annotated[
        int | None, option("--concurrency N", "With --lane: execute this many runs at once.", min=1)
    ] = None,
    webhook: Annotated[str, option("--webhook URL", "Send the end of each run to this address, signed.")] = "",
) -> None:
    """Let workers start runs on a schedule. It replaces a schedule of the same name."""
    from toolspeak.cli.runs import schedule_run

    schedule_run(
        store,
        name,
        agent,
        prompt,
        cron=cron,
        timezone=timezone,
        every=every,
        data=data or (),
        lane=lane,
        concurrency=concurrency,
        webhook=webhook,
    )


@runs_app.command("schedules")
def runs_schedules_command(
    store: StoreOption,
    drop: Annotated[str, option("--drop NAME", "Delete this schedule instead.")] = "",
    as_json: JsonOption = False,
) -> None:
    """List the schedules and when each is next due."""
    from toolspeak.cli.runs import drop_schedule, list_schedules

    if drop:
        raise typer.Exit(drop_schedule(store, drop))
    list_schedules(store, as_json=as_json)


@runs_app.command("stats")
def runs_stats_command(store: StoreOption, since: SinceOption = "", as_json: JsonOption = False) -> None:
    """Show how the runs of each agent ended, and how long they took."""
    from toolspeak.cli.runs import show_stats

    show_stats(store, since=since, as_json=as_json)


@runs_app.command("show")
def runs_show_command(
    store: StoreOption,
    run: OptionalRunArgument = None,
    as_json: Annotated[bool, option("--json", "Print the facts as JSON, one per line.")] = False,
) -> None:
    """Show what has happened in a run, and the calls that wait: for an approval, a time or a signal."""
    from toolspeak.cli.runs import show_run

    show_run(store, run, as_json=as_json)


@runs_app.command("follow")
def runs_follow_command(
    store: StoreOption,
    run: OptionalRunArgument = None,
    after: Annotated[str | None, option("--after ID", "Continue after this event id, as --json prints it.")] = None,
    as_json: Annotated[bool, option("--json", "Print the events as JSON, one per line.")] = False,
) -> None:
    """Show a run live until it has ended. Ctrl-C ends the command, not the run.

    The exit code is that of toolspeak run.
    """
    from toolspeak.cli.runs import follow_run

    raise typer.Exit(follow_run(store, run, after=after, as_json=as_json))


@runs_app.command("approve")
def runs_approve_command(
    run: RunArgument,
    store: StoreOption,
    call: Annotated[
        str | None, typer.Argument(metavar="CALL", help="The id of the call; not needed if only one waits.")
    ] = None,
    no: Annotated[bool, typer.Option("--no", help="Refuse the call.")] = False,
    remember: Annotated[
        bool, typer.Option("--remember", help="Allow its values in doubt for the rest of the conversation, too.")
    ] = False,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="With --no: the reason, for the model.")] = "",
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides; your user name if left out.")] = "",
    digest: Annotated[
        str | None, typer.Option("--digest", metavar="DIGEST", help="Decide only if the call still has this digest.")
    ] = None,
) -> None:
    """Approve or refuse a call that waits for an approval. The first decision counts."""
    from toolspeak.cli.runs import approve_call
    from toolspeak.values.events import Allow

    if reason and not no:
        raise UsageError("--reason says why a call is refused; add --no")
    if remember and no:
        raise UsageError("--remember allows values, and --no refuses the call; leave one of them out")
    answer = (reason or False) if no else Allow(remember=True) if remember else True
    raise typer.Exit(approve_call(store, run, call, answer, by=by, digest=digest))


@runs_app.command("signal")
def runs_signal_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that calls wait for, such as payment-42.")],
    store: StoreOption,
    value: Annotated[str, typer.Argument(metavar="JSON", help="The value of the signal; null if left out.")] = "null",
) -> None:
    """Send a signal to the calls that wait for it, and to those that wait for it later. The first one counts."""
    from toolspeak.cli.runs import send_signal

    raise typer.Exit(send_signal(store, name, value))


@runs_app.command("cancel")
def runs_cancel_command(run: RunArgument, store: StoreOption) -> None:
    """Cancel a run."""
    from toolspeak.cli.runs import cancel_run

    raise typer.Exit(cancel_run(store, run))


@runs_app.command("retry")
def runs_retry_command(
    run: RunArgument,
    store: StoreOption,
    deadline: Annotated[
        float | None, typer.Option("--deadline", metavar="SECONDS", min=0, help="End it after this many seconds.")
    ] = None,
) -> None:
    """Resume a run that ended with an error, was cancelled or missed its deadline. Finished calls do not run again."""
    from toolspeak.cli.runs import retry_run

    retry_run(store, run, deadline)


@runs_app.command("fork")
def runs_fork_command(
    run: RunArgument,
    store: StoreOption,
    prompt: Annotated[
        str | None, typer.Argument(metavar="PROMPT", help="The next prompt; - for standard input.")
    ] = None,
    turns: Annotated[int | None, option("--turns N", "Keep N turns; all complete ones if left out.", min=0)] = None,
) -> None:
    """Start another run with the first turns of a run, which does not change; print the new run's id."""
    from toolspeak.cli.runs import fork_run

    fork_run(store, run, prompt, turns)


@runs_app.command("prune")
def runs_prune_command(
    store: StoreOption,
    days: Annotated[
        float, option("--days N", "Delete runs that ended and signals that arrived more than N days ago.", min=0)
    ],
) -> None:
    """Delete runs that ended long ago. The runs of a conversation are deleted together."""
    from toolspeak.cli.runs import prune_runs

    prune_runs(store, days)


@take_options(PageOptions)
def page_command(options: PageOptions) -> None:
    """Inspect runs in the browser: what the model was shown, what it wrote, and how it was parsed.

    Without a file, a store or a gateway, shows the conversations of your log (toolspeak log). The page is served on
    this machine only. The printed address works once; after that, the browser has a cookie. With --tools or
    --model there is a playground: ask a model with these tools, and continue from any point of a run. With --chat the
    page opens with a chat.
    """
    has_playground = options.tools or options.models or options.chat
    if options.redact and options.export is None:
        raise UsageError("--redact is for --export; in the page, name the fields when you save a run")
    if options.export is not None and (options.url or options.key_env or has_playground or options.keep):
        raise UsageError(
            "--export writes the run of a file; --url, --key-env, --tools, --model, --keep and --chat are for the page"
        )
    if options.key_env and options.url is None:
        raise UsageError("--key-env names the key of a gateway; give its address with --url")
    if options.keep is not None and not has_playground:
        raise UsageError("--keep is for the runs of the playground; open it with --tools or --model or --chat")
    with explain_missing("the page", "page"):
        from toolspeak.cli.page import show_page, write_export

        if options.export is not None:
            write_export(options.target, options.export, options.redact)
        else:
            show_page(options)
