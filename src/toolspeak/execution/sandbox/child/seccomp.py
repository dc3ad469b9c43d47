"""A filter on system calls: the kernel refuses this process every call that `syscalls.py` does not list.

Whatever the code does (with ctypes and hand-made machine code, too), it has an effect only through system calls. A
refused call fails with `EPERM`, so that Python raises an ordinary `PermissionError` with its place in the code.

The filter is a small program (classic BPF) over the number and the arguments of a call. Each rule is independent: it
applies to one number, and ends in a verdict. Arguments are compared by their lower halves, which is all that the kernel
reads of an int; only addresses need both halves.
"""

import ctypes
import errno
import os
import struct
import sys

from .syscalls import ARCHITECTURES, allowed_calls, conditional_calls

_LOAD, _AND, _SAME, _RETURN = 0x20, 0x54, 0x15, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_REFUSE = _FAIL | errno.EPERM

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_CLONE_FILES = 0x00000400
_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020080
_CLOSE_RANGE_UNSHARE = 0x2
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20
# Flags and locks; not the commands that send signals to other processes.
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 1030)
# Whether it is a terminal, close on exec (off, on), blocking, how many bytes can be read.
_IOCTL_REQUESTS = (0x5401, 0x5450, 0x5451, 0x5421, 0x541B)
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2

_Instruction = tuple[int, int, int, int]


def architecture() -> str | None:
    """Return the architecture of this machine if there is a filter for it, else `None`."""
    if not sys.platform.startswith("linux") or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return None
    name = os.uname().machine
    return name if name in ARCHITECTURES else None


def is_supported() -> bool:
    """Whether the kernel accepts filters. The test passes a null pointer: it always fails, and changes nothing."""
    if architecture() is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_SECCOMP, _FILTER, None, 0, 0)
    return ctypes.get_errno() == errno.EFAULT


def install(name: str) -> None:
    """Install the filter for an architecture in this process, irrevocably."""
    program = b"".join(struct.pack("<HBBI", *instruction) for instruction in build_filter(name, os.getpid()))
    buffer = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _FILTER, header, 0, 0)):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "the filter on system calls was refused")


def build_filter(name: str, pid: int) -> list[_Instruction]:
    """Build the filter for an architecture and a process id; the process may send signals only to itself."""
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_SAME, 1, 0, _AUDIT[name]),  # calls of another architecture have other numbers, and would bypass the list
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for number in allowed_calls(name):
        program += [(_SAME, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for call, number in conditional_calls(name).items():
        rule = _rules(pid)[call]
        program += [(_SAME, 0, len(rule), number), *rule]
    return [*program, (_RETURN, 0, 0, _REFUSE)]


def _rules(pid: int) -> dict[str, list[_Instruction]]:
    # An old Landlock lets a file that may only be read be emptied by this pair of flags (O_TRUNC | O_RDONLY), and no
    # other.
    truncates = os.O_TRUNC | os.O_ACCMODE
    thread = _CLONE_THREAD | _CLONE_FILES
    return {
        "open": _refuse_if(1, truncates, (os.O_TRUNC | os.O_RDONLY,)),
        "openat": _refuse_if(2, truncates, (os.O_TRUNC | os.O_RDONLY,)),
        "ioctl": _allow_if(1, _IOCTL_REQUESTS),
        "fcntl": _allow_if(1, _FCNTL_COMMANDS),
        "kill": _allow_if(0, (pid,)),
        "tgkill": _allow_if(0, (pid,)),
        "prlimit64": _allow_if(0, (0,)),
        # All threads share one table of open files, so that the limit on open files holds for all of them together.
        "clone": _allow_if(0, (thread,), mask=thread | _CLONE_NAMESPACES),
        "close_range": _allow_if(2, (0,), mask=_CLOSE_RANGE_UNSHARE),
        # Its flags lie in memory, where they cannot be checked; at ENOSYS libc falls back to clone.
        "clone3": [(_RETURN, 0, 0, _FAIL | errno.ENOSYS)],
        # SOCK_STREAM, for asyncio; a socket of another type could send to other addresses.
        "socketpair": _allow_if(1, (1,), mask=0xF),
        "sendto": _allow_if_null(4),
        # Memory that is shared and has no file stays allocated as a whole while one page of it is mapped, and only that
        # page counts against the limit on memory.
        "mmap": _refuse_if(3, _MAP_SHARED | _MAP_ANONYMOUS, (_MAP_SHARED | _MAP_ANONYMOUS,)),
    }


def _allow_if(argument: int, values: tuple[int, ...], mask: int = 0xFFFFFFFF) -> list[_Instruction]:
    return _compare_argument(argument, mask, values, _ALLOW, _REFUSE)


def _refuse_if(argument: int, mask: int, values: tuple[int, ...]) -> list[_Instruction]:
    return _compare_argument(argument, mask, values, _REFUSE, _ALLOW)


def _compare_argument(argument: int, mask: int, values: tuple[int, ...], same: int, other: int) -> list[_Instruction]:
    rule = [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument), (_AND, 0, 0, mask)]
    for value in values:
        rule += [(_SAME, 0, 1, value), (_RETURN, 0, 0, same)]
    return [*rule, (_RETURN, 0, 0, other)]


def _allow_if_null(argument: int) -> list[_Instruction]:
    place = _ARGUMENTS + 8 * argument
    return [
        (_LOAD, 0, 0, place),
        (_SAME, 0, 3, 0),
        (_LOAD, 0, 0, place + 4),
        (_SAME, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
