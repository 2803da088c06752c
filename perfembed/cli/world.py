"""What options say that a program is given when it runs, and what of what it leaves has to be the same."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfembed.cli.texts import budget_seconds, words
from perfembed.errors import UsageError

if TYPE_CHECKING:
    from perfembed.world import World

_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)


def world_of(given: Mapping[str, Any]) -> World:
    """What the options say, by name, relative to the current folder; `args` come after what --run starts the program
    with. Raises UsageError.
    """
    from perfembed.world import PROGRAM_LIMITS, World

    directory = _folder(given.get("directory") or os.curdir, "--workdir")
    tolerance = given.get("tolerance", 0.0)
    if not 0 <= tolerance < 1:
        raise UsageError(f"--tolerance {tolerance:g}: expected a number from 0 to below 1, such as 1e-9")
    stdin = given.get("stdin")
    return World(
        directory=directory,
        arguments=run_arguments(given.get("run"), given["args"]),
        variables=tuple(_variable(text) for text in given.get("env") or ()),
        stdin=_file(stdin, "--stdin") if stdin is not None else None,
        checked=tuple(_inside(path, directory) for path in given.get("check_file") or ()),
        tolerance=tolerance,
        writable=tuple(_folder(folder, "--writable") for folder in given.get("writable") or ()),
        limits=replace(PROGRAM_LIMITS, wall_s=budget_seconds(given.get("run_limit", "60s"), "--run-limit")),
    )


def run_arguments(run: str | None, arguments: str) -> tuple[str, ...]:
    """What the program is given by `--run` and `--args`. Raises UsageError."""
    given = words(arguments, "--args")
    if run is None:
        return given
    started = words(run, "--run")
    if not started:
        raise UsageError("--run: the command is empty")
    return (*started[1:], *given)


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
