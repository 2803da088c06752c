"""Reductions: updates like `s += …` whose order may change, so that a loop over them may run concurrently."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Array
from scheduler.ir.tree import TreeLoop, tree_loops
from scheduler.ir.types import known_type
from scheduler.polyhedral.model import Model
from scheduler.polyhedral.updates import Choice, Update

_MAX_BYTES = 32 << 10  # of an array that every thread gets a copy of on its stack, which may be small


@dataclass(frozen=True, slots=True)
class Reduction:
    """What each thread or lane of a loop updates on its own: one element (`access`), or a whole array (None).

    `update` is the only one there is, but for those by the same operator.
    """

    array: str
    operator: str  # as in `Update`
    access: Access | None
    update: Update


def reduction_over(model: Model, loop: TreeLoop, array: str) -> Reduction | None:
    """The reduction into `array` over a loop, or None where OpenMP has no clause for it.

    Everything below the loop that touches the array must update it by the same operator, and either the
    updated element stays the same over the whole loop or the array is small and of known size.
    """
    updates: list[Update] = []
    accesses: set[Access] = set()
    varying = {n for node in tree_loops((loop,)) for _, row in node.rows for n in row.names()}
    whole = False
    for statement, _ in loop.rows:
        if not any(u.access.array == array for u in model.uses(statement)):
            continue
        update = model.update(statement, array)
        if update is None or not (update.exact or update.loose):
            return None
        updates.append(update)
        accesses |= update.accesses
        subscripts = [r for access in update.accesses for r in access.subscripts]
        whole |= any(not isinstance(r, Affine) or r.names() & varying for r in subscripts)
    if len({(u.operator, u.function) for u in updates}) != 1 or (len(accesses) > 1 and not whole):
        return None
    update = updates[0]
    if not whole:
        return Reduction(array, update.operator, accesses.pop(), update)
    if loop.vector or update.operator.startswith("=") or not _is_small(model.nest.array(array)):
        return None
    return Reduction(array, update.operator, None, update)


def choice_over(model: Model, loop: TreeLoop, array: str) -> Choice | None:
    """The minimum or maximum that threads may each find in their part of a loop, in order; `array` is of its places.

    Nothing else below the loop may touch one of these.
    """
    here = [name for name, _ in loop.rows if any(u.access.array == array for u in model.uses(name))]
    if len(here) != 1 or loop.vector:
        return None
    update = model.update(here[0], array)
    choice = update.choice if update is not None else None
    if choice is None:
        return None
    places = {choice.target.array, *(f.array for f in choice.followers)}
    if any(u.access.array in places for name, _ in loop.rows if name != here[0] for u in model.uses(name)):
        return None
    return choice


def is_exact(array: Array) -> bool:
    """Integers wrap, so that every order of a sum gives the same bits."""
    return known_type(array.ctype).kind == "integer"


def _is_small(array: Array) -> bool:
    extents = [e.const for e in array.shape if e is not None and e.is_constant]
    size = math.prod(extents) * known_type(array.ctype).bits // 8
    return bool(extents) and len(extents) == len(array.shape) and 0 < size <= _MAX_BYTES
