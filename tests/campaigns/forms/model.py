"""What a campaign over forms of programs is asked and what it answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal as OneOf

from tests.campaigns.forms import counters, exchanges, exits, flow, memory, ranges, rows, strides, structures, values

Kind = OneOf[
    "wrong output",  # the written file says something else, or a sanitizer finds something in it
    "written file does not compile",
    "internal error",  # a traceback of ours, or a nest whose text is read as another one
    "program at fault",  # the random program itself does not compile
]

FORMS: Mapping[str, Callable[[int], str]] = MappingProxyType(
    {
        "flow": flow.program,
        "counters": counters.program,
        "strides": lambda seed: strides.Writer(seed).program(),
        "ranges": lambda seed: ranges.Writer(seed).program(),
        "structures": lambda seed: structures.Writer(seed).program(),
        "values": lambda seed: values.Writer(seed).program(),
        "memory": lambda seed: memory.Writer(seed).program(),
        "exits": lambda seed: exits.Writer(seed).program(),
        "rows": lambda seed: rows.Writer(seed).program(),
        "exchanges": lambda seed: exchanges.Writer(seed).program(),
    }
)
"""Writers of programs by the form they are about: jumps and reductions, iterators, strides and subscripts that are no
constants, structures, memory that is set and copied, loops that are left on an error, tables of rows, buffers that
loops over time exchange."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """`programs` of each form, from number `first` on. `keep`: a folder for programs that fail. `under_flags`: each is
    read, written and compiled under flags drawn for it (`flag_sets`).
    """

    programs: int
    seed: int
    first: int = 0
    forms: tuple[str, ...] = tuple(FORMS)
    jobs: int = 1
    cc: str = "gcc"
    keep: Path | None = None
    workdir: Path | None = None
    under_flags: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """A program that went wrong."""

    form: str
    program: int
    kind: Kind
    detail: str


@dataclass(slots=True)
class Tally:
    """Counts by form and name (`programs`, `nests`, `reordered`, `parallel loops`, …), and what went wrong."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def of(self, form: str) -> Counter[str]:
        return self.counts.setdefault(form, Counter())

    def add(self, other: Tally) -> None:
        for form, counts in other.counts.items():
            self.of(form).update(counts)
        self.faults += other.faults


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """`programs` were finished; `interrupted` tells that it was stopped early."""

    campaign: Campaign
    programs: int
    counts: Mapping[str, Mapping[str, int]]
    faults: tuple[Fault, ...]
    seconds: float
    interrupted: bool
