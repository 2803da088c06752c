"""`perfembed profile FILE`: what each loop nest does to the machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.backends import BACKENDS, backend_of
from perfembed.cli.options import (
    DEFAULT_CFLAGS,
    Cc,
    Cflags,
    Defines,
    File,
    Functions,
    Includes,
    Json,
    Parameters,
    Quiet,
    Seed,
    Standard,
    Threads,
    Traceback,
    Verbose,
    compiler_flags,
    parameter_values,
    thread_count,
)
from perfembed.cli.session import Session
from perfembed.cli.world import Args, Env, ExpectExit, RunLimit, Stdin, Workdir, Writable, world_of
from perfembed.errors import EXIT_DONE, DatabaseProblem


def command(
    context: typer.Context,
    file: File,
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
    run_limit: RunLimit = "60s",
    expect_exit: ExpectExit = 0,
    writable: Writable = None,
    param: Parameters = None,
    threads: Threads = None,
    backend: Annotated[
        str, typer.Option("--backend", metavar="NAME", help=f"Who counts: {', '.join(BACKENDS)}.")
    ] = "auto",
    db: Annotated[
        str | None,
        typer.Option("--db", metavar="PATH", help="Keep the profiles in this database, too.", show_default=False),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    traceback: Traceback = False,
) -> int:
    """Show what each loop nest does to the machine.

    Every nest is run on the program's own data with its outermost parallel loop in parallel and nothing else
    changed. Hardware counters are used where they count (LIKWID, perf); elsewhere they are simulated.
    """
    session = context.ensure_object(Session)
    flags = compiler_flags(cflags, define, include, std)
    parameters = parameter_values(param)
    world = world_of(args, stdin, env, workdir, None, 0.0, run_limit, writable)

    from optdb.errors import OptdbError
    from perfembed.cli.progress import progress_on
    from perfembed.profiling.profile_file import profile_file
    from perfembed.report.profiles import profiles_document, render_profiles
    from perfembed.report.style import Style
    from perfembed.tuning.result import TuneOptions

    chosen = backend_of(backend, session)
    options = TuneOptions(
        functions=tuple(function or ()),
        cc=cc,
        cflags=flags,
        world=world,
        expect_exit=expect_exit,
        parameters=parameters,
        threads=thread_count(threads),
        seed=seed,
        environment=tuple(sorted(session.environment.items())),
    )
    with progress_on(sys.stderr, session.color(sys.stderr), quiet=quiet, verbose=verbose) as progress:
        try:
            result = profile_file(file, options, chosen, progress, Path(db) if db is not None else None)
        except OptdbError as problem:
            raise DatabaseProblem(problem.message, problem.advice) from None
    style = Style(session.color(sys.stdout))
    print(profiles_document(result) if json else render_profiles(result, style, verbose=verbose))
    return EXIT_DONE
