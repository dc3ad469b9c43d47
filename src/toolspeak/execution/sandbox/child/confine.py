"""Confines this process: resource limits, another user, Landlock, and a filter on system calls. None can be undone.

**Landlock** restricts which files this process may reach. It holds for root too, and for every way to a file: by name,
through a link, through `/proc`. It does not hide that a file exists, nor its size: that needs a user id of its own, or
bubblewrap. The code can reach the standard library and a folder of its own, but not site-packages.

**The filter** refuses every system call that the tables below do not list. Whatever the code does (with ctypes and
hand-made machine code, too), it has an effect only through system calls. A refused call fails with `EPERM`, so that
Python raises an ordinary `PermissionError` with its place in the code. The filter is a small program (classic BPF) over
the number and the arguments of a call. Each rule is independent: it applies to one number, and ends in a verdict.
Arguments are compared by their lower halves, which is all that the kernel reads of an int; only addresses need both
halves. Left out of the tables on purpose, among others: `execve`, `fork`, `socket`, `connect`, `bind`, `ptrace`,
`prctl`, `mount`, `unshare`, `chmod`, `chown`, `mkdir`, `link`, `symlink`, `truncate`, `memfd_create`,
`io_uring_setup`, `bpf`, `setsid`, `pidfd_open`, and `openat2`, whose flags lie in memory, which a filter cannot read.
"""

import ctypes
import errno
import os
import signal
import stat
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PACKAGE_FOLDERS = ("site-packages", "dist-packages")
"""Folders inside the folder of the standard library that hold installed packages."""

SYSTEM_PATHS = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo", "/etc/localtime")
"""What of the system Python needs: shared libraries and time zones."""

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38


def confine(plan: dict[str, Any]) -> None:
    """Confine this process as the plan says. Raises an error if any part of that fails."""
    os.umask(0o077)
    is_confined = bool(plan["landlock"] or plan["bubblewrap"])
    _set_limits(plan["seconds"], plan["memory"], plan["file_size"], required=is_confined)
    # Before the change of the user id: the rules open files that the other user may not be able to open.
    rules = _build_ruleset() if plan["landlock"] else None
    if plan["user"] is not None:
        folders = _open_folders()
        _switch_user(plan["user"])
        _keep_reachable(folders)
    if sys.platform.startswith("linux"):
        _set_process_option(_PR_SET_PDEATHSIG, int(signal.SIGKILL))  # end with the parent
        # The change of the user id hid the open files and mappings of this process, which the parent measures.
        _set_process_option(_PR_SET_DUMPABLE, 1)
    if rules is not None:
        rules.enforce()
    if plan["seccomp"] is not None:
        _install_filter(plan["seccomp"])


def _set_process_option(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"the kernel refused option {option} of the process")


def _set_limits(seconds: int, memory: int, file_size: int, *, required: bool) -> None:
    """Set the soft and the hard limits. If they are required, one that the system does not know is an error."""
    import resource  # not on Windows, where the parent imports this module too

    wanted = {
        "RLIMIT_CPU": seconds,
        "RLIMIT_AS": memory,
        "RLIMIT_FSIZE": file_size,
        "RLIMIT_NOFILE": 32,
        "RLIMIT_NPROC": 32,
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


def _switch_user(user: int) -> None:
    """Continue as a user id that owns nothing, and check that the change took effect."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if os.getresuid() != (user, user, user) or os.getresgid() != (user, user, user) or os.getgroups():
        raise OSError("the change of the user did not hold")


def _build_ruleset() -> "Ruleset":
    """Return the rules: the code may write in its own folder, and read Python itself and the time zones."""
    rules = Ruleset()
    folders = [Path(path) for path in sys.path]
    rules.allow(folders, LIST)
    # Each part of the standard library by itself, since installed packages lie in the same folder.
    inner = (path for folder in folders if folder.is_dir() for path in folder.iterdir())
    rules.allow((path for path in inner if path.name not in PACKAGE_FOLDERS), READ)
    rules.allow(SYSTEM_PATHS, READ)
    for folder in (Path(sys.base_prefix, "lib"), Path("/usr/local/lib")):
        rules.allow(folder.glob("*.so*"), READ)
    rules.allow(("/dev/null",), USE)
    rules.allow(("/dev/urandom",), READ)  # not /dev/zero: mapped, it is memory that no limit counts
    rules.allow((Path.cwd(),), WORK)
    return rules


def _open_folders() -> dict[str, int]:
    """Open the folders of the standard library, while this process still can."""
    return {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in sys.path if Path(path).is_dir()}


def _keep_reachable(folders: dict[str, int]) -> None:
    """Import through the open folders where the user of this process cannot reach their paths.

    A Python in a home folder is out of reach for another user, though its files may be readable.
    """
    for path, handle in folders.items():
        if os.access(path, os.R_OK | os.X_OK):
            os.close(handle)
            continue
        through = f"/proc/self/fd/{handle}"
        sys.path[:] = [through if entry == path else entry for entry in sys.path]
        for module in list(sys.modules.values()):
            if (inside := getattr(module, "__path__", None)) is not None:
                module.__path__ = [
                    through + each[len(path) :] if each.startswith(f"{path}/") else each for each in inside
                ]
    sys.path_importer_cache.clear()


# Landlock

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_BENEATH = 1

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


def landlock_version() -> int:
    """Return the version of Landlock in this kernel; 0 if it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


class Ruleset:
    """The files that may be reached. A path is opened when it is allowed, so allow paths before giving up any right."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        known = landlock_version()
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


# The filter on system calls

_LOAD, _AND, _SAME, _RETURN = 0x20, 0x54, 0x15, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_REFUSE = _FAIL | errno.EPERM

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The architectures for which there is a filter, and the kernel's numbers for them."""

_CLONE_FILES = 0x00000400
_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020080
_CLOSE_RANGE_UNSHARE = 0x2
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20
# Flags and locks; not the commands that send signals to other processes.
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 1030)
# Whether it is a terminal, close on exec (off, on), blocking, how many bytes can be read.
_IOCTL_REQUESTS = (0x5401, 0x5450, 0x5451, 0x5421, 0x541B)
_FILTER = 2

_Instruction = tuple[int, int, int, int]

# name, number on x86_64, number on aarch64 (- where the architecture has no such call)
_ALLOWED = """
read 0 63               write 1 64              close 3 57              stat 4 -
fstat 5 80              lstat 6 -               poll 7 -                lseek 8 62
mprotect 10 226         munmap 11 215           brk 12 214
rt_sigaction 13 134     rt_sigprocmask 14 135   rt_sigreturn 15 139     pread64 17 67
pwrite64 18 68          readv 19 65             writev 20 66            access 21 -
pipe 22 -               select 23 -             sched_yield 24 124      mremap 25 216
msync 26 227            mincore 27 232          madvise 28 233          dup 32 23
dup2 33 -               pause 34 -              nanosleep 35 101        getitimer 36 102
alarm 37 -              setitimer 38 103        getpid 39 172           sendfile 40 71
recvfrom 45 207         shutdown 48 210         getsockname 51 204      getsockopt 55 209
exit 60 93              wait4 61 260            uname 63 160            flock 73 32
fsync 74 82             fdatasync 75 83         ftruncate 77 46         getdents 78 -
getcwd 79 17            chdir 80 49             fchdir 81 50            rename 82 -
unlink 87 -             readlink 89 -           umask 95 166            gettimeofday 96 169
getrlimit 97 163        getrusage 98 165        sysinfo 99 179          times 100 153
getuid 102 174          getgid 104 176          geteuid 107 175         getegid 108 177
getppid 110 173         getpgrp 111 -           rt_sigpending 127 136   rt_sigtimedwait 128 137
rt_sigsuspend 130 133   sigaltstack 131 132     arch_prctl 158 -        gettid 186 178
time 201 -              futex 202 98            sched_getaffinity 204 123  getdents64 217 61
set_tid_address 218 96  fadvise64 221 223       clock_gettime 228 113   clock_getres 229 114
clock_nanosleep 230 115 exit_group 231 94       epoll_wait 232 -        epoll_ctl 233 21
newfstatat 262 79       unlinkat 263 35         renameat 264 38         readlinkat 267 78
faccessat 269 48        pselect6 270 72         ppoll 271 73            set_robust_list 273 99
epoll_pwait 281 22      epoll_create1 291 20    dup3 292 24             pipe2 293 59
renameat2 316 276       getrandom 318 278       membarrier 324 283      statx 332 291
rseq 334 293            faccessat2 439 439
"""

# Allowed or refused by their arguments: see `_rules`.
_CONDITIONAL = """
open 2 -                openat 257 56           ioctl 16 29             sendto 44 206
socketpair 53 199       clone 56 220            kill 62 129             fcntl 72 25
tgkill 234 131          prlimit64 302 261       clone3 435 435          mmap 9 222
close_range 436 436
"""


def filter_architecture() -> str | None:
    """Return the architecture of this machine if there is a filter for it, else `None`."""
    if not sys.platform.startswith("linux") or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return None
    name = os.uname().machine
    return name if name in _AUDIT else None


def accepts_filters() -> bool:
    """Whether the kernel accepts filters. The test passes a null pointer: it always fails, and changes nothing."""
    if filter_architecture() is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_SECCOMP, _FILTER, None, 0, 0)
    return ctypes.get_errno() == errno.EFAULT


def _install_filter(name: str) -> None:
    """Install the filter for an architecture in this process, irrevocably."""
    program = b"".join(struct.pack("<HBBI", *instruction) for instruction in _build_filter(name, os.getpid()))
    buffer = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _FILTER, header, 0, 0)):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "the filter on system calls was refused")


def _build_filter(name: str, pid: int) -> list[_Instruction]:
    """Build the filter for an architecture and a process id; the process may send signals only to itself."""
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_SAME, 1, 0, _AUDIT[name]),  # calls of another architecture have other numbers, and would bypass the list
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for number in _parse_numbers(_ALLOWED, name).values():
        program += [(_SAME, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for call, number in _parse_numbers(_CONDITIONAL, name).items():
        rule = _rules(pid)[call]
        program += [(_SAME, 0, len(rule), number), *rule]
    return [*program, (_RETURN, 0, 0, _REFUSE)]


def _parse_numbers(table: str, architecture: str) -> dict[str, int]:
    words = table.split()
    column = 1 + list(_AUDIT).index(architecture)
    rows = (words[start : start + 3] for start in range(0, len(words), 3))
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


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
