"""Removing a folder that hostile code filled: with folders thousands of levels deep, or closed to their owner."""

import itertools
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def remove_folder(folder: Path) -> None:
    """Remove a folder with its content, but never the target of a link; what cannot be removed stays.

    `shutil.rmtree` descends into the folders, and fails where they are too deep. Here deep folders are moved up
    instead.
    """
    names = (folder / f".removing-{number}" for number in itertools.count())
    waiting = [folder]
    while waiting:
        inside = waiting.pop()
        with suppress(OSError):
            for entry in list(os.scandir(inside)):
                waiting += _remove_entry(entry, names)
        if inside != folder:
            with suppress(OSError):
                inside.rmdir()
    with suppress(OSError):
        folder.rmdir()


def _remove_entry(entry: os.DirEntry[str], names: Iterator[Path]) -> list[Path]:
    """Remove a file or a link. Move a folder up instead, and return its new path, to be emptied next."""
    path = Path(entry.path)
    with suppress(OSError):
        if not entry.is_dir(follow_symlinks=False):
            path.unlink()
            return []
        path.chmod(0o700)  # the code may have removed its owner's rights
        return [path.rename(next(names))]
    return []
