"""`perfembed profile FILE`: what each loop nest does to the machine."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perfembed.cli.options import (
    DEFAULT_CFLAGS,
    Cc,
    Cflags,
    Defines,
    File,
    Functions,
    Includes,
    Json,
    Quiet,
    Standard,
    Traceback,
    Verbose,
    compiler_flags,
    parameter_values,
    words,
)
from perfembed.cli.session import Session
from perfembed.cli.tune import MAX_THREADS, physical_cores
from perfembed.errors import EXIT_DONE, EnvironmentMissing, UsageError

BACKENDS = ("auto", "likwid", "perf", "simulated")


def command(
    context: typer.Context,
    file: File,
    function: Functions = None,
    cc: Cc = "gcc",
    cflags: Cflags = DEFAULT_CFLAGS,
    define: Defines = None,
    include: Includes = None,
    std: Standard = None,
    args: Annotated[str, typer.Option("--args", metavar="ARGS", help="Arguments the program is run with.")] = "",
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="NAME=N",
            help="The value of a size where there is no main (repeatable).",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="N", help="Threads to run with.  [default: cores]")
    ] = None,
    backend: Annotated[
        str, typer.Option("--backend", metavar="NAME", help=f"Who counts: {', '.join(BACKENDS)}.")
    ] = "auto",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of made-up inputs.")] = 0,
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
    if backend not in BACKENDS:
        raise UsageError(f"--backend {backend!r}: expected {', '.join(BACKENDS)}")
    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise UsageError(f"--threads {threads}: expected 1 to {MAX_THREADS}")
    flags = compiler_flags(cflags, define, include, std)
    parameters, arguments = parameter_values(param), words(args, "--args")

    from perfembed.cli.progress import progress_on
    from perfembed.profile import profile_file
    from perfembed.report.profiles import profiles_document, render_profiles
    from perfembed.report.style import Style
    from perfembed.result import TuneOptions
    from profilers.backends import BackendMissing, choose

    try:
        chosen = choose(backend, session.environment)
    except BackendMissing as problem:
        raise EnvironmentMissing(str(problem), "--backend simulated works everywhere") from None
    options = TuneOptions(
        functions=tuple(function or ()),
        cc=cc,
        cflags=flags,
        program_arguments=arguments,
        parameters=parameters,
        threads=threads if threads is not None else physical_cores(),
        seed=seed,
        environment=tuple(sorted(session.environment.items())),
    )
    with progress_on(sys.stderr, session.color(sys.stderr), quiet=quiet, verbose=verbose) as progress:
        result = profile_file(file, options, chosen, progress)
    style = Style(session.color(sys.stdout))
    print(profiles_document(result) if json else render_profiles(result, style, verbose=verbose))
    return EXIT_DONE
