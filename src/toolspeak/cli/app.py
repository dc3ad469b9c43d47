"""The command line. Commands import what they need when they are called, so that `toolspeak --help` is fast.

Each group of commands is a module, `…_commands.py`; here they are put together.
"""

import os
import sys
from collections.abc import Sequence
from copy import copy
from io import TextIOWrapper
from typing import Annotated

import typer
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
    graph_command,
    parse_command,
    tools_command,
    trace_command,
    trust_command,
)
from toolspeak.values.errors import ToolsChanged, ToolspeakError, UsageError
from toolspeak.values.package import __version__

app = typer.Typer(
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
        return _fail(format_message())


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
    """Any model calls your Python functions."""
    if version:
        sys.stdout.write(f"toolspeak {__version__}\n")
    elif context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


app.command("chat")(chat_command)
app.command("run")(run_command)
app.command("tools")(tools_command)
app.command("call")(call_command)
app.command("parse")(parse_command)
app.command("graph")(graph_command)
app.command("trace")(trace_command)
app.command("eval")(eval_command)
app.command("calibrate")(calibrate_command)
app.command("conformance")(conformance_command)
app.command("worker")(worker_command)
app.add_typer(runs_app, name="runs")
app.add_typer(log_app, name="log")
app.add_typer(templates_app, name="templates")
app.command("page")(page_command)
app.command("serve")(serve_command)
app.command("pull")(pull_command)
app.add_typer(local_app, name="local")
app.add_typer(mcp_app, name="mcp")
app.command("trust")(trust_command)
app.command("config")(config_command)
