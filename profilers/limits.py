"""Limits of the system that a program ran into, and the user's own among them."""

from __future__ import annotations

import resource
import signal

from profilers.errors import FileSizeLimited

_SIGNALS = {signal.SIGXCPU: (b"CPU time limit exceeded", "cpu"), signal.SIGXFSZ: (b"File size limit exceeded", "file")}


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
