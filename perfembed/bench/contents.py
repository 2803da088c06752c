"""What the documents of `perfembed bench … --json` hold, where that is not the result itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from perfembed.bench.counters import CountedNest
from perfembed.bench.datasets import DataRow
from perfembed.bench.forms.model import Fault as FormFault
from perfembed.bench.installation import Installation
from perfembed.bench.kernels.rows import Row
from perfembed.bench.legality.model import Disagreement
from perfembed.bench.method_scores import MethodPair, MethodScore, NestRow
from perfembed.bench.nest_spellings import SpellingDonors
from perfembed.bench.products import ProductRow
from perfembed.bench.programs import ProgramScore
from perfembed.bench.replay import FileTimes
from perfembed.bench.spelling.model import Fault
from perfembed.bench.spread import SpellingTimes
from perfembed.bench.startup import Startup
from perfembed.bench.statistics import Distribution
from perfembed.bench.variants import VariantResult
from perfembed.bench.written.model import Failure, Verdict


class BestPeer(TypedDict):
    """The fastest of the other programs."""

    name: str
    seconds: float


class ReachedBound(TypedDict):
    """No schedule is faster than `seconds`; `share` of the tuned kernel's time, null where that did not run."""

    seconds: float
    limit: str
    share: float | None


class Judged(TypedDict):
    """`over_best_peer`: how many times faster than it."""

    best_peer: BestPeer | None
    over_best_peer: float | None
    bound: ReachedBound | None


class Configuration(TypedDict):
    """A compiler with its flags, or what another tuner is started with; `missing` says why it did not run."""

    name: str
    version: str
    flags: Sequence[str]
    missing: str
    command: Sequence[str]


class KernelsContent(TypedDict):
    """`total` kernels were asked for; `rows` are those that were measured. `summary`: means over the kernels."""

    machine: str
    interrupted: bool
    total: int
    configurations: Sequence[Configuration]
    summary: Mapping[str, Any]
    rows: Sequence[Row]


class ProductsContent(TypedDict):
    rows: Sequence[ProductRow]


class ReplayContent(TypedDict):
    """Times in `unit`; the distributions are over all files, or over all candidates of all of them."""

    unit: str
    frontend: Distribution
    setup: Distribution
    replay: Distribution
    cold: Distribution
    codegen: Distribution
    legal: int
    files: Sequence[FileTimes]


class LegalityContent(TypedDict):
    """`programs` from number `first` of `seed` on were finished; `planted` schedules of them were shown to be wrong."""

    seed: int
    first: int
    programs: int
    interrupted: bool
    seconds: float
    planted: int
    counts: Mapping[str, int]
    compilers: Sequence[str]
    threads: Sequence[int]
    disagreements: Sequence[Disagreement]


class SpellingContent(TypedDict):
    """`files` from number `first` of `seed` on were read; one in `every` was compiled and run as well."""

    files: int
    seed: int
    first: int
    every: int
    counts: Mapping[str, int]
    faults: Sequence[Fault]
    seconds: float
    interrupted: bool


class FormsContent(TypedDict):
    """`programs` of seed `seed` were tuned at random and run; `counts` by form and name."""

    programs: int
    seed: int
    first: int
    counts: Mapping[str, Mapping[str, int]]
    faults: Sequence[FormFault]
    seconds: float
    interrupted: bool


class BoundsFault(TypedDict):
    """What went wrong with a program compiled in a way, under schedules, called with values; its function in C."""

    program: int
    kind: str
    way: str
    flags: str
    schedules: Sequence[str]
    values: Sequence[int]
    detail: str
    function: str


class BoundsContent(TypedDict):
    """`programs` of seed `seed` were tuned at random and run; `counts` by name, `refused` by reason."""

    programs: int
    seed: int
    first: int
    counts: Mapping[str, int]
    refused: Mapping[str, int]
    faults: Sequence[BoundsFault]
    seconds: float
    interrupted: bool


class Verdicts(TypedDict):
    """Comparisons, and how many of them declared the candidate faster or slower."""

    comparisons: int
    faster: int
    slower: int


class Told(TypedDict):
    """Of the intervals that are printed, which promise this `coverage`, so many `missed` the ratio."""

    coverage: float
    missed: int


class TimingContent(TypedDict):
    """`equal`: comparisons of a nest with itself; `planted`: with one that is slower by the share `slowdown`."""

    slowdown: float
    equal: Verdicts
    planted: Verdicts
    ratios: Sequence[float]
    told: Told
    noisy: int
    seconds: float
    interrupted: bool


class StartupContent(TypedDict):
    """Runs of this program and of the other one; `ratios` of their medians, theirs / ours.

    `installed`: both, where they were installed first, else null.
    """

    against: str | None
    ours: Sequence[Startup]
    theirs: Sequence[Startup]
    ratios: Mapping[str, float]
    installed: tuple[Installation, Installation] | None
    interrupted: bool


class Agreement(TypedDict):
    """Of the logarithms of the counts, and of the counts; null where there is nothing to correlate."""

    correlation: float | None
    median_relative_error: float


class CountersContent(TypedDict):
    """`agreement` by program (as written, compiled) and count; `d1` and `ll`: (bytes, ways) of the caches."""

    nests: Sequence[CountedNest]
    agreement: Mapping[str, Mapping[str, Agreement]]
    d1: tuple[int, int]
    ll: tuple[int, int]
    skipped: Sequence[tuple[str, str]]
    seconds: float
    interrupted: bool


class MethodsContent(TypedDict):
    """`pairs`: methods that were compared with another one, too."""

    scores: Sequence[MethodScore]
    pairs: Sequence[MethodPair]
    nests: Sequence[NestRow]


class DatasetsContent(TypedDict):
    rows: Sequence[DataRow]


class VariantsContent(TypedDict):
    """`whole`: how many of the variants were found with all their nests; `spellings`: nests written in other ways.

    `times`: those tuned, empty where that was not asked for.
    """

    variants: Sequence[VariantResult]
    spellings: Sequence[SpellingDonors]
    times: Sequence[SpellingTimes]
    whole: int


class OpenmpProblem(TypedDict):
    """`program`: kernel/manner."""

    program: str
    problem: str


class OpenmpContent(TypedDict):
    """`counts`: what was seen and done; `wrong`: races not seen or not there, outputs that differ."""

    seed: int
    draws: int
    programs: int
    interrupted: bool
    counts: Mapping[str, int]
    wrong: Sequence[OpenmpProblem]


class ProgramsContent(TypedDict):
    """`over_sequential`, `over_openmp`: geometric means of what programs gain."""

    threads: int
    budget_s: float
    interrupted: bool
    over_sequential: float
    over_openmp: float
    programs: Sequence[ProgramScore]


class WrittenContent(TypedDict):
    """`files`, then `programs` random ones; `ways`: verdicts by way of compiling; `mix`: what the schedules hold."""

    files: Sequence[str]
    seed: int
    first: int
    programs: int
    interrupted: bool
    seconds: float
    mix: Mapping[str, int]
    ways: Mapping[str, Mapping[Verdict, int]]
    not_here: Mapping[str, str]
    differences: Sequence[Failure]
