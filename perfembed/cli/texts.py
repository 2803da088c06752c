"""How the texts of options become values."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from perfembed.building.arguments import expanded
from perfembed.errors import UsageError
from perfembed.flags import absolute

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
