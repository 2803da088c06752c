"""Schedules of products computed from what is known of the machine, without any donor.

Source: Low et al. 2016 (ACM TOMS 43(2)), through `scheduler.machine.target`.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.machine.target import cache_blocks, register_shapes
from scheduler.moves.register_blocking import (
    CacheTiles,
    Shape,
    cache_blocked,
    chain_roles,
    even_block,
    has_operands,
    wider_vectors,
)
from scheduler.moves.space import Chain, Space, chains_with
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.stride import minimize_strides
from scheduler.schedule import Schedule
from scheduler.transform import Parallelize, Tile

_WEIGHT = 0.05  # of the work: chains with less are left as they are
_MOST = 0.5  # of the work has to be in products
_LONG = 64  # iterations of a reduction that is worth blocks for the caches


def contractions(space: Space) -> tuple[Schedule, ...]:
    """Each product of the nest in blocks that suit the core's registers and caches, for each width of its vectors.

    Of each width: the blocks of columns run by the threads, and the blocks of rows. Empty where most of the work is no
    product of two operands. Raises QuotaExceeded.
    """
    found: list[Schedule] = []
    normalized = minimize_strides(space.replayer, maximal_fission(space.replayer))
    for vector_bytes in (0, *wider_vectors(space.target)):
        for base in dict.fromkeys((normalized, ())):
            made = _blocked(space, base, vector_bytes)
            if made is not None:
                found += [space.vectorized(marked) for marked in (_by_rows(space, made), space.parallelized(made))]
                break
    return tuple(schedule for schedule in dict.fromkeys(found) if space.legal(schedule))


def _blocked(space: Space, base: Schedule, vector_bytes: int) -> Schedule | None:
    """Every chain that is a product in blocks; None where that leaves out most of the work."""
    chains = space.leaf_chains(base)
    total = sum(map(space.work, chains))
    done, schedule = 0.0, base
    for old in chains:
        work = space.work(old)
        if work < _WEIGHT * total:
            break
        chain = chains_with(space.replayer.tree(schedule), old[-1].name)
        made = next(_products(space, schedule, chain, vector_bytes), None) if chain else None
        if made is not None:
            schedule, done = made, done + work
    return schedule if done > _MOST * total else None


def _products(space: Space, schedule: Schedule, chain: Chain, vector_bytes: int) -> Iterator[Schedule]:
    element, core = space.element_bytes(chain), space.target.core
    shapes = register_shapes(core, element, vector_bytes or space.target.vector_bytes)
    if not shapes:
        return
    shape = Shape(shapes[0].rows, shapes[0].columns(element), vector_bytes)
    for roles in chain_roles(space, schedule, chain):
        row = roles.row
        if row is None or not has_operands(space, roles) or space.extent(roles.reduction) < _LONG:
            continue
        if space.extent(row) < 2 * shape.rows or space.extent(roles.vector) < 2 * shape.columns:
            continue
        blocks = cache_blocks(core, shape.rows, shape.columns, element, space.target.threads)
        extents = [space.extent(loop) for loop in (roles.vector, roles.reduction, row)]
        tiles = CacheTiles(
            even_block(extents[0], blocks.width or extents[0], shape.columns, space.target.threads),
            even_block(extents[1], blocks.depth or extents[1], 8),
            even_block(extents[2], blocks.height or extents[2], shape.rows),
        )
        yield from (s for s in cache_blocked(space, schedule, chain, roles, shape, tiles) if space.legal(s))


def _by_rows(space: Space, schedule: Schedule) -> Schedule:
    """The tiles of rows run by the threads, so that they share the packed panels of columns; the usual marks else."""
    marked = schedule
    for name in dict.fromkeys(step.loops[-1] for step in schedule if isinstance(step, Tile)):
        chain = chains_with(space.replayer.tree(schedule), name)
        tile = next((loop for loop in chain if loop.tile and loop.origin == name), None)
        if tile is not None and space.target.threads > 1:
            step = (*marked, Parallelize(tile.name))
            marked = step if space.legal(step) else marked
    return space.parallelized(marked)
