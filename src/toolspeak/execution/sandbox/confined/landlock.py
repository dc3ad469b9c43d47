"""Landlock: which files this process may reach. What is not named is out of reach, whoever the process is.

It holds for root too, and for every way to a file: by name, through a link, through `/proc`. It does not hide that a
file exists, nor its size: that needs a user of its own, or bubblewrap.
"""

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every machine
_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_FILE, _MAKE_FILE, _TRUNCATE = (1 << bit for bit in (1, 2, 3, 5, 8, 14))
_OF_A_FILE = _WRITE_FILE | _READ_FILE | _TRUNCATE
_KNOWN = {1: 13, 2: 14, 3: 15, 4: 15}  # how many rights a version of Landlock knows; later ones know one more
_NETWORK = 0b11  # TCP: to listen, and to connect
_SCOPES = 0b11  # abstract sockets, and signals to others

READ = _READ_FILE | _READ_DIR
LIST = _READ_DIR
WORK = READ | _WRITE_FILE | _REMOVE_FILE | _MAKE_FILE | _TRUNCATE
"""Plain files come and go, and nothing else: no folders, links, pipes or devices. So a folder stays flat."""
USE = _READ_FILE | _WRITE_FILE


def version() -> int:
    """The version of Landlock that the kernel has; 0 where it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


class Ruleset:
    """What may be reached. Paths are opened when they are named, so name them before any right is given up."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        known = version()
        if not known:
            raise OSError("this kernel has no Landlock")
        self._rights = (1 << _KNOWN.get(known, 16)) - 1
        wanted = struct.pack("<QQQ", self._rights, _NETWORK if known >= 4 else 0, _SCOPES if known >= 6 else 0)
        size = 8 if known < 4 else 16 if known < 6 else 24
        self._ruleset = self._call(_CREATE, wanted, ctypes.c_size_t(size), ctypes.c_uint32(0))

    def allow(self, paths: Iterable[str | Path], rights: int) -> None:
        """Let each of the paths be reached, with what lies beneath; those that do not exist are passed over."""
        for path in paths:
            try:
                place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                is_folder = stat.S_ISDIR(os.fstat(place).st_mode)
                given = rights & self._rights & (~0 if is_folder else _OF_A_FILE)
                self._call(_ADD, ctypes.c_int(self._ruleset), _BENEATH, struct.pack("<Qi", given, place), 0)
            finally:
                os.close(place)

    def enforce(self) -> None:
        """Put the wall up, for this process and for good."""
        if self._libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "the kernel would not let go of new privileges")
        self._call(_RESTRICT, ctypes.c_int(self._ruleset), ctypes.c_uint32(0))
        os.close(self._ruleset)

    def _call(self, number: int, *arguments: object) -> int:
        result = self._libc.syscall(number, *arguments)
        if result < 0:
            raise OSError(ctypes.get_errno(), "Landlock refused a rule")
        return result
