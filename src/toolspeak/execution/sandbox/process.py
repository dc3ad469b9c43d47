"""Runs a command under supervision: its output is kept up to a limit, and all of its processes end with it.

It needs no thread and no `preexec_fn`: the child leads a session of its own, and its process group is killed. A process
that creates another session escapes that. In the sandbox the kernel forbids it; `run_shell` uses `builtin/_keeper.py`.
"""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

POLL_SECONDS = 0.05
"""The longest time between two calls of `stop_reason`, when nothing is printed."""


def python_program() -> str:
    """Return the path of this Python, outside of any virtual environment."""
    return os.path.realpath(cast("str", getattr(sys, "_base_executable", sys.executable)))


class OutputBuffer:
    """Keeps the beginning and the end of an output. The middle is dropped, not stored, but counts for its `size`."""

    def __init__(self, max_bytes: int) -> None:
        self._half = max(1, max_bytes // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        room = self._half - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        self._tail += piece
        if len(self._tail) > self._half:
            del self._tail[: -self._half]

    @property
    def dropped(self) -> int:
        """How many bytes were dropped."""
        return self.size - len(self._head) - len(self._tail)

    def text(self) -> str:
        """Return the kept output, with a note where bytes were dropped."""
        if not self.dropped:
            return (self._head + self._tail).decode(errors="replace")
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        return f"{head}\n… ({self.dropped} byte{'s' * (self.dropped != 1)} left out) …\n{tail}"


class ProgramStartError(UsageError):
    """A program is missing, or may not be executed."""


@frozen
class CommandExit:
    """How a command ended."""

    code: int  # the exit code; negative: the number of the signal that ended it
    stop_reason: str | None  # `None` if it ended by itself


def run_supervised(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: IO[bytes] | int,
    stdout: OutputBuffer,
    stderr: OutputBuffer | None,
    stop_reason: Callable[[int], str | None],
    ends_itself: bool = False,
) -> CommandExit:
    """Run a command until it ends, or until `stop_reason` returns a reason to end it.

    `stderr` joins `stdout` if it is None. `stop_reason` is called with the process id, after every piece of output and
    at least every `POLL_SECONDS`. `ends_itself` says whether the command, as `builtin/_keeper.py`, ends all of its
    processes when it receives `SIGTERM`.

    Raises `ProgramStartError` if the program is missing or may not be executed, and `OSError` if the command could not
    be started for another reason.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 (what runs is the caller's to decide)
            command,
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if stderr is None else subprocess.PIPE,
            start_new_session=True,
        )
    except (FileNotFoundError, PermissionError) as error:
        if error.filename != command[0]:  # the folder, not the program
            raise
        raise ProgramStartError(f"{command[0]} cannot be started: {error.strerror}") from error
    reason = None
    with process, selectors.DefaultSelector() as selector:
        try:
            for stream, buffer in ((process.stdout, stdout), (process.stderr, stderr)):
                if stream is not None and buffer is not None:
                    selector.register(stream, selectors.EVENT_READ, buffer)
            while reason is None and not _has_ended(process):
                _read(selector, POLL_SECONDS)
                reason = stop_reason(process.pid)
            if reason is None:
                _kill_group(process)  # ends processes left in the background, too, which could print without end
            while reason is None and _read(selector, 0):
                reason = stop_reason(process.pid)
        finally:
            if ends_itself:
                _terminate(process)
            _kill_group(process)
            process.wait()
    return CommandExit(code=process.returncode, stop_reason=reason)


def _read(selector: selectors.BaseSelector, seconds: float) -> bool:
    """Read what has been printed, waiting up to `seconds` for it; whether there was something to read."""
    if not selector.get_map():
        seconds = min(seconds, POLL_SECONDS / 10)  # it closed its streams: it is about to end, or runs on in silence
    has_read = False
    for key, _ in selector.select(seconds):
        if piece := os.read(key.fd, 65_536):
            key.data.add(piece)
            has_read = True
        else:
            selector.unregister(key.fileobj)
    return has_read


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the leader has ended. It is not reaped here: until it is, its process id names no other group."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Ask the leader to end all of its processes and itself, and wait for that, for some seconds."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process.pid, signal.SIGTERM)  # not send_signal, which would reap it
    deadline = time.monotonic() + 5.0
    while not _has_ended(process) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS / 10)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
