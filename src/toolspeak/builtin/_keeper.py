"""Runs a command, and ends every process that the command left behind: `python -I -S _keeper.py PROGRAM ARGUMENT…`.

A program of its own, for Linux, which imports nothing of toolspeak. A process whose parent has ended becomes a child of
the keeper, even if it leads a session of its own. When the command has ended, or when the process that started the
keeper sends `SIGTERM`, the keeper kills all of its children, again and again until it has none. Then it ends as the
command did.

It is no confinement: a command that kills the keeper, or runs as another user, keeps its processes.

It starts with every command, so it imports little: no `pathlib`.
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

# ruff: noqa: PTH123, PTH208 (pathlib is slow to import)


_PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 15, 36
_AWAITED = (signal.SIGCHLD, signal.SIGTERM)


def main() -> None:
    """Run the keeper."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_PR_SET_NAME, b"command-keeper", 0, 0, 0)  # a command that ends all Pythons by name spares the keeper
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    starter = os.getppid()
    command = os.fork()
    if not command:
        _execute(sys.argv[1:], mask)
    status = _wait(command, starter)
    with suppress(OSError):
        os.killpg(command, signal.SIGKILL)
    _kill_children()
    _end_as(status)


def _execute(command: list[str], mask: set[int]) -> None:
    """Become the command, in a session of its own; never returns."""
    try:
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        with open("/proc/self/environ", "rb") as file:  # what it was started with; Python may have added a locale since
            pairs = [word.partition(b"=") for word in file.read().split(b"\0") if b"=" in word]
        environ = {name: value for name, _, value in pairs}
        os.execve(command[0], command, environ)  # noqa: S606 (the command is the whole purpose)
    except OSError as error:
        os.write(2, f"{command[0]} cannot be started: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _wait(command: int, starter: int) -> int:
    """Wait until the command has ended; return its status, or that of a killed one if the starter ends it first."""
    while True:
        received = signal.sigwaitinfo(_AWAITED)
        if received.si_signo == signal.SIGTERM:
            if received.si_pid == starter:
                return int(signal.SIGKILL)
            continue
        for pid, status in _reap():
            if pid == command:
                return status


def _reap() -> Iterator[tuple[int, int]]:
    """Yield the id and the status of each child that has ended."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended


def _kill_children() -> None:
    """Kill all children, for some seconds. The children of a killed one become children of the keeper, and are next."""
    deadline = time.monotonic() + 3.0
    while time.monotonic() < deadline and sum(map(_kill, _children())):
        time.sleep(0.001)
        list(_reap())


def _kill(process: int) -> bool:
    """Kill a process; return whether that was allowed."""
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:
        return False
    return True


def _children() -> Iterator[int]:
    mine = str(os.getpid()).encode()
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # the process may have ended
            # PID (NAME) STATE PARENT …, where the name may have spaces and brackets
            if file.read().rpartition(b")")[2].split()[1] == mine:
                yield int(name)


def _end_as(status: int) -> None:
    """End as a process with this status did."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(OSError):  # SIGKILL cannot be set
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
