"""Collects the cross-transfer matrix: asks many donors for each nest, and runs every tree that they lead to.

Processes transfer and compile a batch of programs, one on each core; then nothing else runs while this process measures
what they built, all of it once and, at the end of the batch, what is near the fastest once more.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

from optdb.records import MachineRecord
from perfembed.errors import PerfembedError
from perfembed.learning.cost_models import load_cost_model
from perfembed.measuring.measurer import Conditions, Measurer
from perfembed.measuring.runner import Processes, Surroundings
from perfembed.measuring.store import conditions_record
from perfembed.measuring.target import compiled_target
from perfembed.populating.programs import Program, place_of
from perfembed.retrieval.cross_transfers import (
    DISTURBED,
    Asked,
    How,
    Transfers,
    Tried,
    as_line,
    places,
    sample,
    spooled,
)
from perfembed.retrieval.donors import nearest
from perfembed.retrieval.families import LeftOut, related
from perfembed.retrieval.retrieve import Retrieval, open_sources
from perfembed.transfer.view import Side
from perfembed.tuning.inputs import Collecting, NestInputs, collect_inputs, made_up
from perfembed.tuning.openmp import parallel_flags, with_openmp
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import one_file
from perfembed.tuning.source import parse
from perfembed.world import World
from profilers.build import Built, CompilerConfig, compiler_version
from profilers.contained.child import Limits
from profilers.contained.errors import ProfilersError
from profilers.contained.scratch import scratch_folder
from profilers.lock import machine_lock
from profilers.machine import describe_machine
from profilers.outcome import BuildFailed, Outcome, Stopped, Timed
from profilers.specification import TimingSettings
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.workload import plain
from scheduler.errors import SchedulerError
from scheduler.generator.programs import GeneratorSettings, generate
from scheduler.generator.programs.generate import FUNCTION
from scheduler.identity import canonical_nest, canonical_text, carry_over
from scheduler.ir.text import nest_id
from scheduler.ir.tree import TreeNode
from scheduler.replay import LegalityOptions, Replayer, ScheduledNest
from scheduler.schedule import format_schedule

# More than half of the programs take over 2 ms, from what lies in the first cache to what lies in memory.
GENERATED = GeneratorSettings(least_work=4e6, most_work=8e7)
_BATCH = 8  # programs prepared before their trees are run
_ASK_S = 150.0  # for the donors of one nest
_CLOSE = 1.5  # of the fastest time: run twice
_HOPELESS = 1.6  # of the original's time: given up
_RUN = TimingSettings(min_samples=2, max_samples=20, target_seconds=0.04)
_AGAIN = TimingSettings(min_samples=3, max_samples=40, target_seconds=0.1)
_LEAST_SHARE = 0.05  # of the time of a program
_LEAST_S, _MOST_S = 2e-5, 1.0  # nests that take less say nothing, of those that take more thirty trees take long
_TRIES = 4
_TASKS = 50  # of a process, which then ends and gives back its memory


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """`anchors`: (donor, number of its schedule) that each nest is asked, related or not: who evaluates leaves out.

    `near`, `drawn`: how many donors are asked besides, those nearest and at random, none of them related.
    """

    anchors: tuple[tuple[str, int], ...]
    seed: int
    threads: int
    budget_s: float
    cc: str = "gcc"
    cflags: tuple[str, ...] = ("-O3", "-march=native")
    environment: tuple[tuple[str, str], ...] = ()
    near: int = 6
    drawn: int = 12


@dataclass(frozen=True, slots=True)
class Prepared:
    """A nest whose trees are compiled. `row` has no times yet; builds stand in the order of `row.trees`.

    `originals`: the nest as written, in the forms it may be compiled in; `expected_s`: what it takes in its program.
    """

    row: Transfers
    originals: tuple[Built, ...]
    builds: tuple[Built | None, ...]
    expected_s: float | None


@dataclass(frozen=True, slots=True)
class Collected:
    """Of one call: `labels` are the recipes that have an outcome."""

    nests: int
    labels: int
    trees: int
    seconds: float


def collect_transfers(
    programs: Sequence[Program], options: CollectOptions, spool: Path, progress: Callable[[str], None]
) -> Collected:
    """Appends a line for each nest to `spool`; programs of which it has nests are left out, none is begun after the
    budget. Raises OSError, PerfembedError.
    """
    began, nests, labels, trees = time.monotonic(), 0, 0, 0
    done = places(spooled(spool))
    waiting = [program for program in programs if _place(program) not in done]
    environment = dict(options.environment)
    flags = parallel_flags(options.cc, options.cflags, options.threads, environment, progress)
    options = replace(options, cflags=flags)
    with spool.open("a", encoding="utf-8") as file, _Pool(options) as pool:
        for start in range(0, len(waiting), _BATCH):
            if time.monotonic() - began > options.budget_s:
                break
            with scratch_folder() as scratch:
                prepared = pool.prepared(waiting[start : start + _BATCH], scratch, progress)
                with machine_lock(environment, progress):
                    rows = list(_measured(prepared, environment))
            file.write("".join(map(as_line, rows)))  # of a program all nests or none
            file.flush()
            nests, labels = nests + len(rows), labels + sum(len(row.asked) for row in rows)
            trees += sum(len(row.trees) for row in rows)
            spent = time.monotonic() - began
            progress(f"{nests} nests, {labels} labels of {trees} trees, {3600 * labels / spent:.0f} labels an hour")
    return Collected(nests, labels, trees, time.monotonic() - began)


# ------------------------------------------------------------------------------------------ what is asked


class _Pool:
    """Processes that prepare programs, and remember donors. One that dies takes one program with it."""

    def __init__(self, options: CollectOptions) -> None:
        self.options = options
        self.pool = self._begun()

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *problem: object) -> None:
        self.pool.shutdown(cancel_futures=True)

    def _begun(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(
            os.cpu_count(), context, initializer=_begin, initargs=(self.options,), max_tasks_per_child=_TASKS
        )

    def prepared(self, programs: Sequence[Program], scratch: Path, progress: Callable[[str], None]) -> list[Prepared]:
        found: list[Prepared] = []
        again = self._together(programs, scratch / "together", found, progress)
        for number, program in enumerate(again):  # one of them ended the process that others were prepared in
            for lost in self._together([program], scratch / f"alone-{number}", found, progress):
                progress(f"{lost.path}: its process died")
        return found

    def _together(
        self, programs: Sequence[Program], scratch: Path, found: list[Prepared], progress: Callable[[str], None]
    ) -> list[Program]:
        """Adds what is prepared to `found`; the programs whose process died."""
        lost: list[Program] = []
        asked: list[tuple[Program, Future[list[Prepared]]]] = []
        scratch.mkdir()
        for number, program in enumerate(programs):
            try:
                asked.append((program, self.pool.submit(_prepare, program, scratch / str(number))))
            except BrokenProcessPool:
                lost.append(program)
        for program, future in asked:
            try:
                found += future.result()
            except BrokenProcessPool:
                lost.append(program)
            except (PerfembedError, SchedulerError, ProfilersError) as problem:
                progress(f"{program.path}: {problem}")
            except Exception as problem:  # hours of other programs are not to be lost for it
                progress(f"{program.path}: internal error: {type(problem).__name__}: {problem}"[:500])
        if lost:
            self.pool.shutdown(cancel_futures=True)
            self.pool = self._begun()
        return lost


_asking: _Asking | None = None


def _begin(options: CollectOptions) -> None:
    global _asking
    _asking = _Asking(options)


def _prepare(program: Program, folder: Path) -> list[Prepared]:
    assert _asking is not None
    folder.mkdir()
    return list(_asking.program(program, folder))


def _place(program: Program) -> str:
    return (
        Path(program.path).name if program.number is None else place_of(program.seed, program.number, program.settings)
    )


class _Asking:
    def __init__(self, options: CollectOptions) -> None:
        self.options = options
        self.environment = dict(options.environment)
        self.machine = describe_machine()
        self.compiler = CompilerConfig(options.cc, options.cflags)
        self.version = compiler_version(options.cc, self.environment)
        self.target = compiled_target(self.machine, options.threads, self.compiler, self.environment)
        self.space, self.sources = open_sources(None)
        self.cost = load_cost_model()
        self.retrieval = Retrieval(self.space, self.sources, self.target, cost=self.cost)

    def program(self, program: Program, folder: Path) -> Iterator[Prepared]:
        """Its nests that can be run and asked about. Raises PerfembedError, SchedulerError."""
        options, content = self.options, program.content()
        asked = TuneOptions(
            functions=() if program.number is None else (FUNCTION,),
            cc=options.cc,
            cflags=with_openmp(program.path, content, options.cflags, lambda text: None),
            threads=options.threads,
            environment=options.environment,
            world=World(Path.cwd()),
            expect_exit=None,
        )
        source = parse(program.path, content, asked)
        if program.number is not None:
            asked = replace(asked, parameters=tuple(program.sizes().items()))
            inputs = made_up(source.nests, asked, folder)
        else:
            how = Collecting(_LEAST_SHARE)
            inputs = collect_inputs(one_file(source, asked), asked, folder, lambda event: None, how)
        for number, found in enumerate(inputs.found):
            with contextlib.suppress(PerfembedError, SchedulerError):
                yield self.nest(found, program, folder / f"nest-{number}")

    def nest(self, found: NestInputs, program: Program, folder: Path) -> Prepared:
        """Raises PerfembedError, SchedulerError."""
        options, nest = self.options, plain(found.nest)
        replayer = Replayer(nest)
        conditions = Conditions(
            self.compiler, options.threads, self.target, folder, self.environment, 1, LegalityOptions(), options.seed
        )
        measurer = Measurer(nest, replayer, found.captured, conditions)
        algorithm = program.algorithm if program.number is None else self._patterns(program)
        asked, trees = self._asked(replayer, found, algorithm)
        canonical = canonical_nest(nest)
        there = Replayer(canonical.nest)
        tried: list[Tried] = []
        bodies: list[str] = []
        positions: list[int | None] = []
        for scheduled, predicted in trees:
            text, body = "", measurer.body(scheduled)
            with contextlib.suppress(SchedulerError):
                text = format_schedule(carry_over(scheduled.schedule, replayer, there, canonical.names))
            refused = body.message if isinstance(body, BuildFailed) else "" if text else "no canonical form"
            tried.append(Tried(text, predicted, refused.splitlines()[0][:200] if refused else ""))
            if not refused:
                positions.append(len(bodies))
                bodies.append(str(body))
            else:
                positions.append(None)
        forms = (measurer, measurer.knowing_sizes()) if found.in_program_s is not None else (measurer,)
        originals = [b for form in forms for b in form.build([emit_original(nest)]) if isinstance(b, Built)]
        if not originals:
            raise SchedulerError("the nest as written does not compile")
        built = measurer.build(bodies)
        builds: list[Built | None] = []
        for number, position in enumerate(positions):
            one = built[position] if position is not None else None
            if isinstance(one, BuildFailed):
                tried[number] = replace(tried[number], outcome="does not compile")
            builds.append(one if isinstance(one, Built) else None)
        record = MachineRecord.of(self.machine)
        under = conditions_record(
            self.machine, options.cc, self.version, self.compiler.flags, options.threads, nest,
            found.captured.parameters, False,
        )  # fmt: skip
        row = Transfers(
            nest=nest_id(nest),
            text=canonical_text(nest),
            algorithm=algorithm,
            place=_place(program),
            machine=self.machine.fingerprint,
            isa=f"{record.architecture} {' '.join(record.flags)}",
            caches=record.caches,
            compiler=self.version,
            flags=self.compiler.flags,
            threads=options.threads,
            sizes=under.sizes,
            element_type=under.element_type,
            seconds=math.nan,
            again=math.nan,
            other_load=0.0,
            trees=tuple(tried),
            asked=tuple(asked),
        )
        return Prepared(row, tuple(originals), tuple(builds), found.in_program_s)

    def _patterns(self, program: Program) -> str:
        assert program.number is not None
        return "+".join(generate(program.seed, program.number, program.settings).patterns)

    def _asked(
        self, replayer: Replayer, found: NestInputs, algorithm: str
    ) -> tuple[list[Asked], list[tuple[ScheduledNest, float]]]:
        """(what was asked, the trees that came of it and what the cost model predicts of each)"""
        side = self.retrieval.side(replayer, found.captured.parameters)
        trees: dict[tuple[TreeNode, ...], int] = {}
        made: list[tuple[ScheduledNest, float]] = []
        asked: list[Asked] = []
        until = time.monotonic() + _ASK_S
        donors = self.sources[0].by_id
        for donor, number, how, chance in self._recipes(side, algorithm):
            if time.monotonic() > until:
                asked.append(Asked(donor, number, how, chance, "not asked: no time"))
                continue
            try:
                led = self.retrieval.led_to(side, donors[donor], number)
            except SchedulerError as problem:
                asked.append(Asked(donor, number, how, chance, f"cannot be read: {problem}"[:200]))
                continue
            if not led:
                asked.append(Asked(donor, number, how, chance, "does not fit"))
                continue
            scheduled, predicted = led
            if scheduled.tree not in trees:
                trees[scheduled.tree] = len(made)
                made.append((scheduled, round(predicted, 4)))
            asked.append(Asked(donor, number, how, chance, "fits", trees[scheduled.tree]))
        return asked, made

    def _recipes(self, side: Side, algorithm: str) -> list[tuple[str, int, How, float]]:
        """In an order drawn at random: where time runs out, no kind of donor goes without."""
        donors = self.sources[0].by_id
        rng = random.Random(f"{self.options.seed} {nest_id(side.replayer.nest)}")
        found: dict[tuple[str, int], tuple[How, float]] = {
            (donor, number): ("anchor", 1.0) for donor, number in self.options.anchors if donor in donors
        }
        vector = self.space.vector(side.replayer, side.parameters, self.target)
        for one in nearest(self.sources, vector, self.options.near, without_algorithms=LeftOut((algorithm,))):
            found.setdefault((one.donor.nest_id, 0), ("near", 0.0))
        others = sorted(key for key, donor in donors.items() if not related(donor.algorithm, algorithm))
        for key, chance in sample(rng, others, self.options.drawn, {donor for donor, _ in found}):
            found[key] = ("drawn", chance)
        recipes = [(donor, number, how, chance) for (donor, number), (how, chance) in found.items()]
        rng.shuffle(recipes)
        return recipes


# --------------------------------------------------------------------------------------- what it is worth


def _measured(prepared: Sequence[Prepared], environment: Mapping[str, str]) -> Iterator[Transfers]:
    """Rows with times, of nests that run in a bearable time; all run once, then what is near the fastest once more."""
    where = Surroundings(Limits(wall_s=60.0, memory_bytes=16 << 30), environment)
    first = [(one, found) for one in prepared if (found := _undisturbed(one, where)) is not None]
    for one, (row, original) in first:
        yield _twice(one, row, original, where)


def _undisturbed(one: Prepared, where: Surroundings) -> tuple[Transfers, Built] | None:
    """`_once`, again where others kept the machine busy meanwhile; the last time counts, and says so."""
    for _ in range(_TRIES):
        found = _once(one, where)
        if found is None or found[0].other_load <= DISTURBED:
            break
    return found


def _once(one: Prepared, where: Surroundings) -> tuple[Transfers, Built] | None:
    """And the nest as written, in the form that takes as long as in its program."""
    runner = Processes()
    load = [0.0]

    def timed(built: Built, stop: float | None = None) -> Outcome:
        outcome, other_load = runner.time(built, replace(_RUN, stop_above_s=stop), where)
        load.append(other_load or 0.0)
        return outcome

    ran = ((timed(built), built) for built in one.originals)
    forms = [(o.min, built) for o, built in ran if isinstance(o, Timed) and _LEAST_S < o.min < _MOST_S]
    if not forms:
        return None
    expected = one.expected_s or forms[0][0]
    seconds, original = min(forms, key=lambda form: abs(math.log(form[0] / expected)))
    trees = []
    for tried, built in zip(one.row.trees, one.builds, strict=True):
        if built is None:
            trees.append(tried)
            continue
        match timed(built, _HOPELESS * seconds):
            case Timed() as found:
                trees.append(replace(tried, outcome="timed", seconds=found.min))
            case Stopped(after_s):
                trees.append(replace(tried, outcome="given up", seconds=after_s))
            case other:
                trees.append(replace(tried, outcome=type(other).__name__))
    return replace(one.row, seconds=seconds, trees=tuple(trees), other_load=round(max(load), 3)), original


def _twice(one: Prepared, row: Transfers, original: Built, where: Surroundings) -> Transfers:
    runner = Processes()
    again = runner.time(original, _AGAIN, where)[0]
    best = min([row.seconds, *(t.seconds for t in row.trees if t.outcome == "timed" and t.seconds)])
    trees = []
    for tried, built in zip(row.trees, one.builds, strict=True):
        if built is not None and tried.outcome == "timed" and (tried.seconds or math.inf) < _CLOSE * best:
            found = runner.time(built, _AGAIN, where)[0]
            trees.append(replace(tried, again=found.min) if isinstance(found, Timed) else tried)
        else:
            trees.append(tried)
    return replace(row, again=again.min if isinstance(again, Timed) else row.seconds, trees=tuple(trees))
