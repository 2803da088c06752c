"""`perfembed bench legality`: random programs and schedules, checked every way there is."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perfembed.cli.options import Json, Quiet, Traceback
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION, UsageError


def command(
    context: typer.Context,
    programs: Annotated[int, typer.Option("--programs", metavar="N", min=1, help="Random programs.")] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The campaign; the same seed, the same one.")] = 0,
    first: Annotated[int, typer.Option("--first", metavar="I", min=0, help="Number of the first program.")] = 0,
    schedules: Annotated[int, typer.Option("--schedules", metavar="N", min=1, help="Schedules a program.")] = 3,
    planted: Annotated[
        int, typer.Option("--planted", metavar="N", min=0, help="Broken versions of each legal schedule.")
    ] = 3,
    matrices: Annotated[
        int, typer.Option("--matrices", metavar="N", min=0, help="And so many sampled schedule matrices a program.")
    ] = 1,
    free: Annotated[
        int, typer.Option("--free", metavar="N", min=0, help="And so many free sequences of steps a program.")
    ] = 1,
    compiled: Annotated[
        int | None,
        typer.Option("--compiled", metavar="N", min=0, help="Programs that are also compiled.  [default: 1 in 20]"),
    ] = None,
    compilers: Annotated[
        str | None,
        typer.Option("--compilers", metavar="LIST", help="With these.  [default: gcc, and a clang with OpenMP]"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, max=1024, help="Processes.")] = 1,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Check legality on random programs and schedules.

    Legal schedules must compute what the source order does (interpreted, with races, and compiled on 1, 2 and
    3 threads), witnesses of illegal ones must be real, and schedules broken on purpose must be rejected. Ends
    with exit code 1 on any disagreement.
    """
    from perfembed.bench.legality.campaign import run_campaign
    from perfembed.bench.legality.model import Campaign
    from perfembed.bench.render import campaign_document, render_campaign
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    wanted = compiled if compiled is not None else -(-programs // 20)
    campaign = Campaign(
        programs=programs,
        seed=seed,
        first=first,
        schedules=schedules,
        planted=planted,
        matrices=matrices,
        free=free,
        compiled=wanted,
        compilers=_compilers(compilers, session) if wanted else (),
        jobs=jobs,
        environment=tuple(sorted(session.environment.items())),
    )

    def progress(done: int, disagreements: int) -> None:
        if disagreements or done % 200 < 20:
            say(f"{done} programs, {disagreements} disagreements", quiet)

    result = run_campaign(campaign, lambda done, tally: progress(done, len(tally.disagreements)))
    print(campaign_document(result) if json else render_campaign(result, Style(session.color(sys.stdout))))
    if result.disagreements:
        return EXIT_VERIFICATION
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE


def _compilers(text: str | None, session: Session) -> tuple[str, ...]:
    """Those named, which must be there; else gcc, and a clang that makes OpenMP programs. Raises UsageError."""
    from perfembed.bench.kernels.compilers import newest_parallel_clang
    from profilers.build import compiler_path
    from profilers.errors import CompilerMissing

    named = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    try:
        for name in named or ("gcc",):
            compiler_path(name, session.environment)
    except CompilerMissing as error:
        raise UsageError(str(error)) from None
    return named or tuple(name for name in ("gcc", newest_parallel_clang(session.environment)) if name is not None)
