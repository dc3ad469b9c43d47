"""The commands, and what they share: targets, exit codes, and a standard output that holds the answer alone."""

import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from toolspeak._version import __version__
from toolspeak.cli import parsing
from toolspeak.cli.calling import arguments_from, called
from toolspeak.cli.showing import Form, as_form, listing, skipped_listing
from toolspeak.dialects import understand
from toolspeak.errors import UsageError
from toolspeak.tools import Toolbox, discover

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Any model calls your Python functions.",
)

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="Where the functions are: module, package.module, file.py, folder/ or module:function.",
        show_default=False,
    ),
]


def run() -> int:
    """Run the command line and give its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a character that cannot be shown is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        return app(standalone_mode=False) or 0
    except UsageError as error:
        return _complain(str(error))
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


def _complain(message: str) -> int:
    sys.stderr.write(f"toolspeak: {' '.join(message.split())}\n")
    return 2


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Any model calls your Python functions."""
    if version:
        sys.stdout.write(f"toolspeak {__version__}\n")
    elif context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


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
    found = _found(target)
    console = Console(highlight=False)
    if skipped:
        console.print(skipped_listing(found), soft_wrap=True)
    elif form is None:
        console.print(listing(found, target), soft_wrap=not console.is_terminal)
    else:
        sys.stdout.write(as_form(found, form, strict=strict) + "\n")


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
    box = _found(target)
    arguments = arguments_from(pairs or [], text)
    for skipped in box.skipped:
        if skipped.name == name:
            raise UsageError(f"{name} cannot be a tool: {skipped.reason}")
    tool = box[name]
    with _answer_alone():
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
    speaking = parsing.dialect_named(dialect)
    if batch is not None:
        for line in parsing.batch(batch, tools):
            sys.stdout.write(line + "\n")
        return
    with _answer_alone():
        specs = parsing.tools_from(tools)
    found = understand(parsing.text_from(path), specs, speaking=speaking)
    if as_json:
        sys.stdout.write(json.dumps(parsing.whole_as_json(found), ensure_ascii=False) + "\n")
    else:
        Console(highlight=False, soft_wrap=True).print(parsing.listing(found))


def _found(target: str) -> Toolbox:
    # As `python -m` has it: modules of the folder one stands in can be named.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    with _answer_alone():
        return discover(target)


@contextmanager
def _answer_alone() -> Generator[None]:
    """What modules, tools and their child processes print goes to standard error: standard output is for the answer."""
    sys.stdout.flush()
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.stderr.flush()
        os.dup2(answer, 1)
        os.close(answer)
