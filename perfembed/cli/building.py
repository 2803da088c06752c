"""Which files a program is made of, how it is built, and where its tuned files go."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli.options import Given
from perfembed.cli.texts import words
from perfembed.errors import UsageError

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILES...", help="The C files, of one program. With --build none, or -: all.", show_default=False
    ),
]
if TYPE_CHECKING:
    from perfembed.tuning.opening import HowBuilt


@dataclass(frozen=True, slots=True)
class Places:
    """Where tuned files go: `output` for one file, `folder` for files that keep their names; neither in place."""

    output: str | None
    folder: str | None


def named_files(files: list[str] | None, build: str | None) -> list[str]:
    """The files on the command line; none for all that a build compiles. Raises UsageError."""
    named = [] if files == ["-"] and build is not None else files or []
    if not named and build is None:
        raise UsageError("no file is named", "name the C files, or say how the program is built: --build 'make prog'")
    return named


def output_places(
    files: list[str], output: str | None, output_dir: str | None, in_place: bool, dry_run: bool
) -> Places:
    """What `-o`, `--output-dir` and `--in-place` say together; no `files`: all that are built. Raises UsageError."""
    if output is not None and output_dir is not None:
        raise UsageError("-o and --output-dir exclude each other")
    if in_place and output_dir is not None:
        raise UsageError("--output-dir and --in-place exclude each other")
    if len(files) == 1 and output_dir is None:
        return Places(output if output is not None or in_place else default_output(files[0]), None)
    folder = output_dir if output_dir is not None else output
    if in_place and folder is not None:
        raise UsageError("-o and --in-place exclude each other")
    if folder is None and not in_place and not dry_run:
        raise UsageError("several files: where do they go?", "--in-place, --output-dir DIR, or --dry-run")
    if folder is not None:
        if os.path.lexists(folder) and not os.path.isdir(folder):
            raise UsageError(f"{folder}: not a folder, and several files go there")
        if os.path.isdir(folder) and os.path.samefile(folder, os.curdir):
            raise UsageError(f"{folder}: the files themselves are there", "--in-place rewrites them")
    return Places(None, folder)


def how_built(given: Given, files: list[str]) -> HowBuilt | None:
    """What is said of several files, or of one that is not the whole program; None where it is. Raises UsageError."""
    from perfembed.tuning.opening import HowBuilt, found_commands

    if given.build is not None:
        if not given.build.strip():
            raise UsageError("--build: the command is empty")
        if given.compile_commands is not None:
            raise UsageError("--build and --compile-commands exclude each other")
        return HowBuilt(given.build, words(given.run, "--run")[0] if given.run else None)
    known = given.compile_commands or found_commands(files)
    if len(files) == 1 and known is None:
        return None
    return HowBuilt(commands=known, more=given.own_flags)


def default_output(path: str) -> str:
    """dir/gemm.c -> dir/gemm.opt.c"""
    stem, suffix = os.path.splitext(path)
    return f"{stem}.opt{suffix}"
