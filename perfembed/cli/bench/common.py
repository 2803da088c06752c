"""What the bench commands share: their files and threads, and how they say how far they are."""

from __future__ import annotations

import sys
from glob import glob
from typing import Annotated

import typer

from perfembed.errors import UsageError

SHIPPED = "tests/kernels/*.c"
_MAX_THREADS = 1024

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILES]...", help=f"C files with a main.  [default: {SHIPPED}]", show_default=False),
]
Threads = Annotated[int | None, typer.Option("--threads", metavar="N", help="Threads.  [default: cores]")]


def input_files(files: list[str] | None) -> tuple[str, ...]:
    """Those named, else the shipped kernels. Raises UsageError."""
    found = tuple(files or sorted(glob(SHIPPED)))
    if not found:
        raise UsageError(f"no C files given, and none at {SHIPPED}")
    return found


def thread_count(threads: int | None) -> int:
    """The number given, else the machine's cores. Raises UsageError."""
    if threads is None:
        from profilers.machine import describe_machine

        return describe_machine().physical_cores
    if not 1 <= threads <= _MAX_THREADS:
        raise UsageError(f"--threads {threads}: expected 1 to {_MAX_THREADS}")
    return threads


def say(text: str, quiet: bool) -> None:
    """A line of progress on stderr."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)
