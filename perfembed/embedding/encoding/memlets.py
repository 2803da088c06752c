"""The references of a statement: which elements they touch, and how they move with the loops around."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from perfembed.embedding.encoding.operations import reductions
from perfembed.embedding.encoding.rows import PlacedLeaf
from scheduler.cost.ranges import interval, linear_part
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Array, Predicate, Subscript
from scheduler.ir.types import scalar_type
from scheduler.ir.walk import Placed, action_uses, expression_names, reads, subscript_reads

_FAR = 1 << 20  # elements: an extent nobody knows


@dataclass(frozen=True, slots=True)
class Layout:
    """An array in memory; dimensions that expansion of private arrays added are left out.

    `extents`: None where unknown. `strides`: elements between neighbours of each dimension. `size`: elements.
    """

    expanded: int
    element_bytes: int
    extents: tuple[float | None, ...]
    strides: tuple[float, ...]
    size: float


@dataclass(frozen=True, slots=True)
class Memlet:
    """One distinct reference. Per loop around, outermost first: `strides` (elements an iteration moves it by) and
    `opaque_in` (an opaque subscript mentions what the loop moves). `dimensions`: (first, last, step) of each subscript,
    None where it depends on data. `inside`: the references in its subscripts.
    """

    access: Access
    is_write: bool
    may: bool
    times: int
    strides: tuple[float, ...]
    opaque_in: tuple[bool, ...]
    dimensions: tuple[tuple[float, float, float] | None, ...]
    volume: float
    first_element: float
    offset: float  # elements behind the first of the references that differ from it in constants only
    reduction: str | None
    inside: tuple[Access, ...]

    def features(self) -> dict[str, float]:
        """Raw values of the memlet columns of `schema`."""
        known = [d for d in self.dimensions if d is not None]
        inner = self.strides[-1] if self.strides else 0.0
        opaque = bool(self.opaque_in) and self.opaque_in[-1]
        still = sum(s == 0 and not o for s, o in zip(self.strides, self.opaque_in, strict=True))
        found: dict[str, float] = {
            "write": self.is_write,
            "may": self.may,
            "dynamic": len(known) < len(self.dimensions),
            "indirection": bool(self.inside),
            "innermost_unit": abs(inner) == 1 and not opaque,
            "innermost_still": inner == 0 and not opaque,
            "dimensions": len(self.dimensions),
            "times": self.times,
            "loops_still": still,
            "level": len(self.strides),
            "volume": self.volume,
            "innermost_stride": inner,
            "offset": self.offset,
        }
        if self.reduction is not None:
            found[f"reduction_{self.reduction}"] = 1.0
        if known:
            largest = max(known, key=lambda d: (d[1] - d[0], d))
            ends = {"first": self.dimensions[0], "last": self.dimensions[-1], "largest": largest}
            for which, row in ends.items():
                for what, value in zip(("start", "stop", "step"), row or (0.0, 0.0, 0.0), strict=True):
                    found[f"{which}_{what}"] = value
        return found


def layout_of(array: Array, values: Mapping[str, int]) -> Layout:
    """`values` has every parameter."""
    known = scalar_type(array.ctype)
    shape = array.shape[array.expanded :]
    extents = tuple(None if e is None else float(max(1, e.evaluate(values))) for e in shape)
    strides = [1.0] * len(extents)
    for k in range(len(extents) - 2, -1, -1):
        strides[k] = strides[k + 1] * (extents[k + 1] or _FAR)
    size = math.prod(_FAR if e is None else e for e in extents)
    return Layout(array.expanded, max(1, known.bits // 8) if known else 8, extents, tuple(strides), float(size))


def memlets_of(
    placed: Placed,
    leaf: PlacedLeaf,
    layouts: Mapping[str, Layout],
    ranges: Mapping[str, tuple[int, int]],
    trips: Mapping[str, int],
) -> tuple[Memlet, ...]:
    """The distinct references of a statement and of the conditions around it; reads inside subscripts come first."""
    conditions = [u for a in placed.ancestors if isinstance(a, Predicate) for u in reads(a.condition)]
    found: dict[tuple[Access, bool], list[int]] = {}  # [times, times it surely happens]
    for use in (*conditions, *action_uses(placed.statement.body, not conditions)):
        entry = found.setdefault((_stripped(use.access, layouts), use.is_write), [0, 0])
        entry[0] += 1
        entry[1] += use.must
    updated = {_stripped(a, layouts): kind for a, kind in reductions(placed.statement.body).items()}
    rows = {access: _rows(access, layouts[access.array]) for access, _ in found}
    lowest: dict[tuple[str, tuple[tuple[str, float], ...]], float] = {}
    for access, (linear, constant) in rows.items():
        key = (access.array, tuple(sorted(linear.items())))
        lowest[key] = min(lowest.get(key, math.inf), constant)
    memlets = []
    for (access, is_write), (times, sure) in found.items():
        linear, constant = rows[access]
        opaque_names: frozenset[str] = frozenset()
        for subscript in access.subscripts:
            if not isinstance(subscript, Affine):
                opaque_names |= expression_names(subscript)
        dimensions = tuple(_dimension(s, ranges, placed) for s in access.subscripts)
        instances = math.prod(float(max(trips[loop.name], 1)) for loop in placed.loops)
        layout = layouts[access.array]
        sizes = ((d[1] - d[0]) // max(d[2], 1.0) + 1 if d is not None else float(_FAR) for d in dimensions)
        first = sum(d[0] * s for d, s in zip(dimensions, layout.strides, strict=True) if d is not None)
        memlets.append(
            Memlet(
                access,
                is_write,
                sure == 0,
                times,
                tuple(sum(linear.get(n, 0.0) * step for n, step in moves.items()) for moves in leaf.moves),
                tuple(bool(opaque_names & moves.keys()) for moves in leaf.moves),
                dimensions,
                min(math.prod(sizes), instances, layout.size if None not in layout.extents else math.inf),
                first,
                constant - lowest[access.array, tuple(sorted(linear.items()))],
                updated.get(access),
                tuple(_stripped(use.access, layouts) for use in subscript_reads(access)),
            )
        )
    return tuple(memlets)


def _stripped(access: Access, layouts: Mapping[str, Layout]) -> Access:
    """Without the subscripts that expansion added."""
    expanded = layouts[access.array].expanded
    return Access(access.array, access.subscripts[expanded:]) if expanded else access


def _rows(access: Access, layout: Layout) -> tuple[dict[str, float], float]:
    """(elements each iterator or parameter moves it by, constant); opaque subscripts count as 0."""
    linear: dict[str, float] = {}
    constant = 0.0
    for subscript, stride in zip(access.subscripts, layout.strides, strict=True):
        if isinstance(subscript, Affine):
            constant += stride * subscript.const
            for name, coefficient in linear_part(subscript, stride).items():
                linear[name] = linear.get(name, 0.0) + coefficient
    return {name: c for name, c in linear.items() if c}, constant


def _dimension(
    subscript: Subscript, ranges: Mapping[str, tuple[int, int]], placed: Placed
) -> tuple[float, float, float] | None:
    if not isinstance(subscript, Affine):
        return None
    low, high = interval(subscript, ranges)
    steps = {loop.name: abs(loop.step) for loop in placed.loops}
    moves = [abs(c) * steps[n] for n, c in linear_part(subscript).items() if n in steps and c]
    return float(low), float(high), min(moves, default=0.0)
