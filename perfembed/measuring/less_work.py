"""A nest with less work that ranks its schedules alike: the first iterations of its outer loops.

What is slow is searched so: nests whose candidates take seconds, or whose data take seconds to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from perfembed.capture import CapturedNest, Touched
from perfembed.capture.extents import element_bytes
from perfembed.measuring.measurer import Measurer
from scheduler.errors import SchedulerError
from scheduler.fewer import fewer_iterations, largest_work
from scheduler.ir.nest import Guard, Loop, LoopNest, Node, Predicate
from scheduler.ir.walk import loops
from scheduler.machine.target import Target
from scheduler.moves.trip_counts import trip_counts
from scheduler.replay import ScheduledNest

READ_S = 1.5 / (1 << 30)  # a byte of data, about: pages are made for them
_FACTORS = (32, 16, 8, 4, 2)
_LEAST_S = 0.05  # of a run, so that it can be timed
_MOST_WORK = 0.6  # of all; with more there is nothing to gain
_FEW = 16  # a loop that makes no more stays whole, and those in it are cut
_SEQUENTIAL, _PARALLEL = 32, 64  # iterations that are left at least: of a loop, and for each thread of one
_BEYOND = 2  # times the largest cache: the data of a nest that has so much stay as large


@dataclass(frozen=True, slots=True)
class Shorter:
    """`measurer` is of the nest with fewer iterations; `cut`: of which loops, (iterations, of how many)."""

    measurer: Measurer
    cut: Mapping[str, tuple[int, int]]

    def body(self, scheduled: ScheduledNest) -> str | None:
        """The C text of a schedule of the whole nest for this one; None where it has none."""
        try:
            replayed = self.measurer.replayer.replay(scheduled.schedule)
        except SchedulerError:
            return None
        text = self.measurer.body(replayed) if isinstance(replayed, ScheduledNest) else None
        return text if isinstance(text, str) else None

    @property
    def bytes(self) -> int:
        """Of the data that are read."""
        return _bytes(self.measurer.captured)

    def __str__(self) -> str:
        return ", ".join(f"{few} of {all_} iterations of {name}" for name, (few, all_) in self.cut.items())


def shorter(measurer: Measurer, seconds: float) -> Shorter | None:
    """The shortest that takes 50 ms or more, where the whole takes `seconds`; None where none takes much less.

    Loops are left iterations enough for tiles of each thread, and the data stay in the caches that they were in, or
    larger than all of them. What the loops around others do not reach need not be read either; where reading takes
    longer than the nest, a loop inside is cut if less is read then.
    """
    nest, captured = measurer.nest, measurer.captured
    counts = trip_counts(tuple(loops(nest)), captured.parameters)
    sequential = measurer.replayer.checker.sequential_loops(measurer.replayer.tree(()), reductions=True)
    least = {
        loop.name: _SEQUENTIAL if loop.name in sequential else _PARALLEL * max(1, measurer.conditions.target.threads)
        for loop in loops(nest)
    }
    chains = [chain for loop in _outer(nest.body, counts) if (chain := _chain(loop, counts))]
    read_s = READ_S * _bytes(captured)
    for factor in _FACTORS:

        def cut(chosen: Sequence[str], factor: int = factor) -> Shorter | None:
            most = {name: (max(counts[name] // factor, least[name]), counts[name]) for name in chosen}
            return _cut(measurer, counts, {name: cut for name, cut in most.items() if cut[0] < cut[1]}, seconds)

        chosen = [chain[0] for chain in chains]
        best = cut(chosen)
        for place, chain in enumerate(chains if read_s > seconds / 2 else ()):
            for name in chain[1:]:
                other = [*chosen[:place], name, *chosen[place + 1 :]]
                found = cut(other)
                if found is not None and (best is None or found.bytes < best.bytes):
                    best, chosen = found, other
        if best is not None:
            return best
    return None


def _cut(
    measurer: Measurer, counts: Mapping[str, int], cut: Mapping[str, tuple[int, int]], seconds: float
) -> Shorter | None:
    """With fewer iterations of these loops; None where the nest becomes too short, hardly shorter or another one."""
    nest, captured, target = measurer.nest, measurer.captured, measurer.conditions.target
    if not cut:
        return None
    fewer = fewer_iterations(nest, captured.parameters, {name: few for name, (few, _) in cut.items()})
    left_work = largest_work(fewer, trip_counts(tuple(loops(fewer)), captured.parameters))
    share = left_work / max(largest_work(nest, counts), 1)
    if share > _MOST_WORK or share * seconds < _LEAST_S:
        return None
    try:
        left = touched_only(fewer, captured)
        replayer = measurer.conditions.allowed.replayer(fewer)
    except SchedulerError:
        return None
    if _regime(_bytes(left), target) != _regime(_bytes(captured), target):
        return None
    return Shorter(replace(measurer, nest=fewer, replayer=replayer, captured=left, bodies={}), cut)


def touched_only(nest: LoopNest, captured: CapturedNest) -> CapturedNest:
    """The inputs of a nest that touches less of them: what lies behind all that it touches is zero."""
    touched = Touched(nest, captured.parameters)
    arrays = []
    known = {array.name: array for array in nest.arrays}
    for array in captured.arrays:
        own = known.get(array.name)
        reach = None if own is None or own.rows else touched.reach(own)
        arrays.append(array if reach is None else replace(array, filled=min(reach, array.count)))
    return replace(captured, arrays=tuple(arrays))


def _outer(nodes: tuple[Node, ...], counts: Mapping[str, int]) -> Iterator[Loop]:
    """The outermost loops with many iterations."""
    for node in nodes:
        if isinstance(node, Loop) and counts[node.name] > _FEW:
            yield node
        elif isinstance(node, Loop | Guard | Predicate):
            yield from _outer(node.body, counts)


def _chain(loop: Loop, counts: Mapping[str, int]) -> list[str]:
    """The names of a loop and of those in it, one in another, that could be cut."""
    names: list[str] = []
    node: Node | None = loop
    while isinstance(node, Loop) and counts[node.name] > _FEW:
        if isinstance(node.start, tuple) and isinstance(node.stop, tuple):
            names.append(node.name)
        inside = [inner for inner in node.body if isinstance(inner, Loop)]
        node = inside[0] if len(inside) == 1 else None
    return names


def _bytes(captured: CapturedNest) -> int:
    """Of what has contents, and is read in for a run."""
    return sum(element_bytes(a.ctype) * (a.count if a.filled is None else a.filled) for a in captured.arrays)


def _regime(data: int, target: Target) -> int:
    """How many of the caches the data do not fit in; the memory counts only where they are much larger than all."""
    caches = (target.l1_bytes, target.l2_bytes, target.l3_bytes, _BEYOND * target.l3_bytes)
    return sum(data > cache for cache in caches)
