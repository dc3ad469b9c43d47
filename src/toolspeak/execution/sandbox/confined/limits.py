"""What this process may use up, and whom it runs as. Both are given up for good: soft and hard limits are the same."""

import os
import resource
from collections.abc import Mapping

OPEN_FILES = 32
THREADS = 32


def limit(seconds: int, memory: int, file_size: int, *, strictly: bool) -> None:
    """Set the limits; where the code is not confined anyway, a limit that the system does not know is passed over."""
    wanted: Mapping[str, int] = {
        "RLIMIT_CPU": seconds,
        "RLIMIT_AS": memory,
        "RLIMIT_FSIZE": file_size,
        "RLIMIT_NOFILE": OPEN_FILES,
        "RLIMIT_NPROC": THREADS,
        "RLIMIT_CORE": 0,
    }
    for name, most in wanted.items():
        try:
            which = getattr(resource, name)
            hard = resource.getrlimit(which)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(which, (most, most))
        except (AttributeError, OSError, ValueError):
            if strictly:
                raise


def become(user: int) -> None:
    """Go on as a user whom nothing belongs to."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if os.getresuid() != (user, user, user) or os.getresgid() != (user, user, user) or os.getgroups():
        raise OSError("the change of the user did not hold")
