"""The standard library, and what else Python reads to work: reachable for the code, and still without site-packages."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from .landlock import LIST, READ, USE, WORK, Ruleset

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo", "/etc/localtime")
FOREIGN = ("site-packages", "dist-packages")
"""Folders in the standard library that belong to somebody else."""


def ruleset() -> Ruleset:
    """Files that the code may reach: its own folder to write in; to read, Python itself and the time zones."""
    rules = Ruleset()
    folders = [Path(path) for path in sys.path]
    rules.allow(folders, LIST)
    rules.allow(_parts(folders), READ)
    rules.allow(_SYSTEM, READ)
    rules.allow(_libraries(), READ)
    rules.allow(("/dev/null",), USE)
    rules.allow(("/dev/urandom", "/dev/zero"), READ)
    rules.allow((Path.cwd(),), WORK)
    return rules


def _parts(folders: list[Path]) -> Iterator[Path]:
    """Each part of the standard library by itself, since other people's packages lie in the same folder."""
    for folder in folders:
        if folder.is_dir():
            yield from (path for path in folder.iterdir() if path.name not in FOREIGN)


def _libraries() -> Iterator[Path]:
    for folder in (Path(sys.base_prefix, "lib"), Path("/usr/local/lib")):
        if folder.is_dir():
            yield from folder.glob("*.so*")


def opened() -> dict[str, int]:
    """The folders of the standard library, opened while they can be."""
    return {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in sys.path if Path(path).is_dir()}


def keep_reachable(folders: dict[str, int]) -> None:
    """Lead imports through open folders where the user of this process has no way to them.

    A Python that lies in somebody's home is out of reach for another user, though its files may be read.
    """
    for path, place in folders.items():
        if os.access(path, os.R_OK | os.X_OK):
            os.close(place)
            continue
        through = f"/proc/self/fd/{place}"
        sys.path[:] = [through if entry == path else entry for entry in sys.path]
        for module in list(sys.modules.values()):
            if (inside := getattr(module, "__path__", None)) is not None:
                module.__path__ = [_moved(each, path, through) for each in inside]
    sys.path_importer_cache.clear()


def _moved(entry: str, path: str, through: str) -> str:
    return through + entry[len(path) :] if entry.startswith(f"{path}/") else entry
