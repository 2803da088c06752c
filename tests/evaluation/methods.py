"""Ways to tune a nest held against each other: from the same inputs, all winners timed in turns at the end.

For transfer: Trümper et al. 2023, section 5.3 and table 2; for searches: Baghdadi et al. 2021 (MLSys), table 2.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from typing import Literal as OneOf

from optdb.database import Database
from optdb.errors import OptdbError
from perfembed.errors import PerfembedError
from perfembed.files import read_input
from perfembed.measuring.ledger import NoLedger
from perfembed.measuring.measurer import NestNotMeasurable
from perfembed.measuring.store import conditions_record
from perfembed.retrieval.retrieve import Retrieval
from perfembed.tuning.inputs import Collecting, NestInputs, collect_inputs
from perfembed.tuning.nest_outcome import Effort, Guides, NestOutcome, NestTask
from perfembed.tuning.nest_tuner import NestTuner
from perfembed.tuning.options import Evaluate, Guarding, Profiling, TuneOptions
from perfembed.tuning.profiled import Profiler
from perfembed.tuning.project import one_file
from perfembed.tuning.source import parse
from profilers.backends import choose
from profilers.build import Built, compiler_version
from profilers.contained.scratch import scratch_folder
from profilers.lock import machine_lock
from profilers.machine import describe_machine
from profilers.run import contained_seconds
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.workload import plain
from scheduler.cost.problem import CostModel
from scheduler.cost.surrogate import SurrogateClassifier
from scheduler.errors import SchedulerError
from scheduler.identity import canonical_nest, in_names_of
from scheduler.ir.text import nest_id
from scheduler.machine.target import Target
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from tests.evaluation.in_turns import bench_conditions, bench_target, searched, time_in_turns
from tests.evaluation.long_searches import long_search
from tests.evaluation.method_scores import ORIGINAL, REFERENCE, NestRow

_SHARE = 0.05  # of the program's time; less is not worth tuning


@dataclass(frozen=True, slots=True)
class Method:
    """A way to a schedule. `donors`: which ones a transfer takes, of all or the nearest of those that were measured on
    this machine ("own"), on as many of them as on others ("own, fewer"), or on others ("foreign"); `compose`: one for
    each loop tree, too; `factor`: of the budget.

    `generated_relatives`: generated donors that do what the algorithm left out does are no relatives of it.
    With `factor` 0 it may take as long as the first method did. `top`: candidates measured, None for the bench's.
    `profiling`: whether donors are looked for with a profile of the nest on the program's data.
    """

    name: str
    search: str = "transfer"
    evaluate: Evaluate = "run"
    k: int = 5
    donors: OneOf["nearest", "random", "hand-made", "own", "own, fewer", "foreign"] = "nearest"
    generated_relatives: bool = False
    profiling: Profiling = "never"
    repair: bool = True
    compose: bool = True
    refine: bool = True
    factor: float = 1.0
    top: int | None = None
    guard: Guarding = "none"


@dataclass(frozen=True, slots=True)
class MethodsBench:
    """`reference`: a database of long searches. `out`: finished programs, one JSON line each; they are not redone."""

    paths: tuple[str, ...]
    out: Path | None
    threads: int
    methods: tuple[Method, ...]
    reference: Path | None = None
    measure: int = 10
    schedules: int | None = None  # measured at most by a search that runs every candidate
    budget_s: float = 60.0
    cc: str = "gcc"
    cflags: tuple[str, ...] = ("-O3", "-march=native")
    seeds: tuple[int, ...] = (0,)  # each program once for each of them
    environment: tuple[tuple[str, str], ...] = ()
    classifier: SurrogateClassifier | None = None  # for methods that it guards


Donating = Callable[[str, Target, int], Mapping[str, Retrieval]]
"""For each method that transfers, by name: donors that are not of an algorithm; what is drawn, by the seed."""


def run_methods(
    bench: MethodsBench, cost: CostModel | None, progress: Callable[[str], None], donors: Donating | None = None
) -> tuple[NestRow, ...]:
    """Every nest of the programs that takes time; `donors`: where there is a method that transfers.

    Raises PerfembedError, OptdbError.
    """
    known = _load(bench.out) if bench.out is not None else {}
    target = bench_target(_options(bench, bench.seeds[0]))
    rows: list[NestRow] = []
    for seed, path in ((seed, path) for seed in bench.seeds for path in bench.paths):
        name = Path(path).stem
        found = known.get((name, seed))
        if found is None:
            progress(name if len(bench.seeds) == 1 else f"{name}, seed {seed}")
            retrievals = donors(name, target, seed) if donors is not None else {}
            try:
                found = _program(bench, path, seed, retrievals, cost, target, progress)
            except (PerfembedError, SchedulerError, OptdbError) as problem:
                progress(f"{name}: {problem}")
                found = []
            if bench.out is not None:
                line = json.dumps({"program": name, "seed": seed, "nests": [asdict(row) for row in found]})
                with bench.out.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
        rows += found
    return tuple(rows)


def _load(path: Path) -> dict[tuple[str, int], list[NestRow]]:
    if not path.exists():
        return {}
    found: dict[tuple[str, int], list[NestRow]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        document: Mapping[str, Any] = json.loads(line)
        found[document["program"], document.get("seed", 0)] = [NestRow(**row) for row in document["nests"]]
    return found


def _program(
    bench: MethodsBench,
    path: str,
    seed: int,
    retrievals: Mapping[str, Retrieval],
    cost: CostModel | None,
    target: Target,
    progress: Callable[[str], None],
) -> list[NestRow]:
    options = _options(bench, seed)
    source = parse(path, read_input(path), options)
    rows = []
    with (
        scratch_folder() as folder,
        machine_lock(dict(bench.environment), progress),
    ):
        inputs = collect_inputs(one_file(source, options), options, folder, lambda event: None, Collecting(_SHARE))
        for found in inputs.found:
            progress(f"  {found.nest.name}")
            try:
                rows.append(_Nest(bench, Path(path).stem, seed, found, retrievals, cost, target, folder).run())
            except (NestNotMeasurable, SchedulerError) as problem:
                progress(f"  {found.nest.name}: {problem}")
    return rows


def _options(bench: MethodsBench, seed: int) -> TuneOptions:
    return TuneOptions(
        cc=bench.cc, cflags=bench.cflags, threads=bench.threads, seed=seed, environment=bench.environment
    )


class _Nest:
    def __init__(
        self,
        bench: MethodsBench,
        program: str,
        seed: int,
        inputs: NestInputs,
        retrievals: Mapping[str, Retrieval],
        cost: CostModel | None,
        target: Target,
        folder: Path,
    ) -> None:
        self.bench, self.inputs, self.retrievals, self.cost = bench, inputs, retrievals, cost
        line = inputs.nest.span.line if inputs.nest.span else 0
        self.row = NestRow(program, inputs.nest.name, line, 0.0, seed=seed)
        self.conditions = bench_conditions(_options(bench, seed), target, folder / inputs.nest.name)

    def run(self) -> NestRow:
        winners: dict[str, tuple[Schedule, ...]] = {}
        first_s = 0.0
        for method in self.bench.methods:
            began, contained_s = time.monotonic(), contained_seconds()
            outcome = self._tuned(method, first_s)
            self.row.tuning[method.name] = time.monotonic() - began
            self.row.overhead[method.name] = self.row.tuning[method.name] - (contained_seconds() - contained_s)
            first_s = first_s or self.row.tuning[method.name]
            self.row.measured[method.name] = outcome.candidates
            self.row.predicted[method.name] = outcome.predicted
            self.row.rejected[method.name] = outcome.rejected
            if outcome.retrieved is not None:
                self.row.donors[method.name] = [found.donor.nest_id for found in outcome.retrieved.neighbours]
            winners[method.name] = () if outcome.chosen is None else (outcome.chosen,)
        replayer = Replayer(plain(self.inputs.nest))
        if self.bench.reference is not None:
            winners[REFERENCE] = self._reference(replayer, self.bench.reference)
        self._compare(replayer, winners)
        return self.row

    def _tuned(self, method: Method, first_s: float) -> NestOutcome:
        factor = method.factor if self.bench.schedules is None else 1.0  # as many candidates, as much time
        effort = Effort(
            search=method.search,
            evaluate=method.evaluate if self.cost is not None else "run",
            top=method.top or self.bench.measure,
            refine=method.refine,
            guard=method.guard,
            schedules=self.bench.schedules if method.evaluate == "run" or self.cost is None else None,
            compute=False,  # donors are compared, and what needs none would hide how they differ
            budget_s=self.bench.budget_s * factor or max(first_s, 2.0),
        )
        retrieval = self.retrievals.get(method.name)
        task = NestTask(self.inputs.nest, self.inputs.captured, self.conditions, effort, self.inputs.in_program_s)
        opened = None if retrieval is None else lambda: retrieval
        guides = Guides(self.cost, opened, self.bench.classifier, self._profiler(method))
        tuner = NestTuner(task, lambda event: None, NoLedger(), guides)
        self.measurer = tuner.measurer
        return searched(tuner)

    def _profiler(self, method: Method) -> Profiler | None:
        if method.profiling == "never":
            return None
        environment = dict(self.bench.environment)
        return Profiler(method.profiling, choose("auto", environment), describe_machine(), environment)

    def _reference(self, here: Replayer, database: Path) -> tuple[Schedule, ...]:
        """What the long searches of this nest verified; all of them are timed here, so it may be another machine's."""
        bench, nest, machine = self.bench, self.inputs.nest, describe_machine()
        version = compiler_version(bench.cc, dict(bench.environment))
        flags = self.conditions.compiler.flags
        parameters = self.inputs.captured.parameters
        under = conditions_record(machine, bench.cc, version, flags, bench.threads, nest, parameters, False)
        with Database.open(database, read_only=True) as opened:
            found = long_search(opened, nest_id(nest), under, machine.cpu_model)
        if found is None:
            return ()
        self.row.searched_on = found.machine
        self.row.tuning[REFERENCE], self.row.measured[REFERENCE] = found.effort.seconds, found.effort.schedules
        try:
            canonical = canonical_nest(nest)
            there = Replayer(canonical.nest)
        except SchedulerError:
            return ()
        carried = (in_names_of(text, canonical, there, here) for text in found.schedules)
        return tuple(schedule for schedule in carried if schedule is not None)

    def _compare(self, replayer: Replayer, winners: Mapping[str, Sequence[Schedule]]) -> None:
        """All different texts in turns, several rounds and short ones more; the least time of each, and of a method."""
        original = emit_original(self.measurer.nest)
        texts: dict[str, dict[str, Schedule]] = {}  # by method
        for name, schedules in winners.items():
            texts[name] = {}
            for schedule in schedules:
                scheduled = replayer.replay(schedule)
                body = self.measurer.body(scheduled) if isinstance(scheduled, ScheduledNest) else None
                if isinstance(body, str):
                    texts[name][body] = schedule
        different = list(dict.fromkeys((original, *(text for found in texts.values() for text in found))))
        built = dict(zip(different, self.measurer.build(different), strict=True))
        runnable = {text: program for text, program in built.items() if isinstance(program, Built)}
        times: dict[str, list[float]] = {text: [] for text in different} | time_in_turns(runnable, self.measurer)
        best = {text: min(found) for text, found in times.items() if found}
        self.row.seconds[ORIGINAL] = best.get(original)
        for name, found in texts.items():
            fastest = min((text for text in found if text in best), key=best.__getitem__, default=None)
            if fastest is not None:
                self.row.seconds[name] = best[fastest]
                self.row.schedules[name] = format_schedule(found[fastest])
            else:
                # Where nothing was found the original stays; without a long search there is nothing to compare with.
                kept = name != REFERENCE or self.row.searched_on is not None
                self.row.seconds[name] = best.get(original) if kept and not found else None
        unscheduled = best.get(original)
        self.row.weight = (self.inputs.share or 1.0) / unscheduled if unscheduled else 0.0
        spreads = [max(found) / min(found) - 1 for found in times.values() if found]
        self.row.noise = max(spreads, default=0.0)
