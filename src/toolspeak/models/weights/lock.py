"""One at a time, between threads and between processes. The system lifts the lock when its holder dies."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt

    def _try(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def alone(path: Path, waiting: Callable[[], None], *, every: float = 0.25) -> Generator[None]:
    """Hold the lock at `path`; `waiting` is called again and again while somebody else does.

    The file stays behind: removing it would let two holders lock two files of one name.
    """
    with path.open("a+b") as file:
        while not _try(file):
            waiting()
            time.sleep(every)
        yield
