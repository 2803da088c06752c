"""The options that say what a program is given when it runs, and what of what it leaves has to be the same."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli.options import budget_seconds, words
from perfembed.errors import UsageError

if TYPE_CHECKING:
    from perfembed.world import World

Args = Annotated[str, typer.Option("--args", metavar="ARGS", help="Arguments the program is run with.")]
Stdin = Annotated[
    str | None, typer.Option("--stdin", metavar="FILE", help="What the program reads as its input.", show_default=False)
]
Env = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME=VALUE", help="A variable of the program's (repeatable).", show_default=False),
]
Workdir = Annotated[
    str | None,
    typer.Option(
        "--workdir",
        metavar="DIR",
        help="The folder that the program runs in, or rather in a copy of it.  [default: the current one]",
        show_default=False,
    ),
]
CheckFile = Annotated[
    list[str] | None,
    typer.Option(
        "--check-file",
        metavar="PATH",
        help="A file that the program writes and that has to be the same (repeatable).  [default: all in its folder "
        "that two runs of the original leave alike]",
        show_default=False,
    ),
]
Tolerance = Annotated[
    float,
    typer.Option(
        "--tolerance",
        metavar="X",
        help="By how much, relative, numbers in what the program prints and writes may differ.",
    ),
]
RunLimit = Annotated[str, typer.Option("--run-limit", metavar="TIME", help="How long one run of the program may take.")]
ExpectExit = Annotated[
    int,
    typer.Option("--expect-exit", metavar="N", min=0, max=255, help="The exit code that the program ends with."),
]
Writable = Annotated[
    list[str] | None,
    typer.Option(
        "--writable",
        metavar="DIR",
        help="A folder outside of its own that the program may write to (repeatable).",
        show_default=False,
    ),
]
_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)


def world_of(
    args: str,
    stdin: str | None,
    env: list[str] | None,
    workdir: str | None,
    check_file: list[str] | None,
    tolerance: float,
    run_limit: str,
    writable: list[str] | None,
) -> World:
    """What these options say, relative to the current folder. Raises UsageError."""
    from perfembed.world import PROGRAM_LIMITS, World

    directory = _folder(workdir or os.curdir, "--workdir")
    if not 0 <= tolerance < 1:
        raise UsageError(f"--tolerance {tolerance:g}: expected a number from 0 to below 1, such as 1e-9")
    return World(
        directory=directory,
        arguments=words(args, "--args"),
        variables=tuple(_variable(text) for text in env or ()),
        stdin=_file(stdin, "--stdin") if stdin is not None else None,
        checked=tuple(_inside(path, directory) for path in check_file or ()),
        tolerance=tolerance,
        writable=tuple(_folder(folder, "--writable") for folder in writable or ()),
        limits=replace(PROGRAM_LIMITS, wall_s=budget_seconds(run_limit, "--run-limit")),
    )


def _variable(text: str) -> tuple[str, str]:
    match = _VARIABLE.fullmatch(text)
    if match is None or "\0" in text:
        raise UsageError(f"--env {text!r}: expected NAME=VALUE")
    return match[1], match[2]


def _folder(path: str, option: str) -> Path:
    if not os.path.isdir(path):
        raise UsageError(f"{option} {path}: no such folder")
    return Path(path).resolve()


def _file(path: str, option: str) -> Path:
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        raise UsageError(f"{option} {path}: no such file, or it cannot be read")
    return Path(path).resolve()


def _inside(path: str, directory: Path) -> str:
    """Relative to the working folder, as it is named in there."""
    found = os.path.relpath(os.path.normpath(directory / path), directory)
    if found.split(os.sep)[0] in (os.pardir, os.curdir):
        raise UsageError(f"--check-file {path}: not a file in the working folder {directory}")
    return found
