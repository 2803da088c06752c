"""`perfembed generate`: random C programs, to train on and to fill a database with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli.options import Given, takes
from perfembed.errors import EXIT_DONE, UsageError
from perfembed.files import write_output

if TYPE_CHECKING:
    from scheduler.generator import GeneratedProgram

MAX_PROGRAMS = 1_000_000


Patterns = Annotated[
    list[str] | None,
    typer.Option("--pattern", metavar="NAME", help="Only programs of this pattern (repeatable).", show_default=False),
]


@takes("seed", "json")
def command(
    given: Given,
    count: Annotated[int, typer.Option("-n", "--count", metavar="COUNT", help="How many programs.")] = 1,
    first: Annotated[int, typer.Option("--first", metavar="N", help="Number of the first program.")] = 0,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", help="Where the files go, as gen_<seed>_<number>.c."),
    ] = None,
    pattern: Patterns = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> int:
    """Write random C programs: stencils, contractions, reductions, sparse loops and others, and mixtures of them.

    Each has its own data, a function `kernel` with loop nests, and a main that prints a checksum. The same seed and
    number always give the same program. Without -o the one program is printed; --json prints names and patterns.
    """
    seed, json = given.seed, given.json
    if not 1 <= count <= MAX_PROGRAMS:
        raise UsageError(f"-n {count}: expected 1 to {MAX_PROGRAMS}")
    if min(seed, first) < 0:
        raise UsageError("--seed and --first must not be negative")
    if output is None and count > 1 and not json:
        raise UsageError(f"-n {count} needs a folder for the files", "add -o DIR, or --json for a list")

    from perfembed.report.population import programs_document

    programs = _generated(seed, range(first, first + count), pattern or [], output, force)
    if json:
        print(programs_document(programs))
    elif output is None:
        print(next(programs).source, end="")
    else:
        for _ in programs:
            pass
        print(f"wrote    {count} program{'s' * (count > 1)} to {output}")
    return EXIT_DONE


def _generated(
    seed: int, numbers: range, patterns: list[str], output: str | None, force: bool
) -> Iterator[GeneratedProgram]:
    """The programs; each is written before it is handed out. Raises UsageError."""
    from scheduler.generator import GeneratorSettings, generate
    from scheduler.generator.programs import NothingFits

    settings = GeneratorSettings(weights=only_patterns(patterns))
    paths = {number: _path(output, seed, number) for number in numbers} if output is not None else {}
    if output is not None:
        _check_folder(output, list(paths.values()), force)
    for number in numbers:
        try:
            program = generate(seed, number, settings)
        except NothingFits as error:
            raise UsageError(str(error)) from None
        if number in paths:
            write_output(paths[number], program.source.encode())
        yield program


def only_patterns(patterns: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Weights of the generator's patterns; all as usual where none are named. Raises UsageError."""
    from scheduler.generator.programs import PATTERNS

    names = [p.name for p in PATTERNS]
    if unknown := [name for name in patterns if name not in names]:
        raise UsageError(f"--pattern {unknown[0]!r}: expected {', '.join(names)}")
    return tuple((name, 0.0) for name in names if name not in patterns) if patterns else ()


def _path(output: str, seed: int, number: int) -> str:
    return os.path.join(output, f"gen_{seed}_{number}.c")


def _check_folder(output: str, paths: list[str], force: bool) -> None:
    """Makes the folder. Raises UsageError where it cannot be, or where files would be lost."""
    try:
        os.makedirs(output, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{output}: no folder can be made here: {error.strerror}") from None
    if not os.access(output, os.W_OK | os.X_OK):
        raise UsageError(f"{output}: the folder is not writable")
    there = [path for path in paths if os.path.lexists(path)]
    if there and not force:
        more = f" (and {len(there) - 1} more)" if len(there) > 1 else ""
        raise UsageError(
            f"{there[0]}: the file is already there{more}", "use --force to replace files, or another folder"
        )
    for path in there:
        if not os.path.isfile(path):
            raise UsageError(f"{path}: not a regular file")
