"""`perfembed bench timing`: how often the comparison that `tune` decides with is wrong."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perfembed.cli.options import Json, Quiet, Traceback
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED


def command(
    context: typer.Context,
    comparisons: Annotated[
        int, typer.Option("--comparisons", metavar="N", min=1, help="Comparisons of each kind.")
    ] = 100,
    slowdown: Annotated[
        float, typer.Option("--slowdown", metavar="SHARE", min=0.001, max=1.0, help="What is planted.")
    ] = 0.03,
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="N", min=10, help="Length of the nest, about 25 µs each.")
    ] = 40,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the bootstrap.")] = 0,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Count false alarms and misses of the comparison that tune decides with.

    A nest is compared with itself, and with one that does a little more: how often is the first declared
    faster, and how often is the second found to be slower?
    """
    from perfembed.bench.render import render_timing, timing_document
    from perfembed.bench.timing import TimingBench, run_timing
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    bench = TimingBench(comparisons, slowdown, rounds, seed, environment=session.environment)

    def progress(done: int, alarms: int) -> None:
        if done % 10 == 0:
            say(f"{done} of {comparisons} comparisons, {alarms} false alarms", quiet)

    result = run_timing(bench, progress, lambda text: say(text, quiet))
    print(timing_document(result) if json else render_timing(result, Style(session.color(sys.stdout))))
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE
