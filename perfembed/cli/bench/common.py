"""What the bench commands share: their files."""

from __future__ import annotations

from glob import glob
from typing import Annotated

import typer

from perfembed.errors import UsageError

FORMATS = ("table", "markdown", "json")
SHIPPED = "tests/kernels/*.c"

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILES]...", help=f"C files with a main.  [default: {SHIPPED}]", show_default=False),
]


def input_files(files: list[str] | None) -> tuple[str, ...]:
    """Those named, else the shipped kernels. Raises UsageError."""
    found = tuple(files or sorted(glob(SHIPPED)))
    if not found:
        raise UsageError(f"no C files given, and none at {SHIPPED}")
    return found
