"""The files that Python itself needs: the code can reach the standard library, but not site-packages."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from .landlock import LIST, READ, USE, WORK, Ruleset

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo", "/etc/localtime")
PACKAGE_FOLDERS = ("site-packages", "dist-packages")
"""Folders inside the folder of the standard library that hold installed packages."""


def build_ruleset() -> Ruleset:
    """Return the rules: the code may write in its own folder, and read Python itself and the time zones."""
    rules = Ruleset()
    folders = [Path(path) for path in sys.path]
    rules.allow(folders, LIST)
    rules.allow(_library_paths(folders), READ)
    rules.allow(_SYSTEM, READ)
    rules.allow(_shared_libraries(), READ)
    rules.allow(("/dev/null",), USE)
    rules.allow(("/dev/urandom",), READ)  # not /dev/zero: mapped, it is memory that no limit counts
    rules.allow((Path.cwd(),), WORK)
    return rules


def _library_paths(folders: list[Path]) -> Iterator[Path]:
    """Yield each part of the standard library by itself, since installed packages lie in the same folder."""
    for folder in folders:
        if folder.is_dir():
            yield from (path for path in folder.iterdir() if path.name not in PACKAGE_FOLDERS)


def _shared_libraries() -> Iterator[Path]:
    for folder in (Path(sys.base_prefix, "lib"), Path("/usr/local/lib")):
        if folder.is_dir():
            yield from folder.glob("*.so*")


def open_folders() -> dict[str, int]:
    """Open the folders of the standard library, while this process still can."""
    return {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in sys.path if Path(path).is_dir()}


def keep_reachable(folders: dict[str, int]) -> None:
    """Import through the open folders where the user of this process cannot reach their paths.

    A Python in a home folder is out of reach for another user, though its files may be readable.
    """
    for path, handle in folders.items():
        if os.access(path, os.R_OK | os.X_OK):
            os.close(handle)
            continue
        through = f"/proc/self/fd/{handle}"
        sys.path[:] = [through if entry == path else entry for entry in sys.path]
        for module in list(sys.modules.values()):
            if (inside := getattr(module, "__path__", None)) is not None:
                module.__path__ = [_redirect(each, path, through) for each in inside]
    sys.path_importer_cache.clear()


def _redirect(entry: str, path: str, through: str) -> str:
    return through + entry[len(path) :] if entry.startswith(f"{path}/") else entry
