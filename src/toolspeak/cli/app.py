"""The command line. Commands import what they need when they are called, so that `toolspeak --help` is fast.

Each group of commands is a module, `…_commands.py`; here they are put together.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from copy import copy
from io import TextIOWrapper
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandInfo, TyperInfo

from toolspeak.cli.conversation_commands import chat_command, log_app, run_command, templates_app
from toolspeak.cli.model_commands import (
    calibrate_command,
    conformance_command,
    eval_command,
    local_app,
    pull_command,
    serve_command,
)
from toolspeak.cli.server_commands import mcp_app, page_command, runs_app, worker_command
from toolspeak.cli.tool_commands import (
    call_command,
    config_command,
    doctor_command,
    graph_command,
    parse_command,
    tools_command,
    trace_command,
    trust_command,
)
from toolspeak.values.errors import ToolsChanged, ToolspeakError, UsageError
from toolspeak.values.package import __version__


class GroupedCommand(TyperCommand):
    """A command whose help names its arguments plainly, and has its options under headings."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name of the command: typer would write `{TARGET}` and `[[ID]...]...`."""
        pieces = ["[OPTIONS]"]
        for each in self.get_params(ctx):
            if each.param_type_name == "argument":
                pieces.append(f"{each.metavar}" if each.required else f"[{each.metavar}]")
                pieces[-1] += "..." * (each.nargs == -1)
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options."""
        arguments, options = list[_HelpRow](), list[_HelpRow]()
        for each in self.get_params(ctx):
            if (row := each.get_help_record(ctx)) is not None:
                is_argument = each.param_type_name == "argument"
                row = (f"{each.metavar}", row[1]) if is_argument else row
                (arguments if is_argument else options).append((getattr(each, "rich_help_panel", None), row))
        _write_sections(formatter, arguments, "Arguments")
        _write_sections(formatter, options, "Other options" if any(title for title, _ in options) else "Options")


class GroupedCommands(TyperGroup):
    """Commands that are listed under headings, each with the whole first sentence of its help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands."""
        commands: list[Any] = [self.commands[name] for name in self.list_commands(ctx)]
        rows = [(each.rich_help_panel, (each.name, each.get_short_help_str(200))) for each in commands]
        _write_sections(formatter, rows, "Commands")


_HelpRow: TypeAlias = tuple[str | None, tuple[str, str]]
"""A row of a help, under the heading to which it belongs."""


def _write_sections(formatter: Any, rows: Iterable[_HelpRow], other: str) -> None:
    """Write rows under their headings, in the order in which those first occur; `other` is for rows without one."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for heading, row in rows:
        sections.setdefault(heading or other, []).append(row)
    for heading, section in sections.items():
        with formatter.section(heading):
            formatter.write_dl(section)


app = typer.Typer(
    rich_markup_mode=None,  # help drawn by rich would take longer to import than everything else
    pretty_exceptions_enable=False,
    cls=GroupedCommands,
    help="Let any language model call your Python functions.",
)


def run() -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a character that the encoding lacks is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        return select_commands(sys.argv[1:])(standalone_mode=False) or 0
    except ToolsChanged as error:  # the difference is read line by line
        return _fail(str(error), keeps_lines=True)
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
        return _fail(format_message().replace("Value error, ", ""))  # which pydantic puts before the words of typer


def select_commands(words: Sequence[str]) -> typer.Typer:
    """Return the command line with those commands whole that the words name, since typer takes a millisecond for each.

    The others have their names and their help, for the list of all commands.
    """
    if any(name.endswith("_COMPLETE") for name in os.environ):  # a shell asks what can be written
        return app
    selected, commands, groups = copy(app), app.registered_commands, app.registered_groups
    selected.registered_commands = [each if each.name in words else _leave_out_parameters(each) for each in commands]
    selected.registered_groups = [each if each.name in words else _leave_out_commands(each) for each in groups]
    return selected


def _leave_out_parameters(command: CommandInfo) -> CommandInfo:
    def listed() -> None: ...

    listed.__doc__ = command.callback.__doc__
    left = copy(command)
    left.callback = listed
    return left


def _leave_out_commands(group: TyperInfo) -> TyperInfo:
    left = copy(group)
    left.typer_instance = copy(group.typer_instance)
    if left.typer_instance is not None:
        left.typer_instance.registered_commands = []
    return left


def _fail(message: str, *, code: int = 2, keeps_lines: bool = False) -> int:
    from toolspeak.cli.safe_text import print_error

    print_error(message, keeps_lines=keeps_lines)
    return code


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Let any language model call your Python functions."""
    if version:
        sys.stdout.write(f"toolspeak {__version__}\n")
    elif context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


COMMANDS = {
    "Conversations": {"chat": chat_command, "run": run_command, "log": log_app, "templates": templates_app},
    "Tools": {"tools": tools_command, "call": call_command, "parse": parse_command, "mcp": mcp_app},
    "Runs": {
        "graph": graph_command,
        "trace": trace_command,
        "page": page_command,
        "worker": worker_command,
        "runs": runs_app,
    },
    "Models": {
        "serve": serve_command,
        "pull": pull_command,
        "local": local_app,
        "eval": eval_command,
        "calibrate": calibrate_command,
        "conformance": conformance_command,
    },
    "Settings": {"config": config_command, "trust": trust_command, "doctor": doctor_command},
}
"""The commands, under the headings of the help."""

for heading, commands in COMMANDS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            for each in command.registered_commands:
                each.cls = GroupedCommand
            app.add_typer(command, name=name, cls=GroupedCommands, rich_help_panel=heading)
        else:
            app.command(name, cls=GroupedCommand, rich_help_panel=heading)(command)
