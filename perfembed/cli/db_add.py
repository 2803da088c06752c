"""`perfembed db add FILE --schedule TEXT`: an expert's schedule becomes a donor."""

from __future__ import annotations

import sys
from typing import Annotated

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
    Parameters,
    Quiet,
    Standard,
    Threads,
    Traceback,
    budget_seconds,
    compiler_flags,
    parameter_values,
    thread_count,
)
from perfembed.cli.session import Session
from perfembed.cli.world import Args, ExpectExit, Stdin, Workdir, world_of
from perfembed.errors import EXIT_DONE, EXIT_VERIFICATION


def command(
    context: typer.Context,
    file: File,
    schedule: Annotated[
        list[str],
        typer.Option("--schedule", metavar="TEXT", help="In 'NEST: step; step' (repeatable).", show_default=False),
    ],
    db: Database = None,
    function: Functions = None,
    cc: Cc = "gcc",
    cflags: Cflags = DEFAULT_CFLAGS,
    define: Defines = None,
    include: Includes = None,
    std: Standard = None,
    args: Args = "",
    stdin: Stdin = None,
    workdir: Workdir = None,
    expect_exit: ExpectExit = 0,
    param: Parameters = None,
    threads: Threads = None,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time for it.")] = "60s",
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Add an expert's schedule of a nest: proved, measured against the original, checked, and a donor from then on.

    A schedule that is not legal is refused with two statement instances that show it. Ends with exit code 1 where one
    is not faster, or computes something else: what was measured is kept, but a donor has to be faster.
    """
    session = context.ensure_object(Session)
    database = database_path(db, session.environment)
    flags = compiler_flags(cflags, define, include, std)
    world = world_of(args, stdin, None, workdir, None, 0.0, "60s", None)

    from perfembed.cli.progress import progress_on
    from perfembed.report.style import one_line, printable, times
    from perfembed.tuning.file_tuner import tune
    from perfembed.tuning.result import TuneOptions
    from scheduler.schedule import nest_steps, parse_schedule
    from scheduler.transform import Eliminate

    options = TuneOptions(
        dry_run=True,
        functions=tuple(function or ()),
        cc=cc,
        cflags=flags,
        world=world,
        expect_exit=expect_exit,
        parameters=parameter_values(param),
        threads=thread_count(threads),
        schedules=tuple(schedule),
        budget_s=budget_seconds(budget),
        database=str(database),
        environment=tuple(sorted(session.environment.items())),
    )
    with progress_on(sys.stderr, session.color(sys.stderr), quiet=quiet, verbose=False) as progress:
        result = tune(file, options, progress)
    added = [report for report in result.nests if report.status == "tuned" and report.speedup is not None]
    for report in added:
        assert report.speedup is not None
        own = any(not isinstance(step, Eliminate) for step in nest_steps(parse_schedule(report.schedule)))
        kept = "kept for this nest alone" if own else "a donor"
        print(f"{one_line(report.nest)}: {times(report.speedup)} faster, {kept} in {one_line(str(database))}")
    tried = [report for report in result.nests if report.candidates and report not in added]
    for report in tried:
        print(f"{one_line(report.nest)}: no donor: {printable(report.reason)}")
    return EXIT_DONE if added and not tried else EXIT_VERIFICATION
