"""Whether a nest ends as fast when it is written in another way: each spelling tuned as `tune` does it.

The one as written is tuned twice, which says how far apart two searches of the same end. All winners, and the nest as
written, are then timed in turns.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfembed.capture import CapturedNest
from perfembed.errors import PerfembedError
from perfembed.files import read_input
from perfembed.measuring.ledger import NoLedger
from perfembed.measuring.measurer import Conditions, Measurer, NestNotMeasurable
from perfembed.retrieval.donors import Donors
from perfembed.retrieval.families import LeftOut
from perfembed.retrieval.nest_space import NestSpace
from perfembed.retrieval.retrieve import Retrieval
from perfembed.tuning.inputs import Collecting, NestInputs, collect_inputs
from perfembed.tuning.nest_outcome import Effort, Guides, NestTask
from perfembed.tuning.nest_tuner import NestTuner
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import one_file
from perfembed.tuning.source import parse
from profilers.build import Built
from profilers.contained.scratch import scratch_folder
from profilers.lock import machine_lock
from profilers.outcome import Timed
from profilers.specification import TimingSettings
from scheduler.codegen.emit.workload import plain
from scheduler.cost.problem import CostModel
from scheduler.errors import SchedulerError
from scheduler.ir.nest import LoopNest
from scheduler.replay import ScheduledNest
from tests.evaluation.in_turns import bench_conditions, bench_target, searched, time_in_turns
from tests.evaluation.nest_spellings import is_c, other_spellings

_SHARE = 0.2  # of the program's time: the nests that matter
_DRAWN = 3  # as many as are tuned; some would need arrays for what was in scalars


@dataclass(frozen=True, slots=True)
class SpellingTimes:
    """Of one nest: `original` s a run as written, and `tuned` s of each spelling, the one as written first.

    `again`: the one as written, tuned a second time.
    """

    program: str
    nest: str
    original: float
    tuned: tuple[float, ...]
    again: float

    @property
    def spread(self) -> float:
        """How much longer the slowest spelling takes than the fastest, as a fraction."""
        return max(self.tuned) / min(self.tuned) - 1.0

    @property
    def noise(self) -> float:
        """The same of one spelling tuned twice."""
        return max(self.again, self.tuned[0]) / min(self.again, self.tuned[0]) - 1.0


def run_spread(
    paths: Sequence[str],
    count: int,
    options: TuneOptions,
    budget_s: float,
    space: NestSpace,
    sources: Sequence[Donors],
    cost: CostModel | None,
    progress: Callable[[str], None],
) -> tuple[SpellingTimes, ...]:
    """At most `count` other spellings of every nest that takes a fifth of its program's time; `budget_s` for each.

    Donors are those of other algorithms. Raises PerfembedError where a program cannot be read.
    """
    found: list[SpellingTimes] = []
    target = bench_target(options)
    for path in paths:
        progress(path)
        retrieval = Retrieval(space, sources, target, cost=cost, without_algorithms=LeftOut([Path(path).stem]))
        source = parse(path, read_input(path), options)
        with scratch_folder() as folder, machine_lock(dict(options.environment), progress):
            try:
                inputs = collect_inputs(
                    one_file(source, options), options, folder, lambda event: None, Collecting(_SHARE)
                )
            except PerfembedError as problem:
                progress(f"  {problem}")
                continue
            for one in inputs.found:
                run = _Spellings(path, one, options, budget_s, retrieval, cost, folder)
                try:
                    times = run.times(count)
                except (NestNotMeasurable, SchedulerError, PerfembedError) as problem:
                    progress(f"  {one.nest.name}: {problem}")
                    continue
                if times is not None:
                    found.append(times)
                    progress(f"  {times.nest}: {len(times.tuned)} spellings, the slowest {times.spread:+.0%}")
    return tuple(found)


class _Spellings:
    """One nest."""

    def __init__(
        self,
        path: str,
        inputs: NestInputs,
        options: TuneOptions,
        budget_s: float,
        retrieval: Retrieval,
        cost: CostModel | None,
        folder: Path,
    ) -> None:
        self.path, self.inputs, self.options = path, inputs, options
        self.budget_s, self.retrieval, self.cost, self.folder = budget_s, retrieval, cost, folder

    def times(self, count: int) -> SpellingTimes | None:
        """None for a nest that can be written in no other way."""
        nest = self.inputs.nest
        rng = random.Random(f"{self.options.seed} {self.path} {nest.name}")
        spellings = list(filter(is_c, other_spellings(nest, rng, _DRAWN * count)))[:count]
        if not spellings:
            return None
        built: dict[int, Built] = {}
        measurers = []
        for number, spelling in enumerate((nest, *spellings, nest)):
            tuner = self._tuned(number, spelling)
            measurers.append(tuner.measurer)
            built |= _programs(number, tuner)
        times = time_in_turns(built, measurers[0])
        original, *tuned, again = (min(times.get(n, []), default=None) for n in range(-1, len(spellings) + 2))
        if original is None or tuned[0] is None or again is None:
            raise NestNotMeasurable("it does not run")
        return SpellingTimes(Path(self.path).stem, nest.name, original, tuple(s for s in tuned if s is not None), again)

    def _tuned(self, number: int, nest: LoopNest) -> NestTuner:
        """A spelling after its search."""
        options, captured = self.options, self.inputs.captured
        conditions = bench_conditions(options, self.retrieval.target, self.folder / f"{nest.name}-{number}")
        effort = Effort(search="transfer", budget_s=self.budget_s, spare_original=True)
        in_program_s = self.inputs.in_program_s if nest is self.inputs.nest else _alone_s(nest, captured, conditions)
        task = NestTask(nest, captured, conditions, effort, in_program_s)
        tuner = NestTuner(task, lambda event: None, NoLedger(), Guides(self.cost, lambda: self.retrieval))
        searched(tuner)
        return tuner


def _alone_s(nest: LoopNest, captured: CapturedNest, conditions: Conditions) -> float:
    """What a spelling that no program has takes: no part of its budget, as `tune` knows it from the program."""
    nest = plain(nest)
    measurer = Measurer(nest, conditions.allowed.replayer(nest), captured, conditions)
    outcome = measurer.time(measurer.build([measurer.original_body()])[0], TimingSettings(min_samples=2)).outcome
    if not isinstance(outcome, Timed):
        raise NestNotMeasurable(f"a spelling does not run: {outcome}")
    return outcome.min


def _programs(number: int, tuner: NestTuner) -> Iterator[tuple[int, Built]]:
    """(number, the best program that was found for a spelling), of the first also (-1, the nest as written)."""
    measurer, best = tuner.measurer, tuner.outcome.chosen
    bodies = [] if number else [(-1, measurer.original_body())]
    scheduled = tuner.replayer.replay(best) if best is not None else None
    body = measurer.body(scheduled) if isinstance(scheduled, ScheduledNest) else measurer.original_body()
    if isinstance(body, str):
        bodies.append((number, body))
    for (place, _), program in zip(bodies, measurer.build([text for _, text in bodies]), strict=True):
        if isinstance(program, Built):
            yield place, program
