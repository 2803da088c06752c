"""`perfembed bench database`: the optimization database killed, damaged, crowded and filled."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.options import Json, Quiet, Traceback
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION, DatabaseProblem, UsageError

_PAIR = re.compile(r"(\d{1,9}),(\d{1,9})", re.ASCII)
_MOST_WRITERS = 1000


def command(
    context: typer.Context,
    kills: Annotated[int, typer.Option("--kills", metavar="N", min=0, help="Processes killed while they work.")] = 100,
    damage: Annotated[int, typer.Option("--damage", metavar="N", min=0, help="Cuts, and as many bit flips.")] = 100,
    writers: Annotated[
        str, typer.Option("--writers", metavar="P,R", help="P processes write R measurements each; 0: none.")
    ] = "64,500",
    scale: Annotated[
        str, typer.Option("--scale", metavar="NESTS,MEASUREMENTS", help="How large a database is filled; 0: none.")
    ] = "10000,100000",
    merged: Annotated[
        int | None,
        typer.Option("--merged", metavar="NESTS", min=1, help="Nests of the one merged into it.  [default: as many]"),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Seed of everything random.")] = 0,
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
    """Try what the optimization database promises, on databases of its own.

    Is everything acknowledged there after kill -9 at any moment? Is damage ever silent? Do many writers, an
    ingester and a reader get on? How fast is a large one? Ends with exit code 1 where anything was lost, wrong or
    silent; a missed time is only said. What is claimed takes --kills 1000 --damage 1000 --scale 1000000,10000000,
    which runs for hours and needs about 30 GiB of disk.
    """
    session = context.ensure_object(Session)
    crowd, size = pair(writers, "--writers"), pair(scale, "--scale")
    if crowd is not None and crowd[0] > _MOST_WRITERS:
        raise UsageError(f"--writers {writers!r}: at most {_MOST_WRITERS} processes")
    if size is not None and size[1] < size[0]:
        raise UsageError(f"--scale {scale!r}: fewer measurements than nests")
    if folder is not None and not folder.is_dir():
        raise UsageError(f"--folder {folder}: no such folder")

    from optdb.errors import OptdbError
    from perfembed.bench.database.damage import damage as run_damage
    from perfembed.bench.database.kills import kills as run_kills
    from perfembed.bench.database.scale import scale as run_scale
    from perfembed.bench.database.writers import writers as run_writers
    from perfembed.bench.render_database import DatabaseTrials, database_document, render_database
    from perfembed.report.style import Style, count

    trials, begun = DatabaseTrials(seed), time.monotonic()
    try:
        if kills:
            say(f"{count(kills, 'kill')}", quiet)
            trials.kills = run_kills(kills, seed, folder)
        if damage:
            say(f"{count(damage, 'cut')} and {count(damage, 'bit flip')}", quiet)
            trials.damage = run_damage(damage, seed, folder)
        if crowd is not None:
            say(f"{count(crowd[0], 'writer')} of {count(crowd[1], 'measurement')}", quiet)
            trials.writers = run_writers(*crowd, folder)
        if size is not None:
            say(f"{count(size[0], 'nest')}, {count(size[1], 'measurement')}", quiet)
            trials.scale = run_scale(*size, folder, merged)
    except OptdbError as problem:
        raise DatabaseProblem(problem.message, problem.advice) from None
    except KeyboardInterrupt:
        trials.interrupted = True
    trials.seconds = time.monotonic() - begun
    print(database_document(trials) if json else render_database(trials, Style(session.color(sys.stdout))))
    if not trials.passed:
        return EXIT_VERIFICATION
    return EXIT_INTERRUPTED if trials.interrupted else EXIT_DONE


def pair(text: str, option: str) -> tuple[int, int] | None:
    """`64,500`; None for `0`. Raises UsageError."""
    if text == "0":
        return None
    match = _PAIR.fullmatch(text)
    if match is None or not int(match[1]) or not int(match[2]):
        raise UsageError(f"{option} {text!r}: expected two numbers such as 64,500, or 0 for none")
    return int(match[1]), int(match[2])
