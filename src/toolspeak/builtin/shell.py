"""`run_shell`: runs a shell command after approval. It is not confined: approval is the only protection.

What a command prints goes to a model, so a command sees only those variables of the environment that are ordinary. A
command ends with all of its processes: on Linux also those in a session of their own (`_keeper.py`), elsewhere only
those of its process group.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from toolspeak.execution.sandbox.process import CommandExit, OutputBuffer, python_program, run_supervised
from toolspeak.tools import Tool
from toolspeak.values.errors import ToolError, UsageError

SHELL = "/bin/sh"

# Names, not patterns of secrets: any name can hold a secret. Variables of proxies are left out (an address may hold a
# password), and those of agents that sign or decrypt, such as SSH_AUTH_SOCK.
_ORDINARY_VARIABLES = frozenset(
    """
    PATH HOME USER LOGNAME SHELL PWD HOSTNAME LANG LANGUAGE TZ TMPDIR TMP TEMP
    TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR EDITOR VISUAL PAGER CI DEBIAN_FRONTEND
    XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR
    VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE PYENV_ROOT PYENV_VERSION UV_CACHE_DIR PIP_CACHE_DIR
    PYTHONPATH PYTHONHOME PYTHONUTF8 PYTHONIOENCODING PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED
    NVM_DIR NVM_BIN NODE_ENV NODE_PATH JAVA_HOME GOPATH GOROOT GOBIN GOCACHE CARGO_HOME RUSTUP_HOME GEM_HOME GEM_PATH
    CC CXX CPP LD AR CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS PKG_CONFIG_PATH LD_LIBRARY_PATH LIBRARY_PATH CPATH
    MANPATH CUDA_HOME CUDA_VISIBLE_DEVICES OMP_NUM_THREADS
    SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS
    """.split()
)


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
        output: int = 20_000,
        env: Mapping[str, str] | None = None,
        keep: Iterable[str] = (),
        approve: bool = True,
    ) -> None:
        """Make the tool.

        Args:
            root: The folder in which commands start. They can leave it.
            seconds: How long a command may take before it is ended, with all its processes.
            output: How many bytes of output are kept, of its beginning and its end.
            env: The whole environment of commands; if None, the ordinary variables of the program's environment, such
                as `PATH`, `HOME`, `LANG` and `VIRTUAL_ENV`.
            keep: Names of further variables of the program's environment that commands may see.
            approve: Whether each command needs approval. If none does, none is asked about either because of where its
                words come from.
        """
        if not seconds > 0:
            raise UsageError(f"seconds is a number above 0, not {seconds!r}")
        if isinstance(keep, str):
            raise UsageError(f"keep is a list of names, not the text {keep!r}")
        kept = frozenset(keep)

        def run_shell(command: str) -> str:
            """Run a command.

            Args:
                command: The command line, for sh.
            """
            ordinary = {
                name: value
                for name, value in os.environ.items()
                if name in _ORDINARY_VARIABLES or name.startswith("LC_") or name in kept
            }
            return _run(command, Path(root), seconds, output, ordinary if env is None else env)

        super().__init__(
            run_shell,
            description=(
                "Run a command line in the shell (sh), in the project's folder; the result is what it prints. It reads "
                f"no input, and is ended after {seconds:g} second{'s' * (seconds != 1)}, with what it left running "
                "in the background."
            ),
            effect="once",
            approve=approve,
            sequential=True,
            result="foreign",  # a command prints what anybody may have written
            decisive=None if approve else False,
        )


def _run(command: str, root: Path, seconds: float, output: int, env: Mapping[str, str]) -> str:
    if os.name != "posix":
        raise UsageError("run_shell needs Linux or macOS")
    if "\0" in command:
        raise ToolError("a command has no zero bytes in it")
    try:
        os.fsencode(command)
    except UnicodeEncodeError as error:
        raise ToolError("a command has no half characters (surrogates) in it; write the whole character") from error
    if not os.access(SHELL, os.X_OK):
        raise UsageError(f"run_shell needs a shell, and {SHELL} is missing or may not be executed")
    keeper = _keeper_command()
    deadline = time.monotonic() + seconds
    printed = OutputBuffer(output)

    def stop_reason(pid: int) -> str | None:
        return f"it took longer than {seconds:g} s" if time.monotonic() > deadline else None

    try:
        command_exit = run_supervised(
            [*keeper, SHELL, "-c", command],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=None,
            stop_reason=stop_reason,
            ends_itself=bool(keeper),
        )
    except OSError as error:  # no such folder, too long a command
        if keeper and error.filename == keeper[0]:
            error.filename = SHELL  # the keeper is no concern of a model
        raise ToolError(f"the command could not be started: {error}") from error
    return _format_result(command_exit, printed.text().rstrip("\n"))


def _format_result(command_exit: CommandExit, text: str) -> str:
    if command_exit.stop_reason is not None:
        raise ToolError(f"{text}\nstopped: {command_exit.stop_reason}".lstrip("\n"))
    if command_exit.code != 0:
        raise ToolError(f"{text}\nthe command ended with code {command_exit.code}".lstrip("\n"))
    return text or "(done; nothing was printed)"


def _keeper_command() -> list[str]:
    """Return the command that the shell is started with; empty where a keeper cannot run."""
    python = python_program()
    if not sys.platform.startswith("linux") or getattr(sys, "frozen", False) or not os.access(python, os.X_OK):
        return []  # a frozen program would start itself, not Python
    return [python, "-I", "-S", str(Path(__file__).with_name("_keeper.py"))]


run_shell = ShellTool()
