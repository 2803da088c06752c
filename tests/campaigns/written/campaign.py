"""Runs the ways over files and random programs and gathers what came of them."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from profilers.run import DEFAULT_ENVIRONMENT
from scheduler.errors import SchedulerError
from tests.campaigns.written.builds import Builder
from tests.campaigns.written.compare import Comparison
from tests.campaigns.written.model import Failure, Tally, Way, WrittenBench, WrittenResult
from tests.campaigns.written.subject import Program, Subject, generated, given, make_subject
from tests.campaigns.written.ways import WAYS

Progress = Callable[[str, int, Tally], None]
"""Called with a program's name, the number of programs done and the tally so far."""
Task = str | int  # a file, or the number of a random program


def chosen(names: tuple[str, ...]) -> tuple[Way, ...]:
    """The ways of these names, all for (). Raises KeyError for an unknown one."""
    known = {way.name: way for way in WAYS}
    return tuple(known[name] for name in names) or WAYS


def run_written(bench: WrittenBench, progress: Progress) -> WrittenResult:
    """The same counts whatever the number of jobs."""
    began = time.monotonic()
    ways = chosen(bench.ways)
    total, interrupted, done = Tally(), False, 0
    try:
        with tempfile.TemporaryDirectory(prefix="perfembed-", dir=bench.workdir) as scratch:
            total.missing = missing(ways, Path(scratch), environment_of(bench))
            here = tuple(way for way in ways if way.name not in total.missing)
            for name, tally in _tallies(bench, here):
                done += 1
                total.add(tally)
                for way in total.missing:
                    total.ways[way, "not here"] += tally.programs
                progress(name, done, total)
    except KeyboardInterrupt:
        interrupted = True
    total.failures.sort(key=lambda f: (f.program, f.way))
    return WrittenResult(bench, tuple(w.name for w in ways), total, time.monotonic() - began, interrupted)


def environment_of(bench: WrittenBench) -> Mapping[str, str]:
    return dict(bench.environment) or DEFAULT_ENVIRONMENT


def missing(ways: tuple[Way, ...], scratch: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """What is not on this machine, by the name of the way."""
    builder = Builder(scratch / "trials", environment)
    return {way.name: said for way in ways if (said := builder.missing(way))}


def _tallies(bench: WrittenBench, ways: tuple[Way, ...]) -> Iterator[tuple[str, Tally]]:
    tasks: list[Task] = [*bench.files, *range(bench.first, bench.first + bench.programs)]
    if bench.jobs == 1:
        for task in tasks:
            yield run_task(bench, ways, task)
        return
    pool = ProcessPoolExecutor(bench.jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        for future in as_completed([pool.submit(run_task, bench, ways, task) for task in tasks]):
            yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def run_task(bench: WrittenBench, ways: tuple[Way, ...], task: Task) -> tuple[str, Tally]:
    """One program in all the ways; what goes wrong inside counts as a failure, too."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="perfembed-", dir=bench.workdir) as name:
        scratch = Path(name)
        shown = str(task) if isinstance(task, str) else f"gen_{bench.seed}_{task}"
        try:
            program = given(task, bench.seed) if isinstance(task, str) else generated(bench.seed, task, scratch)
            subject = make_subject(program, bench.seed, scratch, environment_of(bench))
        except (SchedulerError, OSError) as error:
            tally.mix["programs that cannot be read or written"] += 1
            tally.failures.append(Failure(shown, "", str(error), ""))
            return shown, tally
        except Exception:
            tally.failures.append(Failure(shown, "", traceback.format_exc(limit=-8), ""))
            return shown, tally
        tally.programs = 1
        if subject is None:
            tally.mix["programs without a rewritten nest"] += 1
            return shown, tally
        tally.mix.update(subject.mix)
        _compare(bench, ways, program, subject, scratch, tally)
    return shown, tally


def _compare(
    bench: WrittenBench, ways: tuple[Way, ...], program: Program, subject: Subject, scratch: Path, tally: Tally
) -> None:
    builder = Builder(scratch / "built", environment_of(bench))
    comparison = Comparison(subject, bench.seed, builder)
    for way in ways:
        found = comparison.compare(way)
        tally.ways[way.name, found.verdict] += 1
        if found.verdict == "not here":
            tally.missing[way.name] = found.detail
        if found.verdict != "differ":
            continue
        again = f"python -m tests.campaigns written {program.again} --ways {way.name} --keep DIR"
        schedules = "\n".join(subject.schedules).encode()
        files = (*found.files, ("schedules.txt", schedules), ("again.sh", "\n".join(found.commands).encode() + b"\n"))
        failure = Failure(program.name, way.name, found.detail, again, found.commands, files)
        tally.failures.append(failure)
        if bench.keep is not None:
            _keep(bench.keep, failure)


def _keep(folder: Path, failure: Failure) -> None:
    for name, content in failure.files:
        path = folder / f"{failure.program}-{failure.way}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
