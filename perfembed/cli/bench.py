"""`perfembed bench …`: what perfembed claims about itself, measured and checked again."""

from __future__ import annotations

import sys
from glob import glob
from pathlib import Path
from typing import Annotated

import typer

from perfembed.cli.options import Cc, Json, Quiet, Traceback, Verbose, budget_seconds
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_VERIFICATION, UsageError

SHIPPED = "tests/kernels/*.c"
_FORMATS = ("table", "markdown", "json")
_MAX_THREADS = 1024

app = typer.Typer(help="Measure and check perfembed itself.", rich_markup_mode=None, no_args_is_help=True)

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILES]...", help=f"C files with a main.  [default: {SHIPPED}]", show_default=False),
]
Threads = Annotated[int | None, typer.Option("--threads", metavar="N", help="Threads.  [default: cores]")]


@app.command("kernels")
def kernels(
    context: typer.Context,
    files: Files = None,
    set_: Annotated[
        str, typer.Option("--set", metavar="large|small", help="Sizes: as they are, or with -DSMALL.")
    ] = "large",
    threads: Threads = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="TIME", help="Search time a kernel.  [default: 60s, small 10s]")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Finished kernels are kept here, one JSON line each.")
    ] = Path("bench-kernels.jsonl"),
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Take over what --out holds, or measure again.")
    ] = True,
    only: Annotated[
        str, typer.Option("--only", metavar="LIST", help="Columns, of gcc,clang,polly,polly-stripmine,ours.")
    ] = "gcc,clang,polly,polly-stripmine,ours",
    kernel: Annotated[
        list[str] | None,
        typer.Option("--kernel", metavar="NAME", help="The function to time (repeatable).", show_default=False),
    ] = None,
    search: Annotated[str, typer.Option("--search", metavar="NAME", help="How schedules are searched.")] = "beam",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")] = 0,
    cc: Cc = "gcc",
    clang: Annotated[str | None, typer.Option("--clang", metavar="PROGRAM", help="[default: the newest]")] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="table|markdown|json", help="How it is printed.")
    ] = "table",
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Tune kernels and compare them with what compilers make of them.

    Each kernel is tuned, checked, and measured in turns with the original built by gcc, clang and clang with
    Polly, all on the same threads. The time is that of the kernel, without input and checksum. Ends with exit
    code 1 where a tuned program computed something else. May be stopped and started again at any time.
    """
    session = context.ensure_object(Session)
    if set_ not in ("large", "small"):
        raise UsageError(f"--set {set_!r}: expected large or small")
    if format_ not in _FORMATS:
        raise UsageError(f"--format {format_!r}: expected {', '.join(_FORMATS)}")
    session.json = format_ == "json"
    small = set_ == "small"
    budget_s = budget_seconds(budget if budget is not None else "10s" if small else "60s")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise UsageError(f"--out {out}: not a file that can be written")
    paths, count = _files(files), _threads(threads)
    columns = tuple(name.strip() for name in only.split(",") if name.strip())

    from perfembed.bench.kernels.compilers import NAMES
    from perfembed.bench.kernels.measure import MeasureSettings
    from perfembed.bench.kernels.report import kernels_document, render_kernels
    from perfembed.bench.kernels.run import KernelsBench, run_kernels
    from perfembed.report.style import Style

    if unknown := sorted(set(columns) - set(NAMES)):
        raise UsageError(f"--only {', '.join(unknown)}: expected some of {', '.join(NAMES)}")
    bench = KernelsBench(
        paths=paths,
        small=small,
        threads=count,
        budget_s=budget_s,
        only=columns,
        out=out,
        resume=resume,
        search=search,
        cc=cc,
        clang=clang,
        kernels=tuple(kernel or ()),
        seed=seed,
        settings=MeasureSettings(least=3, enough_s=0.1, quiet_s=2.0) if small else MeasureSettings(),
        environment=tuple(sorted(session.environment.items())),
    )
    result = run_kernels(bench, lambda text: _say(text, quiet))
    style = Style(session.color(sys.stdout))
    if format_ == "json":
        print(kernels_document(result))
    else:
        print(render_kernels(result, style, markdown=format_ == "markdown"))
    if result.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_VERIFICATION if any(row.status == "wrong" for row in result.rows) else EXIT_DONE


@app.command("replay")
def replay(
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
    from perfembed.report.style import Style, count
    from perfembed.tune import target_of
    from profilers.machine import describe_machine

    session = context.ensure_object(Session)
    paths = _files(files)
    for path in paths:
        read_input(path)
    target = target_of(describe_machine(), _threads(threads))
    settings = ReplaySettings(target, candidates, limit, cc)
    times = time_files(
        paths, settings, lambda f: _say(f"{f.path}: {f.problem or count(len(f.replay), 'candidate')}", quiet)
    )
    print(replay_document(times) if json else render_replay(times, Style(session.color(sys.stdout))))
    return EXIT_DONE


@app.command("legality")
def legality(
    context: typer.Context,
    programs: Annotated[int, typer.Option("--programs", metavar="N", min=1, help="Random programs.")] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The campaign; the same seed, the same one.")] = 0,
    first: Annotated[int, typer.Option("--first", metavar="I", min=0, help="Number of the first program.")] = 0,
    schedules: Annotated[int, typer.Option("--schedules", metavar="N", min=1, help="Schedules a program.")] = 3,
    planted: Annotated[
        int, typer.Option("--planted", metavar="N", min=0, help="Broken versions of each legal schedule.")
    ] = 3,
    compiled: Annotated[
        int | None,
        typer.Option("--compiled", metavar="N", min=0, help="Programs that are also compiled.  [default: 1 in 20]"),
    ] = None,
    compilers: Annotated[
        str | None,
        typer.Option("--compilers", metavar="LIST", help="With these.  [default: gcc and the newest clang]"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, max=1024, help="Processes.")] = 1,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Check legality on random programs and schedules.

    Legal schedules must compute what the source order does (interpreted, with races, and compiled on 1, 2 and
    3 threads), witnesses of illegal ones must be real, and schedules broken on purpose must be rejected. Ends
    with exit code 1 on any disagreement.
    """
    from perfembed.bench.legality.campaign import run_campaign
    from perfembed.bench.legality.model import Campaign
    from perfembed.bench.render import campaign_document, render_campaign
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    wanted = compiled if compiled is not None else -(-programs // 20)
    campaign = Campaign(
        programs=programs,
        seed=seed,
        first=first,
        schedules=schedules,
        planted=planted,
        compiled=wanted,
        compilers=_compilers(compilers, session) if wanted else (),
        jobs=jobs,
        environment=tuple(sorted(session.environment.items())),
    )

    def progress(done: int, disagreements: int) -> None:
        if disagreements or done % 200 < 20:
            _say(f"{done} programs, {disagreements} disagreements", quiet)

    result = run_campaign(campaign, lambda done, tally: progress(done, len(tally.disagreements)))
    print(campaign_document(result) if json else render_campaign(result, Style(session.color(sys.stdout))))
    if result.disagreements:
        return EXIT_VERIFICATION
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE


@app.command("timing")
def timing(
    context: typer.Context,
    comparisons: Annotated[
        int, typer.Option("--comparisons", metavar="N", min=1, help="Comparisons of each kind.")
    ] = 100,
    slowdown: Annotated[
        float, typer.Option("--slowdown", metavar="SHARE", min=0.001, max=1.0, help="What is planted.")
    ] = 0.03,
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="N", min=10, help="Length of the nest, about 25 µs each.")
    ] = 40,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the bootstrap.")] = 0,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Count false alarms and misses of the comparison that tune decides with.

    A nest is compared with itself, and with one that does a little more: how often is the first declared
    faster, and how often is the second found to be slower?
    """
    from perfembed.bench.render import render_timing, timing_document
    from perfembed.bench.timing import TimingBench, run_timing
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    bench = TimingBench(comparisons, slowdown, rounds, seed, environment=session.environment)

    def progress(done: int, alarms: int) -> None:
        if done % 10 == 0:
            _say(f"{done} of {comparisons} comparisons, {alarms} false alarms", quiet)

    result = run_timing(bench, progress)
    print(timing_document(result) if json else render_timing(result, Style(session.color(sys.stdout))))
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE


@app.command("counters")
def counters(
    context: typer.Context,
    files: Files = None,
    macro: Annotated[
        list[str] | None,
        typer.Option("-D", metavar="NAME[=VALUE]", help="Macros.  [default: SMALL]", show_default=False),
    ] = None,
    d1: Annotated[str, typer.Option("--d1", metavar="BYTES,WAYS", help="The first cache.")] = "32768,8",
    ll: Annotated[str, typer.Option("--ll", metavar="BYTES,WAYS", help="The last cache.")] = "262144,8",
    verbose: Verbose = False,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Compare simulated counters with those of valgrind, nest by nest, on the same caches."""
    from perfembed.bench.counters import CountersBench, run_counters
    from perfembed.bench.render_counters import counters_document, render_counters
    from perfembed.report.style import Style

    session = context.ensure_object(Session)
    flags = tuple(f"-D{name}" for name in (["SMALL"] if macro is None else macro))
    bench = CountersBench(_files(files), session.environment, flags, d1=_cache(d1), ll=_cache(ll))
    result = run_counters(bench, lambda done: _say(done, quiet))
    style = Style(session.color(sys.stdout))
    print(counters_document(result) if json else render_counters(result, style, verbose))
    return EXIT_INTERRUPTED if result.interrupted else EXIT_DONE


def _cache(text: str) -> tuple[int, int]:
    """Raises UsageError."""
    try:
        size, ways = (int(part) for part in text.split(","))
        if ways < 1 or size < 64 * ways or size & (size - 1) or ways & (ways - 1):
            raise ValueError
    except ValueError:
        raise UsageError(f"{text!r} is no cache: BYTES,WAYS, both powers of two, as in 32768,8") from None
    return size, ways


def _files(files: list[str] | None) -> tuple[str, ...]:
    found = tuple(files or sorted(glob(SHIPPED)))
    if not found:
        raise UsageError(f"no C files given, and none at {SHIPPED}")
    return found


def _threads(threads: int | None) -> int:
    if threads is None:
        from profilers.machine import describe_machine

        return describe_machine().physical_cores
    if not 1 <= threads <= _MAX_THREADS:
        raise UsageError(f"--threads {threads}: expected 1 to {_MAX_THREADS}")
    return threads


def _compilers(text: str | None, session: Session) -> tuple[str, ...]:
    """Those named, all of which must be there; else gcc and clang where they are. Raises UsageError."""
    from perfembed.bench.kernels.compilers import newest_clang
    from profilers.build import compiler_path
    from profilers.errors import CompilerMissing

    named = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    try:
        for name in named or ("gcc",):
            compiler_path(name, session.environment)
    except CompilerMissing as error:
        raise UsageError(str(error)) from None
    return named or tuple(name for name in ("gcc", newest_clang(session.environment)) if name is not None)


def _say(text: str, quiet: bool) -> None:
    if not quiet:
        print(text, file=sys.stderr, flush=True)
