"""`perfembed bench population`: populate killed at random moments and resumed, against an undisturbed run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.options import DEFAULT_CFLAGS, Cc, Cflags, Json, Quiet, Traceback
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION, DatabaseProblem, UsageError


def command(
    context: typer.Context,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILES]...", help="C files with a main.", show_default=False)
    ] = None,
    kills: Annotated[int, typer.Option("--kills", metavar="N", min=1, help="Kills in all.")] = 20,
    generate: Annotated[int, typer.Option("--generate", metavar="N", min=0, help="Generated programs.")] = 8,
    schedules: Annotated[int, typer.Option("--schedules", metavar="N", min=1, help="Schedules a nest.")] = 6,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")] = 0,
    threads: Annotated[int, typer.Option("--threads", metavar="N", min=1, max=1024, help="Threads.")] = 1,
    cc: Cc = "gcc",
    cflags: Cflags = DEFAULT_CFLAGS,
    macro: Annotated[
        list[str] | None,
        typer.Option("-D", metavar="NAME[=VALUE]", help="Macros.  [default: SMALL]", show_default=False),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="DIR", help="Where the databases go.  [default: temporary]", show_default=False
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Kill populate at random moments, resume it, and compare with an undisturbed run.

    With random search and the same seed the content must be the same, times and confirmations aside; no measurement
    that was acknowledged may be lost, and none may be made twice. Ends with exit code 1 otherwise. Times do not
    matter here: it does not wait for other measurements on this machine.
    """
    from optdb.errors import OptdbError
    from perfembed.bench.population import (
        PopulationBench,
        population_document,
        render_population,
        run_population,
    )
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    if not files and not generate:
        raise UsageError("nothing to populate with", "give C files, or --generate N")
    if folder is not None and not folder.is_dir():
        raise UsageError(f"--folder {folder}: no such folder")
    arguments = [
        *("--search=random", f"--generate={generate}", f"--schedules={schedules}", f"--seed={seed}"),
        *(f"--threads={threads}", f"--cc={cc}", f"--cflags={cflags}", "--budget=720h", "--all-nests"),
        *(f"-D{name}" for name in (["SMALL"] if macro is None else macro)),
        *(str(Path(file).absolute()) for file in files or ()),
    ]
    bench = PopulationBench(tuple(arguments), session.environment, kills, seed, folder)
    try:
        result = run_population(bench, lambda text: say(text, quiet))
    except OptdbError as problem:
        raise DatabaseProblem(problem.message, problem.advice) from None
    print(population_document(result) if json else render_population(result, Style(session.color(sys.stdout))))
    if not result.passed:
        return EXIT_VERIFICATION
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE
