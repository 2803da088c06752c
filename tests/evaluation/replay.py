"""How long a candidate takes before it is compiled: replay with the legality check, and code generation.

The candidates are those a beam search meets: the search runs as it does when tuning, but instead of being
measured a schedule is given a pseudo-cost, a hash of its tree, so that the same candidates come up every time.
Each is timed where the search first asks for it, with whatever the search has cached by then, and once more
*cold*: the dependences are known, but nothing of other schedules is.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from scheduler.codegen import emit
from scheduler.errors import CodegenUnsupported
from scheduler.frontend import FrontendError, ParseOptions, read_source
from scheduler.ir.nest import LoopNest
from scheduler.ir.tree import format_tree
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.polyhedral.contraction import Contractor
from scheduler.polyhedral.legality import Checker
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayed, Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.search.beam import Beam
from scheduler.search.explorer import SearchStopped
from scheduler.transform.initial import initial_tree
from tests.evaluation.statistics import Distribution

REPLAY_AIM_MS = 10.0
FRONTEND_AIM_MS = 1000.0


@dataclass(slots=True)
class NestTimes:
    """Milliseconds. `setup` is the dependence analysis, once a nest; `problem` says why there is nothing else."""

    nest: str
    line: int
    setup: float = 0.0
    replay: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    codegen: list[float] = field(default_factory=list)
    legal: int = 0
    unsupported: int = 0
    faults: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(slots=True)
class FileTimes:
    """`frontend` counts the whole of `read_source`: starting the parser process, parsing, extraction."""

    path: str
    frontend: float = 0.0
    nests: list[NestTimes] = field(default_factory=list)
    problem: str = ""

    @property
    def replay(self) -> list[float]:
        return [ms for nest in self.nests for ms in nest.replay]

    @property
    def cold(self) -> list[float]:
        return [ms for nest in self.nests for ms in nest.cold]

    @property
    def codegen(self) -> list[float]:
        return [ms for nest in self.nests for ms in nest.codegen]


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """`candidates` and `seconds` bound the search of one nest."""

    target: Target
    candidates: int = 200
    seconds: float = 20.0
    cc: str = "gcc"
    cflags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplayTimes:
    """All files; the distributions are over all candidates of all of them, in milliseconds."""

    files: tuple[FileTimes, ...]

    @property
    def frontend(self) -> Distribution:
        return Distribution.of([f.frontend for f in self.files if not f.problem])

    @property
    def setup(self) -> Distribution:
        return Distribution.of([n.setup for f in self.files for n in f.nests if not n.problem])

    @property
    def replay(self) -> Distribution:
        return Distribution.of([ms for f in self.files for ms in f.replay])

    @property
    def cold(self) -> Distribution:
        return Distribution.of([ms for f in self.files for ms in f.cold])

    @property
    def codegen(self) -> Distribution:
        return Distribution.of([ms for f in self.files for ms in f.codegen])

    @property
    def legal(self) -> int:
        return sum(n.legal for f in self.files for n in f.nests)


def time_files(paths: Sequence[str], settings: ReplaySettings, progress: Callable[[FileTimes], None]) -> ReplayTimes:
    """Times every file in turn; `progress` is told of each as it is done."""
    files = []
    for path in paths:
        files.append(_time_file(path, settings))
        progress(files[-1])
    return ReplayTimes(tuple(files))


def _time_file(path: str, settings: ReplaySettings) -> FileTimes:
    times = FileTimes(path)
    content = Path(path).read_bytes()
    options = ParseOptions(arguments=settings.cflags, cc=settings.cc)
    try:
        with _clock() as passed:
            source = read_source(os.path.abspath(path), options, content)
    except FrontendError as error:
        times.problem = str(error).splitlines()[0]
        return times
    times.frontend = passed[0]
    times.nests = [_time_nest(nest, settings) for nest in source.nests]
    return times


def _time_nest(nest: LoopNest, settings: ReplaySettings) -> NestTimes:
    times = NestTimes(nest.name, nest.span.line if nest.span else 0)
    try:
        with _clock() as passed:
            replayer = _TimedReplayer(nest, times)
        times.setup = passed[0]
        parameters = {p.name: p.value for p in nest.parameters if p.value is not None}
        space = Space(replayer, settings.target, parameters)
        _TimedBeam(space, _PseudoCost(replayer, settings, times)).run()
    except QuotaExceeded as error:
        times.problem = str(error)
    return times


class _TimedReplayer(Replayer):
    """Times the first replay of every candidate."""

    def __init__(self, nest: LoopNest, times: NestTimes) -> None:
        super().__init__(nest)
        self._times = times
        self.candidates: set[Schedule] = set()

    def replay(self, schedule: Schedule) -> Replayed:
        if schedule not in self.candidates:
            return super().replay(schedule)
        self.candidates.remove(schedule)
        with _clock() as passed:
            replayed = super().replay(schedule)
        self._times.replay.append(passed[0])
        self._times.legal += isinstance(replayed, ScheduledNest)
        fresh = self._fresh()
        with _clock() as passed:
            fresh.replay(schedule)
        self._times.cold.append(passed[0])
        return replayed

    def _fresh(self) -> Replayer:
        """The same nest and dependences, nothing remembered."""
        fresh = object.__new__(Replayer)
        vars(fresh).update(vars(self))
        fresh.checker = Checker(self.model, self.dependences, self.checker.reassociate)
        fresh.contractor = Contractor(self.model)
        fresh._trees = {(): initial_tree(self.nest)}
        return fresh


class _TimedBeam(Beam):
    """Names the candidates to the replayer; what the space asks of it on its own is not timed."""

    def __init__(self, space: Space, evaluate: _PseudoCost) -> None:
        super().__init__(space, evaluate)
        self._met: set[Schedule] = set()

    def best(self, schedules: Iterable[Schedule], count: int) -> list[Schedule]:
        wanted = list(schedules)
        replayer = self.space.replayer
        assert isinstance(replayer, _TimedReplayer)
        replayer.candidates = set(wanted) - self._met
        self._met |= replayer.candidates
        return super().best(wanted, count)


class _PseudoCost:
    """Stands in for measuring: generates the code and calls a hash of the tree its run time."""

    def __init__(self, replayer: Replayer, settings: ReplaySettings, times: NestTimes) -> None:
        self._replayer = replayer
        self._settings = settings
        self._times = times
        self._deadline = time.monotonic() + settings.seconds

    def __call__(self, schedules: Sequence[ScheduledNest]) -> list[float | None]:
        spent = len(self._times.codegen) + self._times.unsupported >= self._settings.candidates
        if spent or time.monotonic() > self._deadline:
            raise SearchStopped
        return [self._cost(scheduled) for scheduled in schedules]

    def _cost(self, scheduled: ScheduledNest) -> float | None:
        try:
            with _clock() as passed:
                emit(scheduled, self._replayer.model, vector_bytes=self._settings.target.vector_bytes)
        except (CodegenUnsupported, QuotaExceeded):
            self._times.unsupported += 1
            return None
        except Exception as error:  # a fault; the times of the others are still wanted
            self._times.unsupported += 1
            text = f"{type(error).__name__}: {error} in the code of {format_schedule(scheduled.schedule)}"
            self._times.faults.append(text)
            return None
        self._times.codegen.append(passed[0])
        digest = hashlib.sha256(format_tree(scheduled.tree).encode()).digest()
        return 1.0 + int.from_bytes(digest[:4]) / 2**32


@contextmanager
def _clock() -> Iterator[list[float]]:
    """Gives a list that holds the milliseconds afterwards."""
    passed: list[float] = []
    begin = time.perf_counter()
    yield passed
    passed.append((time.perf_counter() - begin) * 1e3)
