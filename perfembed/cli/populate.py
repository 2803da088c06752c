"""`perfembed populate [FILES]...`: fills the database by searching the nests of many programs."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli.database import Database, database_path
from perfembed.cli.options import (
    DEFAULT_CFLAGS,
    Cc,
    Cflags,
    Defines,
    Includes,
    Json,
    Quiet,
    Standard,
    Traceback,
    budget_seconds,
    compiler_flags,
)
from perfembed.cli.session import Session
from perfembed.cli.tune import MAX_THREADS, physical_cores
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, DatabaseProblem, UsageError

if TYPE_CHECKING:
    from perfembed.populate import PopulateEvent

SEARCHES = ("beam", "random")
_SHARD = re.compile(r"(\d{1,6})/(\d{1,6})", re.ASCII)


def command(
    context: typer.Context,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILES]...", help="C files with a main.", show_default=False)
    ] = None,
    generate: Annotated[
        int, typer.Option("--generate", metavar="N", min=0, help="And so many generated programs.")
    ] = 0,
    search: Annotated[
        str, typer.Option("--search", metavar="NAME", help=f"How schedules are searched: {', '.join(SEARCHES)}.")
    ] = "beam",
    schedules: Annotated[
        int, typer.Option("--schedules", metavar="N", min=1, help="Schedules measured for each nest.")
    ] = 64,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time for all: 60s, 30m, 8h.")] = "30m",
    db: Database = None,
    shard: Annotated[
        str, typer.Option("--shard", metavar="I/N", help="Only every N-th program, from the I-th on.")
    ] = "1/1",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what there is to do, and end.")] = False,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")] = 0,
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="N", help="Threads to tune for.  [default: cores]")
    ] = None,
    cc: Cc = "gcc",
    cflags: Cflags = DEFAULT_CFLAGS,
    define: Defines = None,
    include: Includes = None,
    std: Standard = None,
    reassociate: Annotated[bool, typer.Option("--reassociate", help="Allow reordering sums.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Fill the database offline: search the nests of C files and of generated programs.

    Everything measured is on the disk at once. However it ends (Ctrl-C, a kill, a full disk), the same command goes
    on where it was; what is done is left alone.
    """
    session = context.ensure_object(Session)
    if search not in SEARCHES:
        raise UsageError(f"--search {search!r}: expected {' or '.join(SEARCHES)}")
    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise UsageError(f"--threads {threads}: expected 1 to {MAX_THREADS}")
    if not files and not generate:
        raise UsageError("nothing to populate with", "give C files, or --generate N")
    path, budget_s, part = database_path(db, session.environment), budget_seconds(budget), shard_of(shard)

    from optdb.errors import OptdbError
    from perfembed.populate import PopulateOptions, make_plan, populate, programs_of
    from perfembed.report.population import plan_document, population_document, render_plan, render_population

    options = PopulateOptions(
        database=path,
        search=search,
        schedules=schedules,
        seed=seed,
        budget_s=budget_s,
        shard=part,
        cc=cc,
        cflags=compiler_flags(cflags, define, include, std),
        threads=threads if threads is not None else physical_cores(),
        reassociate=reassociate,
        environment=tuple(sorted(session.environment.items())),
        command=shlex.join(["perfembed", "populate", *(files or ())]),
    )
    try:
        if not dry_run:
            path.parent.mkdir(parents=True, exist_ok=True)
        plan = make_plan(programs_of(files or (), generate, seed), options)
        if dry_run:
            print(plan_document(plan) if json else render_plan(plan, options))
            return EXIT_DONE
        result = populate(plan, options, _progress(quiet))
    except OptdbError as problem:
        raise DatabaseProblem(problem.message, problem.advice) from None
    except OSError as problem:
        raise DatabaseProblem(f"{path.parent}: {problem.strerror}") from None
    print(population_document(result) if json else render_population(result, path))
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE


def shard_of(text: str) -> tuple[int, int]:
    """`2/8`. Raises UsageError."""
    match = _SHARD.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--shard {text!r}: expected I/N with 1 <= I <= N, such as 2/8")
    return int(match[1]), int(match[2])


class _progress:
    """One line on stderr for each nest, with what is done, the label rate and the time left."""

    def __init__(self, quiet: bool) -> None:
        import time

        self._clock = time.monotonic
        self._quiet = quiet
        self._began = self._clock()
        self._labels = 0
        self._done = 0
        self._total = 0

    def __call__(self, event: PopulateEvent) -> None:
        from perfembed.populate import NestSearched, ProgramSkipped, ProgramStarted, Stored
        from perfembed.report.style import seconds, times

        if isinstance(event, ProgramStarted):
            self._done, self._total = event.position - 1, event.total
            return
        if isinstance(event, Stored):
            if event.problem:
                print(f"not stored yet, kept in the spool: {event.problem}", file=sys.stderr, flush=True)
            elif event.report and event.report.problems:
                lost = f"{event.report.lost} records lost: {event.report.problems[0]}"
                print(f"a damaged spool file: {lost}", file=sys.stderr, flush=True)
            return
        if self._quiet:
            return
        passed = self._clock() - self._began
        if isinstance(event, ProgramSkipped):
            print(f"{event.program.path}: skipped: {event.reason}", file=sys.stderr, flush=True)
            return
        assert isinstance(event, NestSearched)
        self._labels += event.labels
        best = times(event.best) if event.best else event.reason
        left = f", {seconds(passed / self._done * (self._total - self._done))} left" if self._done else ""
        rate = f"{self._labels / passed * 3600:.0f} labels/h"
        print(
            f"{self._done + 1}/{self._total} {event.program.path}: {event.nest}: {event.labels} measured, best {best}"
            f" ({rate}{left})",
            file=sys.stderr,
            flush=True,
        )
