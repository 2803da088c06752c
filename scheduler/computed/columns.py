"""Arrays of structures whose members are read again and again: copied apart first, then vectorized.

Neighbours along a loop then lie side by side, which is what vectors are made of. The copies are worth it where the nest
reads what it copies many times.
Source: structure peeling (Hundt, Mannarswamy and Chakrabarti, CGO 2006); the orders are those of `lanes` and of the
normal form.
"""

from __future__ import annotations

import math

from scheduler.computed.lanes import lanes
from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.moves.space import Space
from scheduler.schedule import Schedule
from scheduler.transform import Columns
from scheduler.transform.columns import read_only_columns

_AGAIN = 16  # times that what is copied is read, at least


def columns(space: Space) -> tuple[Schedule, ...]:
    """All arrays copied apart where that pays, then lanes, else the nest as written and its normal form; legal ones.

    Raises QuotaExceeded.
    """
    first: Schedule = ()
    for array in space.replayer.nest.arrays:
        step = (*first, Columns(array.name))
        if _is_read_again(space, array.name) and _applies(space, step):
            first = step
    if not first:
        return ()
    inside = space.of(first)
    made = lanes(inside) or _in_order(inside)
    return tuple((*first, *schedule) for schedule in dict.fromkeys(made) if inside.legal(schedule))


def _is_read_again(space: Space, array: str) -> bool:
    """Whether the nest reads the members that it only reads often enough; rows count as often as loops go over them."""
    found = read_only_columns(space.replayer.nest, array)
    reads = copied = 0.0
    for column in found.values():
        rows = 0.0
        for placed, use in column:
            reads += space.instances(placed.statement.name)
            names = {name for s in use.access.subscripts if isinstance(s, Affine) for name in s.names()}
            rows = max(rows, math.prod(max(space.extents.get(name, 1), 1) for name in names))
        copied += rows
    return reads >= _AGAIN * copied > 0


def _applies(space: Space, schedule: Schedule) -> bool:
    try:
        return space.legal(schedule)
    except NotApplicable:
        return False


def _in_order(inside: Space) -> tuple[Schedule, ...]:
    """As written and in normal form, parallel and vectorized."""
    orders = dict.fromkeys(((), inside.normalized_structures()[0]))
    return tuple(inside.vectorized(inside.parallelized(order)) for order in orders)
