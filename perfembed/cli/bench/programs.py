"""`perfembed bench programs`: whole programs, tuned as a user would."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.bench.common import FORMATS
from perfembed.cli.options import Quiet, Threads, Traceback, budget_seconds, thread_count
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION, UsageError

_SHIPPED = Path("tests/programs")


def command(
    context: typer.Context,
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[FOLDERS]...", help="Programs.  [default: all of tests/programs]")
    ] = None,
    threads: Threads = None,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Of tuning each.")] = "60s",
    runs: Annotated[int, typer.Option("--runs", metavar="N", min=1, help="Runs of each form, in turns.")] = 3,
    small: Annotated[bool, typer.Option("--small", help="With arguments for a fraction of a second.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="Rows go here; a run that ended goes on there.")
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="table|markdown|json", help="How it is printed.")
    ] = "table",
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Tune whole programs by their Makefiles and measure them.

    Each is measured in turns without OpenMP, with its own, and tuned. Ends with exit code 1 where a tuned program
    prints something else.
    """
    from perfembed.bench.programs import ProgramsBench, ProgramScore, append_score, read_scores, run_programs
    from perfembed.bench.render_programs import programs_document, render_programs
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    if format_ not in FORMATS:
        raise UsageError(f"--format {format_!r}: expected {', '.join(FORMATS)}")
    session.json = format_ == "json"
    found = tuple(folders) if folders else tuple(sorted(p.parent for p in _SHIPPED.glob("*/program.toml")))
    if not found:
        raise UsageError(f"no programs in {_SHIPPED}", "name their folders")
    bench = ProgramsBench(found, thread_count(threads), budget_seconds(budget), runs, small, session.environment)
    known = read_scores(out) if out is not None else {}
    number = len(known)

    def done(score: ProgramScore) -> None:
        nonlocal number
        number += 1
        if out is not None:
            append_score(out, score)
        say(f"{number} of {len(found)} programs", quiet)

    result = run_programs(bench, known, done)
    if format_ == "json":
        print(programs_document(result))
    else:
        print(render_programs(result, Style(session.color(sys.stdout)), markdown=format_ == "markdown"))
    if any(score.output is False for score in result.scores):
        return EXIT_VERIFICATION
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE
