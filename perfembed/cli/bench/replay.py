"""`perfembed bench replay`: how long the front end takes, and replay, legality and code generation."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perfembed.cli.bench.common import Files, input_files
from perfembed.cli.options import Cc, Json, Quiet, Threads, Traceback, thread_count
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE


def command(
    context: typer.Context,
    files: Files = None,
    candidates: Annotated[
        int, typer.Option("--candidates", metavar="N", min=1, help="Candidates a nest, about.")
    ] = 200,
    limit: Annotated[float, typer.Option("--limit", metavar="SECONDS", min=0.1, help="Seconds a nest.")] = 20.0,
    threads: Threads = None,
    cc: Cc = "gcc",
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Time the front end, and replay, legality and code generation of candidates.

    The candidates are those a beam search meets; none is compiled or run.
    """
    from perfembed.bench.render import render_replay, replay_document
    from perfembed.bench.replay import ReplaySettings, time_files
    from perfembed.files import read_input
    from perfembed.measuring.target import target_of
    from perfembed.report.style import Style, count
    from profilers.machine import describe_machine

    session = context.ensure_object(Session)
    paths = input_files(files)
    for path in paths:
        read_input(path)
    target = target_of(describe_machine(), thread_count(threads))
    settings = ReplaySettings(target, candidates, limit, cc)
    times = time_files(
        paths, settings, lambda f: say(f"{f.path}: {f.problem or count(len(f.replay), 'candidate')}", quiet)
    )
    print(replay_document(times) if json else render_replay(times, Style(session.color(sys.stdout))))
    return EXIT_DONE
