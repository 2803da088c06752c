"""Comparing two builds of a kernel by interleaved runs, with an interval one can decide on."""

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from profilers.build import Built
from profilers.contained.child import Limits
from profilers.errors import HarnessError
from profilers.harness import DEFAULT_LIMITS, time_workload
from profilers.load import LoadMeter
from profilers.outcome import Failure, Timed
from profilers.pairs import Interval, both, median_interval
from profilers.run import DEFAULT_ENVIRONMENT
from profilers.specification import TimingSettings

_RESAMPLES = 2000
_RANKS = 0.25  # of the error that is allowed, for the interval by ranks
_RUN_SETTINGS = TimingSettings(min_samples=3, max_samples=20, target_seconds=0.1)


@dataclass(frozen=True, slots=True)
class CompareSettings:
    """How a comparison is made.

    A round is four runs, each in its own process: original, candidate, candidate, original; a run
    counts by its fastest sample. The interval is looked at after each number of rounds in `looks`,
    and the comparison ends when it lies above 1 or below `least_gain` (a smaller gain is not worth more time), or when
    `budget_s` seconds are over; `patience` times as many where the candidate seems to gain `promising` and only the
    noise leaves it undecided. `least_rounds` are measured whatever the budget.
    `confidence` holds for the whole comparison (the looks share the error among them).
    A round during which others used more than `max_other_load` cores is measured again, at most
    `max_repeats` times in all; not where all runs so far, as many as the first look needs, leave no doubt whoever
    disturbed them: each of one program is `clear` times faster than each of the other. `noisy_cov` is the
    coefficient of variation that counts as noise.
    """

    run: TimingSettings = _RUN_SETTINGS
    looks: tuple[int, ...] = (3, 6, 12, 24)
    budget_s: float = 60.0
    confidence: float = 0.98
    max_other_load: float = 0.15
    max_repeats: int = 6
    clear: float = 1.25
    noisy_cov: float = 0.02
    least_gain: float = 1.01
    promising: float = 1.1
    patience: float = 4.0
    least_rounds: int = 1

    def __post_init__(self) -> None:
        increasing = list(self.looks) == sorted(set(self.looks))
        if not self.looks or not increasing or self.looks[0] < 2 or not 0.5 <= self.confidence < 1:
            raise HarnessError(f"looks must increase from at least 2, confidence lie in [0.5, 1): {self}")


@dataclass(frozen=True, slots=True)
class Round:
    """Four runs, A B B A. `other_load`: cores that others kept busy meanwhile; `used`: counts in the result."""

    original: tuple[Timed, Timed]
    candidate: tuple[Timed, Timed]
    other_load: float
    used: bool

    @property
    def log_ratio(self) -> float:
        """The logarithm of original time / candidate time."""
        original = sum(run.min for run in self.original)
        return math.log(original / sum(run.min for run in self.candidate))

    @property
    def pair_ratios(self) -> tuple[float, float]:
        """Original time / candidate time of the runs next to each other, A B and B A."""
        first, second = (o.min / c.min for o, c in zip(self.original, self.candidate, strict=True))
        return first, second


@dataclass(frozen=True, slots=True)
class Comparison:
    """Original time / candidate time, with the interval that decides; above 1 the candidate is faster.

    `samples_*` are all samples of all rounds in seconds. `noisy`: the machine was busy with other
    things, or the runs of one build varied by more than the settings allow.
    """

    ratio: float
    low: float
    high: float
    samples_original: tuple[float, ...]
    samples_candidate: tuple[float, ...]
    noisy: bool
    rounds: tuple[Round, ...]
    confidence: float

    @property
    def told(self) -> Interval | None:
        """The interval to tell people, which is narrower than the one that decides and never contradicts it.

        The one that decides trusts hardly anything: at three rounds Student's t makes it 8 standard deviations wide to
        each side. Here each pair of neighbouring runs, two a round, gives a ratio of its own, and the interval of their
        median (`profilers.pairs`) asks nothing of their distribution: of the 6 pairs of three rounds it is the range,
        which covers the median in 31 of 32 cases. Told is what lies in both intervals: where the ratios' median and
        mean are the same (symmetric noise), it misses them with at most the two probabilities together. None where
        they were not run in turns.
        """
        if not self.rounds:
            return None
        pairs = [ratio for one in _used(self.rounds) for ratio in one.pair_ratios]
        middle = median_interval(pairs)
        wide = Interval(min(middle.low, self.ratio), max(middle.high, self.ratio), middle.coverage)
        return both(wide, Interval(self.low, self.high, self.confidence))

    @property
    def runs(self) -> int:
        """Of each program, that count: of a comparison not made in turns those of the candidate."""
        return 2 * len(_used(self.rounds)) if self.rounds else len(self.samples_candidate)

    @property
    def faster(self) -> bool:
        """Whether the candidate is shown to be faster."""
        return self.low > 1.0

    @property
    def slower(self) -> bool:
        """Whether the candidate is shown to be slower."""
        return self.high < 1.0


@dataclass(frozen=True, slots=True)
class ComparisonFailed:
    """One of the two did not run to its end."""

    which: Literal["original", "candidate"]
    outcome: Failure


def compare_interleaved(
    original: Built,
    candidate: Built,
    *,
    settings: CompareSettings = CompareSettings(),
    seed: int,
    limits: Limits = DEFAULT_LIMITS,
    environment: Mapping[str, str] = DEFAULT_ENVIRONMENT,
) -> Comparison | ComparisonFailed:
    """Measures both in alternation until the interval of their ratio is decided or the budget is spent.

    `limits` hold for each run.
    """
    began = time.monotonic()
    deadline = began + settings.budget_s
    rounds: list[Round] = []
    repeats = 0
    while True:
        measured = _round(original, candidate, settings.run, limits, environment)
        if isinstance(measured, ComparisonFailed):
            return measured
        runs, other_load = measured
        disturbed = other_load > settings.max_other_load and repeats < settings.max_repeats
        repeats += disturbed
        rounds.append(Round((runs[0], runs[3]), (runs[1], runs[2]), other_load, not disturbed))
        used = sum(one.used for one in rounds)
        if used < len(rounds) == settings.looks[0] and (all_of_them := _clear(rounds, settings, seed)) is not None:
            return all_of_them
        late = time.monotonic() >= deadline and len(rounds) >= settings.least_rounds
        if late or (used in settings.looks and not disturbed):
            comparison = _summary(rounds, settings, seed)
            # Under noise only a clear verdict ends it early.
            least, most = (1.05, 1 / 1.05) if comparison.noisy else (1.0, settings.least_gain)
            decided = comparison.low > least or comparison.high < most
            if late and not decided and comparison.ratio > settings.promising:
                deadline = began + settings.patience * settings.budget_s
                late = time.monotonic() >= deadline
            if late or decided or used >= settings.looks[-1]:
                return comparison


def compare_apart(original: Timed, candidate: Timed) -> Comparison:
    """What times say that were not taken in turns; for where a run of the original costs much and little is unclear.

    The interval is what the slowest and fastest of the samples allow; it has no probability, so it is for gains that
    are larger than anything a machine's load makes.
    """
    low, high = original.min / max(candidate.samples_s), max(original.samples_s) / candidate.min
    ratio = original.min / candidate.min
    return Comparison(ratio, low, high, original.samples_s, candidate.samples_s, False, (), 0.0)


def bootstrap_interval(log_ratios: tuple[float, ...], confidence: float, seed: int) -> tuple[float, float]:
    """Interval of the mean: the wider of a seeded percentile bootstrap and Student's t at each end.

    The bootstrap alone is too narrow for a handful of values, the t interval alone trusts that they
    are normal. A single value gives the whole line.
    """
    import numpy as np  # here, not above: the command line must start fast
    from scipy import special

    count = len(log_ratios)
    if count < 2:
        return -math.inf, math.inf
    values = np.asarray(log_ratios, dtype=np.float64)
    picks = np.random.default_rng(seed).integers(0, count, size=(_RESAMPLES, count))
    tail = (1 - confidence) / 2
    boot_low, boot_high = np.quantile(values[picks].mean(axis=1), (tail, 1 - tail))
    half = float(special.stdtrit(count - 1, 1 - tail)) * float(values.std(ddof=1)) / math.sqrt(count)
    mean = float(values.mean())
    return min(float(boot_low), mean - half), max(float(boot_high), mean + half)


def _rank_interval(rounds: Sequence[Round], error: float) -> tuple[float, float]:
    """Logarithms between which the ratio lies by the order of the runs alone, whatever their distribution.

    Where the original's times are the candidate's times a ratio in distribution, all n of the one, divided by that, lie
    above all n of the other in one of C(2n, n) cases (Mann and Whitney 1947); so a ratio that would make it so is not
    the true one. It decides what is clear at once where noise makes the other interval wide; without runs enough for
    `error` it is the whole line.
    """
    original = [run.min for one in rounds for run in one.original]
    candidate = [run.min for one in rounds for run in one.candidate]
    if 2 / math.comb(2 * len(original), len(original)) > error:  # later looks, at more runs, add next to nothing
        return -math.inf, math.inf
    return math.log(min(original) / max(candidate)), math.log(max(original) / min(candidate))


def other_load(interval_s: float = 0.5) -> float:
    """Cores kept busy by other processes (and stolen by the hypervisor) during the next `interval_s` seconds."""
    meter = LoadMeter()
    time.sleep(interval_s)
    return meter.other_load()


def coefficient_of_variation(values: tuple[float, ...]) -> float:
    """Standard deviation / mean; 0.0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    return statistics.stdev(values) / statistics.fmean(values)


def _round(
    original: Built, candidate: Built, settings: TimingSettings, limits: Limits, environment: Mapping[str, str]
) -> tuple[tuple[Timed, Timed, Timed, Timed], float] | ComparisonFailed:
    meter = LoadMeter()
    runs = []
    for which in ("original", "candidate", "candidate", "original"):
        built = original if which == "original" else candidate
        outcome = time_workload(built, settings=settings, limits=limits, environment=environment)
        if not isinstance(outcome, Timed):
            return ComparisonFailed("original" if which == "original" else "candidate", outcome)
        runs.append(outcome)
    return (runs[0], runs[1], runs[2], runs[3]), meter.other_load()


def _used(rounds: Sequence[Round]) -> Sequence[Round]:
    """Those that count: all, where each was disturbed."""
    return [one for one in rounds if one.used] or rounds


def _clear(rounds: Sequence[Round], settings: CompareSettings, seed: int) -> Comparison | None:
    """What rounds say of which some were disturbed, where that is beyond doubt by the order of the runs alone.

    It is one more look at the first number of rounds: of the error that the looks by ranks may make, half is for it.
    """
    counted = [replace(one, used=True) for one in rounds]
    low, high = _rank_interval(counted, _RANKS * (1 - settings.confidence) / 2)
    if -math.log(settings.clear) <= high and low <= math.log(settings.clear):
        return None
    comparison = _summary(counted, settings, seed)
    return comparison if comparison.faster or comparison.slower else None


def _summary(rounds: Sequence[Round], settings: CompareSettings, seed: int) -> Comparison:
    used = _used(rounds)
    log_ratios = tuple(one.log_ratio for one in used)
    error = 1 - settings.confidence
    per_look = 1 - (1 - _RANKS) * error / len(settings.looks)
    low, high = bootstrap_interval(log_ratios, per_look, seed)
    apart = _rank_interval(used, _RANKS * error / 2)
    if max(low, apart[0]) <= min(high, apart[1]):
        low, high = max(low, apart[0]), min(high, apart[1])
    variation = max(
        coefficient_of_variation(tuple(run.min for one in used for run in one.original)),
        coefficient_of_variation(tuple(run.min for one in used for run in one.candidate)),
    )
    disturbed = any(one.other_load > settings.max_other_load for one in used)
    return Comparison(
        ratio=math.exp(statistics.fmean(log_ratios)),
        low=math.exp(low),
        high=math.exp(high),
        samples_original=tuple(s for one in rounds for run in one.original for s in run.samples_s),
        samples_candidate=tuple(s for one in rounds for run in one.candidate for s in run.samples_s),
        noisy=disturbed or variation > settings.noisy_cov,
        rounds=tuple(rounds),
        confidence=settings.confidence,
    )
