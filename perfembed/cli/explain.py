"""`perfembed explain FILE`: where the schedules of a transfer come from, and what became of them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.database import Database, optional_database
from perfembed.cli.options import (
    DEFAULT_CFLAGS,
    Cc,
    Cflags,
    Defines,
    File,
    Functions,
    Includes,
    Json,
    Measure,
    Neighbours,
    NoDatabase,
    Parameters,
    Quiet,
    SameThings,
    Seed,
    Standard,
    Threads,
    Traceback,
    Verbose,
    Weights,
    budget_seconds,
    compiler_flags,
    parameter_values,
    thread_count,
    weights_folder,
)
from perfembed.cli.session import Session
from perfembed.cli.world import (
    Args,
    CheckFile,
    Env,
    ExpectExit,
    RunLimit,
    Stdin,
    Tolerance,
    Workdir,
    Writable,
    world_of,
)
from perfembed.errors import UsageError


def command(
    context: typer.Context,
    file: File,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="OUT", help="Also write one self-contained page.")
    ] = None,
    remarks: Annotated[bool, typer.Option("--remarks", help="Print remarks like a compiler's.")] = False,
    function: Functions = None,
    cc: Cc = "gcc",
    cflags: Cflags = DEFAULT_CFLAGS,
    define: Defines = None,
    include: Includes = None,
    std: Standard = None,
    args: Args = "",
    stdin: Stdin = None,
    env: Env = None,
    workdir: Workdir = None,
    check_file: CheckFile = None,
    tolerance: Tolerance = 0.0,
    run_limit: RunLimit = "60s",
    expect_exit: ExpectExit = 0,
    writable: Writable = None,
    param: Parameters = None,
    threads: Threads = None,
    k: Neighbours = 5,
    same: SameThings = None,
    measure: Measure = 10,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="ALGORITHM",
            help="Take no donor of it, of its family or of generated programs that do the like (repeatable).",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time to measure: 60s, 2m.")] = "60s",
    seed: Seed = 0,
    db: Database = None,
    no_db: NoDatabase = False,
    weights: Weights = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    traceback: Traceback = False,
) -> int:
    """Show the donors of each nest, the nodes matched, the steps skipped, and what all candidates gained.

    Tunes like `tune --search transfer --dry-run`: nothing is written but what is measured, to the database.
    """
    session = context.ensure_object(Session)
    if json and remarks:
        raise UsageError("--json and --remarks exclude each other")
    flags = compiler_flags(cflags, define, include, std)
    budget_s, parameters = budget_seconds(budget), parameter_values(param)
    world = world_of(args, stdin, env, workdir, check_file, tolerance, run_limit, writable)
    if html is not None and not html.parent.is_dir():
        raise UsageError(f"--html {html}: there is no folder {html.parent}")

    from perfembed.cli.doctor import cache_folder
    from perfembed.cli.pages import write_page
    from perfembed.cli.progress import progress_on
    from perfembed.report.documents import tune_document
    from perfembed.report.explanation import render_explanation, render_remarks
    from perfembed.report.explanation_page import explanation_page
    from perfembed.report.style import Style
    from perfembed.retrieval.options import same_things
    from perfembed.tuning.file_tuner import tune
    from perfembed.tuning.result import TuneOptions

    options = TuneOptions(
        dry_run=True,
        functions=tuple(function or ()),
        cc=cc,
        cflags=flags,
        world=world,
        expect_exit=expect_exit,
        parameters=parameters,
        threads=thread_count(threads),
        search="transfer",
        neighbours=k,
        same=same_things(same or ()),
        measure=measure,
        without=tuple(without or ()),
        budget_s=budget_s,
        began_s=session.began,
        seed=seed,
        database=None if no_db else optional_database(db, session.environment),
        weights=weights_folder(weights, session.environment),
        environment=tuple(sorted(session.environment.items())),
        cache=str(folder) if (folder := cache_folder(session.environment)) is not None else None,
        pictures=json,
    )
    with progress_on(sys.stderr, session.color(sys.stderr), quiet=quiet, verbose=verbose) as progress:
        result = tune(file, options, progress)
    if json:
        print(tune_document(result))
    elif remarks:
        print(render_remarks(result))
    else:
        width = min(shutil.get_terminal_size().columns, 120) if sys.stdout.isatty() else 100
        print(render_explanation(result, Style(session.color(sys.stdout), width), verbose=verbose))
    if html is not None:
        sys.stdout.flush()
        write_page(str(html), lambda: explanation_page(result), "perfembed explain", session)
    return result.exit_code
