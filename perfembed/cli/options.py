"""The options several commands share, and how their texts become values."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from perfembed.building.arguments import expanded
from perfembed.cli.session import Session
from perfembed.errors import UsageError
from perfembed.flags import absolute

DEFAULT_CFLAGS = "-O3 -march=native"
FORMATS = ("text", "json", "sarif", "remarks")
_MAX_THREADS = 1024


def _set_json(context: typer.Context, value: bool) -> bool:
    context.ensure_object(Session).json = value
    return value


def _set_traceback(context: typer.Context, value: bool) -> bool:
    session = context.ensure_object(Session)
    session.traceback = session.traceback or value
    return value


File = Annotated[str, typer.Argument(metavar="FILE", help="The C file.", show_default=False)]
Cc = Annotated[str, typer.Option("--cc", metavar="PROGRAM", help="The C compiler.")]
Cflags = Annotated[str, typer.Option("--cflags", metavar="FLAGS", help="Compiler flags, in one argument.")]
Defines = Annotated[
    list[str] | None, typer.Option("-D", metavar="NAME[=VALUE]", help="Define a macro.", show_default=False)
]
Includes = Annotated[
    list[str] | None, typer.Option("-I", metavar="DIR", help="Add a folder of headers.", show_default=False)
]
Standard = Annotated[
    str | None, typer.Option("-std", metavar="NAME", help="The C standard, such as c99.", show_default=False)
]
Functions = Annotated[
    list[str] | None,
    typer.Option("--function", metavar="NAME", help="Only nests of this function (repeatable).", show_default=False),
]
Json = Annotated[
    bool, typer.Option("--json", is_eager=True, callback=_set_json, help="Print one JSON document instead of text.")
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        help="text, json, sarif (for editors and code review) or remarks (like a compiler's).",
    ),
]
Traceback = Annotated[
    bool,
    typer.Option(
        "--traceback",
        is_eager=True,
        callback=_set_traceback,
        help="Show the traceback of an error (also: PERFEMBED_TRACEBACK=1).",
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=N",
        help="The value of a size where there is no main (repeatable).",
        show_default=False,
    ),
]
Threads = Annotated[int | None, typer.Option("--threads", metavar="N", help="Threads.  [default: cores]")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")]
Neighbours = Annotated[int, typer.Option("-k", metavar="N", min=1, max=100, help="Donors a nest, of a transfer.")]
SameThings = Annotated[
    list[str] | None,
    typer.Option(
        "--same",
        metavar="THING",
        help="Only donors of the same machine, of the same element type, or without assumptions (of sizes, say) where "
        "the nest makes none: machine, type, assumptions (repeatable).",
        show_default=False,
    ),
]
Measure = Annotated[
    int,
    typer.Option("--measure", metavar="N", min=1, max=1000, help="Candidates measured a nest, where not all are."),
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="DIR",
        help="Cost models of your own, by `train cost`.  [default: PERFEMBED_WEIGHTS, else those that ship]",
        show_default=False,
    ),
]
NoDatabase = Annotated[bool, typer.Option("--no-db", help="Neither read nor write the database.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, and only the summary.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Say more.")]


def output_format(session: Session, name: str, json: bool) -> str:
    """What `--format` says, where `--json` is short for one of them. Raises UsageError."""
    if name not in FORMATS:
        raise UsageError(f"--format {name!r}: expected {', '.join(FORMATS)}")
    if json and name not in ("text", "json"):
        raise UsageError(f"--json and --format {name} exclude each other")
    session.json = json or name == "json"
    return "json" if json else name


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
