"""A filter on system calls: the kernel refuses this process everything that `syscalls.py` does not list.

Whatever the code does (ctypes and hand-made machine code included), it ends in a system call. A refused one fails with
`EPERM`, so that Python raises an ordinary `PermissionError` and says where.

The filter is a small program (classic BPF) over the number and the arguments of a call. Each rule stands on its own:
it is entered if the number is its own, and ends in a verdict. Arguments are compared by their lower halves, which is
all the kernel reads of an int; only addresses need both.
"""

import ctypes
import errno
import os
import struct
import sys

from .syscalls import MACHINES, allowed, looked_at

_LOAD, _AND, _SAME, _RETURN = 0x20, 0x54, 0x15, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_REFUSE = _FAIL | errno.EPERM

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020080
_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 1030)  # of fcntl: flags and locks; not those that send signals to others
_REQUESTS = (
    0x5401,
    0x5450,
    0x5451,
    0x5421,
    0x541B,
)  # of ioctl: is it a terminal, close on exec, blocking, how much is there
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2

_Instruction = tuple[int, int, int, int]


def machine() -> str | None:
    """The machine whose calls are known; `None` where there is no filter to be had."""
    if not sys.platform.startswith("linux") or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return None
    name = os.uname().machine
    return name if name in MACHINES else None


def supported() -> bool:
    """Whether the kernel takes filters. Asking for one that lies nowhere changes nothing: it fails either way."""
    if machine() is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_SECCOMP, _FILTER, None, 0, 0)
    return ctypes.get_errno() == errno.EFAULT


def install(name: str) -> None:
    """Put the filter up, for this process and for good."""
    program = b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions(name, os.getpid()))
    held = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(held)))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _FILTER, header, 0, 0)):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "the filter on system calls was refused")


def instructions(name: str, pid: int) -> list[_Instruction]:
    """The filter for a machine, and for the process of that number, which may send signals to itself alone."""
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_SAME, 1, 0, _AUDIT[name]),  # calls of another machine have other numbers: a way around the list
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for number in allowed(name):
        program += [(_SAME, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for call, number in looked_at(name).items():
        rule = _rules(pid)[call]
        program += [(_SAME, 0, len(rule), number), *rule]
    return [*program, (_RETURN, 0, 0, _REFUSE)]


def _rules(pid: int) -> dict[str, list[_Instruction]]:
    truncates = os.O_TRUNC | os.O_ACCMODE  # an old Landlock lets a file that may be read be emptied, by this pair alone
    return {
        "open": _refused_if(1, truncates, (os.O_TRUNC | os.O_RDONLY,)),
        "openat": _refused_if(2, truncates, (os.O_TRUNC | os.O_RDONLY,)),
        "ioctl": _allowed_if(1, _REQUESTS),
        "fcntl": _allowed_if(1, _COMMANDS),
        "kill": _allowed_if(0, (pid,)),
        "tgkill": _allowed_if(0, (pid,)),
        "prlimit64": _allowed_if(0, (0,)),
        "clone": _allowed_if(0, (_CLONE_THREAD,), mask=_CLONE_THREAD | _CLONE_NAMESPACES),
        "clone3": [(_RETURN, 0, 0, _FAIL | errno.ENOSYS)],  # its flags lie in memory; told so, libc takes clone
        "socketpair": _allowed_if(1, (1,), mask=0xF),  # streams, for asyncio; another kind could be sent elsewhere
        "sendto": _allowed_if_null(4),
    }


def _allowed_if(argument: int, values: tuple[int, ...], mask: int = 0xFFFFFFFF) -> list[_Instruction]:
    return _decided(argument, mask, values, _ALLOW, _REFUSE)


def _refused_if(argument: int, mask: int, values: tuple[int, ...]) -> list[_Instruction]:
    return _decided(argument, mask, values, _REFUSE, _ALLOW)


def _decided(argument: int, mask: int, values: tuple[int, ...], same: int, other: int) -> list[_Instruction]:
    rule = [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument), (_AND, 0, 0, mask)]
    for value in values:
        rule += [(_SAME, 0, 1, value), (_RETURN, 0, 0, same)]
    return [*rule, (_RETURN, 0, 0, other)]


def _allowed_if_null(argument: int) -> list[_Instruction]:
    place = _ARGUMENTS + 8 * argument
    return [
        (_LOAD, 0, 0, place),
        (_SAME, 0, 3, 0),
        (_LOAD, 0, 0, place + 4),
        (_SAME, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
