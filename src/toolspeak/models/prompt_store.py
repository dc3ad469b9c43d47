"""`PromptStore`: the beginnings of prompts that a server has read, kept on disk for the next server.

A small machine takes many seconds to read the instructions and the tools of a prompt, and they are the same for every
question. llama.cpp can write what it computed for them to a file, and take it up again within milliseconds. The rules:

- A file holds the state after the beginning of a prompt: system messages and tools. Questions and answers are never
  part of it.
- Its name is a digest of everything that the state depends on: the weights, the adapter, the versions of toolspeak and
  llama.cpp, and the request. A file for something else is never found.
- llama.cpp aborts its whole process on a file that is cut. So every file ends in a digest of its content, which is
  checked before the server may open it. A file without it is deleted.
- The server writes a file under another name. It gets its digest and its name when it is complete, so nobody finds half
  a file.
- The folder is the user's alone, and bounded: the files that were used least recently are deleted.
"""

import contextlib
import hashlib
import json
import os
import secrets
import stat
import time
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from toolspeak.models.local import ServerOptions
from toolspeak.settings.files import create_folder
from toolspeak.values.package import __version__

MAX_BYTES = 500_000_000
"""The size of the folder. The state of a token has 28 KB with the weights of `toolspeak pull`, for each adapter."""

DIGEST_BYTES = 32
SUFFIX = ".state"
NEW_SUFFIX = ".new"

UNFINISHED_SECONDS = 3600.0
"""The age at which a file that was never completed is deleted: its server has died."""


class PromptStore:
    """The files in one folder. What goes wrong with a file costs time, and is no error: the prompt is read again."""

    def __init__(self, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self.folder = folder
        self._max_bytes = max_bytes

    def open(self) -> bool:
        """Create the folder if there is none, and return whether it is the user's alone, so that it can be used."""
        try:
            create_folder(self.folder, 0o700)
            status = self.folder.lstat()
        except OSError:
            return False
        if not stat.S_ISDIR(status.st_mode):
            return False
        return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)

    def find(self, key: str) -> str | None:
        """Return the name of the file for a key, if there is one that is complete. A broken one is deleted."""
        path = self.folder / f"{key}{SUFFIX}"
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size - DIGEST_BYTES
                is_whole = size > 0 and _digest(file, size) == file.read()
            if is_whole:
                os.utime(path)  # for the order in which files are deleted
                return path.name
        except FileNotFoundError:
            return None
        except OSError:
            pass
        self.remove(path.name)
        return None

    def make_name(self, key: str) -> str:
        """Return the name of a file for the server to write."""
        return f"{key}.{secrets.token_hex(4)}{NEW_SUFFIX}"

    def keep(self, key: str, name: str) -> bool:
        """Complete a file that the server has written, and delete others if the folder has become too large."""
        path = self.folder / name
        try:
            with path.open("r+b") as file:
                digest = _digest(file, os.fstat(file.fileno()).st_size)
                file.seek(0, os.SEEK_END)
                file.write(digest)
            path.replace(self.folder / f"{key}{SUFFIX}")
        except OSError:
            self.remove(name)
            return False
        self._delete_oldest()
        return True

    def remove(self, name: str) -> None:
        """Delete a file, if there is one."""
        with contextlib.suppress(OSError):
            (self.folder / name).unlink()

    def _delete_oldest(self) -> None:
        used = 0
        for written, size, path in sorted(self._list_files(), reverse=True):
            is_unfinished = path.suffix == NEW_SUFFIX
            used += 0 if is_unfinished else size
            if used > self._max_bytes or (is_unfinished and time.time() - written > UNFINISHED_SECONDS):
                self.remove(path.name)

    def _list_files(self) -> list[tuple[float, int, Path]]:
        """Return when each file was used, its size and its path."""
        found: list[tuple[float, int, Path]] = []
        for path in self.folder.iterdir():
            with contextlib.suppress(OSError):
                status = path.stat()
                if path.suffix in (SUFFIX, NEW_SUFFIX):
                    found.append((status.st_mtime, status.st_size, path))
        return found


def _digest(file: BinaryIO, size: int) -> bytes:
    """Read the first `size` bytes of a file, and return their digest."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    while size > 0 and (data := file.read(min(1 << 20, size))):
        digest.update(data)
        size -= len(data)
    return digest.digest()


def make_key(options: ServerOptions, body: bytes) -> str:
    """Return the name of what a server with these options has read after a request."""
    files = [options.weights] if options.adapter is None else [options.weights, *options.adapter.paths]
    parts = [(str(each), status.st_size, status.st_mtime_ns) for each in files for status in [each.stat()]]
    identity = json.dumps([__version__, version("xllamacpp"), parts]).encode()
    return hashlib.sha256(identity + b"\n" + body).hexdigest()[:32]
