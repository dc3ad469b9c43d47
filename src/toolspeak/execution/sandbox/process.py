"""A command under supervision: what it prints is kept up to a cap, and when it must end, all of its processes do.

No thread and no `preexec_fn`: the child is the leader of a session of its own, which is what gets killed. One that
makes itself another session gets away from that; in the sandbox the kernel forbids it.
"""

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from toolspeak._frozen import frozen

TICK = 0.05
"""Seconds between two looks at the time, when nothing is printed."""

_PIECE = 65_536


class Kept:
    """The beginning and the end of what was printed. The middle is dropped, not stored."""

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
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
        return self.size - len(self._head) - len(self._tail)

    def text(self) -> str:
        """What was kept, with a mark where something is missing."""
        if not self.dropped:
            return (self._head + self._tail).decode(errors="replace")
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        return f"{head}\n… ({self.dropped} bytes left out) …\n{tail}"


@frozen
class Finished:
    """How a command ended: its exit code (negative: the signal), or why it was stopped."""

    code: int
    stopped: str | None


def supervise(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: IO[bytes] | int,
    out: Kept,
    err: Kept | None,
    stop: Callable[[], str | None],
) -> Finished:
    """Run a command until it ends or `stop` gives a reason to end it.

    Args:
        command: The program and its arguments.
        cwd: The folder it starts in.
        env: Its whole environment.
        stdin: What it reads.
        out: Takes what it prints.
        err: Takes its standard error; `None` joins that to `out`.
        stop: Asked after every piece of output, and every few hundredths of a second.
    """
    process = subprocess.Popen(  # noqa: S603 (what runs is the caller's to decide)
        command,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if err is None else subprocess.PIPE,
        start_new_session=True,
    )
    stopped = None
    with process, selectors.DefaultSelector() as selector:
        try:
            _watch(selector, process.stdout, out)
            _watch(selector, process.stderr, err)
            while stopped is None and not _ended(process):
                _read(selector, TICK)
                stopped = stop()
            _kill(process)  # and what it left in the background, which could print without end
            while stopped is None and _read(selector, 0):
                stopped = stop()
        finally:
            _kill(process)
            process.wait()
    return Finished(code=process.returncode, stopped=stopped)


def _watch(selector: selectors.BaseSelector, stream: IO[bytes] | None, kept: Kept | None) -> None:
    if stream is not None and kept is not None:
        selector.register(stream, selectors.EVENT_READ, kept)


def _read(selector: selectors.BaseSelector, seconds: float) -> bool:
    """Take what there is, and wait for it for some time; whether there was something."""
    if not selector.get_map():
        seconds = min(seconds, TICK / 10)  # it closed its streams: it is about to end, or goes on in silence
    got = False
    for key, _ in selector.select(seconds):
        if piece := os.read(key.fd, _PIECE):
            key.data.add(piece)
            got = True
        else:
            selector.unregister(key.fileobj)
    return got


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the leader ended. It is not reaped yet: as long as it is not, its number names this group alone."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
