"""`perfembed bench interrupted`: tune --in-place killed at random moments."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.options import Cc, Json, Quiet, Traceback, budget_seconds
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION, DatabaseProblem, UsageError


def command(
    context: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]", help="A C program that can be made faster.  [default: one of its own]", show_default=False
        ),
    ] = None,
    kills: Annotated[int, typer.Option("--kills", metavar="N", min=1, help="Kills in all.")] = 20,
    search: Annotated[str, typer.Option("--search", metavar="NAME", help="As of tune.")] = "random",
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Of tune, but for the first run.")] = "4s",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")] = 0,
    threads: Annotated[int, typer.Option("--threads", metavar="N", min=1, max=1024, help="Threads.")] = 1,
    cc: Cc = "gcc",
    cflags: Annotated[str, typer.Option("--cflags", metavar="FLAGS", help="Compiler flags.")] = "-O1",
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="DIR", help="Where it works.  [default: temporary]", show_default=False),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Kill tune --in-place at random moments, and look at what it leaves.

    The file must be the old or a new one, whole and right, and after the next run nothing of the killed ones may be
    left: no temporary file, no process, no lock, no damage to the database. Ends with exit code 1 otherwise. Times do
    not matter here: it does not wait for other measurements on this machine.
    """
    from optdb.errors import OptdbError
    from perfembed.bench.interrupted import PROGRAM, InterruptedBench, run_interrupted
    from perfembed.bench.render_interrupted import interrupted_document, render_interrupted
    from perfembed.files import read_input
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    if folder is not None and not folder.is_dir():
        raise UsageError(f"--folder {folder}: no such folder")
    budget_seconds(budget)
    bench = InterruptedBench(
        arguments=(
            *(f"--search={search}", f"--budget={budget}", f"--seed={seed}", f"--threads={threads}"),
            *(f"--cc={cc}", f"--cflags={cflags}"),
        ),
        environment=session.environment,
        first=("--budget=60s",),
        content=PROGRAM if file is None else read_input(file),
        build=(cc, *shlex.split(cflags), "-fopenmp", "-w", "-ffp-contract=off"),
        kills=kills,
        seed=seed,
        folder=folder,
    )
    try:
        result = run_interrupted(bench, lambda text: say(text, quiet))
    except OptdbError as problem:
        raise DatabaseProblem(problem.message, problem.advice) from None
    print(interrupted_document(result) if json else render_interrupted(result, Style(session.color(sys.stdout))))
    if not result.passed:
        return EXIT_VERIFICATION
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE
