"""`ConversationLock`: keeps two processes from going on with one conversation at the same time.

A process locks one byte of an empty file beside the log; which byte follows from the id of the conversation. The
operating system releases the lock when the process ends, however that happens, so no lock outlives its process and
nothing is left to clean up. Two ids share a byte once in two thousand million pairs; one of them then seems to be open.
"""

import os
import sys
import zlib
from pathlib import Path

from toolspeak.store.schema import create_private, name_errors

OFFSETS = 2**31 - 1
"""The number of bytes that can be locked: Windows takes no larger offsets."""

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int, offset: int) -> bool:
        os.lseek(descriptor, offset, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(descriptor: int, offset: int) -> None:
        os.lseek(descriptor, offset, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int, offset: int) -> bool:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
        except (BlockingIOError, PermissionError):  # which of the two depends on the system
            return False
        return True

    def _unlock(descriptor: int, offset: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, offset)


class ConversationLock:
    """Locks one conversation of a log at a time against other processes. Within a process, use one object for a log.

    Args:
        log: The path of the log.
    """

    def __init__(self, log: Path) -> None:
        self._path = log.with_name(f"{log.name}.lock")
        self._descriptor: int | None = None
        self._offset: int | None = None

    def acquire(self, conversation: str) -> bool:
        """Lock a conversation instead of the one before, and return whether no other process has it.

        Raises:
            UsageError: The file cannot be used.
        """
        offset = zlib.crc32(conversation.encode()) % OFFSETS
        with name_errors(self._path):
            if self._descriptor is None:
                create_private(self._path)
                self._descriptor = os.open(self._path, os.O_RDWR)
            if offset == self._offset:
                return True
            if self._offset is not None:
                _unlock(self._descriptor, self._offset)
            self._offset = offset if _try_lock(self._descriptor, offset) else None
        return self._offset is not None

    def close(self) -> None:
        """Release the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = self._offset = None
