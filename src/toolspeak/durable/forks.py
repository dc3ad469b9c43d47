"""`renew_after_fork`: lets objects that have threads and connections start anew in a process that was forked.

A fork copies locks, queues and connections, but not the threads that use them. What the child got is neither used nor
closed: the connections belong to the parent.
"""

import os
from typing import Protocol
from weakref import WeakSet


class Renewable(Protocol):
    """Something with threads and connections."""

    def renew(self) -> None:
        """Forget threads, locks and connections, which belong to another process. No other thread is running."""
        ...


_RENEWED: WeakSet[Renewable] = WeakSet()

_LEFT_BEHIND: list[object] = []
"""What was copied from the parent. It is kept, because the end of its life would close it."""


def renew_after_fork(each: Renewable) -> None:
    """Let an object be renewed in each process that is forked from this one."""
    _RENEWED.add(each)


def leave_behind(*copied: object) -> None:
    """Keep something that was copied from the parent, without ever using it."""
    _LEFT_BEHIND.extend(copied)


def _renew_all() -> None:
    for each in list(_RENEWED):
        each.renew()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_renew_all)
