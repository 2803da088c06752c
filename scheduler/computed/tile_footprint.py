"""What one tile of a permutable band touches, from the rows of its loops and the accesses inside.

A tile is a box in the band's rows: skewed by f against time, T steps of S iterations cover S + f (T - 1) of an array's
elements, halo and delays of fused statements besides. Boxes are upper bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.types import known_type
from scheduler.moves.space import Chain, Space

Interval = tuple[int, int]
_LINE_BYTES = 64


def tile_bytes(space: Space, band: Chain, sizes: tuple[int, ...]) -> int:
    """Bytes of the lines that one tile of the band touches; what subscripts of data touch counts as one element."""
    return sum(array_bytes(space, band, sizes, tuple(dict(band[0].rows))).values())


def array_bytes(space: Space, band: Chain, sizes: tuple[int, ...], statements: tuple[str, ...]) -> dict[str, int]:
    """`tile_bytes` of each array that the statements touch; without a band, in all their iterations."""
    model, nest = space.replayer.model, space.replayer.nest
    boxes: dict[str, list[Interval]] = {}
    for statement in statements:
        known = _iterators(space, band, sizes, statement)
        for use in model.uses(statement):
            box = [_interval(s, known) if isinstance(s, Affine) else (0, 0) for s in use.access.subscripts]
            old = boxes.get(use.access.array, box)
            boxes[use.access.array] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(old, box, strict=True)]
    found = {}
    for name, box in boxes.items():
        array = nest.array(name)
        widths = [high - low + 1 for low, high in box]
        widths = [min(w, most or w) for w, most in zip(widths, space.shape(array), strict=True)]
        run = math.prod(widths[-1:]) * known_type(array.ctype).bits // 8
        found[name] = math.prod(widths[:-1]) * -(-run // _LINE_BYTES) * _LINE_BYTES
    return found


def _iterators(space: Space, band: Chain, sizes: tuple[int, ...], statement: str) -> Mapping[str, Interval]:
    """The values of a statement's iterators in the tile at the origin; those of no loop of the band take all theirs."""
    iterators = space.replayer.model.iterators(statement)
    whole = {name: (0, max(space.extents.get(name, 1), 1) - 1) for name in iterators}
    known: dict[str, Interval] = {}
    for loop, size in zip(band, sizes, strict=True):
        row = loop.row(statement)
        new = [name for name in iterators if name not in known and row.coefficient(name)]
        if not new:
            continue
        own = loop.origin if loop.origin in new else new[-1]
        factor = row.coefficient(own)
        low, high = _interval(row - Affine.of(own) * factor, {**whole, **known})
        ends = ((0 - high) / factor, (size - 1 - low) / factor)
        known[own] = (round(min(ends)), round(max(ends)))
    return {**whole, **known}


def _interval(expression: Affine, known: Mapping[str, Interval]) -> Interval:
    """The values an expression takes; names that are no iterators count as 0: they move boxes without widening them."""
    low = high = expression.const
    for atom, factor in expression.terms:
        if isinstance(atom, FloorDiv):
            first, last = (end // atom.denominator for end in _interval(atom.numerator, known))
        else:
            first, last = known.get(atom, (0, 0))
        ends = sorted((factor * first, factor * last))
        low, high = low + ends[0], high + ends[1]
    return low, high
