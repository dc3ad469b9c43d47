"""`full` mode: CPython in a process that is walled in before it sees the code.

The parent's part: choose the walls, start the child with an empty environment in a folder of its own, watch its time,
output and files, end it with all its processes, and remove the folder. The child's part is `confined/`.
"""

import json
import math
import os
import random
import signal
import sys
import sysconfig
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from toolspeak.errors import UsageError
from toolspeak.execution.sandbox.folder import remove
from toolspeak.execution.sandbox.interface import Evaluation, SandboxLimits
from toolspeak.execution.sandbox.process import Finished, Kept, supervise
from toolspeak.execution.sandbox.walls import Walls, inside_bubblewrap, walls_here

CONFINED = Path(__file__).parent / "confined"
STARTING = 20.0
"""Seconds that Python may take to start, which are not the code's."""
FILES = 500
"""Files that the code may have at a time."""

# The folder becomes a package under a short name, so that nothing else of toolspeak is within reach.
_BOOT = """
import sys, types
package = types.ModuleType("confined")
package.__path__ = [sys.argv[1]]
sys.modules["confined"] = package
from confined.launch import main
main()
"""

# Where users are made up: far above all real ones, or where only some numbers exist (in a container) above most.
_USERS = (range(1_900_000_000, 1_901_000_000), range(62_000, 65_000))


def run_full(code: str, limits: SandboxLimits, *, unsafe_local: bool = False, walls: Walls | None = None) -> Evaluation:
    """Run code in CPython.

    Args:
        code: The code.
        limits: What it may use.
        unsafe_local: Run it even where it cannot be confined: with your files, your network and your rights.
        walls: What to confine it with, instead of all that this machine has.

    Raises:
        UsageError: It cannot be confined here, or a wall that should stand could not be put up.
    """
    walls = walls_here() if walls is None else walls
    _check_possible(walls, unsafe_local)
    user = _unused_user() if os.geteuid() == 0 and sys.platform.startswith("linux") else None
    with _own_folder(user) as folder, tempfile.TemporaryFile() as plan:
        plan.write(json.dumps(_plan(code, limits, walls, user)).encode())
        plan.seek(0)
        watch = _Watch(limits, folder)
        finished = supervise(
            _command(walls, limits, root=user is not None),
            cwd=folder,
            env={},
            stdin=plan,
            out=watch.out,
            err=watch.results,
            stop=watch.reason_to_stop,
        )
    return _evaluated(finished, watch, limits)


def _check_possible(walls: Walls, unsafe_local: bool) -> None:
    if os.name != "posix":
        raise UsageError("Python in a process of its own needs Linux or macOS; use mode='monty' here")
    if not walls.stand and not unsafe_local:
        raise UsageError(
            "Python code cannot be confined on this machine: it needs Linux with Landlock and seccomp (5.13 or later, "
            "on x86_64 or aarch64), or bubblewrap (bwrap); use mode='monty', or unsafe_local=True to run it with all "
            "your rights"
        )


def _plan(code: str, limits: SandboxLimits, walls: Walls, user: int | None) -> dict[str, Any]:
    return {
        "code": code,
        "output": limits.output,
        "seconds": math.ceil(limits.seconds) + 2,  # of the processor; the clock is watched from outside
        "memory": limits.memory,
        "file_size": limits.disk // 4,  # a file without a name is not seen from outside, but few can be open at a time
        "user": user,
        "landlock": walls.landlock,
        "seccomp": walls.seccomp,
        "bubblewrap": walls.bubblewrap is not None,
    }


def _command(walls: Walls, limits: SandboxLimits, *, root: bool) -> list[str]:
    python = os.path.realpath(cast("str", getattr(sys, "_base_executable", sys.executable)))
    command = [python, "-I", "-S", "-X", "utf8", "-c", _BOOT, str(CONFINED)]
    if walls.bubblewrap is None:
        return command
    libraries = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    shared = list(Path(sys.base_prefix, "lib").glob("libpython*.so*"))
    shown = [Path(python), CONFINED, *dict.fromkeys(libraries), *shared]
    return inside_bubblewrap(walls.bubblewrap, command, shown, disk=limits.disk, root=root)


@contextmanager
def _own_folder(user: int | None) -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="toolspeak-"))
    try:
        if user is not None:
            os.chown(folder, user, user)
        yield folder
    finally:
        remove(folder)


def _unused_user() -> int:
    """A number that no user and no group has."""
    import grp
    import pwd

    mapped = _mapped_users()
    for numbers in _USERS:
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


def _mapped_users() -> int:
    """How many numbers of users there are: all of them, or in a container often 65,536."""
    try:
        rows = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()]
    except OSError:
        return 65_536
    return max((int(first) + int(count) for first, _, count in rows), default=65_536)


class _Watch:
    """What the parent sees of the child: its output, its results, its files and the time."""

    def __init__(self, limits: SandboxLimits, folder: Path) -> None:
        self._limits = limits
        self._folder = folder
        self._deadline = time.monotonic() + STARTING
        self.ready = False
        self.out = Kept(2 * limits.output)  # all that it may print, and then some of the end
        self.results = Kept(2 * (12 * limits.output + 65_536))  # in JSON a character has up to twelve

    def reason_to_stop(self) -> str | None:
        if not self.ready and self.results.size:
            self.ready = True
            self._deadline = time.monotonic() + self._limits.seconds
        if self.results.dropped:
            return "it wrote to what is not its own"
        if self.out.size > self._limits.output:
            return f"it printed more than {self._limits.output} characters"
        if time.monotonic() > self._deadline:
            return f"it took longer than {self._limits.seconds:g} seconds" if self.ready else "Python did not start"
        return self._files_too_large()

    def _files_too_large(self) -> str | None:
        sizes: list[int] = []
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):  # it may be gone again
                    sizes.append(entry.stat(follow_symlinks=False).st_size)
        if len(sizes) > FILES:
            return f"it made more than {FILES} files"
        return f"its files took more than {self._limits.disk} bytes" if sum(sizes) > self._limits.disk else None


def _evaluated(finished: Finished, watch: _Watch, limits: SandboxLimits) -> Evaluation:
    told = _told(watch.results.text())
    if not told or not told[0].get("ready"):  # the first was told before the code ran, so it is true
        if finished.stopped is None or told:
            why = told[0].get("refused") if told else watch.results.text().strip()[-500:]
            raise UsageError(f"Python code could not be confined, and was not run: {why}")
        return Evaluation(mode="full", error=f"stopped: {finished.stopped}", stopped=True)
    stdout = watch.out.text()[: limits.output]
    if finished.stopped is not None:
        return Evaluation(mode="full", stdout=stdout, error=f"stopped: {finished.stopped}", stopped=True)
    last = told[-1]
    if "error" not in last:
        return Evaluation(mode="full", stdout=stdout, error=_ended_early(finished.code), stopped=finished.code < 0)
    value, error = _text(last.get("value"), limits), _text(last["error"], limits)
    return Evaluation(mode="full", value=value, stdout=stdout, error=error)


def _told(results: str) -> list[dict[str, Any]]:
    """What was told, in order; what is no JSON object was not told by us."""
    told: list[dict[str, Any]] = []
    for line in results.splitlines():
        with suppress(ValueError, RecursionError):
            if isinstance(what := json.loads(line), dict):
                told.append(cast("dict[str, Any]", what))
    return told


def _text(what: object, limits: SandboxLimits) -> str | None:
    return what[: limits.output] if isinstance(what, str) else None


def _ended_early(code: int) -> str:
    if code == -signal.SIGXCPU:
        return "stopped: it used too much of the processor"
    if code < 0:
        with suppress(ValueError):
            return f"Python ended by the signal {signal.Signals(-code).name}"
    return f"Python ended with the code {code} before the code was through"
