"""What a page draws of a tuning besides what was decided: plain values, as they stand in the JSON document."""

from __future__ import annotations

from dataclasses import dataclass

from perfembed.inspection.views import DependenceView


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the memory: its bandwidth in GB/s (1e9 bytes), of the best kind of access and all threads together;
    `size_bytes` of the cache as a core sees it, None of the memory."""

    name: str
    bandwidth_gbs: float
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Peak:
    """FLOP/s of all threads together. `precision`: "float" or "double"; `kind`: "scalar" or "vector"."""

    precision: str
    kind: str
    flops: float


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What the machine can do at best with `threads` threads (`perfembed doctor --calibrate`), nearest level first.

    `noisy`: others used the machine when that was measured, so the figures may be too low.
    """

    date: str
    threads: int
    noisy: bool
    levels: tuple[Level, ...]
    peaks: tuple[Peak, ...]


@dataclass(frozen=True, slots=True)
class NestWork:
    """What one call of a nest does, on the data it was measured with.

    `flops`: the floating-point operations that any order of them needs, `single` of them in single precision
    (`scheduler.cost.operations`). `original_bytes` and
    `tuned_bytes`: the estimated traffic with memory of the loops as written and as tuned (`scheduler.cost.estimate`),
    cold caches assumed; `least_bytes`: the least that any order of the same operations needs
    (`scheduler.polyhedral.io_bound`). None where that is not known.
    """

    flops: float
    single: float
    original_bytes: float | None
    tuned_bytes: float | None
    least_bytes: float | None


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Whole lines of a file; `first` is the number of the first of them."""

    first: int
    text: str


@dataclass(frozen=True, slots=True)
class NestPicture:
    """One nest: its text form, its lines in the file as it was and as it is written, its dependences as written.

    `problem` says why dependences and work are missing, where they are.
    """

    text: str = ""
    before: SourceLines | None = None
    after: SourceLines | None = None
    dependences: tuple[DependenceView, ...] = ()
    work: NestWork | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TrialReport:
    """A schedule that was run: `at_s` seconds after the nest was begun it was known to take `seconds` a call.

    `seconds` None: it failed. `given_up`: it was stopped then, it takes longer. `estimated`: told from less work.
    """

    at_s: float
    schedule: str  # text form
    seconds: float | None
    given_up: bool = False
    estimated: bool = False
    chosen: bool = False
