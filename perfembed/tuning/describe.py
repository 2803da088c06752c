"""Fills a tuning's pictures: sources, dependences, what nests compute and move, what the machine does at best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.building.text import under_name
from perfembed.inspection.views import view
from perfembed.tuning.inputs import NestInputs
from perfembed.tuning.pictures import Ceilings, Level, NestPicture, NestWork, Peak, SourceLines
from perfembed.tuning.winners import Winners
from profilers.calibration import KINDS, PRECISIONS, CalibrationCache
from profilers.contained.errors import ProfilersError
from profilers.contained.in_time import Undone, in_time
from profilers.deadline import left_s
from profilers.machine import Machine
from scheduler.cost.estimate import Estimator
from scheduler.cost.operations import least_operations
from scheduler.errors import SchedulerError
from scheduler.ir.names import spelled
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import format_nest
from scheduler.machine.target import Target
from scheduler.polyhedral.io_bound import io_lower_bound, statement_instances
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import LegalityOptions, Replayer, ScheduledNest
from scheduler.schedule import Schedule

_NEST_S, _ALL_S = 2.0, 5.0  # for the analysis of one nest, and of all


@dataclass(frozen=True, slots=True)
class Described:
    """A nest to describe: the sizes it was measured with, and the schedule it was given (None: it stays)."""

    nest: LoopNest
    parameters: Mapping[str, int]
    schedule: Schedule | None
    target: Target
    allowed: LegalityOptions


def drawn(tried: Sequence[NestInputs], winners: Winners, target: Target) -> Iterator[tuple[LoopNest, NestPicture]]:
    """The nests that were tried, with their sources as they were and as they are written."""
    won = {nest.name: winner.scheduled.schedule for nest, winner in winners.found}
    asked = [
        Described(one.nest, one.captured.parameters, won.get(one.nest.name), target, winners.allowed(one.nest))
        for one in tried
    ]
    texts = winners.rewritten_at(winners.found)
    for one, found in zip(asked, pictures(asked), strict=True):
        name, span = one.nest.name, one.nest.span
        source = winners.project.source_of(one.nest)
        text, places = texts[source.path]
        after = text if winners.options.in_place else under_name(text, source.path)
        moved = len(after) - len(text)
        before = source_lines(source.content, span.begin, span.end) if span else None
        written = source_lines(after, *(p + moved for p in places[name])) if name in places else None
        yield one.nest, replace(found, before=before, after=written)


def pictures(nests: Sequence[Described]) -> list[NestPicture]:
    """Without sources. What takes too long is left out, and the picture says so."""
    total_s = min(_ALL_S, left_s())
    found = in_time(picture, nests, item_s=_NEST_S, total_s=total_s, wall_s=total_s)
    late = NestPicture(problem="the analysis takes too long, or too much memory")
    return [late if isinstance(one, Undone) else one for one in found]


def picture(described: Described) -> NestPicture:
    """Of one nest, without its source. Never raises for a nest that is too hard: it says so."""
    nest = described.nest
    try:
        text = spelled(format_nest(nest))
        replayer = described.allowed.replayer(nest)
    except SchedulerError as error:
        return NestPicture(problem=str(error))
    seen = tuple(view(replayer.model, dependence) for dependence in replayer.dependences)
    found = NestPicture(text=text, dependences=seen)
    try:
        work = nest_work(replayer, described.parameters, described.target, described.schedule)
    except SchedulerError as error:
        return replace(found, problem=f"what it computes could not be counted: {error}")
    if isinstance(work, str):
        return replace(found, problem=work)
    return replace(found, work=work)


def nest_work(
    replayer: Replayer, parameters: Mapping[str, int], target: Target, schedule: Schedule | None
) -> NestWork | str:
    """What a nest does in one call at these sizes, or why that is not known. Raises QuotaExceeded, NotApplicable."""
    model = replayer.model
    instances = statement_instances(model, parameters)
    if not all(map(math.isfinite, instances.values())):
        return "its data decide how much it computes"
    flops = single = 0.0
    for name, count in instances.items():
        needed = least_operations(model, name)
        flops += sum(needed.values()) * count
        single += needed.get("float", 0.0) * count
    try:
        bound = io_lower_bound(model, parameters, target.l3_bytes)
        least = bound.bytes if bound.exact else None
    except QuotaExceeded:
        least = None

    def traffic(steps: Schedule) -> float | None:
        verdict = replayer.replay(steps)
        if not isinstance(verdict, ScheduledNest):
            return None
        contracted = frozenset(name for name, _ in verdict.contracted)
        estimate = Estimator(replayer.of(steps).model, parameters, target).estimate(verdict.tree, contracted)
        moved = max(estimate.traffic[-1], least or 0.0)
        return moved if math.isfinite(moved) else None

    return NestWork(flops, single, traffic(()), traffic(schedule) if schedule is not None else None, least)


def source_lines(content: bytes, begin: int, end: int) -> SourceLines:
    """The whole lines that have the bytes [begin, end) of a file; what is no UTF-8 reads as Latin-1."""
    first = content.rfind(b"\n", 0, begin) + 1
    stop = content.find(b"\n", max(end - 1, begin))
    part = content[first : stop if stop >= 0 else len(content)]
    try:
        text = part.decode("utf-8")
    except UnicodeDecodeError:
        text = part.decode("latin-1")
    return SourceLines(content.count(b"\n", 0, first) + 1, text.replace("\r\n", "\n"))


def ceilings(folder: str | None, machine: Machine, compiler: str, threads: int) -> Ceilings | None:
    """Of the calibration that is kept in a folder; None where there is none of so many threads.

    `compiler`: the first line of `cc --version`. A level's bandwidth is that of the best kind of access, for a ceiling
    must hold for all.
    """
    if folder is None:
        return None
    found = CalibrationCache(Path(folder)).load(machine, compiler)
    if found is None or threads not in (1, found.threads):
        return None
    sizes = {f"L{cache.level}": cache.size_bytes for cache in machine.caches}
    try:
        levels = tuple(
            Level(name, max(found.bandwidth(name, kind, threads) for kind in KINDS), sizes.get(name))
            for name in found.levels
        )
        peaks = tuple(
            Peak(precision, kind, found.peak_flops(precision, kind == "vector", threads))
            for precision in PRECISIONS
            for kind in ("scalar", "vector")
        )
    except ProfilersError:
        return None
    return Ceilings(found.date, threads, found.noisy, levels, peaks)
