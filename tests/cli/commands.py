"""Commands of toolspeak, each in a process of its own that starts quickly.

What a command imports takes most of its time. `run_command` therefore forks its process from one that has imported
all of it (`command_starter.py`), which runs as long as the tests do. Everything else is as in a process that the shell
started: arguments, environment, working directory, pipes, signals, exit code, and what happens at exit. `terminal.py`
starts commands in a terminal in the same way (`StartedCommand`).

Tests of the start itself (which modules are imported, and from where) use `subprocess`.
"""

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

Done = subprocess.CompletedProcess[str]

STARTER = Path(__file__).with_name("command_starter.py")
starters: set[int] = set()
"""The id of the process that starts commands, once it runs."""

_sending = threading.Lock()


def run_command(
    *arguments: str, cwd: Path, env: Mapping[str, str], stdin: str | bytes | None = "", timeout: float = 80
) -> Done:
    """Run `toolspeak ARGUMENTS` and return its exit code and its output.

    Args:
        arguments: The command and its arguments.
        cwd: The working directory.
        env: All environment variables.
        stdin: What is written to standard input, which is a pipe; None for a standard input that is empty and no pipe.
        timeout: Seconds after which the process is killed and `subprocess.TimeoutExpired` raised.
    """
    command = [sys.executable, "-m", "toolspeak.cli", *arguments]
    given = stdin.encode() if isinstance(stdin, str) else stdin
    if not can_fork(env):
        return _run_python(command, cwd, env, given, timeout)
    (out, their_out), (err, their_err) = os.pipe(), os.pipe()
    their_in, writer = os.pipe() if given is not None else (os.open(os.devnull, os.O_RDONLY), None)
    process = StartedCommand(arguments, [their_in, their_out, their_err], cwd, env)
    with ThreadPoolExecutor(3) as threads:
        output = [threads.submit(_read_all, file) for file in (out, err)]
        if writer is not None:
            threads.submit(_write_all, writer, given or b"")
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Done(command, code, *(_decode(each.result()) for each in output))


class StartedCommand:
    """A command in a process that was forked from the one that has imported everything.

    Args:
        arguments: The command and its arguments.
        files: Its standard input, output and error, which are closed here.
        cwd: The working directory.
        env: All environment variables.
        in_terminal: Whether its standard input becomes its controlling terminal, so that Ctrl-C reaches it.

    Attributes:
        returncode: The exit code, once `wait` has returned it.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        files: Sequence[int],
        cwd: Path,
        env: Mapping[str, str],
        *,
        in_terminal: bool = False,
    ) -> None:
        request = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(env), "in_terminal": in_terminal}
        data = json.dumps(request).encode()
        answer, their_answer = os.pipe()
        with _sending:
            requests = _start()
            socket.send_fds(requests, [len(data).to_bytes(8, "big")], [*files, their_answer])
            requests.sendall(data)
        for file in {*files, their_answer}:
            os.close(file)
        self.returncode: int | None = None
        self._arguments = arguments
        self._answers = os.fdopen(answer, "rb", buffering=0)
        self._pid = int.from_bytes(self._answers.read(8), "big")

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self._pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float = 80) -> int:
        """Return the exit code. Raises `subprocess.TimeoutExpired` if the command does not end in time."""
        if self.returncode is None:
            if not select.select([self._answers], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self._arguments, timeout)
            self.returncode = int.from_bytes(self._answers.read(8), "big", signed=True)
            self._answers.close()
        return self.returncode


def _run_python(command: list[str], cwd: Path, env: Mapping[str, str], stdin: bytes | None, timeout: float) -> Done:
    """Run a command in a process that imports everything itself."""
    source = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=cwd, env=env, stdin=source, stdout=pipe, stderr=pipe) as process:
        try:
            out, err = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return Done(command, process.returncode, _decode(out), _decode(err))


def can_fork(env: Mapping[str, str]) -> bool:
    """Whether a command can be forked: the variables that Python reads when it starts are those of the tests."""
    applied = ("PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE")
    mine, theirs = (
        {name: value for name, value in each.items() if name.startswith("PYTHON") and name not in applied}
        for each in (os.environ, env)
    )
    return hasattr(os, "fork") and mine == theirs


@functools.cache
def _start() -> socket.socket:
    """Start the program that starts commands, and return the socket for requests."""
    ours, theirs = socket.socketpair()
    starter = subprocess.Popen([sys.executable, str(STARTER), str(theirs.fileno())], pass_fds=[theirs.fileno()])
    theirs.close()
    starters.add(starter.pid)

    def stop() -> None:
        ours.close()
        starter.wait(10)

    atexit.register(stop)
    return ours


def _read_all(file: int) -> bytes:
    with os.fdopen(file, "rb") as stream:
        return stream.read()


def _write_all(file: int, data: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(file, "wb") as stream:
        stream.write(data)


def _decode(data: bytes) -> str:
    return data.decode().replace("\r\n", "\n").replace("\r", "\n")
