"""`perfembed bench forms`: random programs of the forms that people write, tuned at random and run."""

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
    programs: Annotated[int, typer.Option("--programs", metavar="N", min=1, help="Programs of each form.")] = 100,
    forms: Annotated[
        list[str] | None,
        typer.Option("--form", metavar="NAME", help="Only this form (repeatable).", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The campaign; the same seed, the same one.")] = 0,
    first: Annotated[int, typer.Option("--first", metavar="I", min=0, help="Number of the first program.")] = 0,
    flags: Annotated[
        bool, typer.Option("--flags", help="Read and compile each under flags that change what C means.")
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, max=1024, help="Processes.")] = 1,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="DIR", help="What fails goes there, original and written.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Check that tuned programs print what they printed, whatever they are made of.

    Random programs with jumps and reductions, iterators and pointers that move, strides and subscripts that depend on
    data, structures, values that are structures, and tables of rows get random legal schedules and are compiled with
    sanitizers or optimized. Ends with exit code 1 where one prints something else.
    """
    from perfembed.bench.forms.campaign import run_campaign
    from perfembed.bench.forms.model import FORMS, Campaign
    from perfembed.bench.render_forms import forms_document, render_forms
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    if unknown := [form for form in forms or () if form not in FORMS]:
        raise UsageError(f"--form {unknown[0]}: it is one of {', '.join(FORMS)}")
    campaign = Campaign(
        programs=programs,
        seed=seed,
        first=first,
        forms=tuple(dict.fromkeys(forms or FORMS)),
        jobs=jobs,
        keep=Path(keep).absolute() if keep else None,
        under_flags=flags,
    )
    result = run_campaign(campaign, lambda done, tally: say(f"{done} programs, {len(tally.faults)} faults", quiet))
    print(forms_document(result) if json else render_forms(result, Style(session.color(sys.stdout))))
    if result.faults:
        return EXIT_VERIFICATION
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE
