"""Collects the cross-transfer matrix: asks many donors for each nest, and runs every tree that they lead to.

Processes transfer and compile a batch of programs, one on each core; then nothing else runs while this process measures
what they built, all of it once and, at the end of the batch, what is near the fastest once more.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.errors import PerfembedError
from perfembed.measuring.runner import Processes, Surroundings
from perfembed.populating.asking import Asking, CollectOptions, Prepared, place_in_transfers
from perfembed.populating.programs import Program
from perfembed.retrieval.cross_transfers import (
    DISTURBED,
    Transfers,
    as_line,
    places,
    spooled,
)
from perfembed.tuning.openmp import parallel_flags
from profilers.build import Built
from profilers.contained.child import Limits
from profilers.contained.errors import ProfilersError
from profilers.contained.scratch import scratch_folder
from profilers.lock import machine_lock
from profilers.outcome import Outcome, Stopped, Timed
from profilers.specification import TimingSettings
from scheduler.errors import SchedulerError

_BATCH = 8  # programs prepared before their trees are run
_CLOSE = 1.5  # of the fastest time: run twice
_HOPELESS = 1.6  # of the original's time: given up
_RUN = TimingSettings(min_samples=2, max_samples=20, target_seconds=0.04)
_AGAIN = TimingSettings(min_samples=3, max_samples=40, target_seconds=0.1)
_LEAST_S, _MOST_S = 2e-5, 1.0  # nests that take less say nothing, of those that take more thirty trees take long
_TRIES = 4
_TASKS = 50  # of a process, which then ends and gives back its memory


@dataclass(frozen=True, slots=True)
class Collected:
    """Of one call: `labels` are the recipes that have an outcome."""

    nests: int
    labels: int
    trees: int
    seconds: float


def collect_transfers(
    programs: Sequence[Program], options: CollectOptions, spool: Path, progress: Callable[[str], None]
) -> Collected:
    """Appends a line for each nest to `spool`; programs of which it has nests are left out, none is begun after the
    budget. Raises OSError, PerfembedError.
    """
    began, nests, labels, trees = time.monotonic(), 0, 0, 0
    done = places(spooled(spool))
    waiting = [program for program in programs if place_in_transfers(program) not in done]
    environment = dict(options.environment)
    flags = parallel_flags(options.cc, options.cflags, options.threads, environment, progress)
    options = replace(options, cflags=flags)
    with spool.open("a", encoding="utf-8") as file, _Pool(options) as pool:
        for start in range(0, len(waiting), _BATCH):
            if time.monotonic() - began > options.budget_s:
                break
            with scratch_folder() as scratch:
                prepared = pool.prepared(waiting[start : start + _BATCH], scratch, progress)
                with machine_lock(environment, progress):
                    rows = list(_measured(prepared, environment))
            file.write("".join(map(as_line, rows)))  # of a program all nests or none
            file.flush()
            nests, labels = nests + len(rows), labels + sum(len(row.asked) for row in rows)
            trees += sum(len(row.trees) for row in rows)
            spent = time.monotonic() - began
            progress(f"{nests} nests, {labels} labels of {trees} trees, {3600 * labels / spent:.0f} labels an hour")
    return Collected(nests, labels, trees, time.monotonic() - began)


class _Pool:
    """Processes that prepare programs, and remember donors. One that dies takes one program with it."""

    def __init__(self, options: CollectOptions) -> None:
        self.options = options
        self.pool = self._begun()

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *problem: object) -> None:
        self.pool.shutdown(cancel_futures=True)

    def _begun(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(
            os.cpu_count(), context, initializer=_begin, initargs=(self.options,), max_tasks_per_child=_TASKS
        )

    def prepared(self, programs: Sequence[Program], scratch: Path, progress: Callable[[str], None]) -> list[Prepared]:
        found: list[Prepared] = []
        again = self._together(programs, scratch / "together", found, progress)
        for number, program in enumerate(again):  # one of them ended the process that others were prepared in
            for lost in self._together([program], scratch / f"alone-{number}", found, progress):
                progress(f"{lost.path}: its process died")
        return found

    def _together(
        self, programs: Sequence[Program], scratch: Path, found: list[Prepared], progress: Callable[[str], None]
    ) -> list[Program]:
        """Adds what is prepared to `found`; the programs whose process died."""
        lost: list[Program] = []
        asked: list[tuple[Program, Future[list[Prepared]]]] = []
        scratch.mkdir()
        for number, program in enumerate(programs):
            try:
                asked.append((program, self.pool.submit(_prepare, program, scratch / str(number))))
            except BrokenProcessPool:
                lost.append(program)
        for program, future in asked:
            try:
                found += future.result()
            except BrokenProcessPool:
                lost.append(program)
            except (PerfembedError, SchedulerError, ProfilersError) as problem:
                progress(f"{program.path}: {problem}")
            except Exception as problem:  # hours of other programs are not to be lost for it
                progress(f"{program.path}: internal error: {type(problem).__name__}: {problem}"[:500])
        if lost:
            self.pool.shutdown(cancel_futures=True)
            self.pool = self._begun()
        return lost


_asking: Asking | None = None


def _begin(options: CollectOptions) -> None:
    global _asking
    _asking = Asking(options)


def _prepare(program: Program, folder: Path) -> list[Prepared]:
    assert _asking is not None
    folder.mkdir()
    return list(_asking.program(program, folder))


def _measured(prepared: Sequence[Prepared], environment: Mapping[str, str]) -> Iterator[Transfers]:
    """Rows with times, of nests that run in a bearable time; all run once, then what is near the fastest once more."""
    where = Surroundings(Limits(wall_s=60.0, memory_bytes=16 << 30), environment)
    first = [(one, found) for one in prepared if (found := _undisturbed(one, where)) is not None]
    for one, (row, original) in first:
        yield _twice(one, row, original, where)


def _undisturbed(one: Prepared, where: Surroundings) -> tuple[Transfers, Built] | None:
    """`_once`, again where others kept the machine busy meanwhile; the last time counts, and says so."""
    for _ in range(_TRIES):
        found = _once(one, where)
        if found is None or found[0].other_load <= DISTURBED:
            break
    return found


def _once(one: Prepared, where: Surroundings) -> tuple[Transfers, Built] | None:
    """And the nest as written, in the form that takes as long as in its program."""
    runner = Processes()
    load = [0.0]

    def timed(built: Built, stop: float | None = None) -> Outcome:
        outcome, other_load = runner.time(built, replace(_RUN, stop_above_s=stop), where)
        load.append(other_load or 0.0)
        return outcome

    ran = ((timed(built), built) for built in one.originals)
    forms = [(o.min, built) for o, built in ran if isinstance(o, Timed) and _LEAST_S < o.min < _MOST_S]
    if not forms:
        return None
    expected = one.expected_s or forms[0][0]
    seconds, original = min(forms, key=lambda form: abs(math.log(form[0] / expected)))
    trees = []
    for tried, built in zip(one.row.trees, one.builds, strict=True):
        if built is None:
            trees.append(tried)
            continue
        match timed(built, _HOPELESS * seconds):
            case Timed() as found:
                trees.append(replace(tried, outcome="timed", seconds=found.min))
            case Stopped(after_s):
                trees.append(replace(tried, outcome="given up", seconds=after_s))
            case other:
                trees.append(replace(tried, outcome=type(other).__name__))
    return replace(one.row, seconds=seconds, trees=tuple(trees), other_load=round(max(load), 3)), original


def _twice(one: Prepared, row: Transfers, original: Built, where: Surroundings) -> Transfers:
    runner = Processes()
    again = runner.time(original, _AGAIN, where)[0]
    best = min([row.seconds, *(t.seconds for t in row.trees if t.outcome == "timed" and t.seconds)])
    trees = []
    for tried, built in zip(row.trees, one.builds, strict=True):
        if built is not None and tried.outcome == "timed" and (tried.seconds or math.inf) < _CLOSE * best:
            found = runner.time(built, _AGAIN, where)[0]
            trees.append(replace(tried, again=found.min) if isinstance(found, Timed) else tried)
        else:
            trees.append(tried)
    return replace(row, again=again.min if isinstance(again, Timed) else row.seconds, trees=tuple(trees))
