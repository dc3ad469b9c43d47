"""The commands. Each loads what it needs when it is called, so that the help of all of them is there at once."""

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from toolspeak._version import __version__
from toolspeak.cli.options import (
    Approval,
    Choice,
    DialectName,
    Form,
    MaxTokens,
    MaxTurns,
    ModelName,
    System,
    Target,
    Tools,
)
from toolspeak.errors import ToolspeakError, UsageError

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,  # help with boxes costs more to load than all the rest
    pretty_exceptions_enable=False,
    help="Any model calls your Python functions.",
)


def run() -> int:
    """Run the command line and give its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a character that cannot be shown is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        return app(standalone_mode=False) or 0
    except UsageError as error:
        return _complain(str(error))
    except ToolspeakError as error:  # nothing the command line could have said otherwise
        return _complain(str(error), code=1)
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:  # somebody read the first lines and went away
        return 0
    except Exception as error:
        # A wrong command line. typer carries a click of its own, so its errors are known by what they can do.
        explain = getattr(error, "format_message", None)
        if explain is None:
            raise
        return _complain(explain())


def _complain(message: str, *, code: int = 2) -> int:
    sys.stderr.write(f"toolspeak: {' '.join(message.split())}\n")
    return code


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Any model calls your Python functions."""
    if version:
        sys.stdout.write(f"toolspeak {__version__}\n")
    elif context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


@app.command("chat")
def chat_command(
    tools: Tools = None,
    model: ModelName = None,
    dialect: DialectName = None,
    system: System = None,
    tool_choice: Choice = None,
    max_turns: MaxTurns = None,
    approve: Approval = None,
) -> None:
    """Talk with a model that can call your functions.

    What is not said here is taken from the settings (see toolspeak config); the model is the embedded one if none is
    named anywhere. /help lists what can be said beside messages.
    """
    from toolspeak.cli.agent import AgentOptions
    from toolspeak.cli.chat import chat

    wishes = AgentOptions(
        tools=tuple(tools or ()),
        model=model,
        dialect=dialect,
        system=system,
        tool_choice=tool_choice,
        max_turns=max_turns,
        approve=approve,
    )
    raise typer.Exit(chat(wishes))


@app.command("run")
def run_command(
    prompt: Annotated[
        str | None,
        typer.Argument(metavar="PROMPT", help="What is asked; with - or without it, standard input."),
    ] = None,
    tools: Tools = None,
    model: ModelName = None,
    dialect: DialectName = None,
    system: System = None,
    tool_choice: Choice = None,
    max_turns: MaxTurns = None,
    approve: Approval = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the events as JSON, one a line.")] = False,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Keep the facts of the run, for toolspeak graph.")
    ] = None,
) -> None:
    """Ask a model once, let it call your functions, and print its answer.

    The answer goes to standard output; the calls and their results go with it in a terminal, and to standard error
    elsewhere.

    Exit codes: 0 answered; 1 stopped before that, at a limit, in a loop, cut or refused; 2 wrong usage; 3 the endpoint
    failed; 4 paused, as a call needs a yes and nobody is there to say it; 130 interrupted.
    """
    from toolspeak.cli.agent import AgentOptions
    from toolspeak.cli.run import run as run_once

    wishes = AgentOptions(
        tools=tuple(tools or ()),
        model=model,
        dialect=dialect,
        system=system,
        tool_choice=tool_choice,
        max_turns=max_turns,
        approve=approve,
    )
    raise typer.Exit(run_once(prompt, wishes, as_json=as_json, record=record))


@app.command("tools")
def tools_command(
    target: Target,
    form: Annotated[
        Form | None, typer.Option("--as", help="Print what a model is sent in this form.", show_default=False)
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="The strict variant: every property required, optional ones nullable.")
    ] = False,
    skipped: Annotated[bool, typer.Option("--skipped", help="List what was left out, and why.")] = False,
) -> None:
    """Show the tools in TARGET as a model will see them."""
    from rich.console import Console

    from toolspeak.cli.stdout import found
    from toolspeak.cli.tools import as_form, listing, skipped_listing

    box = found(target)
    console = Console(highlight=False)
    if skipped:
        console.print(skipped_listing(box), soft_wrap=True)
    elif form is None:
        console.print(listing(box, target), soft_wrap=not console.is_terminal)
    else:
        sys.stdout.write(as_form(box, form, strict=strict) + "\n")


@app.command("call")
def call_command(
    target: Target,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool to call.", show_default=False)],
    pairs: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Its arguments.", show_default=False)
    ] = None,
    text: Annotated[
        str | None, typer.Option("--json", help="Its arguments, as one JSON object.", show_default=False)
    ] = None,
) -> None:
    """Call one tool by hand, through the same checks as a model's call, and print what the model would get.

    A call that fails prints the very text the model would get, and exits with 1.
    """
    from toolspeak.cli.call import arguments_from, called
    from toolspeak.cli.stdout import answer_alone, found

    box = found(target)
    arguments = arguments_from(pairs or [], text)
    for skipped in box.skipped:
        if skipped.name == name:
            raise UsageError(f"{name} cannot be a tool: {skipped.reason}")
    tool = box[name]
    with answer_alone():
        succeeded, answer = called(tool, arguments)
    sys.stdout.write(answer + "\n")
    if not succeeded:
        raise typer.Exit(1)


@app.command("parse")
def parse_command(
    path: Annotated[
        str | None,
        typer.Argument(metavar="[TEXTFILE]", help="The text; standard input if left out.", show_default=False),
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option("--tools", help="The tools on offer: a TARGET, or a .json file of schemas.", show_default=False),
    ] = None,
    dialect: Annotated[str, typer.Option("--dialect", help="native, json, typescript, python or code.")] = "json",
    batch: Annotated[
        str | None,
        typer.Option("--batch", help="A .jsonl file of records with id, tools and text.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the meaning as JSON.")] = False,
) -> None:
    """Show what a model's text means: calls, references between them, and calls that cannot be read."""
    import json

    from rich.console import Console

    from toolspeak.cli import parse
    from toolspeak.cli.stdout import answer_alone
    from toolspeak.dialects import read
    from toolspeak.reading.content import encode_content

    speaking = parse.dialect_named(dialect)
    if batch is not None:
        for line in parse.batch(batch, tools):
            sys.stdout.write(line + "\n")
        return
    with answer_alone():
        specs = parse.tools_from(tools)
    found = read(parse.text_from(path), specs, dialect=speaking)
    if as_json:
        sys.stdout.write(json.dumps(encode_content(found), ensure_ascii=False) + "\n")
    else:
        Console(highlight=False, soft_wrap=True).print(parse.listing(found))


@app.command("graph")
def graph_command(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET_OR_FACTS",
            help="Functions, as for tools; or a file of facts, as toolspeak run --record writes it.",
            show_default=False,
        ),
    ],
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write a picture there as well.", show_default=False)
    ] = None,
    model: ModelName = None,
) -> None:
    """Draw an agent with the functions of a target, or a finished run with its timings, in mermaid."""
    from toolspeak.cli.graph import drawn

    sys.stdout.write(drawn(target, model, svg))


@app.command("eval")
def eval_command(
    suite: Annotated[
        str, typer.Option("--suite", metavar="NAME", help="quick, bfcl, or a file of questions.")
    ] = "quick",
    model: ModelName = None,
    dialect: Annotated[
        str, typer.Option("--dialect", metavar="NAMES", help="all, or dialects with commas between them.")
    ] = "all",
    category: Annotated[
        list[str] | None,
        typer.Option("--category", metavar="NAME", help="Ask only this category. May be given several times."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="The most questions of each category.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Which of them are drawn.")] = 0,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, help="Questions that are asked at the same time.")
    ] = 1,
    max_tokens: MaxTokens = 256,
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="FILE", help="Where every answer is kept; what is there is not asked again."),
    ] = None,
    failures: Annotated[
        Path | None, typer.Option("--failures", metavar="FILE", help="Write the wrong answers there, to be read.")
    ] = None,
    prompts_out: Annotated[
        Path | None,
        typer.Option("--prompts-out", metavar="FILE", help="Ask nobody: write the prompts, to be answered elsewhere."),
    ] = None,
    template: Annotated[
        str, typer.Option("--template", metavar="NAME", help="The chat template of these prompts: qwen2.5 or chatml.")
    ] = "qwen2.5",
    answers: Annotated[
        list[Path] | None,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="Ask nobody: score answers that were made elsewhere. May be given several times.",
        ),
    ] = None,
    again: Annotated[
        int, typer.Option("--again", metavar="N", min=0, help="Ask again after a malformed call, so often at most.")
    ] = 0,
) -> None:
    """Measure how well a model calls in each dialect, and what it takes."""
    from toolspeak.cli.eval import Options, evaluate

    evaluate(
        Options(
            suite=suite,
            model=model,
            dialects=dialect,
            categories=tuple(category or ()),
            limit=limit,
            seed=seed,
            results=results,
            prompts_out=prompts_out,
            answers=tuple(answers or ()),
            again=again,
            template=template,
            failures=failures,
            concurrency=concurrency,
            max_tokens=max_tokens,
        )
    )


@app.command("calibrate")
def calibrate_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model, as --model takes it.", show_default=False)],
    minutes: Annotated[float, typer.Option("--minutes", metavar="N", min=0, help="About how long it may take.")] = 12,
    dialect: Annotated[
        str, typer.Option("--dialect", metavar="NAMES", help="all, or dialects with commas between them.")
    ] = "all",
    max_tokens: MaxTokens = 256,
) -> None:
    """Find the dialect in which a model calls best, say how sure that is, and use it from then on."""
    from toolspeak.cli.eval import calibrate

    calibrate(model, minutes=minutes, dialects=dialect, max_tokens=max_tokens)


@app.command("serve")
def serve_command(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="Who answers, as elsewhere. May be given several times."),
    ] = None,
    dialect: DialectName = None,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Where to listen; 0 is any that is free.")
    ] = 8765,
    key_env: Annotated[
        str | None,
        typer.Option("--key-env", metavar="NAME", help="The environment variable with the key clients must send."),
    ] = None,
    mend: Annotated[bool, typer.Option("--mend/--no-mend", help="Ask again for a call that was malformed.")] = True,
    thinks: Annotated[
        bool, typer.Option("--thinks", help="The model may begin in the middle of reasoning: stream only what is none.")
    ] = False,
) -> None:
    """Serve models to any OpenAI or Anthropic client, which gets native tool calls from each of them."""
    try:
        from toolspeak.cli.serve import ServeOptions, serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise UsageError(f"the gateway needs {error.name}; install it with: pip install 'toolspeak[gateway]'") from None

    serve(
        ServeOptions(
            models=tuple(model or ()),
            dialect=dialect,
            host=host,
            port=port,
            key_env=key_env,
            mends=2 if mend else 0,
            thinks=thinks,
        )
    )


@app.command("pull")
def pull_command(
    model: Annotated[str, typer.Argument(metavar="[MODEL]", help="The model whose weights to get.")] = "local",
) -> None:
    """Get the weights of the embedded model: 1.1 GB, once. A pull that was cut goes on where it was."""
    from rich.console import Console

    from toolspeak.cli.pull import pulled

    path = pulled(model, Console(stderr=True, highlight=False, soft_wrap=True))
    sys.stdout.write(f"{path}\n")


@app.command("config")
def config_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the settings as JSON.")] = False,
) -> None:
    """Show the settings that hold here, and where each came from."""
    from rich.console import Console

    from toolspeak.cli import config
    from toolspeak.settings import settings

    console = Console(highlight=False)
    if as_json:
        sys.stdout.write(config.as_json(settings()) + "\n")
    elif console.is_terminal:
        console.print(config.listing(settings()))
    else:
        sys.stdout.write(config.as_lines(settings()) + "\n")
