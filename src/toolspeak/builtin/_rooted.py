"""Files under a root, and no others: every path is walked from the open root, one folder at a time, following no link.

A check of a path and a later use of it are two looks, between which a folder can become a link. Here there is one: what
was opened is what is used. `..` is refused by name; a link at any place of the path is refused by the kernel.
"""

import errno
import os
import secrets
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from toolspeak._frozen import frozen
from toolspeak.errors import ToolError, UsageError

LARGEST = 5_000_000
"""Bytes of a file that is read or written."""

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@frozen
class Entry:
    """Something in a folder: its path from the root, and whether it is a folder, a file or something else."""

    path: str
    kind: str
    size: int


@frozen
class Content:
    """A text file as it was read, with what tells whether it is still the same."""

    text: str
    mode: int
    mark: tuple[int, int, int]


class Rooted:
    """The files under a folder."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root)

    def read(self, path: str) -> Content:
        """The text of a file."""
        *folders, name = self._parts(path)
        with _told_as(path), self._folder(folders) as folder, _opened(name, _FILE, folder) as place:
            state = os.fstat(place)
            _check_file(state, path)
            data = _all(place, path)
        if b"\0" in data:
            raise ToolError(f"{path} is a binary file ({len(data)} bytes), not text")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise ToolError(f"{path} is not a text file in UTF-8") from None
        return Content(text=text, mode=stat.S_IMODE(state.st_mode), mark=_mark(state))

    def find(self, path: str) -> Content | None:
        """The text of a file; `None` if there is no such file."""
        try:
            return self.read(path)
        except ToolError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def write(self, path: str, text: str, before: Content | None) -> None:
        """Put a file in its place, whole or not at all.

        Args:
            path: The file.
            text: What it shall hold.
            before: What it held when it was looked at; if it does not any more, nothing is written.
        """
        *folders, name = self._parts(path)
        if ".git" in (part.lower() for part in (*folders, name)):
            raise ToolError(f"{path} is git's own: a file there could run as a command; use git")
        data = text.encode("utf-8", errors="replace")
        if len(data) > LARGEST:
            raise ToolError(f"{path} would have {len(data)} bytes; at most {LARGEST} can be written")
        with _told_as(path), self._folder(folders, make=True) as folder:
            _check_unchanged(name, folder, before, path)
            _put(name, folder, data, 0o666 if before is None else before.mode, keep_mode=before is not None)

    def entries(self, path: str) -> Iterator[Entry]:
        """What lies in a folder, by name; links are left out."""
        parts = self._parts(path, folder=True)
        with _told_as(path), self._folder(parts) as folder, os.scandir(folder) as found:
            listed = [(entry.name, entry.stat(follow_symlinks=False)) for entry in found if not entry.is_symlink()]
        for name, state in sorted(listed, key=lambda pair: pair[0]):
            kind = "folder" if stat.S_ISDIR(state.st_mode) else "file" if stat.S_ISREG(state.st_mode) else "other"
            yield Entry(path=str(PurePosixPath(*parts, name)), kind=kind, size=state.st_size)

    def _parts(self, path: str, *, folder: bool = False) -> list[str]:
        if "\0" in path:
            raise ToolError("a path has no zero bytes in it")
        shown = path if len(path) <= 200 else f"{path[:199]}…"
        pure = PurePosixPath(path)
        if pure.is_absolute():
            try:
                pure = pure.relative_to(os.path.realpath(self._root))
            except ValueError:
                raise ToolError(f"{shown} is outside of the folder {self._root}; say a path inside it") from None
        if ".." in pure.parts:
            raise ToolError(f"{shown} has .. in it; say the path from the folder {self._root}, without ..")
        if not pure.parts and not folder:
            raise ToolError("the path of a file is missing")
        return list(pure.parts)

    @contextmanager
    def _folder(self, parts: list[str], *, make: bool = False) -> Generator[int]:
        if os.open not in os.supports_dir_fd:
            raise UsageError("files cannot be kept inside a folder on this system; it needs Linux or macOS")
        here = os.open(
            self._root, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0)
        )  # the root is the user's choice, link or not
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=here)
                inner = os.open(part, _FOLDER, dir_fd=here)
                os.close(here)
                here = inner
            yield here
        finally:
            os.close(here)


@contextmanager
def _opened(name: str, flags: int, folder: int, mode: int = 0o666) -> Generator[int]:
    place = os.open(name, flags, mode, dir_fd=folder)
    try:
        yield place
    finally:
        os.close(place)


def _all(place: int, path: str) -> bytes:
    pieces: list[bytes] = []
    left = LARGEST + 1
    while left > 0 and (piece := os.read(place, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise ToolError(f"{path} is larger than {LARGEST} bytes, which is too much to read")
    return b"".join(pieces)


def _check_file(state: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(state.st_mode):
        raise ToolError(f"{path} is a folder; list_files shows what is in it")
    if not stat.S_ISREG(state.st_mode):
        raise ToolError(f"{path} is neither a file nor a folder")


def _mark(state: os.stat_result) -> tuple[int, int, int]:
    return state.st_ino, state.st_size, state.st_mtime_ns


def _check_unchanged(name: str, folder: int, before: Content | None, path: str) -> None:
    try:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        if before is None:
            return
        raise
    if stat.S_ISLNK(state.st_mode):
        raise OSError(errno.ELOOP, "a link")
    _check_file(state, path)
    if before is None or _mark(state) != before.mark:
        raise ToolError(f"{path} has changed in the meantime; read it again")


def _put(name: str, folder: int, data: bytes, mode: int, *, keep_mode: bool) -> None:
    """Write beside, then rename: readers see the old file or the new one. A rename does not follow a link."""
    beside = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
    try:
        with _opened(beside, _NEW, folder, mode) as place:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(place, rest) :]
            if keep_mode:
                os.fchmod(place, mode)
            os.fsync(place)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise


_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ELOOP: "is or leads through a link, which is not followed",
    errno.ENOTDIR: "leads through something that is not a folder, or through a link, which is not followed",
    errno.EACCES: "may not be opened",
    errno.EPERM: "may not be changed",
    errno.ENAMETOOLONG: "is too long a name",
    errno.ENOSPC: "cannot be written: the disk is full",
    errno.EISDIR: "is a folder",
}


@contextmanager
def _told_as(path: str) -> Generator[None]:
    """Errors of the system, in words about the path that was asked for."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be used: {error.strerror}")
        raise ToolError(f"{path[:200] or '.'} {reason}") from error
