"""What populating is asked for, what it tells while it runs, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from optdb.ingest import IngestReport
from perfembed.populating.programs import Program
from perfembed.tuning.options import Evaluate

NEST_BUDGET_S = 300.0


@dataclass(frozen=True, slots=True)
class PopulateOptions:
    """`shard` (i, n): only every n-th program, from the i-th on; i counts from 1. `budget_s` is for all of them,
    `nest_budget_s` for each nest."""

    database: Path
    search: str = "random"
    schedules: int = 32  # measured for each nest
    seed: int = 0
    budget_s: float = 1800.0
    nest_budget_s: float = NEST_BUDGET_S
    shard: tuple[int, int] = (1, 1)
    cc: str = "gcc"
    cflags: tuple[str, ...] = ("-O3", "-march=native")
    threads: int = 1
    reassociate: bool = False
    drawn: float = 0.0  # `Effort.drawn`
    refine: bool = False  # `Effort.refine`
    all_nests: bool = False  # of files, those that hardly take time, too
    environment: tuple[tuple[str, str], ...] = ()
    command: str = "populate"
    evaluate: Evaluate = "run"
    weights: str | None = None  # folder of cost models of one's own


@dataclass(frozen=True, slots=True)
class Place:
    """What the id of a run takes from where it runs."""

    machine: str  # fingerprint
    compiler: str  # version


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to do: `waiting` of the `total` programs, the rest is done."""

    waiting: tuple[Program, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ProgramStarted:
    program: Program
    position: int
    total: int


@dataclass(frozen=True, slots=True)
class NestSearched:
    """`labels`: candidates with an outcome, known ones included, `drawn` of them at random from all that is legal;
    `best`: original time / best time."""

    program: Program
    nest: str
    labels: int
    best: float | None
    reason: str
    drawn: int = 0


@dataclass(frozen=True, slots=True)
class ProgramSkipped:
    """`again`: for lack of time or of something on this machine; it is not done, but waits for another run."""

    program: Program
    reason: str
    again: bool = False


@dataclass(frozen=True, slots=True)
class ProgramDone:
    program: Program


@dataclass(frozen=True, slots=True)
class Stored:
    """`problem`: the records wait in the spool, for this reason."""

    report: IngestReport | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What else is worth telling, such as whom it waits for."""

    text: str


PopulateEvent = ProgramStarted | NestSearched | ProgramSkipped | ProgramDone | Stored | Told


@dataclass(slots=True)
class PopulateResult:
    """`complete`: no program is waiting any more. `unread`: of those `skipped`, the ones that wait for another run."""

    programs: int = 0
    skipped: int = 0
    nests: int = 0
    labels: int = 0
    drawn: int = 0
    lost: int = 0
    seconds: float = 0.0
    complete: bool = False
    interrupted: bool = False
    unread: int = 0

    def counting(self, progress: Callable[[PopulateEvent], None]) -> Callable[[PopulateEvent], None]:
        """Counts what it hands on."""

        def count(event: PopulateEvent) -> None:
            if isinstance(event, NestSearched):
                self.nests += 1
                self.labels += event.labels
                self.drawn += event.drawn
            elif isinstance(event, ProgramSkipped | ProgramDone):
                self.programs += 1
                self.skipped += isinstance(event, ProgramSkipped)
                self.unread += isinstance(event, ProgramSkipped) and event.again
            progress(event)

        return count
