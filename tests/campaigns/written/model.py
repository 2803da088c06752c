"""What a campaign over written files is asked and what it answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal as OneOf

Sizes = OneOf["tuned", "plus", "smaller", "mixed"]
Drive = OneOf["main", "compile", "region", "threads", "called", "twice", "twice-region", "included", "memory"]
Verdict = OneOf["same", "refused alike", "differ", "undefined", "not here"]
VERDICTS: tuple[Verdict, ...] = ("same", "refused alike", "differ", "undefined", "not here")

ALWAYS = ("-ffp-contract=off",)  # contraction is the compiler's freedom
TUNED = ("-O2", "-march=native")
_ENVIRONMENT = (("OMP_NUM_THREADS", "3"),)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to compile a program and to run it.

    `sizes`: which values the size macros get. `drive`: the program's own main; only compiled; main called in a
    parallel region, or from threads with small stacks; its functions called with arguments of all kinds, from a
    text behind it, by two threads at once, or from a file that includes it; main with allocations that fail.
    `environment` replaces single variables of the default; `stack_bytes` limits the stack; `header`: the text of a
    file that is included first.
    """

    name: str
    about: str
    compiler: str = "gcc"
    flags: tuple[str, ...] = (*TUNED, "-fopenmp")
    sizes: Sizes = "tuned"
    drive: Drive = "main"
    environment: tuple[tuple[str, str], ...] = _ENVIRONMENT
    stack_bytes: int = 8 << 20
    libs: tuple[str, ...] = ("-lm",)
    header: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """The written file did something else: `detail` is the first difference, `commands` show it again.

    `files`: what the commands need, name -> content.
    """

    program: str
    way: str
    detail: str
    again: str
    commands: tuple[str, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of one way. `detail` of "not here" says what is missing."""

    verdict: Verdict
    detail: str = ""
    commands: tuple[str, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenBench:
    """`files`, then `programs` random ones from number `first` of `seed` on; `ways` () means all of them."""

    files: tuple[str, ...]
    programs: int
    seed: int = 0
    first: int = 0
    ways: tuple[str, ...] = ()
    jobs: int = 1
    keep: Path | None = None
    workdir: Path | None = None
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Tally:
    """`ways`: (way, verdict) -> how often; `mix`: what the schedules hold; `missing`: way -> what is not here."""

    programs: int = 0
    ways: Counter[tuple[str, Verdict]] = field(default_factory=Counter)
    mix: Counter[str] = field(default_factory=Counter)
    missing: dict[str, str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.programs += other.programs
        self.ways.update(other.ways)
        self.mix.update(other.mix)
        self.missing.update(other.missing)
        self.failures += other.failures


@dataclass(frozen=True, slots=True)
class WrittenResult:
    """`tally.programs` were finished; `interrupted` tells that it was stopped early."""

    bench: WrittenBench
    names: tuple[str, ...]
    tally: Tally
    seconds: float
    interrupted: bool

    def counts(self, way: str) -> Mapping[Verdict, int]:
        """By verdict."""
        return {verdict: self.tally.ways[way, verdict] for verdict in VERDICTS}
