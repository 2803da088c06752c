"""How the texts of options become values."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfembed.building.arguments import expanded
from perfembed.errors import UsageError
from perfembed.flags import absolute
from perfembed.world import PROGRAM_LIMITS, World

if TYPE_CHECKING:
    from perfembed.world import World

_MAX_THREADS = 1024


def thread_count(option: int | None) -> int:
    """By default the physical cores: what a hyperthread adds differs from nest to nest. Raises UsageError."""
    if option is None:
        from profilers.machine import describe_machine

        return describe_machine().physical_cores
    if not 1 <= option <= _MAX_THREADS:
        raise UsageError(f"--threads {option}: expected 1 to {_MAX_THREADS}")
    return option


def weights_folder(option: str | None, environment: Mapping[str, str]) -> str | None:
    """What `--weights` says, else PERFEMBED_WEIGHTS, else None. Raises UsageError for a folder without cost models."""
    chosen = option or environment.get("PERFEMBED_WEIGHTS")
    if chosen and not any(Path(chosen).glob("cost-*.safetensors")):
        raise UsageError(f"--weights {chosen}: there are no cost models", "perfembed train cost -o DIR makes them")
    return chosen or None


def compiler_flags(
    cflags: str, defines: list[str] | None, includes: list[str] | None, standard: str | None
) -> tuple[str, ...]:
    """The flags in the order a compiler wants them, @files read, paths from here made absolute. Raises UsageError."""
    flags = expanded(words(cflags, "--cflags"))
    flags += [f"-D{define}" for define in defines or ()]
    flags += [f"-I{folder}" for folder in includes or ()]
    return absolute((*flags, f"-std={standard}") if standard else flags, os.getcwd())


def words(text: str, option: str) -> tuple[str, ...]:
    """Splits like a shell does. Raises UsageError."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: {str(error).lower()}") from None


_BUDGET = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(s|m|min|h)?", re.ASCII)
_FACTORS = {None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def budget_seconds(text: str, option: str = "--budget") -> float:
    """60, 60s, 2m, 1.5h. Raises UsageError."""
    match = _BUDGET.fullmatch(text.strip())
    value = float(match[1]) * _FACTORS[match[2]] if match else 0.0
    if not 0 < value <= 30 * 86_400:
        raise UsageError(f"{option} {text!r}: expected a time such as 60s, 2m or 1h")
    return value


_PARAMETER = re.compile(r"([A-Za-z_]\w*)=(-?\d{1,18})", re.ASCII)


def parameter_values(texts: list[str] | None) -> tuple[tuple[str, int], ...]:
    """`n=2000` each. Raises UsageError."""
    found: dict[str, int] = {}
    for text in texts or ():
        match = _PARAMETER.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"--param {text!r}: expected NAME=INTEGER, such as n=2000")
        if match[1] in found:
            raise UsageError(f"--param {match[1]} is given twice")
        found[match[1]] = int(match[2])
    return tuple(found.items())


_SHARD = re.compile(r"(\d{1,6})/(\d{1,6})", re.ASCII)


def shard_of(text: str) -> tuple[int, int]:
    """`2/8`. Raises UsageError."""
    match = _SHARD.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--shard {text!r}: expected I/N with 1 <= I <= N, such as 2/8")
    return int(match[1]), int(match[2])


_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)


def world_of(given: Mapping[str, Any]) -> World:
    """What the options say, by name, relative to the current folder; `args` come after what --run starts the program
    with. Raises UsageError.
    """

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
