"""The decision tree of a nest: structure and fusions, then for each chain a free sequence of skews, reversals and
interchanges, its order, its shape and its inside, then the marks; nothing is a choice everywhere.

The stages are LOOPer's (Merouani et al. 2024, section 4); every path from the root ends in a schedule that may be
measured. Schedules on the way are legal; the last step, the marks, follows from the rest.
`Exhaustive` takes every path, depth first: what the other searches are measured against.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal as OneOf

from scheduler.ir.tree import tree_loops
from scheduler.moves.fusion import fusions
from scheduler.moves.openmp_schedule import other_deals
from scheduler.moves.register_blocking import register_moves
from scheduler.moves.space import Chain, Space, chains_with
from scheduler.moves.tile_sizes import cache_tilings, second_level, sizes_of
from scheduler.moves.time_tiling import computed_time_tiled, time_tiled
from scheduler.moves.unimodular import single_steps
from scheduler.schedule import Schedule
from scheduler.search.closely import UNROLLED
from scheduler.search.explorer import Explorer
from scheduler.transform import Tile, Unroll


class Exhaustive(Explorer):
    """Ends with the tree, the limit or the time."""

    def _search(self) -> None:
        self.best(self._leaves(ROOT), 1)

    def _leaves(self, node: Decision) -> Iterator[Schedule]:
        if node.stage == "done":
            yield node.schedule
        for choice in choices(self.space, node):
            yield from self._leaves(choice)


_TIME_TILINGS = 8
_COMPUTED_TILINGS = 4
_ORDERS = 4
_MINIMUM_WORK = 0.01
_SEQUENCE = 3  # steps of a free sequence for each chain
_FUSIONS = 3  # one after the other
_BAND = 3  # loops that are tiled together

Stage = OneOf[
    "structure", "fusion", "sequence", "order", "shape", "grid", "levels", "inside", "next", "marks", "vectors", "done"
]


@dataclass(frozen=True, slots=True)
class Decision:
    """A node of the tree: what has been decided (`schedule`), what comes next (`stage`), and for which chain.

    `head` is the innermost loop of the chain at hand, `seen` the nest's loops whose chains were dealt with. `count`:
    how many fusions, or steps of a free sequence, there are already. `tile`: sizes decided on, by loops.
    """

    schedule: Schedule
    stage: Stage
    head: str = ""
    seen: frozenset[str] = frozenset()
    count: int = 0
    tile: tuple[tuple[str, int], ...] = ()


ROOT = Decision((), "structure")


def choices(space: Space, node: Decision) -> tuple[Decision, ...]:
    """The nodes below; empty where the schedule is complete (`stage` "done")."""
    return tuple(below for below in proposals(space, node) if space.legal(below.schedule))


def usual(space: Space, node: Decision) -> Decision | None:
    """The node below that is right most often: nothing is done, loops are marked as usual. None where there is none.

    It costs less than `proposals`.
    """
    match node.stage:
        case "fusion":
            return _next_chain(space, node.schedule, frozenset())
        case "sequence":
            return replace(node, stage="order", count=0)
        case "shape":
            return replace(node, stage="inside")
        case "inside":
            return replace(node, stage="next")
        case "marks":
            wavefront = any(loop.parallel for loop in tree_loops(space.replayer.tree(node.schedule)))
            schedule = node.schedule if wavefront else space.parallelized(node.schedule)
            return replace(node, schedule=schedule, stage="vectors")
        case "vectors":
            return Decision(space.vectorized(node.schedule), "done")
        case _:
            return None


def proposals(space: Space, node: Decision) -> tuple[Decision, ...]:
    """The nodes below and others whose schedules are not legal: which, costs more to know than to propose them."""
    return tuple(dict.fromkeys(_proposals(space, node)))


def _proposals(space: Space, node: Decision) -> Iterable[Decision]:
    schedule = node.schedule
    match node.stage:
        case "structure":
            tiled = [*islice(time_tiled(space), _TIME_TILINGS)]
            tiled += islice(computed_time_tiled(space, 1), _COMPUTED_TILINGS)
            below = [Decision(one, "fusion") for one in space.structures()]
            return (*below, *(Decision(space.vectorized(one), "done") for one in tiled))
        case "fusion":
            fused = fusions(space, schedule) if node.count < _FUSIONS else ()
            more = (Decision(one, "fusion", count=node.count + 1) for one in fused)
            return (_next_chain(space, schedule, frozenset()), *more)
        case "sequence":
            steps = single_steps(space, schedule, _chain(space, node)) if node.count < _SEQUENCE else ()
            more = (replace(node, schedule=one, count=node.count + 1) for one in steps)
            return (replace(node, stage="order", count=0), *more)
        case "order":
            orders = space.orders(schedule, _chain(space, node), _ORDERS)
            return _each(orders, "shape", node)
        case "shape":
            return _shapes(space, node)
        case "grid":
            return _sizes(space, node)
        case "levels":
            return _levels(space, node)
        case "inside":
            chain = _chain(space, node)
            found = [schedule, *space.inner_moves(schedule, chain)]
            if not chain[-1].opaque and not chain[-1].register:
                found += [(*schedule, Unroll(chain[-1].name, factor)) for factor in UNROLLED]
            return _each(found, "next", node)
        case "next":
            return (_next_chain(space, schedule, node.seen),)
        case "marks":
            if any(loop.parallel for loop in tree_loops(space.replayer.tree(schedule))):
                return _each((schedule,), "vectors", node)  # a wavefront is in there
            usual = space.parallelized(schedule)
            marked = (schedule, usual, *other_deals(space, usual), *space.parallel_choices(schedule))
            return _each(marked, "vectors", node)
        case "vectors":
            return _each((schedule, space.vectorized(schedule)), "done", ROOT)
        case _:
            return ()


def _next_chain(space: Space, schedule: Schedule, seen: frozenset[str]) -> Decision:
    """The heaviest chain not dealt with that matters at all; the marks when there is none."""
    found = space.leaf_chains(schedule)
    total = sum(map(space.work, found))
    for chain in found:
        names = frozenset(loop.origin for loop in chain)
        if not names & seen and space.work(chain) >= _MINIMUM_WORK * total:
            return Decision(schedule, "sequence", chain[-1].name, seen | names)
    return Decision(schedule, "marks")


def _shapes(space: Space, node: Decision) -> Iterable[Decision]:
    schedule, chain = node.schedule, _chain(space, node)
    found = [schedule]
    found += space.tilings(schedule, chain)
    found += cache_tilings(space, schedule, chain)
    found += register_moves(space, schedule, chain)
    found += space.wavefronts(schedule, chain)
    band = tuple(_left_to_tile(space, chain, node))
    grid = bool(band) and space.legal((*schedule, Tile(band, (2,) * len(band))))
    return (*_each(found, "inside", node), *((replace(node, stage="grid"),) if grid else ()))


def _left_to_tile(space: Space, chain: Chain, node: Decision) -> list[str]:
    """The loops of the band, outermost first, whose sizes are to be decided on."""
    if any(loop.tile or loop.register for loop in chain):
        return []
    band = [loop.name for loop in chain if not loop.opaque and sizes_of(space, chain, loop.name)][-_BAND:]
    return band[len(node.tile) :]


def _sizes(space: Space, node: Decision) -> Iterable[Decision]:
    """The tile size of one more loop, 1 for none; then the tiling itself."""
    chain = _chain(space, node)
    left = _left_to_tile(space, chain, node)
    sized = [replace(node, tile=(*node.tile, (left[0], size))) for size in (1, *sizes_of(space, chain, left[0]))]
    if len(left) > 1:
        return sized
    tilings = (tuple((name, size) for name, size in one.tile if size > 1) for one in sized)
    found = [(tuple(name for name, _ in one), tuple(size for _, size in one)) for one in tilings]
    nothing, more = replace(node, stage="inside", tile=()), replace(node, stage="levels", tile=())
    return [replace(more, schedule=(*node.schedule, Tile(*one))) if one[0] else nothing for one in found]


def _levels(space: Space, node: Decision) -> Iterable[Decision]:
    """One level of tiles, or larger ones around."""
    *before, tile = node.schedule
    assert isinstance(tile, Tile)
    outer = second_level(space, tuple(before), tile)
    found = [node.schedule, *([(*before, outer, tile)] if outer is not None else [])]
    return _each(found, "inside", node)


def _each(schedules: Iterable[Schedule], stage: Stage, node: Decision) -> tuple[Decision, ...]:
    return tuple(Decision(one, stage, node.head, node.seen) for one in schedules)


def _chain(space: Space, node: Decision) -> Chain:
    return chains_with(space.replayer.tree(node.schedule), node.head)
