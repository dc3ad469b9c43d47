"""`full` mode: CPython in a process that is confined before it sees the code.

The parent's part: choose the confinement (Landlock and seccomp of the kernel, or bubblewrap), start the child with an
empty environment in a folder of its own, watch its time, output and files, end it with all its processes, and remove
the folder. The child's part is `child/`.

`HeldFiles` measures all files that the child *holds*, not only those that its folder lists: a file that was removed
takes its space on the disk until nothing has it open or mapped. The parent sees such files in `/proc`: open ones with
their size, mapped ones without, so that each of those counts as the largest file that the process can write. Nothing
else can hold a file, because the filter on system calls refuses the ways to do so: other processes, other tables of
open files, sending an open file over a socket, files in memory. The files are measured at every call, not watched:
between two calls the process can hold more.
"""

import ctypes
import itertools
import json
import math
import os
import random
import shutil
import signal
import stat
import sys
import sysconfig
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from io import FileIO
from pathlib import Path
from typing import Any, cast

from toolspeak.execution.sandbox.child import confine
from toolspeak.execution.sandbox.options import CodeResult, SandboxLimits
from toolspeak.execution.sandbox.process import (
    CommandExit,
    OutputBuffer,
    ProgramStartError,
    python_program,
    run_supervised,
)
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

CHILD_PACKAGE = Path(__file__).parent / "child"
STARTUP_TIMEOUT_SECONDS = 20.0
"""How long Python may take to start; the time of the code is counted from then on."""
MAX_FILES = 500
"""How many files the code may have at a time."""

# The folder becomes a package of its own, so that nothing else of toolspeak can be imported.
_BOOT = """
import sys, types
package = types.ModuleType("child")
package.__path__ = [sys.argv[1]]
sys.modules["child"] = package
from child.launch import main
main()
"""


@frozen
class Confinement:
    """What a process is confined with. Bubblewrap is used where the two others are not both available."""

    landlock: bool = False  # whether the kernel restricts which files the process can reach
    seccomp: str | None = None  # the machine architecture whose system calls are filtered; `None`: none are
    bubblewrap: str | None = None  # the program that gives the process a system of its own

    @property
    def is_sufficient(self) -> bool:
        """Whether the mechanisms are enough to run untrusted code."""
        return self.bubblewrap is not None or (self.landlock and self.seccomp is not None)


@cache
def detect_confinement() -> Confinement:
    """Return what this machine can confine a process with; detected once."""
    if not sys.platform.startswith("linux"):
        return Confinement()
    architecture = confine.filter_architecture() if confine.accepts_filters() else None
    if architecture is not None and confine.landlock_version():
        return Confinement(landlock=True, seccomp=architecture)
    # Bubblewrap may be installed and forbidden here; then it fails, with its reason, when it runs.
    return Confinement(seccomp=architecture, bubblewrap=shutil.which("bwrap"))


def bubblewrap_command(program: str, command: list[str], shown: list[Path], *, disk: int, root: bool) -> list[str]:
    """Build the command that runs `command` in a system with only libraries, Python and an empty `/tmp`.

    There is no `/proc`, no network and no other process. Bubblewrap must be started with an empty environment too: the
    code would find it in `/proc/1/environ` if ever there was a `/proc`.
    It can read the paths in `shown`, beside the libraries of the system. `disk` is the size of `/tmp` in bytes, and
    `root` says whether this process is root.
    """
    wrapped = [program, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    # As root the child switches to another user by itself; otherwise a user namespace takes the place of that.
    wrapped += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if root else ["--unshare-user"]
    wrapped += ["--die-with-parent", "--new-session", "--clearenv"]
    paths = [*(path for path in map(Path, confine.SYSTEM_PATHS) if path.exists()), *shown]
    for folder in sorted({parent for path in paths for parent in path.parents if parent.name}):
        wrapped += ["--perms", "0755", "--dir", str(folder)]  # by default only the owner could pass through
    for path in paths:
        link = path.is_symlink() and not path.readlink().is_absolute()
        wrapped += ["--symlink", str(path.readlink()), str(path)] if link else ["--ro-bind", str(path), str(path)]
    for path in paths:
        for inner in confine.PACKAGE_FOLDERS:
            if (path / inner).is_dir():
                wrapped += ["--tmpfs", str(path / inner), "--remount-ro", str(path / inner)]
    # Not --dev, which brings /dev/shm, where files have no limit, and /dev/zero: mapped, it is memory without a limit.
    wrapped += ["--perms", "0755", "--dir", "/dev"]
    for device in ("/dev/null", "/dev/urandom"):
        wrapped += ["--dev-bind", device, device]
    wrapped += ["--perms", "1777", "--size", str(disk), "--tmpfs", "/tmp", "--chdir", "/tmp"]  # noqa: S108 (inside)
    wrapped += ["--remount-ro", "/"]  # it is a folder in memory; /tmp alone has a limit
    return [*wrapped, "--", *command]


def run_full(
    code: str, limits: SandboxLimits, *, unsafe_local: bool = False, confinement: Confinement | None = None
) -> CodeResult:
    """Run code in CPython.

    Args:
        code: The code.
        limits: What the code may use.
        unsafe_local: Run the code even where it cannot be confined: with your files, your network and your rights.
        confinement: What to confine the code with, instead of all that this machine has.

    Raises:
        UsageError: The code cannot be confined here, or a part of the confinement could not be set up; nothing ran.
    """
    confinement = detect_confinement() if confinement is None else confinement
    if os.name != "posix":
        raise UsageError("Python in a process of its own needs Linux or macOS; use mode='monty' here")
    if not confinement.is_sufficient and not unsafe_local:
        raise UsageError(
            "Python code cannot be confined on this machine: it needs Linux with Landlock and seccomp (5.13 or later, "
            "on x86_64 or aarch64), or bubblewrap (bwrap); use mode='monty', or unsafe_local=True to run it with all "
            "your rights"
        )
    user = _choose_user_id() if os.geteuid() == 0 and sys.platform.startswith("linux") else None
    with _work_folder(user) as folder, tempfile.TemporaryFile() as plan:
        content = {
            "code": code,
            "output": limits.output,
            "seconds": math.ceil(limits.seconds) + 2,  # of CPU time; the wall-clock time is watched by the parent
            "memory": limits.memory,
            "file_size": limits.disk // 4,  # the kernel keeps this limit, for each file alone
            "user": user,
            "landlock": confinement.landlock,
            "seccomp": confinement.seccomp,
            "bubblewrap": confinement.bubblewrap is not None,
        }
        plan.write(json.dumps(content).encode())
        plan.seek(0)
        files = HeldFiles(folder, limits.disk // 4, user, removed=confinement.landlock)
        monitor = _ChildMonitor(limits, files)
        try:
            command_exit = run_supervised(
                _build_command(confinement, limits, root=user is not None),
                cwd=folder,
                env={},
                stdin=plan,
                stdout=monitor.stdout,
                stderr=monitor.reports,
                stop_reason=monitor.stop_reason,
            )
        except ProgramStartError as error:
            cure = "install bubblewrap again" if confinement.bubblewrap else "repair this installation of Python"
            raise UsageError(f"Python code was not run: {error}; {cure}, or use mode='monty'") from error
        except OSError as error:
            raise UsageError(f"Python code was not run: its process could not be started ({error})") from error
        finally:
            files.close()
    return _build_result(command_exit, monitor, limits)


def _build_command(confinement: Confinement, limits: SandboxLimits, *, root: bool) -> list[str]:
    python = python_program()
    command = [python, "-I", "-S", "-X", "utf8", "-c", _BOOT, str(CHILD_PACKAGE)]
    if confinement.bubblewrap is None:
        return command
    libraries = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    shared = list(Path(sys.base_prefix, "lib").glob("libpython*.so*"))
    shown = [Path(python), CHILD_PACKAGE, *dict.fromkeys(libraries), *shared]
    return bubblewrap_command(confinement.bubblewrap, command, shown, disk=limits.disk, root=root)


@contextmanager
def _work_folder(user: int | None) -> Generator[Path]:
    """Make the folder that the code works in, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="toolspeak-"))
    try:
        if user is not None:
            os.chown(folder, user, user)
        yield folder
    finally:
        remove_folder(folder)


def _choose_user_id() -> int:
    """Choose an id that no user and no group has."""
    import grp
    import pwd

    try:
        rows = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()]
    except OSError:
        rows = []
    mapped = max((int(first) + int(count) for first, _, count in rows), default=65_536)  # as often in a container
    # Far above all real ids or, where only some ids exist (in a container), above most.
    for numbers in (range(1_900_000_000, 1_901_000_000), range(62_000, 65_000)):
        if numbers[-1] >= mapped:
            continue
        for _ in range(100):
            number = random.choice(numbers)  # noqa: S311 (no secret: two at a time should differ)
            with suppress(KeyError):
                pwd.getpwuid(number)
                continue
            with suppress(KeyError):
                grp.getgrgid(number)
                continue
            return number
    raise UsageError("no number of a user is free to run Python code as; run as another user than root")


class _ChildMonitor:
    """What the parent sees of the child: its output, its reports about itself (JSON objects), its files and the time.

    When it is `ready`, it has reported something, and the time of the code is running.
    """

    def __init__(self, limits: SandboxLimits, files: "HeldFiles") -> None:
        self._limits = limits
        self._files = files
        self._deadline = time.monotonic() + STARTUP_TIMEOUT_SECONDS
        self.ready = False
        self.stdout = OutputBuffer(2 * limits.output)  # all that the code may print, and some of the end beyond
        self.reports = OutputBuffer(2 * (12 * limits.output + 65_536))  # in JSON a character takes up to twelve bytes

    def stop_reason(self, pid: int) -> str | None:
        if not self.ready and self.reports.size:
            self.ready = True
            self._deadline = time.monotonic() + self._limits.seconds
        if self.reports.dropped:
            return "it wrote to what is not its own"
        if self.stdout.size > self._limits.output:
            return f"it printed more than {self._limits.output} characters"
        if time.monotonic() > self._deadline:
            return f"it took longer than {self._limits.seconds:g} s" if self.ready else "Python did not start"
        if not self.ready:
            return None
        count, size = self._files.measure(pid)
        if count > MAX_FILES:
            return f"it made more than {MAX_FILES} files"
        return f"its files took more than {self._limits.disk} bytes" if size > self._limits.disk else None


def _build_result(command_exit: CommandExit, monitor: _ChildMonitor, limits: SandboxLimits) -> CodeResult:
    reports: list[dict[str, Any]] = []
    for line in monitor.reports.text().splitlines():
        with suppress(ValueError, RecursionError):  # a line that is not a JSON object is not of `child/launch.py`
            if isinstance(report := json.loads(line), dict):
                reports.append(cast("dict[str, Any]", report))
    # The first report is written before the code runs, so it can be trusted.
    if not reports or not reports[0].get("ready"):
        if command_exit.stop_reason is None or reports:
            why = reports[0].get("refused") if reports else monitor.reports.text().strip()[-500:]
            raise UsageError(f"Python code could not be confined, and was not run: {why}")
        return CodeResult(mode="full", error=f"stopped: {command_exit.stop_reason}", stopped=True)
    stdout = monitor.stdout.text()[: limits.output]
    if command_exit.stop_reason is not None:
        return CodeResult(mode="full", stdout=stdout, error=f"stopped: {command_exit.stop_reason}", stopped=True)
    last = reports[-1]
    if "error" not in last:
        return CodeResult(
            mode="full", stdout=stdout, error=_describe_exit(command_exit.code), stopped=command_exit.code < 0
        )
    texts = (last.get("value"), last["error"])
    value, error = (text[: limits.output] if isinstance(text, str) else None for text in texts)
    return CodeResult(mode="full", value=value, stdout=stdout, error=error)


def _describe_exit(code: int) -> str:
    if code == -signal.SIGXCPU:
        return "stopped: it used too much of the processor"
    if code < 0:
        with suppress(ValueError):
            return f"Python ended by the signal {signal.Signals(-code).name}"
    return f"Python ended with the code {code} before the code was through"


class HeldFiles:
    """The files that a process holds."""

    def __init__(self, folder: Path, max_file_bytes: int, user: int | None, *, removed: bool) -> None:
        """Prepare to measure.

        `folder` is the only one in which the process can create files, and `user` its user id, if this process is root
        and the other is not. `removed` says whether to count files that were removed but are still held, which needs
        Linux.
        """
        self._folder = folder
        self._max_file_bytes = max_file_bytes
        self._user = user
        self._removed = removed
        self._maps: FileIO | None = None

    def measure(self, pid: int) -> tuple[int, int]:
        """Return how many files with a name a process holds that has not been reaped yet, and the bytes of all files.

        Raises `UsageError` if this process may not look at the other one.
        """
        sizes = self._folder_sizes()
        count = len(sizes)
        if self._removed:
            for inode, size in self._open_sizes(pid):
                sizes.setdefault(inode, size)
            for inode in self._mapped_inodes(pid):
                sizes.setdefault(inode, self._max_file_bytes)
        return count, sum(sizes.values())

    def close(self) -> None:
        """Close what was opened to measure."""
        if self._maps is not None:
            self._maps.close()

    def _folder_sizes(self) -> dict[int, int]:
        """Return the size of each file in the folder, by its inode."""
        sizes: dict[int, int] = {}
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):  # the file may be gone again
                    state = entry.stat(follow_symlinks=False)
                    sizes[state.st_ino] = state.st_size
        return sizes

    def _open_sizes(self, pid: int) -> list[tuple[int, int]]:
        """Return the inode and the size of each file that was removed and is open.

        A thread that has ended lists nothing, and the first one may end before the others; all threads have the same
        files open, so the first list that is not empty is the list of all.
        """
        sizes: list[tuple[int, int]] = []
        with _file_access(self._user):
            for thread in _list(Path(f"/proc/{pid}/task")):
                if handles := _list(thread / "fd"):
                    break
            else:
                handles = []
            for handle in handles:
                with suppress(OSError):  # it may be closed again
                    state = handle.stat()
                    if stat.S_ISREG(state.st_mode) and not state.st_nlink:
                        sizes.append((state.st_ino, state.st_size))
        return sizes

    def _mapped_inodes(self, pid: int) -> Iterator[int]:
        """Yield the inode of each file that was removed and is mapped, once for each of its mappings.

        The list is opened once: it stays that of the whole process, whichever of its threads end. A thread that has
        ended before lists nothing, so the list of the first thread that lives is taken.
        """
        lines: list[bytes] = []
        try:
            if self._maps is not None:
                self._maps.seek(0)
                lines = self._maps.read().splitlines()
            else:
                for thread in (Path(f"/proc/{pid}"), *_list(Path(f"/proc/{pid}/task"))):
                    with _file_access(self._user):
                        maps = (thread / "maps").open("rb", buffering=0)
                    if lines := maps.read().splitlines():
                        self._maps = maps
                        break
                    maps.close()
        except PermissionError as error:
            raise UsageError(
                "the files of Python code cannot be measured here, so it was stopped: this process may not read "
                f"/proc/{pid}/maps of the process that it started ({error.strerror}); use mode='monty'"
            ) from error
        except OSError:  # the process has ended
            return
        for line in lines:
            if line.endswith(b" (deleted)"):
                yield int(line.split(maxsplit=5)[4])


def _list(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # the process or the thread has ended
        return []


@contextmanager
def _file_access(user: int | None) -> Generator[None]:
    """Open files as another user, in this thread only. Root without `CAP_SYS_PTRACE` may not look at other users."""
    if user is None:
        yield
        return
    libc = ctypes.CDLL(None)
    own_user, own_group = libc.setfsuid(-1), libc.setfsgid(-1)  # -1 is refused: both return the id that is set
    libc.setfsgid(ctypes.c_uint(user))
    libc.setfsuid(ctypes.c_uint(user))
    try:
        yield
    finally:
        libc.setfsuid(ctypes.c_uint(own_user))
        libc.setfsgid(ctypes.c_uint(own_group))


def remove_folder(folder: Path) -> None:
    """Remove a folder with its content, but never the target of a link; what cannot be removed stays.

    `shutil.rmtree` descends into the folders, and fails where they are too deep. Here deep folders are moved up
    instead.
    """
    names = (folder / f".removing-{number}" for number in itertools.count())
    waiting = [folder]
    while waiting:
        inside = waiting.pop()
        with suppress(OSError):
            for entry in list(os.scandir(inside)):
                path = Path(entry.path)
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        path.chmod(0o700)  # the code may have removed its owner's rights
                        waiting.append(path.rename(next(names)))
                    else:
                        path.unlink()
        if inside != folder:
            with suppress(OSError):
                inside.rmdir()
    with suppress(OSError):
        folder.rmdir()
