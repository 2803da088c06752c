"""What a campaign is asked and what it answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal as OneOf

Kind = OneOf[
    "accepted but wrong",
    "accepted but racing",
    "accepted but its private storage is shared",
    "false witness",
    "compiled code differs",
    "interpreter differs from C",
    "internal error",
]


@dataclass(frozen=True, slots=True)
class Campaign:
    """`schedules` a program, as many of their planted variants; the first `compiled` programs are compiled too.

    `matrices`: so many more schedules come from sampled matrices, each as it is and completed by tiles and marks;
    `free`: so many from free sequences, each as it is, completed, and changed in one decision.
    """

    programs: int
    seed: int
    first: int = 0
    schedules: int = 3
    planted: int = 3
    matrices: int = 0
    free: int = 0
    compiled: int = 0
    compilers: tuple[str, ...] = ("gcc",)
    threads: tuple[int, ...] = (1, 2, 3)
    jobs: int = 1
    workdir: Path | None = None
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A place where two of replay, interpreter and compiled code contradict each other."""

    kind: Kind
    program: int
    nest: str
    schedule: str
    parameters: tuple[tuple[str, int], ...]
    detail: str
    reassociate: bool = False  # sums may be reordered


@dataclass(frozen=True, slots=True)
class Runnable:
    """A legal schedule with its C text, to be compiled."""

    program: int
    schedule: str
    body: str
    reassociate: bool = False


@dataclass(slots=True)
class Tally:
    """Counts by name (`legal`, `illegal`, `planted lost step`, …) and what went wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)
    runnable: list[Runnable] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.counts.update(other.counts)
        self.disagreements += other.disagreements
        self.runnable += other.runnable


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """`programs` were finished; `interrupted` tells that it was stopped early."""

    campaign: Campaign
    programs: int
    counts: dict[str, int]
    disagreements: tuple[Disagreement, ...]
    seconds: float
    interrupted: bool

    @property
    def planted(self) -> int:
        """Planted schedules that the interpreter showed to be wrong."""
        return sum(n for name, n in self.counts.items() if name.startswith("planted "))
