"""Whether a file of weights is the right one, without reading a gigabyte each time.

After the hash of a file was checked, the state of the file (size, times, inode) and the hash are kept in a small file
beside it, `….verified`. As long as the state is the same, the file was not changed, and its hash is not computed again.
Nobody can change the contents and keep the time of the last change of the inode (`ctime`), short of setting the clock.
Whoever can write the record as well can forge it: the cache is protected by the permissions of its folder.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from toolspeak.models.weights.catalogue import Weights


def is_intact(weights: Weights, path: Path) -> bool:
    """Whether a file has the hash of the weights. A gigabyte takes a second or two."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256


def is_verified(weights: Weights, path: Path) -> bool:
    """Whether a file has the hash of the weights. It is computed only if the file was changed since the last time."""
    try:
        if path.stat().st_size != weights.size:
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


def _record_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.verified")


def _read_record(path: Path) -> Any:
    try:
        return json.loads(_record_path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _write_record(path: Path, state: dict[str, Any]) -> None:
    """Write the record, readable by its owner only. Without it, the hash is computed again the next time."""
    with contextlib.suppress(OSError):  # the folder may be read-only
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")  # made with mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(state, file)
            Path(name).replace(_record_path(path))
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
