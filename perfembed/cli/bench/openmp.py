"""`perfembed bench openmp`: small OpenMP programs, right ones and wrong ones."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perfembed.cli.options import Json, Quiet, Traceback
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION


def command(
    context: typer.Context,
    programs: Annotated[
        int | None, typer.Option("--programs", metavar="N", min=1, help="So many of them.  [default: all]")
    ] = None,
    draws: Annotated[int, typer.Option("--draws", metavar="K", min=0, help="Times each is written.")] = 2,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The campaign; the same seed, the same one.")] = 0,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Check what is made of OpenMP pragmas.

    In programs with pragmas in all manners every planted race must be seen, with a witness, and none where there
    is none; written with random legal schedules they must print what they print without threads. Ends with exit
    code 1 where one does not.
    """
    from perfembed.bench.openmp.check import OpenmpBench, run_openmp
    from perfembed.bench.render_openmp import openmp_document, render_openmp
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    bench = OpenmpBench(seed, programs, draws, session.environment)
    result = run_openmp(bench, lambda done, total, wrong: say(f"{done} of {total} programs, {wrong} wrong", quiet))
    print(openmp_document(result) if json else render_openmp(result, Style(session.color(sys.stdout))))
    if result.wrong:
        return EXIT_VERIFICATION
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE
