"""Counts the cores that this process may use, and chooses the number of threads.

One thread too many costs more than one too few. The threads of llama.cpp wait for each other hundreds of times for each
token, and wait by spinning: if another program takes one of their cores, all of them stand still. Two threads on two
busy cores were measured at a sixth of the speed of one.
"""

import math
import os
from collections.abc import Iterable
from pathlib import Path

SYS_FOLDER = Path("/sys")


def choose_threads(cores: int) -> int:
    """Return one thread for each core. With more than two cores, one is left to other programs."""
    return cores - 1 if cores > 2 else cores


def count_usable_cores(system: Path = SYS_FOLDER) -> int:
    """Return how many physical cores this process may use: within its CPU affinity and the quota of its container."""
    logical = _affinity()
    physical = _count_physical(logical, system / "devices" / "system" / "cpu") or len(logical)
    return max(1, min(physical, _quota(system / "fs" / "cgroup") or physical))


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _count_physical(logical: Iterable[int], folder: Path) -> int:
    """Return how many physical cores the logical ones are; 0 where the system does not say."""
    try:
        siblings = {(folder / f"cpu{each}" / "topology" / "thread_siblings_list").read_text() for each in logical}
    except OSError:
        return 0
    return len(siblings)


def _quota(folder: Path) -> int | None:
    """Return the cores that the quota of the container is worth, from control groups of version 2 or 1."""
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
