"""Removing a folder that somebody hostile filled: folders in folders, thousands deep, or closed to their owner."""

import itertools
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, and never the target of a link; what cannot be removed stays.

    `shutil.rmtree` goes down with the folders, until it can go no deeper. Here what lies deep is brought up instead.
    """
    names = (folder / f".removing-{number}" for number in itertools.count())
    waiting = [folder]
    while waiting:
        inside = waiting.pop()
        with suppress(OSError):
            for entry in list(os.scandir(inside)):
                waiting += _removed(entry, names)
        if inside != folder:
            with suppress(OSError):
                inside.rmdir()
    with suppress(OSError):
        folder.rmdir()


def _removed(entry: os.DirEntry[str], names: Iterator[Path]) -> list[Path]:
    """Remove a file or a link at once; a folder, which comes back, is moved up to be emptied next."""
    path = Path(entry.path)
    with suppress(OSError):
        if not entry.is_dir(follow_symlinks=False):
            path.unlink()
            return []
        path.chmod(0o700)  # its owner may have closed it
        return [path.rename(next(names))]
    return []
