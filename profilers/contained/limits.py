"""Limits of the system: those that a process sets itself, and those that a program ran into."""

from __future__ import annotations

import ctypes
import os
import resource
import signal

from profilers.contained.errors import FileSizeLimited

_SIGNALS = {signal.SIGXCPU: (b"CPU time limit exceeded", "cpu"), signal.SIGXFSZ: (b"File size limit exceeded", "file")}


_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Has the kernel kill this process when the thread that started it ends; leaves at once if it already has."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before that took effect
        os._exit(1)


def lower_limit(what: int, value: int, for_good: bool = False) -> None:
    """Lowers a limit (`resource.RLIMIT_…`) to `value`, or leaves it where that is less, as under `ulimit`.

    `for_good`: no process below may raise it again.
    """
    soft, hard = (value if old == resource.RLIM_INFINITY else min(value, old) for old in resource.getrlimit(what))
    resource.setrlimit(what, (min(soft, hard), min(soft, hard) if for_good else hard))


def limit_hit(code: int, said: bytes | bytearray) -> str | None:
    """Which limit of the system ended a child, or what a compiler's driver (under LC_ALL=C) started in it."""
    for number, (text, limit) in _SIGNALS.items():
        if code == -number or (code > 0 and text in said and b"terminated" in said):
            return limit
    return None


def check_file_size(program: str, ours: int = 0) -> None:
    """Raises FileSizeLimited where files may not even be as large as we let them, `ours` (0: of any size)."""
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if allowed != resource.RLIM_INFINITY and (not ours or allowed < ours):
        size = f"{allowed >> 10} KiB" if allowed >= 1024 else f"{allowed} bytes"
        raise FileSizeLimited(f"{program} cannot write a file of more than {size}: raise the limit (ulimit -f)")
