"""`perfembed profile FILE`: what each loop nest does to the machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from perfembed.cli.help import examples
from perfembed.cli.options import COMPILED, WORLD, File, Given, takes
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, DatabaseProblem, EnvironmentMissing
from perfembed.report.style import Style
from perfembed.tuning.options import DATABASE, RUN

if TYPE_CHECKING:
    from profilers.backend import Backend

BackendName = Literal["auto", "likwid", "perf", "simulated"]
BACKENDS = ", ".join(get_args(BackendName))
EXAMPLES = examples("perfembed profile gemm.c -DN=1000 --threads 4", "perfembed profile gemm.c --backend simulated -v")


@takes(*COMPILED, *WORLD, "expect_exit", "seed", "json", "quiet", "verbose")
def command(
    given: Given,
    file: File,
    backend: Annotated[
        BackendName,
        typer.Option("--backend", metavar="NAME", help=f"Who counts: {BACKENDS}.", rich_help_panel=RUN),
    ] = "auto",
    db: Annotated[
        Path | None,
        typer.Option(
            "--db",
            metavar="PATH",
            help="Keep the profiles in this database, too.",
            show_default=False,
            rich_help_panel=DATABASE,
        ),
    ] = None,
) -> int:
    """Show what each loop nest does to the machine.

    Every nest is run on the program's own data with its outermost parallel loop in parallel and nothing else
    changed. Hardware counters are used where they count (LIKWID, perf); elsewhere they are simulated.
    """
    from optdb.errors import OptdbError
    from perfembed.cli.progress import progress_on
    from perfembed.profiling.profile_file import profile_file
    from perfembed.report.profiles import profiles_document, render_profiles

    chosen, options = backend_of(backend, given.session), given.tune_options()
    color = given.session.color(sys.stderr)
    with progress_on(sys.stderr, color, quiet=given.quiet, verbose=given.verbose) as progress:
        try:
            result = profile_file(file, options, chosen, progress, db)
        except OptdbError as problem:
            raise DatabaseProblem(problem.message, problem.advice) from None
    style = Style(given.session.color(sys.stdout))
    print(profiles_document(result) if given.json else render_profiles(result, style, verbose=given.verbose))
    return EXIT_DONE


def backend_of(name: str, session: Session) -> Backend:
    """Who counts what a nest does to the machine. Raises EnvironmentMissing where it does not count here."""
    from profilers.backends import BackendMissing, choose

    try:
        return choose(name, session.environment)
    except BackendMissing as problem:
        raise EnvironmentMissing(str(problem), "--backend simulated works everywhere") from None
