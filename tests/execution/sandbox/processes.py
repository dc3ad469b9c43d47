"""Whether processes have ended."""

import os
import time
from contextlib import suppress
from pathlib import Path


def has_ended(process: int) -> bool:
    """Whether a process is gone, or soon will be: the process that inherits it must reap it first."""
    for _ in range(1000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        with suppress(FileNotFoundError):  # it has just gone, or this system has no /proc
            if "State:\tZ" in Path(f"/proc/{process}/status").read_text():
                return True
        time.sleep(0.02)
    return False
