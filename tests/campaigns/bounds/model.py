"""What a campaign over typed bounds is asked and what it answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal as OneOf

from tests.campaigns.bounds.arguments import Values
from tests.campaigns.bounds.unit import Unit

Kind = OneOf[
    "wrong output",
    "does not end",
    "crash",
    "sanitizer",  # one finds something in the written file, and nothing in the original
    "does not compile",  # the written file
    "internal error",  # a traceback of ours
    "program at fault",  # the random program itself does not compile
]


@dataclass(frozen=True, slots=True)
class Way:
    """How a file is compiled, besides the flags that it is read with, and run."""

    name: str
    cc: str
    flags: tuple[str, ...]
    threads: int = 2


BASE = ("-O1", "-ffp-contract=off")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-sanitize=float-cast-overflow")
"""With these only what C defines ends well; the written file may compute addresses that it does not use."""


def ways(clang: str | None) -> tuple[Way, ...]:
    """The four ways; without a clang that has OpenMP gcc takes its place, with other rules for overflow."""
    other = Way("other", clang, ("-O2", "-fopenmp")) if clang else Way("other", "gcc", ("-O2", "-fwrapv"))
    return (
        Way("plain", "gcc", ("-O0", "-fopenmp")),
        Way("fast", "gcc", ("-O3", "-march=native", "-fopenmp")),
        Way("sanitized", "gcc", ("-O1", *SANITIZED, "-fno-sanitize=pointer-overflow", "-fopenmp"), 3),
        other,
    )


@dataclass(frozen=True, slots=True)
class Campaign:
    """`programs` functions from number `first` on, `schedules` of each nest, in the ways of these names.

    `flags`: sets of flags that files are read and compiled with, one drawn for each file. `tuples`: the values that a
    function is called with, at most. `keep`: a folder for what fails, made small where `reduce` says so.
    """

    programs: int
    seed: int
    first: int = 0
    schedules: int = 3
    ways: tuple[str, ...] = ("plain", "fast", "sanitized", "other")
    flags: tuple[str, ...] = ("",)
    tuples: int = 10
    jobs: int = 1
    clang: str | None = None
    reduce: bool = False
    keep: Path | None = None
    workdir: Path | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong with a program, under which schedules of its nests and values, in which way.

    `unit` and `seed` make its file (`driver.program`); `written`: what the compiler did not take.
    """

    program: int
    kind: Kind
    detail: str
    way: str = ""
    flags: str = ""
    schedules: tuple[str, ...] = ()
    values: Values = ()
    unit: Unit | None = None
    seed: str = ""
    written: str = ""


@dataclass(slots=True)
class Tally:
    """Counts by name, reasons of refusals, and what went wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.counts.update(other.counts)
        self.refused.update(other.refused)
        self.faults += other.faults


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """`programs` were finished; `interrupted` tells that it was stopped early."""

    campaign: Campaign
    programs: int
    tally: Tally
    seconds: float
    interrupted: bool
