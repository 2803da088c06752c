"""The evaluations as commands. What finds a wrong result ends with exit code 1.

Long, because it has the options of each.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import glob
from json import dumps, loads
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.cli.texts import budget_seconds, thread_count
from perfembed.cli.train import PROFILES, SHARDS, TRANSFERS
from perfembed.embedding.network.interface import machine_numbers
from perfembed.errors import EnvironmentMissing, UsageError
from perfembed.files import read_input
from perfembed.learning.cost_models import SHIPPED, load_cost_model, load_cost_models, load_lstm, weights_path
from perfembed.learning.surrogate import load_classifier
from perfembed.learning.training_data import is_generated, read_problems
from perfembed.learning.training_profiles import read_examples, read_profiles
from perfembed.measuring.target import target_of
from perfembed.retrieval.cross_transfers import DISTURBED, nest_vectors, read_transfers
from perfembed.retrieval.donor_vectors import seed_donors
from perfembed.retrieval.donors import donor_shards, read_donors
from perfembed.retrieval.retrieve import open_sources
from perfembed.retrieval.space_training import is_for_tests, usable_space
from perfembed.tuning.options import TuneOptions
from profilers.machine import describe_machine
from scheduler.cost.problem import CostModel
from tests.evaluation import search as searches
from tests.evaluation import transfer as transfers
from tests.evaluation import views
from tests.evaluation.costmodel import run_costmodel
from tests.evaluation.counters import CountersBench, run_counters
from tests.evaluation.datasets import run_datasets
from tests.evaluation.embedding import score_embedding
from tests.evaluation.house import Modules, measure
from tests.evaluation.index import bench_index
from tests.evaluation.large import TASKS, LargeBench, run_large
from tests.evaluation.method_scores import REFERENCE, pairs, scores
from tests.evaluation.methods import Method, MethodsBench, run_methods
from tests.evaluation.nest_spellings import run_spellings
from tests.evaluation.products import SPELLINGS, ProductsBench, bench_products
from tests.evaluation.programs import ProgramsBench, ProgramScore, append_score, read_scores, run_programs
from tests.evaluation.regions import run_regions
from tests.evaluation.replay import ReplaySettings, time_files
from tests.evaluation.retrieval import VERSUS, judge, scores_of
from tests.evaluation.spread import SpellingTimes, run_spread
from tests.evaluation.startup import StartupBench, run_startup
from tests.evaluation.surrogate import run_surrogate
from tests.evaluation.timing import TimingBench, run_timing
from tests.evaluation.unchanged import differences, digests
from tests.evaluation.variants import run_variants
from tests.printing import as_json, say

app = typer.Typer(
    help="Figures of perfembed itself.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
KERNELS, PROGRAMS = "tests/kernels/*.c", "tests/programs/*/*.c"

Files = Annotated[
    list[str] | None, typer.Argument(help=f"C files with a main.  [default: {KERNELS}]", show_default=False)
]
Cc = Annotated[str, typer.Option("--cc", metavar="PROGRAM", help="The C compiler.")]
Threads = Annotated[int | None, typer.Option("--threads", metavar="N", help="Threads.  [default: cores]")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")]
Measure = Annotated[
    int,
    typer.Option("--measure", metavar="N", min=1, max=1000, help="Candidates measured a nest, where not all are."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print tables of Markdown.")]
Out = Annotated[Path | None, typer.Option(help="Finished rows are kept here; a run that ended goes on there.")]
Budget = Annotated[str, typer.Option(help="Time a nest and method.")]
Only = Annotated[list[str] | None, typer.Option(metavar="METHOD", help="This method (repeatable).")]
Seeds = Annotated[int, typer.Option(min=1, help="With so many seeds, from --seed on.")]
Counts = Annotated[str, typer.Option(metavar="N[,N…]", help="Candidates measured a nest, without refinement.")]
Data = Annotated[Path, typer.Option(metavar="DIR", help="Folder of Parquet shards.")]
Weights = Annotated[Path, typer.Option(metavar="DIR", help="Folder of the models.")]


def _files(files: Sequence[str] | None, stems: Sequence[str] = ()) -> tuple[str, ...]:
    """Those named, else the kernels of these names, of all where there are none. Raises UsageError."""
    found = files or [path for path in sorted(glob(KERNELS)) if not stems or Path(path).stem in stems]
    if not found:
        raise UsageError(f"no C files given, and none at {KERNELS}")
    for path in found:
        read_input(path)
    return tuple(found)


def _environment() -> tuple[tuple[str, str], ...]:
    return tuple(sorted(os.environ.items()))


def _machine(threads: int) -> str:
    return f"{describe_machine().cpu_model}, {threads} threads"


def _words(text: str, known: Sequence[str]) -> tuple[str, ...]:
    """Raises UsageError for what is not known."""
    if unknown := set(found := tuple(filter(None, text.split(",")))) - set(known):
        raise UsageError(f"{', '.join(sorted(unknown))}: expected some of {', '.join(known)}")
    return found


def _numbers(text: str, least: int = 1) -> tuple[int, ...]:
    """Raises UsageError."""
    if not all(part.isdigit() and int(part) >= least for part in text.split(",")):
        raise UsageError(f"{text!r}: expected numbers from {least} on, with commas")
    return tuple(dict.fromkeys(map(int, text.split(","))))


def _cost_model() -> CostModel | None:
    try:
        return load_cost_model()
    except EnvironmentMissing:
        return None


def _end(result: object, json: bool, lines: Sequence[str], wrong: bool = False, **more: object) -> NoReturn:
    print(as_json(result, **more) if json else "\n".join(lines))
    raise typer.Exit(1 if wrong else 0)


@app.command("kernels", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def kernels(context: typer.Context) -> None:
    """`perfembed compare` of all kernels, with all its options (-DSMALL and -DXLARGE for other sizes)."""
    raise typer.Exit(main(["compare", *_files(None), *context.args], Session()))


@app.command("programs")
def programs(
    folders: Annotated[list[Path] | None, typer.Argument(help="[default: all of tests/programs]")] = None,
    threads: Threads = None,
    budget: Annotated[str, typer.Option(help="Of tuning each.")] = "60s",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each form, in turns.")] = 3,
    small: Annotated[bool, typer.Option("--small", help="With arguments for a fraction of a second.")] = False,
    out: Out = None,
    markdown: Markdown = False,
    json: Json = False,
) -> None:
    """Whole programs by their Makefiles, measured in turns without OpenMP, with their own, and tuned."""
    found = tuple(folders or sorted(path.parent for path in Path("tests/programs").glob("*/program.toml")))
    bench = ProgramsBench(found, thread_count(threads), budget_seconds(budget), runs, small, dict(os.environ))

    def done(score: ProgramScore) -> None:
        if out is not None:
            append_score(out, score)
        say(f"{score.name} is done")

    result = run_programs(bench, read_scores(out) if out is not None else {}, done)
    wrong = any(score.output is False for score in result.scores)
    _end(result, json, views.programs(result, markdown), wrong)


@app.command("products")
def products(
    sizes: Annotated[str, typer.Option(help="Rows and columns.")] = "500,1000,2000,4000",
    types: Annotated[str, typer.Option(help="Element types.")] = "double,float",
    spellings: Annotated[str, typer.Option(help="How they are written.")] = ",".join(SPELLINGS),
    march: Annotated[str, typer.Option(help="Instruction sets, as of -march.")] = "native,x86-64-v3",
    budget: Annotated[str, typer.Option(help="As of tune.")] = "60s",
    out: Out = None,
    threads: Threads = None,
    cc: Cc = "gcc",
    json: Json = False,
) -> None:
    """Matrix products as people write them, tuned without any product among the donors, against OpenBLAS."""
    bench = ProductsBench(
        _numbers(sizes, 2),
        out,
        thread_count(threads),
        _words(types, ("double", "float")),
        _words(spellings, tuple(SPELLINGS)),
        tuple(filter(None, march.split(","))),
        budget_seconds(budget),
        cc,
        _environment(),
    )
    rows = bench_products(bench, say)
    _end(rows, json, views.products(rows))


@app.command("transfer")
def transfer(
    files: Files = None,
    reference: Annotated[
        Path | None, typer.Option(help="Database of long searches of the same files, by `populate`.")
    ] = None,
    out: Out = None,
    only: Only = None,
    measure: Counts = "10",
    budget: Budget = "60s",
    threads: Threads = None,
    seed: Seed = 0,
    seeds: Seeds = 1,
    json: Json = False,
) -> None:
    """Transfer from donors of other algorithms, and other means, against a long search.

    By default on the twelve applications of the paper's table 2; without --reference all are compared with the first
    method. Only where they are asked for (--only): donors measured on this machine, as many of them as of other
    machines, and donors of other machines.
    """
    if reference is not None and not reference.exists():
        raise UsageError(f"--reference {reference}: there is no such database")
    counts = _numbers(measure)
    methods = _chosen((*transfers.METHODS, *transfers.MACHINES), only) if only else transfers.METHODS
    bench = MethodsBench(
        paths=_files(files, transfers.APPLICATIONS),
        out=out,
        threads=thread_count(threads),
        methods=transfers.measuring(methods, counts) if len(counts) > 1 else methods,
        reference=reference,
        measure=counts[0],
        budget_s=budget_seconds(budget),
        seeds=tuple(range(seed, seed + seeds)),
        environment=_environment(),
    )
    _compared(bench, bench.methods[0].name if reference is None else REFERENCE, json, transferring=True)


@app.command("search")
def search(
    files: Files = None,
    out: Out = None,
    only: Only = None,
    measure: Measure = 10,
    schedules: Annotated[
        int | None,
        typer.Option(min=1, help="Candidates of a nest at most where all are run, which then have the same time."),
    ] = None,
    budget: Budget = "30s",
    threads: Threads = None,
    seed: Seed = 0,
    seeds: Seeds = 1,
    json: Json = False,
) -> None:
    """Searches by the cost model, by execution or both against beam by execution, which gets 20 times the budget.

    By default on the ten programs of table 2 of the Tiramisu paper.
    """
    methods = _chosen(searches.METHODS, only)
    bench = MethodsBench(
        paths=_files(files, searches.PROGRAMS),
        out=out,
        threads=thread_count(threads),
        methods=methods,
        measure=measure,
        schedules=schedules,
        classifier=load_classifier() if any(method.guard == "classifier" for method in methods) else None,
        budget_s=budget_seconds(budget),
        seeds=tuple(range(seed, seed + seeds)),
        environment=_environment(),
    )
    _compared(bench, searches.EXECUTED, json, transferring=False)


def _chosen(methods: tuple[Method, ...], only: list[str] | None) -> tuple[Method, ...]:
    """Raises UsageError."""
    known = {method.name: method for method in methods}
    if unknown := sorted(set(only or ()) - set(known)):
        raise UsageError(f"--only {unknown[0]!r}: expected {', '.join(known)}")
    return tuple(known[name] for name in only) if only else methods


def _compared(bench: MethodsBench, against: str, json: bool, transferring: bool) -> NoReturn:
    cost = _cost_model()
    donors = transfers.leaving_out(bench.methods, cost, bench.seeds[0]) if transferring else None
    rows = run_methods(bench, cost, say, donors)
    names = [method.name for method in bench.methods]
    measured: dict[int | None, list[str]] = {}
    for method in bench.methods:
        measured.setdefault(method.top, []).append(method.name)
    groups = list(measured.values()) if transferring else []
    lines = views.methods(rows, names, against, _machine(bench.threads), groups)
    content = {"scores": scores(rows, names, against), "pairs": pairs(rows, groups, against), "nests": rows}
    _end(content, json, lines)


@app.command("datasets")
def datasets(
    file: Annotated[str, typer.Argument(help="C file with a main.")] = "tests/datasets/spmv.c",
    data: Annotated[list[str] | None, typer.Option("-D", help="A data set: the file compiled with this macro.")] = None,
    measure: Counts = "1,3",
    budget: Budget = "30s",
    threads: Threads = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """One file tuned on several data sets, with donors found without and with a profile.

    Donors of the file's algorithm (its name) are left out.
    """
    bench = MethodsBench(
        paths=(file,),
        out=None,
        threads=thread_count(threads),
        methods=(),
        budget_s=budget_seconds(budget),
        seeds=(seed,),
        environment=_environment(),
    )
    macros = data or ["DATA=BANDED", "DATA=SCATTERED", "DATA=SKEWED"]
    rows = run_datasets(bench, macros, _numbers(measure), load_cost_model(), say)
    _end(rows, json, views.datasets(rows, _machine(bench.threads)))


@app.command("retrieval")
def retrieval(
    data: Data = Path(TRANSFERS),
    seed: Seed = 0,
    sealed: Annotated[
        bool, typer.Option("--sealed", help="On the half of other hands' nests that is kept for the very end.")
    ] = False,
    json: Json = False,
) -> None:
    """Every method of asking donors, on the same measured entries of the cross-transfer matrix; no new timing."""
    rows, kept = (
        [row for row in read_transfers(sorted(folder.glob("*.parquet"))) if row.other_load <= DISTURBED]
        for folder in (data, data / "sealed")
    )
    space = usable_space()
    donors, vectors = seed_donors(space), nest_vectors([*rows, *kept], space)
    losses = judge(rows, donors, vectors, kept if sealed else ())
    judged = kept if sealed else rows
    groups = {
        "generated nests": [n for n, row in enumerate(judged) if is_generated(row.algorithm)],
        "nests of other hands": [n for n, row in enumerate(judged) if not is_generated(row.algorithm)],
    }
    found = {title: scores_of(judged, losses, seed, VERSUS, places) for title, places in groups.items() if places}
    _end(found, json, [line for title, one in found.items() for line in (*views.retrieval(one, title), "")])


@app.command("embedding")
def embedding(data: Data = Path(PROFILES), weights: Weights = SHIPPED, json: Json = False) -> None:
    """The embedding on profiles of real programs: predicted metrics, how alike neighbours perform, how alike the good
    schedules of neighbours are."""
    shards = sorted(data.glob("*.parquet"))
    examples = [e for e in read_examples(shards, machine_numbers) if is_for_tests(e)]
    if not examples:
        raise UsageError(f"{data}: no profiles of real programs", "perfembed populate FILES --profiles makes them")
    lstm = load_lstm(weights_path("lstm")) if weights_path("lstm").exists() else None
    donors = list(read_donors(donor_shards()).values())
    found = score_embedding(usable_space(weights), examples, donors, read_profiles(shards), lstm)
    _end(found, json, views.embedding(found))


@app.command("index")
def index(
    vectors: Annotated[int, typer.Option(min=10, help="Vectors in the index.")] = 1_000_000,
    queries: Annotated[int, typer.Option(min=1, help="Queries, one after another.")] = 1000,
    dimension: Annotated[int, typer.Option(min=1, help="Numbers a vector.")] = 128,
    exact: Annotated[
        bool | None, typer.Option("--exact/--approximate", help="By default as many vectors would have it.")
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Query times and recall of the nearest-neighbour index on synthetic clusters."""
    found = bench_index(vectors, dimension, seed, queries, exact)
    kind = "exact" if found.exact else "HNSW"
    lines = [
        f"{found.count} vectors of {found.dimension} numbers, {kind}, built in {found.build_s:.1f} s",
        f"query p50 {found.p50_ms:.3f} ms, p99 {found.p99_ms:.3f} ms, {queries} queries",
        f"recall@10 {found.recall_at_10:.4f}, {found.bytes / 2**20:.0f} MiB",
    ]
    _end(found, json, lines)


@app.command("costmodel")
def costmodel(data: Data = Path(SHARDS), weights: Weights = SHIPPED, json: Json = False) -> None:
    """The cost models on programs held out from training, and on the kernels."""
    models = load_cost_models(weights)
    if not models:
        raise UsageError(f"{weights}: there are no cost models", "perfembed train cost makes them")
    result = run_costmodel(read_problems(sorted(data.glob("*.parquet"))), models, say)
    _end(result, json, views.costmodel(result))


@app.command("surrogate")
def surrogate(data: Data = Path(SHARDS), seed: Seed = 0, json: Json = False) -> None:
    """Classifiers of schedules by leave-p-out and k-fold, and from generated programs to the kernels."""
    result = run_surrogate(read_problems(sorted(data.glob("*.parquet"))), _cost_model(), seed, say)
    _end(result, json, views.surrogate(result))


@app.command("replay")
def replay(
    files: Files = None,
    candidates: Annotated[int, typer.Option(min=1, help="Candidates a nest, about.")] = 200,
    limit: Annotated[float, typer.Option(min=0.1, help="Seconds a nest.")] = 20.0,
    threads: Threads = None,
    cc: Cc = "gcc",
    json: Json = False,
) -> None:
    """Times of the front end, and of replay, legality and code generation of candidates that a beam search meets."""
    target = target_of(describe_machine(), thread_count(threads))
    settings = ReplaySettings(target, candidates, limit, cc)
    found = time_files(_files(files), settings, lambda f: say(f"{f.path}: {f.problem or len(f.replay)}"))
    _end(found, json, views.replay(found))


@app.command("timing")
def timing(
    comparisons: Annotated[int, typer.Option(min=1, help="Comparisons of each kind.")] = 100,
    slowdown: Annotated[float, typer.Option(min=0.001, max=1.0, help="The share that is planted.")] = 0.03,
    rounds: Annotated[int, typer.Option(min=10, help="Length of the nest, about 25 µs each.")] = 40,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """False alarms and misses of the comparison that tune decides with.

    A nest is compared with itself, and with one that does a little more: how often is the first declared
    faster, and how often is the second found to be slower?
    """
    bench = TimingBench(comparisons, slowdown, rounds, seed, environment=dict(os.environ))
    result = run_timing(bench, lambda done, alarms: say(f"{done} comparisons, {alarms} false alarms"), say)
    _end(result, json, views.timing(result))


@app.command("regions")
def regions(
    elements: Annotated[int, typer.Option(min=1, help="Of the loop that is run.")] = 4096,
    calls: Annotated[int, typer.Option(min=1, help="Of a round.")] = 2000,
    rounds: Annotated[int, typer.Option(min=1, help="In turns.")] = 21,
    threads: Threads = None,
    cc: Cc = "gcc",
    json: Json = False,
) -> None:
    """What a written parallel region costs beside a plain one of OpenMP."""
    result = run_regions(elements, calls, rounds, thread_count(threads), cc, dict(os.environ))
    _end(result, json, views.regions(result))


@app.command("house")
def house(
    against: Annotated[Path | None, typer.Option(metavar="DIR", help="Another checkout, in a column before.")] = None,
    json: Json = False,
) -> None:
    """How large the house is and how it hangs together: lines, files, imports, floors, options."""
    found = measure(Modules())
    before = measure(Modules(against)) if against else None
    _end(found, json, views.house(found, before))


@app.command("unchanged")
def unchanged(
    files: Files = None,
    against: Annotated[Path | None, typer.Option(help="What --out wrote: differences end with exit code 1.")] = None,
    out: Annotated[Path | None, typer.Option(help="All digests go there.")] = None,
    schedules: Annotated[int, typer.Option(min=1, help="Of each nest: its own order, and random ones.")] = 3,
    flag: Annotated[list[str] | None, typer.Option(help="Flag to read files with (repeatable).")] = None,
) -> None:
    """Digests of what is read of C files and written for them: a change of the house's order changes none."""
    paths = [Path(path) for path in files or sorted([*glob(KERNELS), *glob(PROGRAMS)])]
    found = dict(digests(paths, schedules, flag or []))
    if out is not None:
        out.write_text(dumps(found, indent=1) + "\n")
    lines = differences(loads(against.read_text()), found) if against else []
    _end({"digests": len(found), "differences": lines}, False, [*lines, f"{len(found)} digests, {len(lines)} differ"],
         bool(lines))  # fmt: skip


@app.command("counters")
def counters(
    files: Files = None,
    macro: Annotated[list[str] | None, typer.Option("-D", help="Macros.  [default: SMALL]")] = None,
    d1: Annotated[tuple[int, int], typer.Option(help="The first cache: bytes and ways.")] = (32768, 8),
    ll: Annotated[tuple[int, int], typer.Option(help="The last cache: bytes and ways.")] = (262144, 8),
    json: Json = False,
) -> None:
    """Simulated counters against those of valgrind, nest by nest, on the same caches."""
    flags = tuple(f"-D{name}" for name in (["SMALL"] if macro is None else macro))
    result = run_counters(CountersBench(_files(files), dict(os.environ), flags, d1=d1, ll=ll), say)
    _end(result, json, views.counters(result))


@app.command("startup")
def startup(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each.")] = 5,
    against: Annotated[
        Path | None, typer.Option(help="Another checkout.  [default: this one, torch loaded first]")
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Build the wheels, install them into fresh environments and run those.")
    ] = False,
    json: Json = False,
) -> None:
    """What tune does before the first program runs, and its memory.

    A small example is tuned by this program and by another one in alternation. Memory is of the perfembed process
    alone. With --install also the time that pip takes with everything in its cache, and the size of what it installs.
    """
    result = run_startup(StartupBench(runs, against, environment=dict(os.environ), install=install), say)
    _end(result, json, views.startup(result))


@app.command("large")
def large(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each.")] = 3,
    against: Annotated[Path | None, typer.Option(help="Another checkout, in alternation.")] = None,
    tasks: Annotated[str, typer.Option(help="What is done with it.")] = ",".join(TASKS),
    budget: Annotated[str, typer.Option(help="Of tune.")] = "60s",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """What a program of 20 files and 10,000 lines costs, of which few run: inspect, and tune's first candidate.

    It consists of the programs in tests/programs, of which the seed chooses some to run.
    """
    bench = LargeBench(runs, against, seed, budget_seconds(budget), _words(tasks, tuple(TASKS)), dict(os.environ))
    result = run_large(bench, say)
    _end(result, json, views.large(result))


@app.command("variants")
def variants(
    files: Files = None,
    count: Annotated[int, typer.Option("--variants", min=1, help="Variants in all.")] = 50,
    spellings: Annotated[int, typer.Option(min=0, help="Other ways to write each nest.")] = 5,
    tune: Annotated[
        str | None, typer.Option(help="Tune every spelling of the nests that matter for so long, and compare.")
    ] = None,
    threads: Threads = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Are nests found again after their file was rewritten (names, declarations, spelling)? Do other ways to write them
    (legal orders of loops, sums and values in scalars) get the same donors, and with --tune the same speed?"""
    options = TuneOptions(threads=thread_count(threads), seed=seed, environment=_environment())
    paths = _files(files)
    results = run_variants(paths, count, options, seed, say)
    space, sources = open_sources(None)
    spelled = run_spellings(paths, spellings, options, seed, space, sources, say)
    timed: tuple[SpellingTimes, ...] = ()
    if tune is not None:
        budget_s = budget_seconds(tune, "--tune")
        timed = run_spread(paths, spellings, options, budget_s, space, sources, load_cost_model(), say)
    content = {"variants": results, "spellings": spelled, "times": timed}
    _end(content, json, views.variants(results, spelled, timed))
