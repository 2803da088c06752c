"""The least that a kernel's nests compute and move, and how long the machine needs for that at its best.

A nest cannot be faster than its floating-point operations at the peak rate, nor than what has to go from one level of
the memory to the next at that level's bandwidth (`scheduler.polyhedral.io_bound`, for caches as large as those of all
threads together). Both are counted at the sizes that a run of the program has. What is said is a limit for schedules
that keep the operations as they are written: those that do not change in some loop around them count once, and of two
sides of a condition the cheaper one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfembed.building.compiling import one_file
from perfembed.capture import ProgramFailed, World, profile_program
from perfembed.capture.profile import NestProfile
from perfembed.comparing.measure import LIMITS
from perfembed.comparing.openblas import Product
from perfembed.comparing.regions import Marked, kernel_part
from profilers.build import CompilerConfig
from profilers.calibration import KINDS, MEMORY, Calibration
from profilers.contained.errors import ProfilersError
from profilers.machine import Machine
from scheduler.cost.domain import sample_domain
from scheduler.cost.operations import count_operations, least_operations
from scheduler.errors import SchedulerError
from scheduler.frontend import SourceFile
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Assign, LoopNest
from scheduler.ir.walk import reads
from scheduler.polyhedral.io_bound import io_lower_bound, statement_instances
from scheduler.polyhedral.model import Model, QuotaExceeded

_COVERED = 0.8  # of the kernel's time, what the nests have to take for a bound to be said
_WORTH = 0.01  # of it, below which a nest may be left out


@dataclass(slots=True)
class Work:
    """What all calls of a kernel's nests do at least; `reason` says why it is not known, if it is not.

    `flops` by precision; `traffic` in bytes that come from a level ("L2", …, "memory"); `integers`: operations on
    integers. `seconds`: what the nests took in a run of the original.
    """

    flops: dict[str, float] = field(default_factory=dict)
    traffic: dict[str, float] = field(default_factory=dict)
    integers: float = 0.0
    seconds: float = 0.0
    products: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """No schedule is faster than `seconds`; `limit` is what limits it: "arithmetic", a level, or "OpenBLAS"."""

    seconds: float
    limit: str


def kernel_work(
    source: SourceFile,
    marked: Marked,
    compiler: CompilerConfig,
    arguments: tuple[str, ...],
    machine: Machine,
    threads: int,
    workdir: Path,
    environment: Mapping[str, str],
) -> Work:
    """Runs the original once to see how often its nests are called, and at which sizes."""
    build = one_file(source.path, source.content, compiler, Path.cwd(), environment)
    world = World(Path.cwd(), arguments, limits=LIMITS)
    profile = profile_program((source,), build, world, workdir, environment)
    if isinstance(profile, ProgramFailed):
        return Work(reason=profile.reason[:200])
    work = Work(flops={"float": 0.0, "double": 0.0})
    parts = [(part, profile.nest(nest.name)) for nest in source.nests if (part := kernel_part(nest, marked))]
    work.seconds = sum(seen.seconds for _, seen in parts)
    for part, seen in parts:
        if seen.calls and seen.seconds >= _WORTH * work.seconds and not work.reason:
            try:
                work.reason = _add(work, part, seen, machine, threads)
            except (QuotaExceeded, SchedulerError) as problem:
                work.reason = f"{seen.name}: {problem}"[:200]
    return work if parts else Work(reason="its loops are not understood")


def bound_of(work: Work | None, kernel_s: float | None, calibration: Calibration | None, threads: int) -> Bound | None:
    """From what was counted and `kernel_s`, what the original took; None where no bound can be said.

    Figures that others disturbed are too low, and no bound.
    """
    if work is None or work.reason or kernel_s is None or calibration is None or calibration.noisy:
        return None
    if work.seconds < _COVERED * kernel_s:
        return None
    try:
        peak = {p: calibration.peak_flops(p, True, threads) for p in ("float", "double")}
        limits = {"arithmetic": sum(count / peak[p] for p, count in work.flops.items())}
        for level, count in work.traffic.items():
            best = max(calibration.bandwidth(level, kind, threads) for kind in KINDS)
            limits[level] = count / (best * 1e9)
    except ProfilersError:
        return None
    limit = max(limits, key=lambda name: limits[name])
    # The peak of integers is not measured. Where they could be the limit, nothing is known.
    hidden = work.integers / peak["float"] > limits[limit]
    return None if hidden or limits[limit] <= 0 else Bound(limits[limit], limit)


# ---------------------------------------------------------------------------------------- one nest


def _add(work: Work, nest: LoopNest, seen: NestProfile, machine: Machine, threads: int) -> str:
    """Adds what a nest does in all its calls. Why that is not known, or nothing."""
    if seen.distinct > 1:
        return f"{seen.name} is called with other sizes every time"
    if seen.problem or seen.other_threads:
        return f"{seen.name}: {seen.problem or 'it runs in several threads already'}"
    model, values = Model(nest), dict(seen.values)
    instances = statement_instances(model, values)
    if not all(math.isfinite(count) for count in instances.values()):
        return f"data decides how long {seen.name} runs"
    for name, count in instances.items():
        counted = least_operations(model, name)
        for precision, operations in counted.items():
            work.flops[precision] += operations * count * seen.calls
        work.integers += count_operations(model.placed[name].statement).integer * count * seen.calls
        if (product := _product(model, name, values, count)) is not None:
            work.products += [product] * min(seen.calls, 1000)
    for level, capacity in capacities(machine, threads):
        found = io_lower_bound(model, values, capacity)
        if not found.exact:
            return f"data decides what {seen.name} touches"
        # What lies in the cache before and what stays there afterwards need not move.
        traffic = max(0.0, found.bytes - 2.0 * capacity) * seen.calls
        work.traffic[level] = work.traffic.get(level, 0.0) + traffic
    return ""


def capacities(machine: Machine, threads: int) -> tuple[tuple[str, int], ...]:
    """(level, bytes of all caches of the level before it that `threads` threads can have)."""
    found = []
    caches = sorted(machine.caches, key=lambda cache: cache.level)
    for cache, after in zip(caches, [*(f"L{c.level}" for c in caches[1:]), MEMORY], strict=True):
        copies = min(threads, math.ceil(machine.logical_cores / max(cache.shared_by, 1)))
        found.append((after, cache.size_bytes * max(copies, 1)))
    return tuple(found)


def _product(model: Model, name: str, values: Mapping[str, int], instances: float) -> dict[str, Any] | None:
    """`C[i][j] += A[i][k] * B[k][j]` over whole ranges, whichever way they are stored, as a product for OpenBLAS."""
    placed, iterators = model.placed[name], model.iterators(name)
    body = placed.statement.body
    if len(iterators) != 3 or len(body) != 1 or not isinstance(body[0], Assign) or body[0].op != "+=":
        return None
    target = body[0].target
    ctype = model.nest.array(target.array).ctype
    factors = [use.access for use in reads(body[0].value) if use.access.subscripts]
    domain = sample_domain(placed, values)
    spans = [_iterators(access.subscripts, iterators) for access in (target, *factors)]
    whole = instances == math.prod(domain.ranges)
    if len(factors) != 2 or ctype not in ("double", "float") or not whole or not all(len(s) == 2 for s in spans):
        return None
    if len(set(spans)) != 3 or any(model.nest.array(f.array).ctype != ctype for f in factors):
        return None
    lengths = dict(zip(iterators, (int(r) for r in domain.ranges), strict=True))
    (inner,) = set(iterators) - spans[0]
    (first,), (second,) = spans[1] - {inner}, spans[2] - {inner}
    return {"m": lengths[first], "n": lengths[second], "k": lengths[inner], "ctype": ctype}


def _iterators(subscripts: Sequence[object], iterators: Sequence[str]) -> frozenset[str]:
    names = (name for s in subscripts if isinstance(s, Affine) for name in s.names())
    return frozenset(names) & frozenset(iterators)


def products_of(work: Work) -> tuple[Product, ...]:
    """The products OpenBLAS is given in place of the kernel; none unless they are nearly all of its arithmetic."""
    found = tuple(Product(**product) for product in work.products)
    total = sum(work.flops.values())
    covered = sum(product.operations for product in found)
    return found if not work.reason and total and covered >= 0.9 * total else ()
