"""`perfembed bench bounds`: random programs whose loops are bounded by values of all integer types."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.options import Json, Quiet, Traceback
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION, UsageError


def command(
    context: typer.Context,
    programs: Annotated[int, typer.Option("--programs", metavar="N", min=1, help="Random programs.")] = 200,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The campaign; the same seed, the same one.")] = 0,
    first: Annotated[int, typer.Option("--first", metavar="I", min=0, help="Number of the first program.")] = 0,
    schedules: Annotated[
        int,
        typer.Option("--schedules", metavar="N", min=1, max=100, help="Of each nest: its own order, and random ones."),
    ] = 3,
    ways: Annotated[
        str | None, typer.Option("--ways", metavar="LIST", help="Ways to compile and to run.  [default: all]")
    ] = None,
    flags: Annotated[
        list[str] | None,
        typer.Option(
            "--flags",
            metavar="FLAGS",
            help="Flags to read and compile with; one of those given is drawn for each file.",
            show_default=False,
        ),
    ] = None,
    reduce: Annotated[bool, typer.Option("--reduce", help="Make what fails small, which takes a minute each.")] = False,
    keep: Annotated[str | None, typer.Option("--keep", metavar="DIR", help="What fails goes there.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, max=1024, help="Processes.")] = 1,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Check that loops between values of all integer types run as C says, for values unlike those of a first run.

    Random programs whose iterators, starts, ends, steps and subscripts have all integer types and come from
    parameters, members, data and other loops get random legal schedules, are compiled in four ways and called with
    sizes of 0, 1 and 2, offsets greater than sizes, and values at the edges of types. Ends with exit code 1 where one
    does something else.
    """
    from perfembed.bench.bounds.campaign import run_campaign
    from perfembed.bench.bounds.model import Campaign
    from perfembed.bench.bounds.model import ways as all_ways
    from perfembed.bench.kernels.compilers import newest_parallel_clang
    from perfembed.bench.render_bounds import bounds_document, render_bounds
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    clang = newest_parallel_clang(session.environment)
    known = [way.name for way in all_ways(clang)]
    named = tuple(name.strip() for name in (ways or "").split(",") if name.strip()) or tuple(known)
    if unknown := [name for name in named if name not in known]:
        raise UsageError(f"--ways {unknown[0]}: expected some of {', '.join(known)}")
    campaign = Campaign(
        programs=programs,
        seed=seed,
        first=first,
        schedules=schedules,
        ways=named,
        flags=tuple(flags or ("",)),
        jobs=jobs,
        clang=clang,
        reduce=reduce,
        keep=Path(keep).absolute() if keep else None,
    )
    result = run_campaign(campaign, lambda done, tally: say(f"{done} programs, {len(tally.faults)} faults", quiet))
    print(bounds_document(result) if json else render_bounds(result, Style(session.color(sys.stdout))))
    if result.tally.faults:
        return EXIT_VERIFICATION
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE
