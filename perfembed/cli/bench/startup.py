"""`perfembed bench startup`: how long `perfembed tune` takes until something runs, and how much memory it needs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.options import Json, Quiet, Traceback
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, UsageError


def command(
    context: typer.Context,
    runs: Annotated[int, typer.Option("--runs", metavar="N", min=1, help="Runs of each.")] = 5,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="DIR",
            help="Another checkout of perfembed to compare with.  [default: this one, torch loaded first]",
            show_default=False,
        ),
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Build the wheels, install them into fresh environments and run those.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Time what tune does before the first program runs, and its memory.

    A small example is tuned by this program and by another one in alternation: the same one with torch loaded first,
    as it needs it for training, or another checkout. Memory is of the perfembed process alone. With --install also the
    time that pip takes with everything in its cache, and the size of what it installs.
    """
    from perfembed.bench.render_startup import render_startup, startup_document
    from perfembed.bench.startup import StartupBench, run_startup
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    if against is not None and not (against / "perfembed" / "cli" / "main.py").is_file():
        raise UsageError(f"--against {against}: no checkout of perfembed")
    bench = StartupBench(runs, against, environment=session.environment, install=install)
    result = run_startup(bench, lambda text: say(text, quiet))
    print(startup_document(result) if json else render_startup(result, Style(session.color(sys.stdout))))
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE
