"""Reductions: updates like `s += …` whose order may change, so that a loop over them may run concurrently."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Array, Assign
from scheduler.ir.tree import TreeLoop, tree_loops
from scheduler.ir.types import known_type
from scheduler.polyhedral.dependences import REASSOCIABLE
from scheduler.polyhedral.model import Model

_MAX_BYTES = 32 << 10  # of an array that every thread gets a copy of on its stack, which may be small


@dataclass(frozen=True, slots=True)
class Reduction:
    """What each thread or lane of a loop sums up on its own: one element (`access`), or a whole array (None)."""

    array: str
    operator: str  # of OpenMP's reduction clause
    access: Access | None


def reduction_over(model: Model, loop: TreeLoop, array: str) -> Reduction | None:
    """The reduction into `array` over a loop, or None where OpenMP has no clause for it.

    Everything below the loop that touches the array must update it by the same operator, and either the
    updated element stays the same over the whole loop or the array is small and of known size.
    """
    operators: set[str] = set()
    accesses: set[Access] = set()
    varying = {n for node in tree_loops((loop,)) for _, row in node.rows for n in row.names()}
    whole = False
    for statement, _ in loop.rows:
        uses = [u for u in model.uses(statement) if u.access.array == array]
        if not uses:
            continue
        body = model.placed[statement].statement.body
        action = body[0]
        if len(body) != 1 or not isinstance(action, Assign) or action.op not in REASSOCIABLE:
            return None
        if any(u.access != action.target for u in uses) or len(uses) != 2:
            return None
        operators.add(REASSOCIABLE[action.op])
        accesses.add(action.target)
        whole |= any(not isinstance(r, Affine) or r.names() & varying for r in action.target.subscripts)
    if len(operators) != 1 or (len(accesses) > 1 and not whole):
        return None
    operator = operators.pop()
    if not whole:
        return Reduction(array, operator, accesses.pop())
    if loop.vector or not _is_small(model.nest.array(array)):
        return None
    return Reduction(array, operator, None)


def is_exact(array: Array) -> bool:
    """Integers wrap, so that every order of a reduction gives the same bits."""
    return known_type(array.ctype).kind == "integer"


def _is_small(array: Array) -> bool:
    extents = [e.const for e in array.shape if e is not None and e.is_constant]
    size = math.prod(extents) * known_type(array.ctype).bits // 8
    return bool(extents) and len(extents) == len(array.shape) and 0 < size <= _MAX_BYTES
