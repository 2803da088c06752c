"""`perfembed bench transfer`: transfer against long searches and simpler ways, one algorithm left out at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.bench.common import Files, input_files, say
from perfembed.cli.options import Json, Measure, Quiet, Seed, Threads, Traceback, budget_seconds, thread_count
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, DatabaseProblem, EnvironmentMissing, UsageError


def command(
    context: typer.Context,
    files: Files = None,
    reference: Annotated[
        Path,
        typer.Option("--reference", metavar="DB", help="Database of long searches of the same files, by `populate`."),
    ] = Path("long-searches.duckdb"),
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Finished programs are kept here, one JSON line each.")
    ] = Path("bench-transfer.jsonl"),
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="METHOD", help="This method (repeatable).", show_default=False)
    ] = None,
    measure: Measure = 10,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time a nest and method.")] = "60s",
    threads: Threads = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Tune programs by transfer from donors of other algorithms, and by other means, and compare with a long search.

    May be stopped and started again at any time.
    """
    session = context.ensure_object(Session)
    paths, count, budget_s = input_files(files), thread_count(threads), budget_seconds(budget)
    if not reference.exists():
        raise UsageError(f"--reference {reference}: there is no such database", "perfembed populate FILES fills one")

    from optdb.errors import OptdbError
    from perfembed.bench.render_transfer import render_transfer, transfer_document
    from perfembed.bench.transfer import METHODS, TransferBench, run_transfer
    from perfembed.cost_models import load_cost_model
    from profilers.machine import describe_machine

    known = {method.name: method for method in METHODS}
    if unknown := sorted(set(only or ()) - set(known)):
        raise UsageError(f"--only {unknown[0]!r}: expected {', '.join(known)}")
    methods = tuple(known[name] for name in only) if only else METHODS
    bench = TransferBench(
        paths=paths,
        reference=reference,
        out=out,
        threads=count,
        methods=methods,
        measure=measure,
        budget_s=budget_s,
        seed=seed,
        environment=tuple(sorted(session.environment.items())),
    )
    try:
        cost = load_cost_model()
    except EnvironmentMissing:
        cost = None
    try:
        rows = run_transfer(bench, cost, lambda text: say(text, quiet))
    except OptdbError as problem:
        raise DatabaseProblem(problem.message, problem.advice) from None
    machine = describe_machine()
    names = [method.name for method in methods]
    shown = f"{machine.cpu_model}, {count} threads"
    print(transfer_document(rows, names) if json else render_transfer(rows, names, shown))
    return EXIT_DONE
