"""`perfembed bench spelling`: programs spelled in every way there is, read and written."""

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
    bases: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILES]...", help="C files to respell besides random programs.", show_default=False),
    ] = None,
    files: Annotated[int, typer.Option("--files", metavar="N", min=1, help="Respelled files.")] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The campaign; the same seed, the same one.")] = 0,
    first: Annotated[int, typer.Option("--first", metavar="I", min=0, help="Number of the first file.")] = 0,
    every: Annotated[
        int, typer.Option("--every", metavar="K", min=1, help="One in K is compiled, run, written anew and run again.")
    ] = 4,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, max=1024, help="Processes.")] = 1,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="DIR", help="What fails goes there, as small as it fails.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Check that programs are understood however they are spelled.

    Random programs are rewritten by what preprocessors and people do: macros, included bodies, #line, digraphs,
    comments, joined lines, names in UTF-8, old definitions and the like. None may end in a traceback, be called
    wrong where the compiler takes it, or compute something else when it is written. Ends with exit code 1 on any.
    """
    from perfembed.bench.render_spelling import render_spelling, spelling_document
    from perfembed.bench.spelling.campaign import run_campaign
    from perfembed.bench.spelling.model import Campaign
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    for path in bases or []:
        if not Path(path).is_file():
            raise UsageError(f"{path}: no such file")
    campaign = Campaign(
        files=files,
        seed=seed,
        first=first,
        every=every,
        bases=tuple(str(Path(path).absolute()) for path in bases or []),
        jobs=jobs,
        keep=Path(keep).absolute() if keep else None,
    )

    def progress(done: int, faults: int) -> None:
        if faults or done % 240 < 24:
            say(f"{done} files, {faults} faults", quiet)

    result = run_campaign(campaign, lambda done, tally: progress(done, len(tally.faults)))
    print(spelling_document(result) if json else render_spelling(result, Style(session.color(sys.stdout))))
    if result.faults:
        return EXIT_VERIFICATION
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE
