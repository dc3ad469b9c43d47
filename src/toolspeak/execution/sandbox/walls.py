"""What this machine can confine a process with."""

import shutil
import sys
from functools import cache
from pathlib import Path

from toolspeak._frozen import frozen
from toolspeak.execution.sandbox.confined import landlock, seccomp
from toolspeak.execution.sandbox.confined.library import FOREIGN


@frozen
class Walls:
    """What a process will be confined with.

    Attributes:
        landlock: Whether the kernel restricts which files can be reached.
        seccomp: The machine whose system calls are filtered; `None`: they are not.
        bubblewrap: The program that gives the process a system of its own; used where the two above are not both there.
    """

    landlock: bool = False
    seccomp: str | None = None
    bubblewrap: str | None = None

    @property
    def stand(self) -> bool:
        """Whether they are enough to let foreign code run inside."""
        return self.bubblewrap is not None or (self.landlock and self.seccomp is not None)


NONE = Walls()


@cache
def walls_here() -> Walls:
    """What there is on this machine; looked up once."""
    if not sys.platform.startswith("linux"):
        return NONE
    machine = seccomp.machine() if seccomp.supported() else None
    if machine is not None and landlock.version():
        return Walls(landlock=True, seccomp=machine)
    return Walls(seccomp=machine, bubblewrap=shutil.which("bwrap"))  # if it may not work here, it says so when it runs


def inside_bubblewrap(program: str, command: list[str], shown: list[Path], *, disk: int, root: bool) -> list[str]:
    """The command that runs `command` in a system with nothing in it but libraries, Python and an empty `/tmp`.

    There is no `/proc`, no network and no other process. Bubblewrap must be started with an empty environment too: the
    code would find it in `/proc/1/environ` if ever there was a `/proc`.
    """
    wrapped = [program, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    # As root the child takes another user by itself; else a user namespace stands for that.
    wrapped += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if root else ["--unshare-user"]
    wrapped += ["--die-with-parent", "--new-session", "--clearenv"]
    paths = [*_system_paths(), *shown]
    for folder in sorted({parent for path in paths for parent in path.parents if parent.name}):
        wrapped += ["--perms", "0755", "--dir", str(folder)]  # else nobody but the owner gets through
    for path in paths:
        link = path.is_symlink() and not path.readlink().is_absolute()
        wrapped += ["--symlink", str(path.readlink()), str(path)] if link else ["--ro-bind", str(path), str(path)]
    for path in paths:
        wrapped += [word for inner in FOREIGN if (path / inner).is_dir() for word in ("--tmpfs", str(path / inner))]
    wrapped += ["--dev", "/dev", "--perms", "1777", "--size", str(disk), "--tmpfs", "/tmp", "--chdir", "/tmp"]  # noqa: S108 (in there)
    return [*wrapped, "--", *command]


def _system_paths() -> list[Path]:
    names = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo", "/etc/localtime")
    return [path for path in map(Path, names) if path.exists()]
