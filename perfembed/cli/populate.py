"""`perfembed populate [FILES]...`: fills the database by searching the nests of many programs.

Long, because the command has many options.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from perfembed.cli.backends import BACKENDS, backend_of
from perfembed.cli.database import Database, database_path
from perfembed.cli.generate import Patterns, only_patterns
from perfembed.cli.options import (
    DEFAULT_CFLAGS,
    Cc,
    Cflags,
    Defines,
    Includes,
    Json,
    Quiet,
    Seed,
    Standard,
    Threads,
    Traceback,
    Weights,
    budget_seconds,
    compiler_flags,
    shard_of,
    thread_count,
    weights_folder,
)
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_NOT_READ, DatabaseProblem, UsageError

if TYPE_CHECKING:
    from perfembed.populating.programs import PopulateOptions, PopulateResult, Program
    from perfembed.profiling.subjects import ProfilingOptions
    from perfembed.tuning.result import Evaluate
    from scheduler.generator.programs import GeneratorSettings

SEARCHES = ("beam", "mcts", "random", "exhaustive", "sample", "isl", "genetic")


def command(
    context: typer.Context,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILES]...", help="C files with a main.", show_default=False)
    ] = None,
    generate: Annotated[
        int, typer.Option("--generate", metavar="N", min=0, help="And so many generated programs.")
    ] = 0,
    work: Annotated[
        str | None,
        typer.Option(
            "--work",
            metavar="LEAST,MOST",
            help="Statements a generated program runs; 1e8 take about 0.2 s, and often exceed the last cache.",
            show_default="1e6,3e7; with --profiles 3e5,3e7",
        ),
    ] = None,
    pattern: Patterns = None,
    search: Annotated[
        str, typer.Option("--search", metavar="NAME", help=f"How schedules are searched: {', '.join(SEARCHES)}.")
    ] = "beam",
    schedules: Annotated[
        int, typer.Option("--schedules", metavar="N", min=1, help="Schedules measured for each nest.")
    ] = 64,
    evaluate: Annotated[
        str,
        typer.Option(
            "--evaluate",
            metavar="HOW",
            help="run: measure every candidate; model+run: predict them, measure the best --schedules of them.",
        ),
    ] = "run",
    drawn: Annotated[
        float,
        typer.Option(
            "--drawn",
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Of the schedules measured so many are drawn from all legal ones: matrices and free sequences.",
        ),
    ] = 0.0,
    held_out: Annotated[
        bool,
        typer.Option("--held-out", help="Of generated programs, only those that cost models are never trained on."),
    ] = False,
    refine: Annotated[
        bool,
        typer.Option(
            "--refine", help="With model+run: then neighbours of the fastest and the next best, while that helps."
        ),
    ] = False,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time for all: 60s, 30m, 8h.")] = "30m",
    nest_budget: Annotated[str, typer.Option("--nest-budget", metavar="TIME", help="Time for each nest.")] = "5m",
    db: Database = None,
    shard: Annotated[
        str, typer.Option("--shard", metavar="I/N", help="Only every N-th program, from the I-th on.")
    ] = "1/1",
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Search on the workers of this Dask scheduler, started with --nthreads 1 --resources measure=1.",
            show_default=False,
        ),
    ] = None,
    emit_sbatch: Annotated[
        int | None,
        typer.Option(
            "--emit-sbatch",
            metavar="N",
            min=1,
            max=100_000,
            help="Print a Slurm script that does the same in N tasks, and end.",
            show_default=False,
        ),
    ] = None,
    weights: Weights = None,
    all_nests: Annotated[
        bool, typer.Option("--all-nests", help="Of files, nests under 1 % of the run time, too.")
    ] = False,
    profiles: Annotated[
        bool,
        typer.Option(
            "--profiles",
            help="Profile nests instead of searching; of files, --generate N variants; of shards of donors, each.",
        ),
    ] = False,
    backend: Annotated[
        str,
        typer.Option("--backend", metavar="NAME", help=f"With --profiles, who counts: {', '.join(BACKENDS)}."),
    ] = "simulated",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what there is to do, and end.")] = False,
    seed: Seed = 0,
    threads: Threads = None,
    cc: Cc = "gcc",
    cflags: Cflags = DEFAULT_CFLAGS,
    define: Defines = None,
    include: Includes = None,
    std: Standard = None,
    reassociate: Annotated[bool, typer.Option("--reassociate", help="Allow reordering sums.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Fill the database offline: search the nests of C files and of generated programs.

    Everything measured is on the disk at once. However it ends (Ctrl-C, a kill, a full disk), the same command goes
    on where it was; what is done is left alone.
    """
    session = context.ensure_object(Session)
    if search not in SEARCHES:
        raise UsageError(f"--search {search!r}: expected {' or '.join(SEARCHES)}")
    if evaluate not in ("run", "model+run"):
        raise UsageError(f"--evaluate {evaluate!r}: expected run or model+run")
    if refine and evaluate == "run":
        raise UsageError("--refine goes with --evaluate model+run")
    if not files and not generate:
        raise UsageError("nothing to populate with", "give C files, or --generate N")
    if backend != "simulated" and not profiles:
        raise UsageError("--backend goes with --profiles")
    if work is not None and (not generate or (profiles and files)):
        raise UsageError("--work is for generated programs: --generate N, and with --profiles no files")
    if pattern and not generate:
        raise UsageError("--pattern is for generated programs: --generate N")
    only = only_patterns(pattern or [])
    path, budget_s, part = database_path(db, session.environment), budget_seconds(budget), shard_of(shard)
    if profiles:
        shards = [Path(name) for name in files or () if name.endswith(".parquet")]
        usable = not generate and len(shards) == len(files or ()) if shards else generate
        if not usable or part != (1, 1) or cluster or emit_sbatch or dry_run:
            raise UsageError(
                "--profiles goes with --generate N or shards of donors, and without --shard, clusters and --dry-run"
            )
        from perfembed.profiling.subjects import SETTINGS as PROFILED
        from perfembed.profiling.subjects import ProfilingOptions
        from perfembed.retrieval.donors import read_donors

        profiling = ProfilingOptions(
            database=path,
            seed=seed,
            count=generate,
            jobs=thread_count(None),
            threads=thread_count(threads),
            cc=cc,
            cflags=compiler_flags(cflags, define, include, std),
            environment=tuple(sorted(session.environment.items())),
            budget_s=budget_s,
            files=() if shards else tuple(files or ()),
            donors=tuple(read_donors(shards).values()),
            settings=replace(generator_settings(work, PROFILED), weights=only),
            backend=backend_of(backend, session).name,
        )
        return _profile(profiling, quiet)
    if emit_sbatch is not None:
        if part != (1, 1) or cluster is not None:
            raise UsageError("--emit-sbatch makes the shards itself: give neither --shard nor --cluster")
        print(_script(context, path, emit_sbatch), end="")
        return EXIT_DONE

    from optdb.errors import OptdbError
    from perfembed.populating.populate import make_plan
    from perfembed.populating.programs import SETTINGS, PopulateOptions, programs_of
    from perfembed.report.population import plan_document, population_document, render_plan, render_population

    options = PopulateOptions(
        database=path,
        search=search,
        evaluate=cast("Evaluate", evaluate),
        schedules=schedules,
        refine=refine,
        drawn=drawn,
        seed=seed,
        budget_s=budget_s,
        nest_budget_s=budget_seconds(nest_budget, "--nest-budget"),
        shard=part,
        cc=cc,
        cflags=compiler_flags(cflags, define, include, std),
        threads=thread_count(threads),
        reassociate=reassociate,
        all_nests=all_nests,
        weights=weights_folder(weights, session.environment),
        environment=tuple(sorted(session.environment.items())),
        command=shlex.join(["perfembed", "populate", *(files or ())]),
    )
    drawn_from = replace(generator_settings(work, SETTINGS), weights=only)
    programs = programs_of(files or (), generate, seed, drawn_from, held_out)
    try:
        if dry_run:
            plan = make_plan(programs, options)
            print(plan_document(plan) if json else render_plan(plan, options))
            return EXIT_DONE
        _make_folder(path.parent)
        result = _populate(programs, options, cluster, session, quiet)
    except OptdbError as problem:
        raise DatabaseProblem(problem.message, problem.advice) from None
    print(population_document(result) if json else render_population(result, path))
    return EXIT_INTERRUPTED if result.interrupted else EXIT_NOT_READ if result.unread else EXIT_DONE


def _profile(options: ProfilingOptions, quiet: bool) -> int:
    from optdb.errors import OptdbError
    from perfembed.profiling.profile_many import ProgramProfiled, profile_nests
    from perfembed.report.style import seconds

    count = 0

    def told(event: ProgramProfiled) -> None:
        nonlocal count
        count += 1
        if not quiet and (event.problems or count % 20 == 0):
            problem = f": {event.problems[0]}" if event.problems else ""
            print(f"{count} programs, {event.name}{problem}", file=sys.stderr, flush=True)

    try:
        options.database.parent.mkdir(parents=True, exist_ok=True)
        result = profile_nests(options, told, lambda text: None if quiet else print(text, file=sys.stderr, flush=True))
    except OptdbError as problem:
        raise DatabaseProblem(problem.message, problem.advice) from None
    took = seconds(result.seconds)
    print(f"{result.profiles} nests of {result.programs} programs profiled, {result.failed} not, in {took}")
    print(f"in {options.database}")
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE


def generator_settings(work: str | None, usual: GeneratorSettings) -> GeneratorSettings:
    """`1e6,3e7` instead of the usual bounds. Raises UsageError."""
    if work is None:
        return usual
    try:
        least, most = (float(part) for part in work.split(","))
        return replace(usual, least_work=least, most_work=most)
    except ValueError as problem:
        raise UsageError(f"--work {work!r}: expected LEAST,MOST, such as 2e7,2e8", str(problem)) from None


def _populate(
    programs: tuple[Program, ...], options: PopulateOptions, cluster: str | None, session: Session, quiet: bool
) -> PopulateResult:
    """Raises OptdbError, PerfembedError."""
    from perfembed.cli.populate_progress import populate_progress
    from perfembed.populating.populate import make_plan, populate, recover

    with populate_progress(sys.stderr, session.color(sys.stderr), quiet=quiet) as progress:
        progress(recover(options.database))
        if cluster is None:
            return populate(make_plan(programs, options), options, progress)

        from perfembed.populating.cluster import connected, places, populate_cluster

        with connected(cluster) as client:
            plan = make_plan(programs, options, places(client, options))
            return populate_cluster(client, plan, options, progress)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DatabaseProblem(f"{folder}: {problem.strerror}") from None


def _script(context: typer.Context, database: Path, shards: int) -> str:
    """The options of this call, but for those of the script itself, in a job script."""
    from perfembed.cli.sbatch import sbatch_script

    words = ["perfembed", "populate"]
    values = dict(context.params)
    files = [str(file) for file in values.pop("files") or ()]
    for parameter in context.command.params:
        value = values.get(parameter.name or "")
        if parameter.name in ("db", "shard", "emit_sbatch", "cluster", "dry_run") or value == parameter.default:
            continue
        option = parameter.opts[0]
        if value is True:
            words.append(option)
        elif isinstance(value, list | tuple):
            words += [f"{option}={item}" if option.startswith("--") else f"{option}{item}" for item in value]
        elif value not in (None, False):
            words.append(f"{option}={value}" if option.startswith("--") else f"{option}{value}")
    folder = f"{database}.shards"
    return sbatch_script(words, files, shards, folder, str(database), os.getcwd())
