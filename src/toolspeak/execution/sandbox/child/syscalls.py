"""The system calls that Python needs to compute, by their numbers; every other call is refused.

Left out on purpose, among others: `execve`, `fork`, `socket`, `connect`, `bind`, `ptrace`, `prctl`, `mount`, `unshare`,
`chmod`, `chown`, `mkdir`, `link`, `symlink`, `truncate`, `memfd_create`, `io_uring_setup`, `bpf`, `setsid`,
`pidfd_open`, and `openat2`, whose flags lie in memory, which a filter cannot read.
"""

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

# Allowed or refused by their arguments: see seccomp.py.
_CONDITIONAL = """
open 2 -                openat 257 56           ioctl 16 29             sendto 44 206
socketpair 53 199       clone 56 220            kill 62 129             fcntl 72 25
tgkill 234 131          prlimit64 302 261       clone3 435 435          mmap 9 222
close_range 436 436
"""

ARCHITECTURES = ("x86_64", "aarch64")


def allowed_calls(architecture: str) -> tuple[int, ...]:
    """Return the numbers of the calls that are allowed with any arguments."""
    return tuple(_parse_numbers(_ALLOWED, architecture).values())


def conditional_calls(architecture: str) -> dict[str, int]:
    """Return the calls that are allowed or refused by their arguments: the numbers by name."""
    return _parse_numbers(_CONDITIONAL, architecture)


def _parse_numbers(table: str, architecture: str) -> dict[str, int]:
    words = table.split()
    column = 1 + ARCHITECTURES.index(architecture)
    rows = (words[start : start + 3] for start in range(0, len(words), 3))
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
