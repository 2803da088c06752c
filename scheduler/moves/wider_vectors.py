"""A schedule of a machine with short vectors for one whose core has wider ones: other register blocks, and what was
made to fit them: tiles and packed panels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.machine.target import register_shapes
from scheduler.moves.register_blocking import even_block, iterator_of, wider_vectors
from scheduler.moves.space import Chain, Space, chains_with
from scheduler.schedule import Schedule
from scheduler.transform import Pack, RegisterBlock, Tile, Transformation


def in_wider_vectors(space: Space, schedule: Schedule) -> Schedule:
    """The schedule with each register block of rows and vectors in the shape that suits the widest vectors.

    The same where the core has no wider ones than the block's, or a loop is too short. Nothing is said of legality.
    """
    steps = list(schedule)
    widest = max(wider_vectors(space.target), default=0)
    for place, step in enumerate(schedule):
        if not isinstance(step, RegisterBlock) or len(step.loops) != 2:
            continue
        if (step.vector_bytes or space.target.vector_bytes) >= widest:
            continue
        chain = chains_with(space.replayer.tree(schedule[:place]), step.loops[0])
        extents = {loop.name: space.extent(loop) for loop in chain}
        element = space.element_bytes(chain)
        shapes = register_shapes(space.target.core, element, widest)
        if not shapes:
            continue
        sizes = (shapes[0].rows, shapes[0].columns(element))
        if all(extents.get(name, 0) >= 2 * size for name, size in zip(step.loops, sizes, strict=True)):
            steps[place] = replace(step, sizes=sizes, vector_bytes=widest)
            wanted = dict(zip(step.loops, sizes, strict=True))
            for earlier in range(place):
                steps[earlier] = _tiled(space, steps[earlier], wanted, extents)
            for later in range(place + 1, len(steps)):
                steps[later] = _packed(space, steps[later], step, wanted, chain)
    return tuple(steps)


def _tiled(space: Space, step: Transformation, wanted: Mapping[str, int], extents: Mapping[str, int]) -> Transformation:
    """A tile of the block's loops in sizes that blocks divide, and as many tiles for each thread where it had them."""
    if not isinstance(step, Tile):
        return step
    sizes = []
    for name, size in zip(step.loops, step.sizes, strict=True):
        if name in wanted and size > wanted[name]:
            threads = space.target.threads
            evenly = -(-extents[name] // size) % threads == 0
            size = even_block(extents[name], size, wanted[name], threads if evenly else 1)
        sizes.append(size)
    return replace(step, sizes=tuple(sizes))


def _packed(
    space: Space, step: Transformation, block: RegisterBlock, wanted: Mapping[str, int], chain: Chain
) -> Transformation:
    """A panel as wide as the block was along the loop that it is read along, as wide as the block is now."""
    if not isinstance(step, Pack) or not step.panel:
        return step
    loops = {loop.name: loop for loop in chain}
    for statement, _ in chain[-1].rows:
        for use in space.replayer.model.uses(statement):
            if use.access.array != step.array or len(use.access.subscripts) <= step.panel_dim:
                continue
            subscript = use.access.subscripts[step.panel_dim]
            names = subscript.names() if isinstance(subscript, Affine) else frozenset()
            for name, size in zip(block.loops, block.sizes, strict=True):
                if size == step.panel and iterator_of(loops[name], statement) in names:
                    return replace(step, panel=wanted[name])
    return step
