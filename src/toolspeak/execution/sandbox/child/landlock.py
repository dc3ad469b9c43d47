"""Landlock: restricts which files this process may reach. Files that are not named are out of reach for any user.

It holds for root too, and for every way to a file: by name, through a link, through `/proc`. It does not hide that a
file exists, nor its size: that needs a user id of its own, or bubblewrap.
"""

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_FILE, _MAKE_FILE, _TRUNCATE = (1 << bit for bit in (1, 2, 3, 5, 8, 14))
_FILE_RIGHTS = _WRITE_FILE | _READ_FILE | _TRUNCATE
_RIGHTS_OF_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}  # how many rights a version has; versions from 5 on have 16
_NETWORK = 0b11  # TCP: to bind, and to connect
_SCOPES = 0b11  # abstract sockets, and signals to other processes

READ = _READ_FILE | _READ_DIR
LIST = _READ_DIR
WORK = READ | _WRITE_FILE | _REMOVE_FILE | _MAKE_FILE | _TRUNCATE
"""Regular files can be created and removed, and nothing else: no folders, links, pipes or devices. So the folder stays
flat."""
USE = _READ_FILE | _WRITE_FILE


def version() -> int:
    """Return the version of Landlock in this kernel; 0 if it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


class Ruleset:
    """The files that may be reached. A path is opened when it is allowed, so allow paths before giving up any right."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        known = version()
        if not known:
            raise OSError("this kernel has no Landlock")
        self._rights = (1 << _RIGHTS_OF_VERSION.get(known, 16)) - 1
        wanted = struct.pack("<QQQ", self._rights, _NETWORK if known >= 4 else 0, _SCOPES if known >= 6 else 0)
        size = 8 if known < 4 else 16 if known < 6 else 24
        self._ruleset = self._call(_CREATE, wanted, ctypes.c_size_t(size), ctypes.c_uint32(0))

    def allow(self, paths: Iterable[str | Path], rights: int) -> None:
        """Allow each of the paths, and everything beneath it; paths that do not exist are skipped."""
        for path in paths:
            try:
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
                given = rights & self._rights & (~0 if is_folder else _FILE_RIGHTS)
                self._call(_ADD, ctypes.c_int(self._ruleset), _BENEATH, struct.pack("<Qi", given, handle), 0)
            finally:
                os.close(handle)

    def enforce(self) -> None:
        """Enforce the rules for this process, irrevocably."""
        if self._libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "the kernel did not set no_new_privs")
        self._call(_RESTRICT, ctypes.c_int(self._ruleset), ctypes.c_uint32(0))
        os.close(self._ruleset)

    def _call(self, number: int, *arguments: object) -> int:
        result = self._libc.syscall(number, *arguments)
        if result < 0:
            raise OSError(ctypes.get_errno(), "Landlock refused a rule")
        return result
