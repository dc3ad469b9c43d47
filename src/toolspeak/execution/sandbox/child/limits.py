"""The resource limits and the user id of this process. Neither can be undone: soft and hard limits are the same."""

import os
import resource
from collections.abc import Mapping

MAX_OPEN_FILES = 32
MAX_THREADS = 32


def set_limits(seconds: int, memory: int, file_size: int, *, required: bool) -> None:
    """Set the limits. A limit that the system does not know is an error if limits are required, else it is skipped."""
    wanted: Mapping[str, int] = {
        "RLIMIT_CPU": seconds,
        "RLIMIT_AS": memory,
        "RLIMIT_FSIZE": file_size,
        "RLIMIT_NOFILE": MAX_OPEN_FILES,
        "RLIMIT_NPROC": MAX_THREADS,
        "RLIMIT_CORE": 1,  # at 0 a kernel that hands dumps to a program would still do so; at 1 it makes none
    }
    for name, value in wanted.items():
        try:
            which = getattr(resource, name)
            hard = resource.getrlimit(which)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(which, (value, value))
        except (AttributeError, OSError, ValueError):
            if required:
                raise


def switch_user(user: int) -> None:
    """Continue as a user id that owns nothing, and check that the change took effect."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if os.getresuid() != (user, user, user) or os.getresgid() != (user, user, user) or os.getgroups():
        raise OSError("the change of the user did not hold")
