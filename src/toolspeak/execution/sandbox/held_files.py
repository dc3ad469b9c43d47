"""Measures the files of a confined process: all that it *holds*, not only those that its folder lists.

A file that was removed takes its space on the disk until nothing has it open or mapped. The parent sees such files in
`/proc`: open ones with their size, mapped ones without, so that each of those counts as the largest file that the
process can write. Nothing else can hold a file, because the filter on system calls refuses the ways to do so: other
processes, other tables of open files, sending an open file over a socket, files in memory.

The files are measured at every call, not watched: between two calls the process can hold more.
"""

import ctypes
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from toolspeak._frozen import frozen
from toolspeak.errors import UsageError

_DELETED = b" (deleted)"


@frozen
class FileUsage:
    """What a process holds: the number of files that have a name, and the bytes of all files."""

    count: int
    size: int


class HeldFiles:
    """The files that a process holds."""

    def __init__(self, folder: Path, max_file_bytes: int, user: int | None, *, removed: bool) -> None:
        """Prepare to measure.

        Args:
            folder: The only folder in which the process can create files.
            max_file_bytes: The size of the largest file that the process can write.
            user: The user id of the process, if this process is root and the other is not.
            removed: Whether to count files that were removed but are still open or mapped; that needs Linux.
        """
        self._folder = folder
        self._max_file_bytes = max_file_bytes
        self._user = user
        self._removed = removed
        self._maps: FileIO | None = None

    def measure(self, pid: int) -> FileUsage:
        """Measure the files of a process that has not been reaped yet.

        Raises:
            UsageError: This process may not look at the other one.
        """
        sizes = self._folder_sizes()
        count = len(sizes)
        if self._removed:
            for inode, size in self._open_sizes(pid):
                sizes.setdefault(inode, size)
            for inode in self._mapped_inodes(pid):
                sizes.setdefault(inode, self._max_file_bytes)
        return FileUsage(count=count, size=sum(sizes.values()))

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

        The list is opened once: it stays that of the whole process, whichever of its threads end.
        """
        try:
            if self._maps is None:
                with _file_access(self._user):
                    self._maps = Path(f"/proc/{pid}/maps").open("rb", buffering=0)  # noqa: SIM115 (it stays open)
            self._maps.seek(0)
            lines = self._maps.read().splitlines()
        except PermissionError as error:
            raise UsageError(
                "the files of Python code cannot be measured here, so it was stopped: this process may not read "
                f"/proc/{pid}/maps of the process that it started ({error.strerror}); use mode='monty'"
            ) from error
        except OSError:  # the process has ended
            return
        for line in lines:
            if line.endswith(_DELETED):
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
