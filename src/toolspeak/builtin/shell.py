"""`run_shell`: runs a shell command after approval. It is not confined: approval is the only protection."""

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from toolspeak.errors import ToolError, UsageError
from toolspeak.execution.sandbox.process import CommandExit, OutputBuffer, run_supervised
from toolspeak.tools import Tool

MAX_OUTPUT_BYTES = 20_000
"""How much output is kept: the beginning and the end."""

_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")


class ShellTool(Tool[[str], str]):
    """A tool that runs shell commands.

    Examples:
        >>> ShellTool().spec.approve
        True
    """

    def __init__(
        self,
        root: str | Path = ".",
        *,
        seconds: float = 60.0,
        output: int = MAX_OUTPUT_BYTES,
        env: Mapping[str, str] | None = None,
        approve: bool = True,
    ) -> None:
        """Make the tool.

        Args:
            root: The folder in which commands start. They can leave it.
            seconds: How long a command may take before it is ended, with all its processes.
            output: How many bytes of output are kept.
            env: The environment of commands; if None, that of the program without variables that look like secrets.
            approve: Whether each command needs approval.
        """
        if not seconds > 0:
            raise UsageError(f"seconds is a number above 0, not {seconds!r}")

        def run_shell(command: str) -> str:
            """Run a command.

            Args:
                command: The command line, for sh.
            """
            return _run(command, Path(root), seconds, output, _environment_without_secrets() if env is None else env)

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
    printed = OutputBuffer(output)

    def stop_reason(pid: int) -> str | None:
        return f"it took longer than {seconds:g} seconds" if time.monotonic() > deadline else None

    try:
        command_exit = run_supervised(
            ["/bin/sh", "-c", command],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=None,
            stop_reason=stop_reason,
        )
    except OSError as error:  # no such folder, too long a command
        raise ToolError(f"the command could not be started: {error}") from error
    return _format_result(command_exit, printed.text().rstrip("\n"))


def _format_result(command_exit: CommandExit, text: str) -> str:
    if command_exit.stop_reason is not None:
        raise ToolError(f"{text}\nstopped: {command_exit.stop_reason}".lstrip("\n"))
    if command_exit.code != 0:
        raise ToolError(f"{text}\nthe command ended with code {command_exit.code}".lstrip("\n"))
    return text or "(done; nothing was printed)"


def _environment_without_secrets() -> dict[str, str]:
    """Return the environment without API keys and the like: what a command prints goes to a model."""
    return {
        name: value for name, value in os.environ.items() if not any(word in name.upper() for word in _SECRET_WORDS)
    }


run_shell = ShellTool()
