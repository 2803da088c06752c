"""`perfembed populate [FILES]...`: fills the database by searching the nests of many programs.

Long, because the command has many options.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perfembed.cli.db import translated
from perfembed.cli.generate import Patterns, only_patterns
from perfembed.cli.help import examples
from perfembed.cli.options import FLAGS, Given, takes
from perfembed.cli.output import say
from perfembed.cli.profile import BACKENDS, BackendName, backend_of
from perfembed.cli.sbatch import sbatch_script
from perfembed.cli.texts import budget_seconds, shard_of, thread_count
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_NOT_READ, DatabaseProblem, UsageError
from perfembed.report.style import seconds
from perfembed.tuning.options import SEARCHES

if TYPE_CHECKING:
    from perfembed.populating.programs import PopulateOptions, PopulateResult, Program
    from perfembed.profiling.subjects import ProfilingOptions
    from scheduler.generator.programs import GeneratorSettings

Evaluate = Literal["run", "model+run"]
EXAMPLES = examples(
    "perfembed populate src/*.c --budget 8h",
    "perfembed populate --generate 500 --seed 1 --evaluate model+run --refine",
    "perfembed populate --generate 5000 --emit-sbatch 32 > job.sh",
)


@takes(
    *("search", "weights", "seed", "threads", *FLAGS, "reassociate", "database", "json", "quiet"),
    search="beam",
    budget_s="30m",
)
def command(
    given: Given,
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
    schedules: Annotated[
        int, typer.Option("--schedules", metavar="N", min=1, help="Schedules measured for each nest.")
    ] = 64,
    evaluate: Annotated[
        Evaluate,
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
    nest_budget: Annotated[str, typer.Option("--nest-budget", metavar="TIME", help="Time for each nest.")] = "5m",
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
        BackendName,
        typer.Option("--backend", metavar="NAME", help=f"With --profiles, who counts: {BACKENDS}."),
    ] = "simulated",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what there is to do, and end.")] = False,
) -> int:
    """Fill the database offline: search the nests of C files and of generated programs.

    Everything measured is on the disk at once. However it ends (Ctrl-C, a kill, a full disk), the same command goes
    on where it was; what is done is left alone.
    """
    if given.search not in SEARCHES[1:]:
        raise UsageError(f"--search {given.search!r}: expected {' or '.join(SEARCHES[1:])}")
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
    path, part = given.database_path(), shard_of(shard)
    if profiles:
        shards = [Path(name) for name in files or () if name.endswith(".parquet")]
        usable = not generate and len(shards) == len(files or ()) if shards else generate
        if not usable or part != (1, 1) or cluster or emit_sbatch or dry_run:
            raise UsageError(
                "--profiles goes with --generate N or shards of donors, and without --shard, clusters and --dry-run"
            )
        from perfembed.profiling.subjects import SETTINGS as PROFILED

        profiled = _profiling(given, [] if shards else files or [], shards, generate)
        settings = replace(generator_settings(work, PROFILED), weights=only)
        return _profile(replace(profiled, settings=settings, backend=backend_of(backend, given.session).name), given)
    if emit_sbatch is not None:
        if part != (1, 1) or cluster is not None:
            raise UsageError("--emit-sbatch makes the shards itself: give neither --shard nor --cluster")
        print(_script(given, path, emit_sbatch), end="")
        return EXIT_DONE

    from perfembed.populating.programs import SETTINGS, PopulateOptions, programs_of

    options = PopulateOptions(
        database=path,
        search=given.search,
        evaluate=evaluate,
        schedules=schedules,
        refine=refine,
        drawn=drawn,
        seed=given.seed,
        budget_s=given.budget(),
        nest_budget_s=budget_seconds(nest_budget, "--nest-budget"),
        shard=part,
        cc=given.cc,
        cflags=given.flags,
        threads=given.thread_count(),
        reassociate=given.reassociate,
        all_nests=all_nests,
        weights=given.weights_folder(),
        environment=given.environment,
        command=shlex.join(["perfembed", "populate", *(files or ())]),
    )
    drawn_from = replace(generator_settings(work, SETTINGS), weights=only)
    programs = programs_of(files or (), generate, given.seed, drawn_from, held_out)
    with translated():
        return _plan(given, programs, options) if dry_run else _fill(given, programs, options, cluster)


def _plan(given: Given, programs: tuple[Program, ...], options: PopulateOptions) -> int:
    from perfembed.populating.populate import make_plan
    from perfembed.report.population import plan_document, render_plan

    plan = make_plan(programs, options)
    print(plan_document(plan) if given.json else render_plan(plan, options))
    return EXIT_DONE


def _fill(given: Given, programs: tuple[Program, ...], options: PopulateOptions, cluster: str | None) -> int:
    """The exit code. Raises PerfembedError."""
    from perfembed.report.population import population_document, render_population

    path = options.database
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DatabaseProblem(f"{path.parent}: {problem.strerror}") from None
    result = _populate(given, programs, options, cluster)
    print(population_document(result) if given.json else render_population(result, path))
    return EXIT_INTERRUPTED if result.interrupted else EXIT_NOT_READ if result.unread else EXIT_DONE


def _profiling(given: Given, files: list[str], shards: list[Path], count: int) -> ProfilingOptions:
    from perfembed.profiling.subjects import ProfilingOptions
    from perfembed.retrieval.donors import read_donors

    return ProfilingOptions(
        database=given.database_path(),
        seed=given.seed,
        count=count,
        jobs=thread_count(None),
        threads=given.thread_count(),
        cc=given.cc,
        cflags=given.flags,
        environment=given.environment,
        budget_s=given.budget(),
        files=tuple(files),
        donors=tuple(read_donors(shards).values()),
    )


def _profile(options: ProfilingOptions, given: Given) -> int:
    from optdb.errors import OptdbError
    from perfembed.profiling.profile_many import ProgramProfiled, profile_nests

    count = 0

    def told(event: ProgramProfiled) -> None:
        nonlocal count
        count += 1
        if not given.quiet and (event.problems or count % 20 == 0):
            problem = f": {event.problems[0]}" if event.problems else ""
            print(f"{count} programs, {event.name}{problem}", file=sys.stderr, flush=True)

    try:
        options.database.parent.mkdir(parents=True, exist_ok=True)
        result = profile_nests(options, told, lambda text: say(text, given.quiet))
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
    given: Given, programs: tuple[Program, ...], options: PopulateOptions, cluster: str | None
) -> PopulateResult:
    """Raises OptdbError, PerfembedError."""
    from perfembed.cli.populate_progress import populate_progress
    from perfembed.populating.populate import make_plan, populate, recover

    with populate_progress(sys.stderr, given.session.color(sys.stderr), quiet=given.quiet) as progress:
        progress(recover(options.database))
        if cluster is None:
            return populate(make_plan(programs, options), options, progress)

        from perfembed.populating.cluster import connected, places, populate_cluster

        with connected(cluster) as client:
            plan = make_plan(programs, options, places(client, options))
            return populate_cluster(client, plan, options, progress)


def _script(given: Given, database: Path, shards: int) -> str:
    """The options of this call, but for those of the script itself, in a job script."""

    words = ["perfembed", "populate"]
    values = dict(given.context.params)
    files = [str(file) for file in values.pop("files") or ()]
    for parameter in given.context.command.params:
        value = values.get(parameter.name or "")
        if parameter.name in ("database", "shard", "emit_sbatch", "cluster", "dry_run") or value == parameter.default:
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
