"""How many threads are worth having.

One too many costs more than one too few. The threads of llama.cpp wait for each other hundreds of times for each token,
and wait by spinning: where another program takes one of their cores, all of them stand still. Two threads on two busy
cores were measured at a sixth of the speed of one.
"""

import math
import os
from collections.abc import Iterable
from pathlib import Path

SYSTEM = Path("/sys")


def worthwhile_threads(cores: int) -> int:
    """A thread for each core, but one core left to everything else where there are more than two."""
    return cores - 1 if cores > 2 else cores


def usable_cores(system: Path = SYSTEM) -> int:
    """Cores this process may use: those it is bound to, without their second threads, within the container's quota."""
    logical = _bound_to()
    physical = _physical(logical, system / "devices" / "system" / "cpu") or len(logical)
    return max(1, min(physical, _quota(system / "fs" / "cgroup") or physical))


def _bound_to() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _physical(logical: Iterable[int], folder: Path) -> int:
    """Cores behind these processors; 0 where the system does not say."""
    try:
        siblings = {(folder / f"cpu{each}" / "topology" / "thread_siblings_list").read_text() for each in logical}
    except OSError:
        return 0
    return len(siblings)


def _quota(folder: Path) -> int | None:
    """Processors' worth of time that the container has, in either version of control groups."""
    try:
        allowed, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            allowed = (folder / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu" / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    try:
        share = int(allowed) / int(period)
    except (ValueError, ZeroDivisionError):
        return None
    return math.ceil(share) if share > 0 else None
