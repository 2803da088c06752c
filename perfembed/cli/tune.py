"""`perfembed tune FILE`: searches faster loops, proves, measures and checks them, and writes the faster file."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, cast

import typer

from perfembed.cli.database import Database, database_path
from perfembed.cli.options import (
    DEFAULT_CFLAGS,
    Cc,
    Cflags,
    Defines,
    File,
    Functions,
    Includes,
    Json,
    Quiet,
    Standard,
    Traceback,
    Verbose,
    budget_seconds,
    compiler_flags,
    parameter_values,
    words,
)
from perfembed.cli.session import Session
from perfembed.errors import UsageError

if TYPE_CHECKING:
    from perfembed.result import Evaluate

SEARCHES = ("transfer", "beam", "mcts", "random", "exhaustive")
EVALUATIONS = ("run", "model", "model+run")
MAX_THREADS = 1024


def command(
    context: typer.Context,
    file: File,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="OUT", help="Where the tuned file goes.  [default: FILE.opt.c]"),
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Rewrite FILE itself.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do everything but write the file.")] = False,
    function: Functions = None,
    cc: Cc = "gcc",
    cflags: Cflags = DEFAULT_CFLAGS,
    define: Defines = None,
    include: Includes = None,
    std: Standard = None,
    args: Annotated[str, typer.Option("--args", metavar="ARGS", help="Arguments the program is run with.")] = "",
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="NAME=N",
            help="The value of a size where there is no main (repeatable).",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", metavar="N", help="Threads to tune for.  [default: cores]"),
    ] = None,
    search: Annotated[
        str, typer.Option("--search", metavar="NAME", help=f"How schedules are searched: {', '.join(SEARCHES)}.")
    ] = "beam",
    evaluate: Annotated[
        str,
        typer.Option(
            "--evaluate",
            metavar="HOW",
            help="run: measure every candidate; model: predict them; model+run: predict them, measure the best.",
        ),
    ] = "run",
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, max=100, help="Donors a nest, of --search transfer.")] = 5,
    measure: Annotated[
        int,
        typer.Option(
            "--measure", metavar="N", min=1, max=1000, help="Candidates measured for each nest, where not all are."
        ),
    ] = 10,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time to search: 60s, 2m, 1h.")] = "60s",
    reassociate: Annotated[
        bool, typer.Option("--reassociate", help="Allow reordering sums: results may differ by rounding.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")] = 0,
    db: Database = None,
    no_db: Annotated[bool, typer.Option("--no-db", help="Neither read nor write the database.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    traceback: Traceback = False,
) -> int:
    """Make the loops of a C file faster.

    Searches schedules for each loop nest, proves them legal, measures them against the original, checks
    that the program computes the same, and writes the faster C file with the reason for every decision.
    """
    session = context.ensure_object(Session)
    if quiet and verbose:
        raise UsageError("-q and -v exclude each other")
    if search not in SEARCHES:
        raise UsageError(f"--search {search!r}: expected {' or '.join(SEARCHES)}")
    if evaluate not in EVALUATIONS:
        raise UsageError(f"--evaluate {evaluate!r}: expected {', '.join(EVALUATIONS)}")
    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise UsageError(f"--threads {threads}: expected 1 to {MAX_THREADS}")
    flags = compiler_flags(cflags, define, include, std)
    budget_s, parameters = budget_seconds(budget), parameter_values(param)
    arguments = words(args, "--args")

    from perfembed.files import check_output, read_input

    read_input(file)
    target = output if output is not None or in_place else default_output(file)
    check_output(file, target, in_place)

    from perfembed.cli.progress import progress_on
    from perfembed.report.documents import tune_document
    from perfembed.report.style import Style
    from perfembed.report.terminal import render_result
    from perfembed.result import TuneOptions
    from perfembed.tune import tune

    options = TuneOptions(
        output=target,
        in_place=in_place,
        dry_run=dry_run,
        functions=tuple(function or ()),
        cc=cc,
        cflags=flags,
        program_arguments=arguments,
        parameters=parameters,
        threads=threads if threads is not None else physical_cores(),
        search=search,
        evaluate=cast("Evaluate", evaluate),
        neighbours=k,
        measure=measure,
        budget_s=budget_s,
        reassociate=reassociate,
        seed=seed,
        database=None if no_db else _database(db, session),
        environment=tuple(sorted(session.environment.items())),
    )
    with progress_on(sys.stderr, session.color(sys.stderr), quiet=quiet, verbose=verbose) as progress:
        result = tune(file, options, progress)
    style = Style(
        session.color(sys.stdout), min(shutil.get_terminal_size().columns, 120) if sys.stdout.isatty() else 100
    )
    print(tune_document(result) if json else render_result(result, style, quiet=quiet, verbose=verbose))
    return result.exit_code


def _database(option: str | None, session: Session) -> str | None:
    """None where there is none and none was asked for."""
    try:
        return str(database_path(option, session.environment))
    except UsageError:
        if option is not None:
            raise
        return None


def default_output(path: str) -> str:
    """dir/gemm.c -> dir/gemm.opt.c"""
    stem, suffix = os.path.splitext(path)
    return f"{stem}.opt{suffix}"


def physical_cores() -> int:
    """Physical cores this process may use: what a hyperthread adds differs from nest to nest."""
    from profilers.machine import describe_machine

    return describe_machine().physical_cores
