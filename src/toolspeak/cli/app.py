"""The commands. Each imports what it needs when it is called, so that `toolspeak --help` is fast."""

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from toolspeak._version import __version__
from toolspeak.cli.eval_commands import calibrate_command, eval_command
from toolspeak.cli.options import (
    ApproveOption,
    DebugOption,
    DialectOption,
    Form,
    MaxTurnsOption,
    ModelOption,
    SystemOption,
    TargetArgument,
    ToolChoiceOption,
    ToolsOption,
    TrustProjectOption,
)
from toolspeak.errors import ToolspeakError, UsageError

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,  # help drawn by rich would take longer to import than everything else
    pretty_exceptions_enable=False,
    help="Any model calls your Python functions.",
)


def run() -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a character that the encoding lacks is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        return app(standalone_mode=False) or 0
    except UsageError as error:
        return _fail(str(error))
    except ToolspeakError as error:  # not caused by the command line
        return _fail(str(error), code=1)
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:  # the reader of a pipe closed it, as head does
        return 0
    except Exception as error:
        # A wrong command line. typer bundles click, so its errors are recognized by their method, not by class.
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            raise
        return _fail(format_message())


def _fail(message: str, *, code: int = 2) -> int:
    from toolspeak.cli.safe_text import print_error

    print_error(message)
    return code


def _print_log() -> None:
    from toolspeak.cli.debug import print_log

    print_log()


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Any model calls your Python functions."""
    if version:
        sys.stdout.write(f"toolspeak {__version__}\n")
    elif context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


@app.command("chat")
def chat_command(
    tools: ToolsOption = None,
    model: ModelOption = None,
    dialect: DialectOption = None,
    system: SystemOption = None,
    tool_choice: ToolChoiceOption = None,
    max_turns: MaxTurnsOption = None,
    approve: ApproveOption = None,
    debug: DebugOption = False,
    trust_project: TrustProjectOption = False,
) -> None:
    """Chat with a model that can call your functions.

    Options that are left out come from the settings (see toolspeak config). If these name no model either, the
    embedded one is used. In the chat, /help lists the commands.
    """
    from toolspeak.cli.agent_config import AgentOptions
    from toolspeak.cli.chat import chat
    from toolspeak.cli.settings_loader import load_settings

    options = AgentOptions(
        tools=tuple(tools or ()),
        model=model,
        dialect=dialect,
        system=system,
        tool_choice=tool_choice,
        max_turns=max_turns,
        approve=approve,
    )
    if debug:
        _print_log()
    raise typer.Exit(chat(options, load_settings(trust_project=trust_project)))


@app.command("run")
def run_command(
    prompt: Annotated[
        str | None,
        typer.Argument(
            metavar="PROMPT", help="The prompt. Piped text follows it, or is the prompt if this is - or left out."
        ),
    ] = None,
    tools: ToolsOption = None,
    model: ModelOption = None,
    dialect: DialectOption = None,
    system: SystemOption = None,
    tool_choice: ToolChoiceOption = None,
    max_turns: MaxTurnsOption = None,
    approve: ApproveOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the events of the run as JSON, one a line.")] = False,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Record the run in a file, for toolspeak graph.")
    ] = None,
    debug: DebugOption = False,
    trust_project: TrustProjectOption = False,
) -> None:
    """Answer one prompt with a model that can call your functions.

    The answer goes to standard output. Calls and their results go with it in a terminal, and to standard error
    otherwise. Options that are left out come from the settings (see toolspeak config).

    Exit codes: 0 answered; 1 stopped without an answer (a limit, a loop, cut off, refused); 2 wrong usage; 3 the
    endpoint failed; 4 paused, because a call needs approval and there is no terminal to ask in; 130 interrupted.
    """
    from toolspeak.cli.agent_config import AgentOptions
    from toolspeak.cli.prompt import read_prompt
    from toolspeak.cli.run import run as run_once
    from toolspeak.cli.settings_loader import load_settings

    options = AgentOptions(
        tools=tuple(tools or ()),
        model=model,
        dialect=dialect,
        system=system,
        tool_choice=tool_choice,
        max_turns=max_turns,
        approve=approve,
    )
    if debug:
        _print_log()
    text = read_prompt(prompt)
    settings = load_settings(trust_project=trust_project)
    raise typer.Exit(run_once(text, options, settings, as_json=as_json, record=record))


@app.command("tools")
def tools_command(
    target: TargetArgument,
    form: Annotated[
        Form | None, typer.Option("--as", help="Print the tools as this API or dialect sends them.", show_default=False)
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Print strict schemas: every property required, optional ones nullable.")
    ] = False,
    skipped: Annotated[bool, typer.Option("--skipped", help="List what is not a tool, and why.")] = False,
) -> None:
    """Show the tools in TARGET as a model sees them."""
    from toolspeak.cli.safe_text import SafeConsole, write_output
    from toolspeak.cli.targets import discover_targets
    from toolspeak.cli.tools import as_form, render_skipped, render_tools

    box = discover_targets(target)
    console = SafeConsole()
    if skipped:
        console.print(render_skipped(box), soft_wrap=True)
    elif form is None:
        console.print(render_tools(box, target), soft_wrap=not console.is_terminal)
    else:
        write_output(as_form(box, form, strict=strict) + "\n")


@app.command("call")
def call_command(
    target: TargetArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the tool.", show_default=False)],
    pairs: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Arguments of the call.", show_default=False)
    ] = None,
    json_text: Annotated[
        str | None,
        typer.Option("--json", metavar="OBJECT", help="Arguments of the call as a JSON object.", show_default=False),
    ] = None,
) -> None:
    """Call a tool by hand and print what a model would get.

    The arguments are checked as those of a model's call are. If the call fails, the error that a model would get is
    printed, and the exit code is 1.
    """
    from toolspeak.cli.call import call_tool, parse_arguments
    from toolspeak.cli.safe_text import write_output
    from toolspeak.cli.stdout import reserve_stdout
    from toolspeak.cli.targets import discover_targets

    box = discover_targets(target)
    arguments = parse_arguments(pairs or [], json_text)
    for skipped in box.skipped:
        if skipped.name == name:
            raise UsageError(f"{name} cannot be a tool: {skipped.reason}")
    tool = box[name]
    with reserve_stdout():
        succeeded, answer = call_tool(tool, arguments)
    write_output(answer + "\n")
    if not succeeded:
        raise typer.Exit(1)


@app.command("parse")
def parse_command(
    path: Annotated[
        str | None,
        typer.Argument(metavar="TEXTFILE", help="The text; - or none reads standard input.", show_default=False),
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(
            "--tools",
            metavar="TARGET",
            help="The tools that the model had: functions, as for toolspeak tools, or a .json file of schemas.",
            show_default=False,
        ),
    ] = None,
    dialect: Annotated[
        str,
        typer.Option(
            "--dialect",
            metavar="NAME",
            help="The dialect of the text: native, json, typescript, python, or code for either language.",
        ),
    ] = "json",
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch",
            metavar="FILE",
            help="Read many texts: a .jsonl file of records with id, tools and text.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show the tool calls in a model's text.

    Prints the calls, with references to the results of others, the calls that cannot be read, and the rest of the text.
    """
    import json

    from toolspeak.cli import parse
    from toolspeak.cli.safe_text import SafeConsole, write_output
    from toolspeak.cli.stdout import reserve_stdout
    from toolspeak.dialects import read
    from toolspeak.reading.content import encode_content

    text_dialect = parse.find_dialect(dialect)
    if batch is not None:
        for line in parse.read_batch(batch, tools):
            write_output(line + "\n")
        return
    with reserve_stdout():
        specs = parse.load_tools(tools)
    content = read(parse.read_input(path), specs, dialect=text_dialect)
    if as_json:
        write_output(json.dumps(encode_content(content), ensure_ascii=False) + "\n")
    else:
        SafeConsole(soft_wrap=True).print(parse.render_content(content))


@app.command("graph")
def graph_command(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET_OR_FILE",
            help="Functions, as for toolspeak tools; or a file that toolspeak run --record wrote.",
            show_default=False,
        ),
    ],
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Also write a picture to a file.", show_default=False)
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="The name of the agent's model in the drawing.")
    ] = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Draw an agent or a recorded run, in mermaid.

    Given functions, draws an agent with them as its tools. Given a record, draws that run with its timings.
    """
    from toolspeak.cli.graph import draw
    from toolspeak.cli.safe_text import write_output
    from toolspeak.cli.settings_loader import load_settings

    write_output(draw(target, lambda: model or load_settings(trust_project=trust_project).model, svg))


app.command("eval")(eval_command)
app.command("calibrate")(calibrate_command)


@app.command("serve")
def serve_command(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="A model to serve. Repeatable."),
    ] = None,
    dialect: DialectOption = None,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port to listen on; 0 for any free one.")
    ] = 8765,
    key_env: Annotated[
        str | None,
        typer.Option(
            "--key-env", metavar="NAME", help="The environment variable that holds the key clients must send."
        ),
    ] = None,
    mend: Annotated[
        bool, typer.Option("--mend/--no-mend", help="Ask the model again when a call is malformed.")
    ] = True,
    thinks: Annotated[
        bool,
        typer.Option(
            "--thinks",
            help="Answers may begin inside their reasoning, without an opening tag: stream none of it as text.",
        ),
    ] = False,
    trust_project: TrustProjectOption = False,
) -> None:
    """Serve models to any OpenAI or Anthropic client.

    The clients get native tool calls from every model, whatever its dialect. Without --model, the models in the
    settings are served (see toolspeak config).
    """
    try:
        from toolspeak.cli.serve import ServeOptions, serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise UsageError(f"the gateway needs {error.name}; install it with: pip install 'toolspeak[gateway]'") from None
    from toolspeak.cli.settings_loader import load_settings

    serve(
        ServeOptions(
            models=tuple(model or ()),
            dialect=dialect,
            host=host,
            port=port,
            key_env=key_env,
            mends=2 if mend else 0,
            thinks=thinks,
        ),
        lambda: load_settings(trust_project=trust_project),
    )


@app.command("pull")
def pull_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model whose weights to download.")] = "local",
) -> None:
    """Download the weights of the embedded model (1.1 GB).

    An interrupted download continues where it stopped. Weights that are there are checked.
    """
    from toolspeak.cli.pull import pull_weights
    from toolspeak.cli.safe_text import SafeConsole

    path = pull_weights(model, SafeConsole(stderr=True, soft_wrap=True))
    sys.stdout.write(f"{path}\n")


@app.command("trust")
def trust_command(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[PATH]", help="The project's folder or settings file; this folder if left out."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Trust the settings without asking.")] = False,
    list_projects: Annotated[
        bool, typer.Option("--list", help="List the projects that you have trusted or refused.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Forget that you trusted or refused this project.")] = False,
) -> None:
    """Let the settings of a project count.

    Shows the settings in toolspeak.toml or pyproject.toml, in this folder or above it, with what they do, and asks
    whether to trust them. Trust ends when the settings change, or a file that they name as tools. Your own settings
    file needs no trust.
    """
    from toolspeak.cli import trust

    start = path or Path()
    if list_projects:
        trust.print_decisions()
    elif remove:
        trust.remove_trust(start)
    else:
        raise typer.Exit(trust.trust(start, yes=yes))


@app.command("config")
def config_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the settings as JSON.")] = False,
    trust_project: TrustProjectOption = False,
) -> None:
    """Show the settings and where each came from.

    Also shows which settings of a project are ignored because you have not trusted it (see toolspeak trust).
    """
    from toolspeak.cli import config
    from toolspeak.cli.safe_text import SafeConsole, write_output
    from toolspeak.cli.settings_loader import load_settings

    console, loaded = SafeConsole(), load_settings(trust_project=trust_project, quiet=True)
    if as_json:
        write_output(config.format_json(loaded) + "\n")
    elif console.is_terminal:
        console.print(config.render_table(loaded))
    else:
        sys.stdout.write(config.format_lines(loaded) + "\n")
