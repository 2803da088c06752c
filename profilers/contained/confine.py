"""Takes from the calling process, for good, all it does not need to compute: files, network, processes.

DuckDB's own locks are not enough. With `read_only` and `enable_external_access=false` versions before 2.0.1 let
`EXPLAIN ANALYZE COPY t TO '<the database>' (USE_TMP_FILE false)` overwrite the attached file, because the
paths of the database and of its WAL stay allowed. So the kernel says no as well, three times:
no new file descriptor (RLIMIT_NOFILE), a short list of allowed system calls (seccomp), an empty set of
reachable files and ports (Landlock).

Sources: seccomp(2), landlock(7), linux/seccomp.h, linux/landlock.h, and the kernel's system call tables.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource

from profilers.contained.limits import lower_limit

# Of each machine: the AUDIT_ARCH value, the number of seccomp(2), and the system calls that stay allowed. They read and
# write what is open, manage memory, wait, tell the time and end the process. None takes a path or makes a descriptor.
_X86_64 = (
    0xC000003E,
    317,
    # read, write, close, fstat, poll, lseek, mmap, mprotect, munmap, brk, rt_sigaction, rt_sigprocmask, rt_sigreturn,
    *(0, 1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    # pread64, readv, writev, sched_yield, mremap, mincore, madvise, nanosleep, getpid, exit, uname, fcntl,
    *(17, 19, 20, 24, 25, 27, 28, 35, 39, 60, 63, 72),
    # gettimeofday, getrusage, sysinfo, times, getuid, getppid, sigaltstack, gettid, futex, restart_syscall,
    *(96, 98, 99, 100, 102, 110, 131, 186, 202, 219),
    # sched_getaffinity, clock_gettime, clock_getres, clock_nanosleep, exit_group, ppoll, set_robust_list, preadv,
    *(204, 228, 229, 230, 231, 271, 273, 295),
    # getcpu, getrandom, membarrier, rseq
    *(309, 318, 324, 334),
)
_AARCH64 = (  # the same in the same order
    0xC00000B7,
    277,
    *(63, 64, 57, 80, 73, 62, 222, 226, 215, 214, 134, 135, 139),
    *(67, 65, 66, 124, 216, 232, 233, 101, 172, 93, 160, 25),
    *(169, 165, 179, 153, 174, 173, 132, 178, 98, 128),
    *(123, 113, 114, 115, 94, 73, 99, 69),
    *(168, 278, 283, 293),
)
_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}

_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_EACCES = 13
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_SET_MODE_FILTER, _TSYNC = 1, 1
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446  # the same numbers on every machine
_LANDLOCK_VERSION = 1


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("filter", ctypes.POINTER(_Instruction)))


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


def limit_memory(more_bytes: int) -> None:
    """So much address space beyond what is in use, and never again more."""
    with open("/proc/self/statm") as file:
        in_use = int(file.read().split()[0]) * resource.getpagesize()
    lower_limit(resource.RLIMIT_AS, in_use + more_bytes, for_good=True)


def limit_resources() -> None:
    """No core file, no byte written to a file, no new process or thread."""
    for what in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
        lower_limit(what, 0, for_good=True)


def hide() -> None:
    """No other process of the user's looks into this one."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def landlock_version() -> int:
    """Of the kernel's Landlock; less than 1 where it has none, or it is switched off."""
    return int(ctypes.CDLL(None).syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION))


def confine() -> tuple[str, ...]:
    """Leaves this process with its open descriptors and nothing else; the kernel's means that took effect.

    Of "landlock" and "seccomp" at least one is needed: what to do without is up to the caller. Landlock holds
    for the calling thread and those it starts, seccomp for all.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    machine, held = platform.machine(), []  # platform wants files: it is asked first
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 and _landlock(libc):
        held.append("landlock")
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    if _seccomp(libc, machine):
        held.append("seccomp")
    return tuple(held)


def _landlock(libc: ctypes.CDLL) -> bool:
    """Handles every right this kernel knows and grants none."""
    version = landlock_version()
    if version < 1:
        return False
    fs_bits = 13 + (version >= 2) + (version >= 3) + (version >= 5)
    rules = _Ruleset((1 << fs_bits) - 1, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = libc.syscall(_LANDLOCK_CREATE, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    done = libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return bool(done)


def _seccomp(libc: ctypes.CDLL, machine: str) -> bool:
    """Every system call but the listed ones fails with EACCES; those of another architecture end the process."""
    if machine not in _MACHINES or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    architecture, number, *allowed = _MACHINES[machine]
    code = [(_LOAD, 0, 0, 4), (_JUMP_IF_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    code += [(_JUMP_IF_EQUAL, len(allowed) - place, 0, call) for place, call in enumerate(allowed)]
    code += [(_RETURN, 0, 0, _ERRNO | _EACCES), (_RETURN, 0, 0, _ALLOW)]
    instructions = (_Instruction * len(code))(*(_Instruction(*line) for line in code))
    program = _Program(len(code), ctypes.cast(instructions, ctypes.POINTER(_Instruction)))
    return bool(libc.syscall(number, _SET_MODE_FILTER, _TSYNC, ctypes.byref(program)) == 0)
