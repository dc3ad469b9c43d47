"""`run_shell`: a command of the shell, asked for before it runs. It is not confined: whoever agrees, answers for it."""

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from toolspeak.errors import ToolError, UsageError
from toolspeak.execution.sandbox.process import Finished, Kept, supervise
from toolspeak.tools import Tool

OUTPUT = 20_000
"""Bytes of output that are kept: the beginning and the end."""

_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")


class ShellTool(Tool[[str], str]):
    """A tool that runs commands of the shell.

    Example:
        >>> ShellTool().spec.approve
        True
    """

    def __init__(
        self,
        root: str | Path = ".",
        *,
        seconds: float = 60.0,
        output: int = OUTPUT,
        env: Mapping[str, str] | None = None,
        approve: bool = True,
    ) -> None:
        """Make the tool.

        Args:
            root: The folder in which commands start. They can leave it.
            seconds: How long a command may take; then it is ended with all its processes.
            output: Bytes of output that are kept.
            env: The environment of commands; left out, that of the program without what looks like a secret.
            approve: Whether somebody is asked before each command.
        """
        if not seconds > 0:
            raise UsageError(f"seconds is a number above 0, not {seconds!r}")

        def run_shell(command: str) -> str:
            """Run a command.

            Args:
                command: The command line, for sh.
            """
            return _run(command, Path(root), seconds, output, _without_secrets() if env is None else env)

        super().__init__(
            run_shell,
            description=(
                "Run a command line in the shell (sh), in the project's folder; the result is what it prints. It reads "
                f"no input, and is ended after {seconds:g} seconds, with what it left running in the background."
            ),
            effect="once",
            approve=approve,
            sequential=True,
        )


def _run(command: str, root: Path, seconds: float, output: int, env: Mapping[str, str]) -> str:
    if os.name != "posix":
        raise UsageError("run_shell needs Linux or macOS")
    if "\0" in command:
        raise ToolError("a command has no zero bytes in it")
    deadline = time.monotonic() + seconds
    kept = Kept(output)

    def late() -> str | None:
        return f"it took longer than {seconds:g} seconds" if time.monotonic() > deadline else None

    try:
        finished = supervise(
            ["/bin/sh", "-c", command],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            out=kept,
            err=None,
            stop=late,
        )
    except OSError as error:  # no such folder, too long a command
        raise ToolError(f"the command could not be started: {error}") from error
    return _told(finished, kept.text().rstrip("\n"))


def _told(finished: Finished, text: str) -> str:
    if finished.stopped is not None:
        raise ToolError(f"{text}\nstopped: {finished.stopped}".lstrip("\n"))
    if finished.code != 0:
        raise ToolError(f"{text}\nthe command ended with code {finished.code}".lstrip("\n"))
    return text or "(done; nothing was printed)"


def _without_secrets() -> dict[str, str]:
    """The environment, without the keys of models and the like: what a command prints goes to a model."""
    return {name: value for name, value in os.environ.items() if not any(word in name.upper() for word in _SECRET)}


run_shell = ShellTool()
