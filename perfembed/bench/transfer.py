"""Transfer against long searches and against simpler ways, on nests whose algorithm gave no donor.

Source: Trümper et al. 2023, section 5.3 and table 2. For each nest of a program: what a long search found before (a
database that `populate` filled), then each method from the same inputs; at the end all winners are timed in turns.
"""

from __future__ import annotations

import json
import math
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from typing import Literal as OneOf

import numpy as np

from optdb.errors import OptdbError
from perfembed.donors import Donors, Found, StoredDonor
from perfembed.errors import PerfembedError
from perfembed.files import read_input
from perfembed.index import VectorIndex
from perfembed.inputs import NestInputs, collect_inputs
from perfembed.ledger import NoLedger
from perfembed.measuring import Conditions, NestNotMeasurable
from perfembed.nest_tuner import Effort, NestOutcome, NestTuner
from perfembed.result import TuneOptions
from perfembed.retrieval import Choose, Retrieval, open_sources
from perfembed.store import best_known, conditions_record
from perfembed.transfer.handmade import HandmadeEmbedder
from perfembed.transfer.view import Side
from perfembed.tuning import parse, target_of
from profilers.build import Built, CompilerConfig, compiler_version
from profilers.harness import TimingSettings
from profilers.machine import describe_machine
from profilers.outcome import Timed
from profilers.timing import machine_lock
from scheduler.codegen.original import emit_original
from scheduler.codegen.workload import plain
from scheduler.cost.problem import CostModel
from scheduler.errors import SchedulerError
from scheduler.ir.text import parse_nest
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.space import Target

ORIGINAL, REFERENCE = "original", "long search"
_SHARE = 0.05  # of the program's time; less is not worth tuning
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Method:
    """A way to a schedule. `donors`: which ones a transfer takes; a search may take as long as the first method did."""

    name: str
    k: int = 5
    donors: OneOf["nearest", "random", "hand-made"] = "nearest"
    repair: bool = True
    refine: bool = True
    search: str = "transfer"


METHODS = (
    Method("transfer, k = 5"),
    Method("transfer, k = 10", k=10),
    Method("random donors", donors="random"),
    Method("hand-made features", donors="hand-made"),
    Method("beam by model", search="beam"),
    Method("without alignment", repair=False, refine=False),
    Method("without refinement", refine=False),
)


@dataclass(frozen=True, slots=True)
class TransferBench:
    """`reference`: the database of long searches. `out`: finished nests, one JSON line each; they are not redone."""

    paths: tuple[str, ...]
    reference: Path
    out: Path
    threads: int
    methods: tuple[Method, ...] = METHODS
    measure: int = 10
    budget_s: float = 60.0
    cc: str = "gcc"
    cflags: tuple[str, ...] = ("-O3", "-march=native")
    seed: int = 0
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class NestRow:
    """One nest. `seconds` of a run by method, the original and the long search among them; None where there is none.

    `measured` candidates and seconds of `tuning` by method; `weight` turns seconds into the program's.
    """

    program: str
    nest: str
    line: int
    weight: float
    seconds: dict[str, float | None] = field(default_factory=dict)
    measured: dict[str, int] = field(default_factory=dict)
    tuning: dict[str, float] = field(default_factory=dict)
    schedules: dict[str, str] = field(default_factory=dict)
    noise: float = 0.0


def run_transfer(bench: TransferBench, cost: CostModel | None, progress: Callable[[str], None]) -> tuple[NestRow, ...]:
    """Every nest of the programs that takes time. Raises PerfembedError, OptdbError."""
    known = _load(bench.out)
    machine = describe_machine()
    target = target_of(machine, bench.threads)
    model, sources = open_sources(None)
    rows: list[NestRow] = []
    for path in bench.paths:
        name = Path(path).stem
        found = known.get(name)
        if found is None:
            progress(name)
            retrievals = {
                m.name: Retrieval(
                    model,
                    sources,
                    target,
                    k=m.k,
                    cost=cost,
                    without_algorithms=(name,),
                    choose=_chooser(m, sources, name, bench.seed),
                    repair=m.repair,
                )
                for m in bench.methods
                if m.search == "transfer"
            }
            try:
                found = _program(bench, path, retrievals, cost, target, progress)
            except (PerfembedError, SchedulerError, OptdbError) as problem:
                progress(f"{name}: {problem}")
                found = []
            with bench.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"program": name, "nests": [asdict(row) for row in found]}) + "\n")
        rows += found
    return tuple(rows)


def _load(path: Path) -> dict[str, list[NestRow]]:
    if not path.exists():
        return {}
    found: dict[str, list[NestRow]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        document: Mapping[str, Any] = json.loads(line)
        found[document["program"]] = [NestRow(**row) for row in document["nests"]]
    return found


def _program(
    bench: TransferBench,
    path: str,
    retrievals: Mapping[str, Retrieval],
    cost: CostModel | None,
    target: Target,
    progress: Callable[[str], None],
) -> list[NestRow]:
    options = TuneOptions(
        cc=bench.cc, cflags=bench.cflags, threads=bench.threads, seed=bench.seed, environment=bench.environment
    )
    source = parse(path, read_input(path), options)
    rows = []
    with (
        tempfile.TemporaryDirectory(prefix="perfembed-") as folder,
        machine_lock(Path(tempfile.gettempdir()) / "perfembed-measurement.lock"),
    ):
        inputs = collect_inputs(source, options, Path(folder), lambda event: None, _SHARE)
        for found in inputs.found:
            progress(f"  {found.nest.name}")
            try:
                rows.append(_Nest(bench, Path(path).stem, found, retrievals, cost, target, Path(folder)).run())
            except (NestNotMeasurable, SchedulerError) as problem:
                progress(f"  {found.nest.name}: {problem}")
    return rows


class _Nest:
    def __init__(
        self,
        bench: TransferBench,
        program: str,
        inputs: NestInputs,
        retrievals: Mapping[str, Retrieval],
        cost: CostModel | None,
        target: Target,
        folder: Path,
    ) -> None:
        self.bench, self.inputs, self.retrievals, self.cost = bench, inputs, retrievals, cost
        line = inputs.nest.span.line if inputs.nest.span else 0
        self.row = NestRow(program, inputs.nest.name, line, 0.0)
        self.conditions = Conditions(
            compiler=CompilerConfig(bench.cc, (*bench.cflags, "-fopenmp")),
            threads=bench.threads,
            target=target,
            workdir=folder / inputs.nest.name,
            environment=dict(bench.environment),
            jobs=max(1, describe_machine().logical_cores),
            reassociate=False,
            seed=bench.seed,
        )

    def run(self) -> NestRow:
        winners: dict[str, Schedule | None] = {}
        first_s = 0.0
        for method in self.bench.methods:
            began = time.monotonic()
            outcome = self._tuned(method, first_s)
            self.row.tuning[method.name] = time.monotonic() - began
            first_s = first_s or self.row.tuning[method.name]
            self.row.measured[method.name] = outcome.candidates
            winners[method.name] = outcome.chosen
        replayer = Replayer(plain(self.inputs.nest))
        winners[REFERENCE] = self._reference(replayer)
        self._compare(replayer, winners)
        return self.row

    def _tuned(self, method: Method, first_s: float) -> NestOutcome:
        transfer = method.search == "transfer"
        effort = Effort(
            search=method.search,
            evaluate="run" if transfer or self.cost is None else "model+run",
            top=self.bench.measure,
            refine=method.refine,
            budget_s=self.bench.budget_s if transfer else max(first_s, 2.0),
        )
        tuner = NestTuner(
            self.inputs.nest, self.inputs.captured, self.conditions, effort, lambda event: None, NoLedger(),
            self.inputs.in_program_s, self.cost, self.retrievals.get(method.name),
        )  # fmt: skip
        self.measurer = tuner.measurer
        return tuner.run()

    def _reference(self, replayer: Replayer) -> Schedule | None:
        bench, captured = self.bench, self.inputs.captured
        version = compiler_version(bench.cc, dict(bench.environment))
        flags = self.conditions.compiler.flags
        under = conditions_record(
            describe_machine(), bench.cc, version, flags, bench.threads, self.inputs.nest, captured.parameters, False
        )
        return best_known(bench.reference, self.inputs.nest, under, replayer)

    def _compare(self, replayer: Replayer, winners: Mapping[str, Schedule | None]) -> None:
        """All different texts in turns, several rounds; the least time of each."""
        bodies = {ORIGINAL: emit_original(self.measurer.nest)}
        for name, schedule in winners.items():
            scheduled = replayer.replay(schedule) if schedule is not None else None
            body = self.measurer.body(scheduled) if isinstance(scheduled, ScheduledNest) else None
            if isinstance(body, str):
                bodies[name] = body
                self.row.schedules[name] = format_schedule(schedule or ())
        texts = list(dict.fromkeys(bodies.values()))
        built = dict(zip(texts, self.measurer.build(texts), strict=True))
        times: dict[str, list[float]] = {text: [] for text in texts}
        for _ in range(_ROUNDS):
            for text in texts:
                program = built[text]
                if isinstance(program, Built):
                    outcome = self.measurer.time(program, TimingSettings(min_samples=2, target_seconds=0.1)).outcome
                    if isinstance(outcome, Timed):
                        times[text].append(outcome.min)
        best = {text: min(found, default=None) for text, found in times.items()}
        original = best[bodies[ORIGINAL]]
        for name in (ORIGINAL, *winners):
            # Where nothing was found the original stays; without a long search there is nothing to compare with.
            kept = None if name == REFERENCE else original
            self.row.seconds[name] = best[bodies[name]] if name in bodies else kept
        self.row.weight = (self.inputs.share or 1.0) / original if original else 0.0
        spreads = [max(found) / min(found) - 1 for found in times.values() if found]
        self.row.noise = max(spreads, default=0.0)


def _chooser(method: Method, sources: Sequence[Donors], without: str, seed: int) -> Choose | None:
    """None: the nearest by the model's embedding."""
    if method.donors == "nearest":
        return None
    donors = [d for source in sources for d in source.by_id.values() if d.algorithm != without]
    if method.donors == "random":
        rng = random.Random(f"{seed} {without}")
        return lambda side, k: tuple(Found(d, 0.0) for d in rng.sample(donors, min(k, len(donors))))
    return _by_hand(donors)


def _by_hand(donors: Sequence[StoredDonor]) -> Choose:
    """The nearest by the hand-made features of loops, arrays and statements, averaged."""
    by_id = {d.nest_id: d for d in donors}
    embedder = HandmadeEmbedder()
    index: list[VectorIndex] = []

    def build() -> VectorIndex:
        vectors = {}
        for key, donor in by_id.items():
            try:
                vectors[key] = _averages(embedder, Replayer(parse_nest(donor.text)), donor.sizes)
            except SchedulerError:
                continue
        return VectorIndex.build(tuple(vectors), np.stack(list(vectors.values())), "hand-made")

    def choose(side: Side, k: int) -> tuple[Found, ...]:
        if not index:
            index.append(build())
        vector = _averages(embedder, side.replayer, side.parameters)
        return tuple(Found(by_id[n.id], n.distance) for n in index[0].search(vector, k))

    return choose


def _averages(embedder: HandmadeEmbedder, replayer: Replayer, sizes: Mapping[str, int]) -> Any:
    given = replayer, replayer.tree(()), sizes
    kinds = embedder.loops(*given), embedder.arrays(*given), embedder.statements(*given)
    return np.concatenate([np.mean(list(vectors.values()), axis=0) for vectors in kinds]).astype(np.float32)


@dataclass(frozen=True, slots=True)
class MethodScore:
    """Over all programs that have a long search: time over its time. `beyond`: how many are more than 25 % slower."""

    method: str
    programs: int
    median: float
    worst: float
    within: int  # 5 %
    beyond: int
    speedup: float  # geometric mean over the original
    measured: float  # candidates a nest
    tuning_s: float  # a nest


def scores(rows: Sequence[NestRow], methods: Sequence[str]) -> tuple[MethodScore, ...]:
    """One for each method, of the programs whose nests all have a long search."""
    programs: dict[str, list[NestRow]] = {}
    for row in rows:
        programs.setdefault(row.program, []).append(row)
    whole = [nests for nests in programs.values() if all(row.seconds.get(REFERENCE) for row in nests)]
    found = []
    for method in (REFERENCE, *methods):
        ratios = sorted(_time(nests, method) / _time(nests, REFERENCE) for nests in whole)
        gains = [_time(nests, ORIGINAL) / _time(nests, method) for nests in whole]
        every = [row for nests in whole for row in nests]
        if not ratios:
            continue
        found.append(
            MethodScore(
                method=method,
                programs=len(ratios),
                median=float(np.median(ratios)),
                worst=ratios[-1],
                within=sum(r <= 1.05 for r in ratios),
                beyond=sum(r > 1.25 for r in ratios),
                speedup=math.exp(sum(map(math.log, gains)) / len(gains)),
                measured=float(np.mean([row.measured.get(method, 0) for row in every])),
                tuning_s=float(np.mean([row.tuning.get(method, 0.0) for row in every])),
            )
        )
    return tuple(found)


def _time(nests: Sequence[NestRow], method: str) -> float:
    return sum(row.weight * (row.seconds[method] or row.seconds[ORIGINAL] or 0.0) for row in nests)
