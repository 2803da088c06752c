"""The campaigns as commands: each ends with exit code 1 where it found a fault.

Long, because it has the options and the text of each.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from perfembed.errors import UsageError
from perfembed.files import read_input
from perfembed.report.style import seconds, table
from profilers.build import compiler_path
from tests.campaigns.bounds.campaign import run_campaign as run_bounds
from tests.campaigns.bounds.model import Campaign as BoundsCampaign
from tests.campaigns.bounds.model import CampaignResult as BoundsResult
from tests.campaigns.bounds.model import Fault as BoundsFault
from tests.campaigns.bounds.model import ways as bounds_ways
from tests.campaigns.database.trials import DatabaseTrials, run_trials
from tests.campaigns.database.trials import text as database_text
from tests.campaigns.forms.campaign import run_campaign as run_forms
from tests.campaigns.forms.model import FORMS
from tests.campaigns.forms.model import Campaign as FormsCampaign
from tests.campaigns.interrupted import PROGRAM, InterruptedBench, run_interrupted
from tests.campaigns.legality.campaign import run_campaign as run_legality
from tests.campaigns.legality.model import Campaign as LegalityCampaign
from tests.campaigns.legality.model import CampaignResult as LegalityResult
from tests.campaigns.openmp.check import OpenmpBench, run_openmp
from tests.campaigns.population import PopulationBench, run_population
from tests.campaigns.spelling.campaign import run_campaign as run_spelling
from tests.campaigns.spelling.model import Campaign as SpellingCampaign
from tests.campaigns.written.campaign import run_written
from tests.campaigns.written.model import VERDICTS, WrittenBench, WrittenResult
from tests.campaigns.written.ways import WAYS
from tests.compilers import clang as newest_clang
from tests.printing import as_json, counts, faults, say

app = typer.Typer(help="Hunts for wrong results.", no_args_is_help=True, add_completion=False, rich_markup_mode=None)

Programs = Annotated[int, typer.Option(min=0, help="Random programs.")]
DEFAULT_CFLAGS = "-O3 -march=native"
Cc = Annotated[str, typer.Option("--cc", metavar="PROGRAM", help="The C compiler.")]
Cflags = Annotated[str, typer.Option("--cflags", metavar="FLAGS", help="Compiler flags, in one argument.")]
Seed = Annotated[int, typer.Option(help="The campaign; the same seed, the same one.")]
First = Annotated[int, typer.Option(min=0, help="Number of the first program.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes.")]
Keep = Annotated[Path | None, typer.Option(help="What fails goes there.")]
Folder = Annotated[Path | None, typer.Option(help="Where it works.  [default: temporary]")]
Ways = Annotated[str, typer.Option(help="Ways to compile and to run, with commas.  [default: all]")]
Files = Annotated[list[str] | None, typer.Argument(help="C files besides random programs.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


def _end(result: object, json: bool, found: int, lines: Sequence[str]) -> NoReturn:
    print(as_json(result) if json else "\n".join(lines))
    raise typer.Exit(1 if found else 0)


def _environment() -> tuple[tuple[str, str], ...]:
    return tuple(sorted(os.environ.items()))


def _named(text: str, known: Sequence[str]) -> tuple[str, ...]:
    """Raises UsageError for what is not known."""
    named = tuple(name.strip() for name in text.split(",") if name.strip())
    if unknown := [name for name in named if name not in known]:
        raise UsageError(f"{unknown[0]}: expected some of {', '.join(known)}")
    return named


def _again(campaign: str, **options: object) -> str:
    return " ".join([f"python -m tests.campaigns {campaign}", *(f"--{k} {v}" for k, v in options.items())])


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


@app.command("bounds")
def bounds(
    programs: Programs = 200,
    seed: Seed = 0,
    first: First = 0,
    schedules: Annotated[int, typer.Option(min=1, help="Of each nest: its own order, and random ones.")] = 3,
    ways: Ways = "",
    flags: Annotated[
        list[str] | None, typer.Option(help="Flags to read and compile with; one of them is drawn for each file.")
    ] = None,
    reduce: Annotated[bool, typer.Option("--reduce", help="Make what fails small, which takes a minute each.")] = False,
    keep: Keep = None,
    jobs: Jobs = 1,
    json: Json = False,
) -> None:
    """Loops between values of all integer types run as C says, for values unlike those of a first run.

    Random programs whose iterators, starts, ends, steps and subscripts have all integer types and come from
    parameters, members, data and other loops get random legal schedules, are compiled in four ways and called with
    sizes of 0, 1 and 2, offsets greater than sizes, and values at the edges of types.
    """
    clang = newest_clang("-fopenmp")
    known = [way.name for way in bounds_ways(clang)]
    campaign = BoundsCampaign(
        programs=programs,
        seed=seed,
        first=first,
        schedules=schedules,
        ways=_named(ways, known) or tuple(known),
        flags=tuple(flags or ("",)),
        jobs=jobs,
        clang=clang,
        reduce=reduce,
        keep=keep.absolute() if keep else None,
    )
    result = run_bounds(campaign, lambda done, tally: say(f"{done} programs, {len(tally.faults)} faults"))
    found = [(one, bounds_again(campaign, one)) for one in result.tally.faults]
    lines = [*bounds_text(result), *faults(found, result.interrupted)]
    _end(result, json, len(found), lines)


def bounds_again(campaign: BoundsCampaign, fault: BoundsFault) -> str:
    begin = campaign.first + (fault.program - campaign.first) // 10 * 10
    flags = "".join(f" --flags '{text}'" for text in campaign.flags if text)
    return _again("bounds", seed=campaign.seed, first=begin, programs=10) + f"{flags} --reduce --keep DIR"


def bounds_text(result: BoundsResult) -> list[str]:
    """What was read and written, which loops ran, and why nests were left alone."""
    campaign, n = result.campaign, result.tally.counts
    return [
        f"{result.programs} programs of seed {campaign.seed}, from {campaign.first} on, in {seconds(result.seconds)}",
        f"  programs   {n['programs'] - n['undefined']} that C defines for {n['calls']} sets of values",
        f"  nests      {n['nests']} read, {n['refused']} loops refused, {n['untestable']} untestable, "
        f"{n['without code']} without code",
        f"  schedules  {n['rewritten']} of nests, {n['reordered']} of them not the order of the source",
        f"  runs       {n['runs']}: {_share(n['runs tuned'], n['runs'])} ran tuned loops, "
        f"{_share(n['runs original'], n['runs'])} the original ones alone, "
        f"{_share(n['runs without nest'], n['runs'])} no nest that was written",
        f"  nests run  {n['nests run']}: {_share(n['nests run tuned'], n['nests run'])} tuned",
        f"             {n['nests never tuned']} of {n['nests reached']} nests, under a schedule in a way, "
        "never ran tuned",
        *counts(result.tally.refused, 12),
    ]


@app.command("forms")
def forms(
    programs: Annotated[int, typer.Option(min=1, help="Programs of each form.")] = 100,
    form: Annotated[list[str] | None, typer.Option(help="Only this form (repeatable).", show_default=False)] = None,
    seed: Seed = 0,
    first: First = 0,
    flags: Annotated[
        bool, typer.Option("--flags", help="Read and compile each under flags that change what C means.")
    ] = False,
    jobs: Jobs = 1,
    keep: Keep = None,
    json: Json = False,
) -> None:
    """Tuned programs print what they printed, whatever they are made of.

    Random programs with jumps and reductions, iterators and pointers that move, strides and subscripts that depend on
    data, structures, values that are structures, memory that is set and copied, and tables of rows get random legal
    schedules and are compiled with sanitizers or optimized.
    """
    campaign = FormsCampaign(
        programs=programs,
        seed=seed,
        first=first,
        forms=_named(",".join(form or ()), tuple(FORMS)) or tuple(FORMS),
        jobs=jobs,
        keep=keep.absolute() if keep else None,
        under_flags=flags,
    )
    result = run_forms(campaign, lambda done, tally: say(f"{done} programs, {len(tally.faults)} faults"))
    more = " --flags" if flags else ""
    found = [
        (one, _again("forms", form=one.form, seed=seed, first=one.program, programs=1) + f"{more} --keep DIR")
        for one in result.faults
    ]
    columns = dict.fromkeys(name for count in result.counts.values() for name in count)
    rows = [[form, *(str(count.get(name, 0)) for name in columns)] for form, count in result.counts.items()]
    head = f"{result.programs} programs of seed {seed}, from number {first} on, in {seconds(result.seconds)}"
    _end(result, json, len(found), [head, *table([["", *columns], *rows]), *faults(found, result.interrupted)])


@app.command("spelling")
def spelling(
    bases: Files = None,
    files: Annotated[int, typer.Option(min=1, help="Respelled files.")] = 2000,
    seed: Seed = 0,
    first: First = 0,
    every: Annotated[int, typer.Option(min=1, help="One in K is compiled, run, written anew and run again.")] = 4,
    jobs: Jobs = 1,
    keep: Keep = None,
    json: Json = False,
) -> None:
    """Programs are understood however they are spelled.

    Random programs are rewritten by what preprocessors and people do: macros, included bodies, #line, digraphs,
    comments, joined lines, names in UTF-8, old definitions and the like. None may end in a traceback, be called
    wrong where the compiler takes it, or compute something else when it is written.
    """
    for path in bases or []:
        read_input(path)
    campaign = SpellingCampaign(
        files=files,
        seed=seed,
        first=first,
        every=every,
        bases=tuple(str(Path(path).absolute()) for path in bases or []),
        jobs=jobs,
        keep=keep.absolute() if keep else None,
    )
    result = run_spelling(campaign, lambda done, tally: say(f"{done} files, {len(tally.faults)} faults"))
    found = [
        (one, f"{_again('spelling', seed=seed, first=one.file, files=1, every=every)} --keep DIR")
        for one in result.faults
    ]
    head = f"{result.files} files of seed {seed}, from number {first} on, in {seconds(result.seconds)}"
    _end(result, json, len(found), [head, *counts(result.counts), *faults(found, result.interrupted)])


@app.command("legality")
def legality(
    programs: Programs = 2000,
    seed: Seed = 0,
    first: First = 0,
    schedules: Annotated[int, typer.Option(min=1, help="Schedules a program.")] = 3,
    planted: Annotated[int, typer.Option(min=0, help="Broken versions of each legal schedule.")] = 3,
    matrices: Annotated[int, typer.Option(min=0, help="And so many sampled schedule matrices a program.")] = 1,
    free: Annotated[int, typer.Option(min=0, help="And so many free sequences of steps a program.")] = 1,
    compiled: Annotated[
        int | None, typer.Option(min=0, help="Programs that are also compiled.  [default: 1 in 20]")
    ] = None,
    compilers: Annotated[str, typer.Option(help="With these.  [default: gcc, and a clang with OpenMP]")] = "",
    jobs: Jobs = 1,
    json: Json = False,
) -> None:
    """Legality holds on random programs and schedules.

    Legal schedules must compute what the source order does (interpreted, with races, and compiled on 1, 2 and
    3 threads), witnesses of illegal ones must be real, and schedules broken on purpose must be rejected.
    """
    wanted = compiled if compiled is not None else -(-programs // 20)
    named = tuple(filter(None, compilers.split(","))) or ("gcc", newest_clang("-fopenmp"))
    for name in filter(None, named):
        compiler_path(name, os.environ)
    campaign = LegalityCampaign(
        programs=programs,
        seed=seed,
        first=first,
        schedules=schedules,
        planted=planted,
        matrices=matrices,
        free=free,
        compiled=wanted,
        compilers=tuple(filter(None, named)) if wanted else (),
        jobs=jobs,
        environment=_environment(),
    )
    result = run_legality(
        campaign, lambda done, tally: say(f"{done} programs, {len(tally.disagreements)} disagreements")
    )
    _end(result, json, len(result.disagreements), legality_text(result))


def legality_text(result: LegalityResult) -> list[str]:
    seed, first = result.campaign.seed, result.campaign.first
    found = [(one, _again("legality", seed=seed, first=one.program, programs=1)) for one in result.disagreements]
    head = f"{result.programs} programs of seed {seed}, from number {first} on, in {seconds(result.seconds)}"
    planted = f"{result.planted:>10}  planted illegal schedules rejected"
    return [head, planted, *counts(result.counts), *faults(found, result.interrupted)]


@app.command("written")
def written(
    files: Annotated[
        list[str] | None, typer.Argument(help="C files with a main.  [default: tests/kernels/*.c]", show_default=False)
    ] = None,
    programs: Programs = 500,
    seed: Seed = 0,
    first: First = 0,
    ways: Ways = "",
    keep: Keep = None,
    jobs: Jobs = 1,
    json: Json = False,
) -> None:
    """Written files keep their meaning in other ways to compile and to run them.

    Programs are rewritten with random legal schedules. Then original and written file are compiled in the same
    way (other sizes, compilers, flags, sanitizers, threads, stacks, without memory …): both must print the same,
    or both be refused.
    """
    paths = tuple(sorted(glob("tests/kernels/*.c")) if files is None else files)
    for path in paths:
        read_input(path)
    bench = WrittenBench(
        files=paths,
        programs=programs,
        seed=seed,
        first=first,
        ways=_named(ways, [way.name for way in WAYS]),
        jobs=jobs,
        keep=keep,
        environment=_environment(),
    )
    total = len(paths) + programs
    result = run_written(
        bench,
        lambda name, done, tally: say(f"{name}: {done} of {total} programs, {len(tally.failures)} differences"),
    )
    _end(result, json, len(result.tally.failures), written_text(result))


def written_text(result: WrittenResult) -> list[str]:
    """What was rewritten, a row for each way, then every difference with the commands that show it again."""
    bench, tally = result.bench, result.tally
    about = {way.name: way.about for way in WAYS}
    rows = [
        [name, *(str(result.counts(name)[v] or "") for v in VERDICTS[:-1]), about[name]]
        for name in result.names
        if name not in tally.missing
    ]
    return [
        f"{tally.programs} programs, random ones of seed {bench.seed} from number {bench.first}, in "
        f"{seconds(result.seconds)}",
        *counts(tally.mix),
        *table([["way", *VERDICTS[:-1], ""], *rows]),
        *(f"  {name}: not here ({said})" for name, said in tally.missing.items()),
        *faults([(one, one.again) for one in tally.failures], result.interrupted),
    ]


@app.command("openmp")
def openmp(
    programs: Annotated[int | None, typer.Option(min=1, help="So many of them.  [default: all]")] = None,
    draws: Annotated[int, typer.Option(min=0, help="Times each is written.")] = 2,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """OpenMP pragmas are understood.

    In programs with pragmas in all manners every planted race must be seen, with a witness, and none where there
    is none; written with random legal schedules they must print what they print without threads.
    """
    bench = OpenmpBench(seed, programs, draws, dict(os.environ))
    result = run_openmp(bench, lambda done, total, wrong: say(f"{done} of {total} programs, {wrong} wrong"))
    wrong = [line for name, what in result.wrong for line in ("", name, f"  {what}")]
    end = f"{'interrupted; ' if result.interrupted else ''}{len(result.wrong)} wrong"
    head = f"{result.programs} programs with OpenMP pragmas, seed {seed}"
    _end(result, json, len(result.wrong), [head, *counts(result.counts), *wrong, end])


@app.command("database")
def database(
    kills: Annotated[int, typer.Option(min=0, help="Processes killed while they work.")] = 100,
    damage: Annotated[int, typer.Option(min=0, help="Cuts, and as many bit flips.")] = 100,
    writers: Annotated[
        tuple[int, int], typer.Option(metavar="P R", help="P processes write R measurements each; 0 0: none.")
    ] = (64, 500),
    scale: Annotated[
        tuple[int, int], typer.Option(metavar="NESTS MEASUREMENTS", help="How large one is filled; 0 0: none.")
    ] = (10_000, 100_000),
    merged: Annotated[int | None, typer.Option(min=1, help="Nests of the one merged into it.")] = None,
    seed: Seed = 0,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """The optimization database keeps what it promises, on databases of its own.

    Is everything acknowledged there after kill -9 at any moment? Is damage ever silent? Do many writers, an
    ingester and a reader get on? How fast is a large one? A missed time is only said. What is claimed takes --kills
    1000 --damage 1000 --scale 1000000 10000000, which runs for hours and needs about 30 GiB of disk.
    """
    trials = run_trials(DatabaseTrials(seed), kills, damage, writers, scale, merged, folder, say)
    _end(trials, json, not trials.passed, database_text(trials))


@app.command("population")
def population(
    files: Files = None,
    kills: Annotated[int, typer.Option(min=1, help="Kills in all.")] = 20,
    generate: Annotated[int, typer.Option(min=0, help="Generated programs.")] = 8,
    schedules: Annotated[int, typer.Option(min=1, help="Schedules a nest.")] = 6,
    seed: Seed = 0,
    threads: Annotated[int, typer.Option(min=1, help="Threads.")] = 1,
    cc: Cc = "gcc",
    cflags: Cflags = DEFAULT_CFLAGS + " -DSMALL",
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Populate is killed at random moments, resumed, and compared with an undisturbed run.

    With random search and the same seed the content must be the same, times and confirmations aside; no measurement
    that was acknowledged may be lost, and none may be made twice.
    """
    arguments = (
        *("--search=random", f"--generate={generate}", f"--schedules={schedules}", f"--seed={seed}"),
        *(f"--threads={threads}", f"--cc={cc}", f"--cflags={cflags}", "--budget=720h", "--all-nests"),
        *(str(Path(file).absolute()) for file in files or ()),
    )
    result = run_population(PopulationBench(arguments, dict(os.environ), kills, seed, folder), say)
    lines = [
        f"{result.kills} kills, {result.rounds} databases filled, {seconds(result.undisturbed_s)} undisturbed",
        *counts(result.content),
        f"{result.acknowledged} acknowledged measurements: {result.lost} lost, {result.twice} measured twice",
    ]
    _end(result, json, not result.passed, [*lines, *_verdict(result.passed, result.differences)])


@app.command("interrupted")
def interrupted(
    file: Annotated[str | None, typer.Argument(help="A C program that can be made faster.", show_default=False)] = None,
    kills: Annotated[int, typer.Option(min=1, help="Kills in all.")] = 20,
    search: Annotated[str, typer.Option(help="As of tune.")] = "random",
    budget: Annotated[str, typer.Option(help="Of tune, but for the first run.")] = "4s",
    seed: Seed = 0,
    threads: Annotated[int, typer.Option(min=1, help="Threads.")] = 1,
    cc: Cc = "gcc",
    cflags: Cflags = "-O1",
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Tune --in-place is killed at random moments.

    The file must be the old or a new one, whole and right, and after the next run nothing of the killed ones may be
    left: no temporary file, no process, no lock, no damage to the database.
    """
    bench = InterruptedBench(
        arguments=(
            *(f"--search={search}", f"--budget={budget}", f"--seed={seed}", f"--threads={threads}"),
            *(f"--cc={cc}", f"--cflags={cflags}"),
        ),
        environment=dict(os.environ),
        first=("--budget=60s",),
        content=PROGRAM if file is None else read_input(file),
        build=(cc, *shlex.split(cflags), "-fopenmp", "-w", "-ffp-contract=off"),
        kills=kills,
        seed=seed,
        folder=folder,
    )
    result = run_interrupted(bench, say)
    lines = [
        f"{result.kills} kills, {result.writing} of them while the file was written",
        f"{result.old} old files, {result.new} new ones; {result.alone} times the command alone was killed, its "
        f"descendants ended within {seconds(result.slowest_end_s)}",
        f"{result.whole_runs} runs to the end, {seconds(result.undisturbed_s)} undisturbed",
    ]
    _end(result, json, not result.passed, [*lines, *_verdict(result.passed, result.problems)])


def _verdict(passed: bool, problems: Sequence[str]) -> list[str]:
    return [*(f"  {problem}" for problem in problems), "as it should be" if passed else "NOT as it should be"]
