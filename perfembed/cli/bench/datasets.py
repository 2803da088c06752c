"""`perfembed bench datasets`: what a profile is worth where one nest does different things on different data."""

from __future__ import annotations

from typing import Annotated

import typer

from perfembed.cli.bench.methods import Budget, candidate_counts
from perfembed.cli.options import Json, Quiet, Seed, Threads, Traceback, budget_seconds, thread_count
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, DatabaseProblem

_FILE = "tests/datasets/spmv.c"
_DATA = ("DATA=BANDED", "DATA=SCATTERED", "DATA=SKEWED")


def command(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="C file with a main.")] = _FILE,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "-D",
            metavar="NAME[=VALUE]",
            help=f"A data set: the file compiled with this macro (repeatable).  [default: {', '.join(_DATA)}]",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        str, typer.Option("--measure", metavar="N[,N…]", help="Candidates measured a nest, without refinement.")
    ] = "1,3",
    budget: Budget = "30s",
    threads: Threads = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Tune one file on several data sets, with donors found without and with a profile, and compare.

    Donors of the file's algorithm (its name) are left out.
    """
    from optdb.errors import OptdbError
    from perfembed.bench.datasets import run_datasets
    from perfembed.bench.methods import MethodsBench
    from perfembed.bench.render_datasets import datasets_document, render_datasets
    from perfembed.learning.cost_models import load_cost_model
    from profilers.machine import describe_machine

    session = context.ensure_object(Session)
    bench = MethodsBench(
        paths=(file,),
        out=None,
        threads=thread_count(threads),
        methods=(),
        budget_s=budget_seconds(budget),
        seeds=(seed,),
        environment=tuple(sorted(session.environment.items())),
    )
    counts = candidate_counts(measure)
    try:
        rows = run_datasets(bench, data or _DATA, counts, load_cost_model(), lambda text: say(text, quiet))
    except OptdbError as problem:
        raise DatabaseProblem(problem.message, problem.advice) from None
    shown = f"{describe_machine().cpu_model}, {bench.threads} threads"
    print(datasets_document(rows) if json else render_datasets(rows, shown))
    return EXIT_DONE
