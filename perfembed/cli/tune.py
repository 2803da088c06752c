"""`perfembed tune FILES`: searches faster loops, proves, measures and checks them, and writes the faster files."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from typing import Annotated

import typer

from perfembed.cli.building import (
    BuildOption,
    CompileCommands,
    DryRun,
    Files,
    InPlace,
    Output,
    OutputDir,
    RunCommand,
    how_built,
    named_files,
    output_places,
    run_arguments,
)
from perfembed.cli.database import Database, optional_database
from perfembed.cli.options import (
    DEFAULT_CFLAGS,
    Cc,
    Cflags,
    Defines,
    Format,
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
    output_format,
    parameter_values,
    thread_count,
    weights_folder,
)
from perfembed.cli.places import print_lines, print_sarif
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
from perfembed.retrieval.options import same_things

SEARCHES = ("transfer", "beam", "mcts", "random", "exhaustive", "sample", "isl", "genetic")


def command(
    context: typer.Context,
    files: Files = None,
    output: Output = None,
    output_dir: OutputDir = None,
    in_place: InPlace = False,
    dry_run: DryRun = False,
    compile_commands: CompileCommands = None,
    build: BuildOption = None,
    run: RunCommand = None,
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
    search: Annotated[
        str, typer.Option("--search", metavar="NAME", help=f"Where schedules come from: {', '.join(SEARCHES)}.")
    ] = "transfer",
    evaluate: Annotated[
        str | None,
        typer.Option(
            "--evaluate",
            metavar="HOW",
            help="run: measure every candidate; model: predict them; model+run: predict them, measure the best.  "
            "[default: model+run for beam, mcts and genetic, else run]",
        ),
    ] = None,
    schedule: Annotated[
        list[str] | None,
        typer.Option(
            "--schedule",
            metavar="TEXT",
            help="Only try this schedule, of the nest NEST in 'NEST: step; step' (repeatable).",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            metavar="WHEN",
            help="Profile nests before donors are looked for: auto (where that may tell more), always, never.",
        ),
    ] = "never",
    guard: Annotated[
        str,
        typer.Option(
            "--guard",
            metavar="NAME",
            help="With --search genetic: what says whether a candidate is worth running: none, classifier, model.",
        ),
    ] = "none",
    k: Neighbours = 5,
    same: SameThings = None,
    measure: Measure = 10,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time to search: 60s, 2m, 1h.")] = "60s",
    reassociate: Annotated[
        bool, typer.Option("--reassociate", help="Allow reordering sums: results may differ by rounding.")
    ] = False,
    trust_openmp: Annotated[
        bool,
        typer.Option("--trust-openmp", help="Believe OpenMP pragmas where data decide whether iterations meet."),
    ] = False,
    seed: Seed = 0,
    db: Database = None,
    no_db: NoDatabase = False,
    weights: Weights = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="OUT", help="Also write one self-contained HTML page.", show_default=False),
    ] = None,
    json: Json = False,
    format_: Format = "text",
    quiet: Quiet = False,
    verbose: Verbose = False,
    traceback: Traceback = False,
) -> int:
    """Make the loops of C files faster.

    Finds schedules for each loop nest (those of similar nests, or by a search), proves them legal, measures them
    against the original, checks that the program computes the same, and writes the faster C files with the reason for
    every decision.
    """
    session = context.ensure_object(Session)
    form = output_format(session, format_, json)
    if form == "sarif" and not dry_run:
        raise UsageError("--format sarif says what a file misses", "add --dry-run")
    if quiet and verbose:
        raise UsageError("-q and -v exclude each other")
    if search not in SEARCHES:
        raise UsageError(f"--search {search!r}: expected {' or '.join(SEARCHES)}")
    from perfembed.tuning.result import evaluation_of, guard_named, profiling_named

    guarding = guard_named(guard, search, evaluate)
    evaluation, alike = evaluation_of(search, evaluate, guarding), same_things(same or ())
    flags = compiler_flags(cflags, define, include, std)
    budget_s, parameters = budget_seconds(budget), parameter_values(param)
    world = world_of(args, stdin, env, workdir, check_file, tolerance, run_limit, writable)
    world = replace(world, arguments=run_arguments(run, args))
    named = named_files(files, build)
    if form == "sarif" and len(named) != 1:
        raise UsageError("--format sarif takes one file")

    from perfembed.files import check_output, read_input

    contents = [read_input(file) for file in named]
    places = output_places(named, output, output_dir, in_place, dry_run)
    for file in named:
        check_output(file, places.output, in_place)
        if report is not None:
            check_output(file, report, False)
    if places.output is not None and report is not None and os.path.realpath(report) == os.path.realpath(places.output):
        raise UsageError(f"--report {report}: the tuned file goes there")

    # What takes other processes a while is begun before this one imports the rest.
    from profilers.supervisor import prepare_supervisor
    from scheduler.frontend.parsing import prepare_parser

    prepare_supervisor(session.environment.get("PATH", os.defpath))
    prepare_parser()

    from perfembed.cli.doctor import cache_folder
    from perfembed.cli.progress import progress_on
    from perfembed.report.documents import tune_document
    from perfembed.report.style import Style, one_line
    from perfembed.report.terminal import render_result
    from perfembed.tuning.file_tuner import tune
    from perfembed.tuning.opening import tune_project
    from perfembed.tuning.result import TuneOptions

    options = TuneOptions(
        output=places.output,
        output_folder=places.folder,
        in_place=in_place,
        dry_run=dry_run,
        functions=tuple(function or ()),
        cc=cc,
        cflags=flags,
        world=world,
        expect_exit=expect_exit,
        parameters=parameters,
        threads=thread_count(threads),
        search=search,
        evaluate=evaluation,
        guard=guarding,
        profiling=profiling_named(profile, search),
        schedules=tuple(schedule or ()),
        neighbours=k,
        same=alike,
        measure=measure,
        budget_s=budget_s,
        began_s=session.began,
        reassociate=reassociate,
        trust_openmp=trust_openmp,
        seed=seed,
        database=None if no_db else optional_database(db, session.environment),
        weights=weights_folder(weights, session.environment),
        environment=tuple(sorted(session.environment.items())),
        cache=str(folder) if (folder := cache_folder(session.environment)) is not None else None,
        pictures=json or report is not None,
    )
    with progress_on(sys.stderr, session.color(sys.stderr), quiet=quiet, verbose=verbose) as progress:
        how = how_built(context, named, build, run, compile_commands, define, include, std)
        result = tune(named[0], options, progress) if how is None else tune_project(named, how, options, progress)
    style = Style(
        session.color(sys.stdout), min(shutil.get_terminal_size().columns, 120) if sys.stdout.isatty() else 100
    )
    if form == "sarif":
        from perfembed.report.findings import tuning_findings

        print_sarif(tuning_findings(result), named[0], contents[0])
    elif form == "remarks":
        from perfembed.report.remarks import tuning_remarks

        print_lines(tuning_remarks(result))
    elif form == "json":
        print(tune_document(result))
    else:
        print(render_result(result, style, quiet=quiet, verbose=verbose))
    if report is not None:
        from perfembed.cli.pages import write_page
        from perfembed.report.tuning_page import tuning_page

        sys.stdout.flush()  # what was found is known, whatever becomes of its picture
        drawn = write_page(report, lambda: tuning_page(result), "perfembed tune", session)
        if drawn and form == "text" and not quiet:
            print(f"{style.paint('report'.ljust(9), 'bold')}{one_line(report)}")
    return result.exit_code
