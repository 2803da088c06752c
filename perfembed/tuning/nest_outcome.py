"""A nest to be tuned, how it is searched, and what came of it: values, which can be printed and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perfembed.capture import CapturedNest
from perfembed.measuring.ledger import Tried
from perfembed.measuring.measurer import Conditions
from perfembed.tuning.options import Evaluate, Guarding
from profilers.timing import Comparison
from scheduler.cost.problem import CostModel
from scheduler.frontend import Sharing
from scheduler.ir.nest import LoopNest
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule

if TYPE_CHECKING:
    from perfembed.retrieval.retrieve import Retrieval, Retrieved
    from perfembed.tuning.profiled import NestProfiled, Profiler
    from scheduler.cost.surrogate import SurrogateClassifier


@dataclass(frozen=True, slots=True)
class Effort:
    """How a nest is searched: by a search of `scheduler.search`, or "transfer".

    A transfer measures the `top` candidates that donors lead to, with `compute` those that suit the machine
    besides, and, with `refine` and while there is time, neighbours of the best.
    `evaluate` "run" measures every candidate; "model" predicts them and confirms the best, "model+run" predicts them
    and measures the `top` best; with `refine` then neighbours of the best one until none of them is better, and so on
    with the next `top`, once at least and while that helps.
    `schedules` different ones are measured at most (None: as many as fit). A candidate is given up when it takes
    `stop_best` times as long as the best so far, or `stop_original` times as long as the original.
    """

    search: str = "beam"
    evaluate: Evaluate = "run"
    top: int = 10
    refine: bool = True
    compute: bool = True
    budget_s: float = 60.0
    schedules: int | None = None
    given: Schedule | None = None  # an expert's: nothing else is tried
    stop_best: float | None = 1.5
    stop_original: float = 8.0
    finalists: int = 4  # how many of the fastest are confirmed, until one is
    confirm_s: float | None = None  # for comparing a short nest with the original; None: what suits the search
    drawn: float = 0.0  # share of the candidates drawn from all that is legal, before the search begins
    confirm_interrupted: bool = True  # on Ctrl-C the best so far is still confirmed
    guard: Guarding = "none"  # of a genetic search whose candidates are run: what is not worth running
    spare_original: bool = False  # where it is slow it is run once, for the winner; its time is known from the program
    crowding: float = 1.0  # how many times as long as on a quiet machine everything takes


@dataclass(frozen=True, slots=True)
class NestTask:
    """A nest to be tuned: its inputs, under which conditions, with how much effort.

    `in_program_s`: what the captured call takes in the program itself; `sharing`: what pragmas say of the nest.
    """

    nest: LoopNest
    captured: CapturedNest
    conditions: Conditions
    effort: Effort
    in_program_s: float | None = None
    sharing: Sharing | None = None


@dataclass(frozen=True, slots=True)
class Guides:
    """What tells where to look for candidates.

    `model`: needed unless `Effort.evaluate` is "run" without it as a guard; `classifier`: where that is the guard;
    `retrieval`: where `Effort.search` is "transfer"; it is asked for, and may take its time to load, while the original
    compiles. `profiler`: says whether donors are looked for with a profile, None: without.
    """

    model: CostModel | None = None
    retrieval: Callable[[], Retrieval] | None = None
    classifier: SurrogateClassifier | None = None
    profiler: Profiler | None = None


NO_GUIDES = Guides()


@dataclass(frozen=True, slots=True)
class Winner:
    """A schedule confirmed faster than the original and checked to compute the same."""

    scheduled: ScheduledNest
    comparison: Comparison
    checks: tuple[str, ...]


@dataclass(slots=True)
class NestOutcome(Tried):
    """What the search of one nest found; `winner` None keeps the original, `reason` says why."""

    winner: Winner | None = None
    reason: str = ""
    not_run: str = ""  # why not even the nest as written could be built and run on its own
    original_s: float | None = None
    best_s: float | None = None  # of the search, before it is confirmed
    predicted: int = 0
    rejected: int = 0  # by a guard
    illegal: int = 0
    normalization: str = ""
    retrieved: Retrieved | None = None
    profiled: NestProfiled | None = None  # before that
    computed: set[Schedule] = field(default_factory=set)  # of the candidates, those that no donor led to
    refined: dict[Schedule, Schedule] = field(default_factory=dict)  # neighbours of good schedules, and of which
    chosen: Schedule | None = None  # the winner's, as it was measured
