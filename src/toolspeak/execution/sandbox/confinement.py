"""What this machine can confine a process with: Landlock and seccomp of the kernel, or bubblewrap."""

import shutil
import sys
from functools import cache
from pathlib import Path

from toolspeak.execution.sandbox.child.confine import (
    PACKAGE_FOLDERS,
    SYSTEM_PATHS,
    accepts_filters,
    filter_architecture,
    landlock_version,
)
from toolspeak.values.frozen import frozen


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
    architecture = filter_architecture() if accepts_filters() else None
    if architecture is not None and landlock_version():
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
    paths = [*(path for path in map(Path, SYSTEM_PATHS) if path.exists()), *shown]
    for folder in sorted({parent for path in paths for parent in path.parents if parent.name}):
        wrapped += ["--perms", "0755", "--dir", str(folder)]  # by default only the owner could pass through
    for path in paths:
        link = path.is_symlink() and not path.readlink().is_absolute()
        wrapped += ["--symlink", str(path.readlink()), str(path)] if link else ["--ro-bind", str(path), str(path)]
    for path in paths:
        for inner in PACKAGE_FOLDERS:
            if (path / inner).is_dir():
                wrapped += ["--tmpfs", str(path / inner), "--remount-ro", str(path / inner)]
    # Not --dev, which brings /dev/shm, where files have no limit, and /dev/zero: mapped, it is memory without a limit.
    wrapped += ["--perms", "0755", "--dir", "/dev"]
    for device in ("/dev/null", "/dev/urandom"):
        wrapped += ["--dev-bind", device, device]
    wrapped += ["--perms", "1777", "--size", str(disk), "--tmpfs", "/tmp", "--chdir", "/tmp"]  # noqa: S108 (inside)
    wrapped += ["--remount-ro", "/"]  # it is a folder in memory; /tmp alone has a limit
    return [*wrapped, "--", *command]
