"""A lock between threads and processes. The operating system releases it when its holder dies."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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
def exclusive_lock(path: Path, on_wait: Callable[[], None], *, interval: float = 0.25) -> Generator[None]:
    """Hold the lock file at `path`. While another holds it, call `on_wait` every `interval` seconds.

    The file is not removed: otherwise two holders could lock two files with the same name.
    """
    with path.open("a+b") as file:
        while not _try_lock(file):
            on_wait()
            time.sleep(interval)
        yield
