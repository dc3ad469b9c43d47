"""Access to the files under a root folder, and to no others.

Every path is walked from the open root, one folder at a time, following no link. If a path were checked first and used
later, a folder in it could become a link in between. Here a path is resolved once: what was opened is what is used.
`..` is refused by name; a link at any place of the path is refused by the kernel.
"""

import errno
import os
import secrets
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Literal

from toolspeak.values.errors import ToolError, UsageError
from toolspeak.values.frozen import frozen

MAX_FILE_BYTES = 5_000_000
"""The size of the largest file that is read or written."""

MAX_FOLDER_ENTRIES = 100_000
"""The entries of the largest folder that is listed."""

_SAFE_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER_FLAGS = _SAFE_FLAGS | os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_FILE_FLAGS = _SAFE_FLAGS | os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
_NEW_FILE_FLAGS = _SAFE_FLAGS | os.O_WRONLY | os.O_CREAT | os.O_EXCL


@frozen
class FolderEntry:
    """An entry of a folder."""

    path: str  # from the root
    kind: Literal["folder", "file", "other"]


@frozen
class FileContent:
    """A text file as it was read, with its permission bits.

    `version` is the inode, size and time of the last change, which tell whether the file has changed since.
    """

    text: str
    mode: int
    version: tuple[int, int, int]


class RootFolder:
    """Reads, writes and lists the files under a folder."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root)

    def read(self, path: str) -> FileContent:
        """Read a text file."""
        *folders, name = self._split_path(path)
        with (
            _convert_errors(path),
            self._open_folder(folders) as folder,
            _open_file(name, _FILE_FLAGS, folder) as handle,
        ):
            state = os.fstat(handle)
            _check_file(state, path)
            pieces: list[bytes] = []
            left = MAX_FILE_BYTES + 1
            while left > 0 and (piece := os.read(handle, min(left, 1 << 20))):
                pieces.append(piece)
                left -= len(piece)
        if left <= 0:
            raise ToolError(f"{path} is larger than {MAX_FILE_BYTES} bytes, which is too much to read")
        data = b"".join(pieces)
        if b"\0" in data:
            raise ToolError(f"{path} is a binary file ({len(data)} byte{'s' * (len(data) != 1)}), not text")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise ToolError(f"{path} is not a text file in UTF-8") from None
        return FileContent(text=text, mode=stat.S_IMODE(state.st_mode), version=_version(state))

    def read_if_exists(self, path: str) -> FileContent | None:
        """Read a text file; `None` if there is no such file."""
        try:
            return self.read(path)
        except ToolError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def write(self, path: str, text: str, before: FileContent | None) -> None:
        """Write a file as a whole or not at all.

        `before` is its content when it was last read, or `None` if it did not exist; if that has changed since, nothing
        is written.
        """
        *folders, name = self._split_path(path)
        if ".git" in (part.lower() for part in (*folders, name)):
            raise ToolError(f"{path} is git's own: a file there could run as a command; use git")
        self.check_size(path, len(text))  # no character takes less than a byte
        data = text.encode("utf-8", errors="replace")
        self.check_size(path, len(data))
        with _convert_errors(path), self._open_folder(folders, make=True) as folder:
            _check_unchanged(name, folder, before, path)
            _replace_file(name, folder, data, 0o666 if before is None else before.mode, keep_mode=before is not None)

    def check_size(self, path: str, size: int) -> None:
        """Raise `ToolError` if a file of this size may not be written."""
        if size > MAX_FILE_BYTES:
            raise ToolError(f"{path} would have {size} bytes; at most {MAX_FILE_BYTES} can be written")

    def entries(self, path: str) -> Iterator[FolderEntry]:
        """Yield the entries of a folder in the order of their names, without links."""
        parts = self._split_path(path, folder=True)
        with _convert_errors(path), self._open_folder(parts) as folder, os.scandir(folder) as found:
            entries = list(islice(found, MAX_FOLDER_ENTRIES + 1))
            if len(entries) > MAX_FOLDER_ENTRIES:
                raise ToolError(f"{path} has more than {MAX_FOLDER_ENTRIES} files and folders, too many to list")
            states = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries if not entry.is_symlink()]
        for name, state in sorted(states, key=lambda pair: pair[0]):
            kind = "folder" if stat.S_ISDIR(state.st_mode) else "file" if stat.S_ISREG(state.st_mode) else "other"
            yield FolderEntry(path=str(PurePosixPath(*parts, name)), kind=kind)

    def _split_path(self, path: str, *, folder: bool = False) -> list[str]:
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
    def _open_folder(self, parts: list[str], *, make: bool = False) -> Generator[int]:
        if os.open not in os.supports_dir_fd:
            raise UsageError("files cannot be kept inside a folder on this system; it needs Linux or macOS")
        # The root itself may be a link: it is the user's choice.
        here = os.open(self._root, _FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=here)
                inner = os.open(part, _FOLDER_FLAGS, dir_fd=here)
                os.close(here)
                here = inner
            yield here
        finally:
            os.close(here)


@contextmanager
def _open_file(name: str, flags: int, folder: int, mode: int = 0o666) -> Generator[int]:
    handle = os.open(name, flags, mode, dir_fd=folder)
    try:
        yield handle
    finally:
        os.close(handle)


def _check_file(state: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(state.st_mode):
        raise ToolError(f"{path} is a folder; list_files shows what is in it")
    if not stat.S_ISREG(state.st_mode):
        raise ToolError(f"{path} is neither a file nor a folder")


def _version(state: os.stat_result) -> tuple[int, int, int]:
    return state.st_ino, state.st_size, state.st_mtime_ns


def _check_unchanged(name: str, folder: int, before: FileContent | None, path: str) -> None:
    try:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        if before is None:
            return
        raise
    if stat.S_ISLNK(state.st_mode):
        raise OSError(errno.ELOOP, "a link")
    _check_file(state, path)
    if before is None or _version(state) != before.version:
        raise ToolError(f"{path} has changed in the meantime; read it again")


def _replace_file(name: str, folder: int, data: bytes, mode: int, *, keep_mode: bool) -> None:
    """Write a new file beside the old one, then rename it: readers see the old file or the new one.

    A rename does not follow a link.
    """
    beside = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
    try:
        with _open_file(beside, _NEW_FILE_FLAGS, folder, mode) as handle:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(handle, rest) :]
            if keep_mode:
                os.fchmod(handle, mode)
            os.fsync(handle)
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
def _convert_errors(path: str) -> Generator[None]:
    """Raise errors of the system as errors for a model, about the path that it gave."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be used: {error.strerror}")
        raise ToolError(f"{path[:200] or '.'} {reason}") from error
