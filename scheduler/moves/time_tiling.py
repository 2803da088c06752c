"""Time tiling: the loops inside a time loop fused, skewed, tiled and run in wavefronts (Pluto's schedule of stencils).

Inside the tiles the fused nests are split again, so that their innermost loops stay simple and vectorize.
Source: Bondhugula et al. 2008 (PLDI), section 5; the split inside tiles is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from scheduler.ir.tree import TreeLoop, TreeNode, tree_loops
from scheduler.moves.permutable import fuse_imperfect_time_loop, fuse_time_loop, permutable_band, sink_into_band
from scheduler.moves.space import Chain, Space
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.stride import chains, minimize_strides
from scheduler.replay import Replayer
from scheduler.schedule import Schedule
from scheduler.transform import Reschedule

MAX_DEPTH = 3


def time_tiled(space: Space, each: int | None = None) -> Iterator[Schedule]:
    """Time-tiled schedules in a few depths and sizes (`each`: of one depth)."""
    for base in beginnings(space.replayer):
        for name in time_loops(space, base):
            for depth in range(1, MAX_DEPTH + 1):
                yield from islice(_tiled(space, base, name, depth), each)


def beginnings(replayer: Replayer) -> tuple[Schedule, ...]:
    """What time tilings begin with: the nest fissioned with its loops in the order of small strides, fissioned, as
    written."""
    fissioned = maximal_fission(replayer)
    return tuple(dict.fromkeys((minimize_strides(replayer, fissioned), fissioned, ())))


def computed_time_tiled(space: Space, each: int | None = None) -> Iterator[Schedule]:
    """The same of the structures that isl computes, deepest bands first."""
    for base in space.structures():
        for name in time_loops(space, base) if any(isinstance(step, Reschedule) for step in base) else ():
            for depth in range(MAX_DEPTH, 0, -1):
                yield from islice(_tiled(space, base, name, depth), each)


def time_loops(space: Space, schedule: Schedule) -> list[str]:
    """Outermost loops that carry dependences and have loops inside."""
    sequential = space.sequential(schedule)

    def outermost(nodes: tuple[TreeNode, ...]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, TreeLoop):
                if node.name in sequential and any(isinstance(child, TreeLoop) for child in node.children):
                    yield node.name
                else:
                    yield from outermost(node.children)

    return list(outermost(space.replayer.tree(schedule)))


def _tiled(space: Space, schedule: Schedule, name: str, depth: int) -> Iterator[Schedule]:
    """The time loop and `depth` levels inside it as one tiled band."""
    found = time_band(space, schedule, name, depth)
    if found is not None:
        for tiled in space.wavefronts(*found):
            yield from split_inside(space, tiled)


def time_band(space: Space, schedule: Schedule, name: str, depth: int) -> tuple[Schedule, Chain] | None:
    """The time loop and `depth` levels inside it made a permutable band, and its loops; None if they cannot be."""
    replayer = space.replayer
    loop = next(x for x in tree_loops(replayer.tree(schedule)) if x.name == name)
    if len(_chain_from(replayer, schedule, name)) <= depth:
        ways = (fuse_time_loop, sink_into_band, fuse_imperfect_time_loop)
        fused = next(filter(None, (way(replayer, schedule, loop, depth) for way in ways)), None)
        if fused is None:
            return None
        schedule = fused
    band = permutable_band(replayer, schedule, _chain_from(replayer, schedule, name)[: depth + 1])
    return None if band is None else (band, _chain_from(replayer, band, name)[: depth + 1])


def split_inside(space: Space, tiled: Schedule) -> Iterator[Schedule]:
    """A legal tiling with the nests inside its tiles split again, or, where they are recurrences, run in diagonals."""
    if space.legal(tiled):
        split = maximal_fission(space.replayer, tiled, only=lambda x: not x.tile)
        inside = [s for c in space.leaf_chains(split)[:1] for s in space.inner_wavefront(split, c)]
        yield from inside or [split]


def _chain_from(replayer: Replayer, schedule: Schedule, name: str) -> Chain:
    found = next((c for c in chains(replayer.tree(schedule)) if any(loop.name == name for loop in c)), ())
    names = [loop.name for loop in found]
    return found[names.index(name) :] if name in names else ()
