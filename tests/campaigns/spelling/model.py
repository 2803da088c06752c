"""What a spelling campaign is asked and what it answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal as OneOf

Kind = OneOf[
    "internal error",  # a traceback of ours
    "false refusal",  # the program compiles and runs, but we say that it does not
    "wrong output",  # the written file says something else
    "written file does not compile",
    "rewrite at fault",  # the respelled program is another one: a fault of the campaign
]


@dataclass(frozen=True, slots=True)
class Campaign:
    """`files` respelled programs from number `first`; all are read, and a compiler checks them with our calls;
    one in `every` is compiled, run, written anew and run again.

    `bases`: C files to respell besides random programs. `keep`: a folder for what fails.
    """

    files: int
    seed: int
    first: int = 0
    every: int = 4
    bases: tuple[str, ...] = ()
    jobs: int = 1
    cc: str = "gcc"
    keep: Path | None = None
    workdir: Path | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that went wrong; `rewrites` are those without which it does not."""

    kind: Kind
    file: int
    base: str
    rewrites: tuple[str, ...]
    detail: str


@dataclass(slots=True)
class Tally:
    """Counts by name (`nests`, `refused`, `timed nests`, `rewrite digraphs`, …) and what went wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.counts.update(other.counts)
        self.faults += other.faults


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """`files` were finished; `interrupted` tells that it was stopped early."""

    campaign: Campaign
    files: int
    counts: dict[str, int]
    faults: tuple[Fault, ...]
    seconds: float
    interrupted: bool
