"""The least traffic with memory that a nest can do with, for a cache of a given size.

Compulsory traffic: every element that comes in from outside is read once, every element that is written goes out
once. Tighter bounds, where the nest has their shape: matrix products (Smith, Lowery, Langou and van de Geijn 2019,
A tight I/O lower bound for matrix multiplication, theorem 1) and iterated stencils (Elango et al. 2014, On
characterizing the data movement complexity of computational DAGs for parallel execution, theorem on Jacobi).
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

import islpy as isl

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Assign, Storage
from scheduler.ir.types import known_type
from scheduler.ir.walk import AccessUse
from scheduler.polyhedral.dependences import earlier_text
from scheduler.polyhedral.model import Model, QuotaExceeded, isl_name

_MOST_ROWS = 30_000_000


@dataclass(frozen=True, slots=True)
class IoBound:
    """`bytes` that must move at least. `exact` is False where some accesses depend on data and count for nothing."""

    bytes: float
    kind: OneOf["compulsory", "matrix product", "stencil"]
    exact: bool


def io_lower_bound(model: Model, parameters: Mapping[str, int], cache_bytes: int) -> IoBound:
    """The greatest of the bounds that apply to the nest at these parameter values.

    Raises QuotaExceeded where even the compulsory traffic is too hard to count.
    """
    counting = _Counting(model, parameters)
    with model.quota():
        compulsory, exact = counting.compulsory()
        best = IoBound(compulsory, "compulsory", exact)
    for statement in model.placed:
        for shape in (_product, _stencil):
            with contextlib.suppress(QuotaExceeded), model.quota():  # too hard to count: another bound holds, too
                bound = shape(counting, statement, cache_bytes)
                best = bound if bound is not None and bound.bytes > best.bytes else best
    return best


def statement_instances(model: Model, parameters: Mapping[str, int]) -> dict[str, float]:
    """How often each statement runs at these parameter values; inf where that depends on data.

    Raises QuotaExceeded where the sets are too hard to count.
    """
    counting = _Counting(model, parameters)
    with model.quota():
        return {s: math.inf if counting._opaque(s) else counting.instances(s) for s in model.placed}


class _Counting:
    """Sets of a nest at concrete parameter values."""

    def __init__(self, model: Model, parameters: Mapping[str, int]) -> None:
        self.model = model
        known = {p.name: p.value for p in model.nest.parameters if p.value is not None} | dict(parameters)
        given = " and ".join(f"{isl_name(n)} = {known[n]}" for n in model.parameter_names() if n in known)
        self.values = isl.Set.read_from_str(model.context, f"{model.parameter_prefix()}{{ : {given or '0 = 0'} }}")

    def count(self, found: isl.Set) -> float:
        """How many points; 0 where there is no end of them."""
        points = found.intersect_params(self.values)
        points = points.project_out(isl.dim_type.param, 0, points.dim(isl.dim_type.param))
        if points.is_empty():
            return 0.0
        if not points.is_bounded():
            return 0.0
        size = 1.0
        box = isl.Set.universe(points.get_space())
        ends: list[tuple[int, int]] = []
        for k in range(points.dim(isl.dim_type.set)):
            low, high = points.dim_min_val(k), points.dim_max_val(k)
            ends.append((low.to_python(), high.to_python()))
            size *= ends[-1][1] - ends[-1][0] + 1
            box = box.lower_bound_val(isl.dim_type.set, k, low).upper_bound_val(isl.dim_type.set, k, high)
        if box.is_subset(points):
            return size
        return sum(_count_rows(part, ends) for part in points.make_disjoint().get_basic_sets())

    def instances(self, statement: str) -> float:
        return self.count(self.model.domain(statement, "unbounded"))

    def compulsory(self) -> tuple[float, bool]:
        """(bytes that come in or go out at least, whether that is all of them)."""
        total, exact = 0.0, True
        for array in self.model.nest.arrays:
            if array.storage is Storage.PRIVATE or array.is_scalar:
                continue
            come: isl.Set | None = None
            go: isl.Set | None = None
            for statement in self.model.placed:
                for use in self.model.uses(statement):
                    if use.access.array != array.name:
                        continue
                    if not (use.must and use.access.is_affine) or self._opaque(statement):
                        exact = False
                        continue
                    if use.is_write:
                        touched = self.model.access_relation(statement, use).range()
                        go = touched if go is None else go.union(touched)
                    else:
                        touched = self._from_outside(statement, use)
                        come = touched if come is None else come.union(touched)
            elements = sum(self.count(s) for s in (come, go) if s is not None)
            total += elements * known_type(array.ctype).bits / 8
        return total, exact

    def _opaque(self, statement: str) -> bool:
        return any(loop.is_opaque for loop in self.model.placed[statement].loops)

    def _from_outside(self, statement: str, use: AccessUse) -> isl.Set:
        """The elements that are read before anything of the nest writes them."""
        model = self.model
        reading = model.domain(statement, "unbounded")
        for other in model.placed:
            for write in model.uses(other):
                if write.access.array == use.access.array and write.is_write:
                    text = earlier_text(model, other, write.access, statement, use.access)
                    if text is not None:
                        reading = reading.subtract(isl.Map.read_from_str(model.context, text).range())
        return model.access_relation(statement, use).intersect_domain(reading).range()


def _product(counting: _Counting, statement: str, cache_bytes: int) -> IoBound | None:
    """`C[i][j] += A[i][k] * B[k][j]`: three operands, each loop in exactly two of them."""
    model = counting.model
    iterators = frozenset(model.iterators(statement))
    accesses = {use.access for use in model.uses(statement) if not model.nest.array(use.access.array).is_scalar}
    if len(accesses) != 3 or counting._opaque(statement) or not all(a.is_affine for a in accesses):
        return None
    spans = [
        frozenset(n for s in a.subscripts if isinstance(s, Affine) for n in s.names()) & iterators for a in accesses
    ]
    times = Counter(name for span in spans for name in span)
    if set(times) != iterators or any(count != 2 for count in times.values()) or len(set(spans)) != 3:
        return None
    element = max(known_type(model.nest.array(a.array).ctype).bits // 8 for a in accesses)
    room = cache_bytes / element
    elements = 2 * counting.instances(statement) / math.sqrt(room) - 2 * room
    return IoBound(elements * element, "matrix product", True) if elements > 0 else None


def _stencil(counting: _Counting, statement: str, cache_bytes: int) -> IoBound | None:
    """An outermost loop that no subscript mentions, around a sweep that reads neighbours of what it writes."""
    model = counting.model
    iterators = model.iterators(statement)
    body = model.placed[statement].statement.body
    if len(iterators) < 2 or len(body) != 1 or not isinstance(body[0], Assign) or counting._opaque(statement):
        return None
    uses = model.uses(statement)
    accesses = [use.access for use in uses if not model.nest.array(use.access.array).is_scalar]
    rows = [s for access in accesses for s in access.subscripts]
    if not all(isinstance(s, Affine) and iterators[0] not in s.names() for s in rows):
        return None
    space = frozenset(iterators[1:])
    target = body[0].target.subscripts
    if frozenset(n for s in target if isinstance(s, Affine) for n in s.names()) & frozenset(iterators) != space:
        return None
    reads = [use.access for use in uses if not use.is_write and use.access.subscripts]
    offsets = [
        tuple(
            a - b for a, b in zip(r.subscripts, target, strict=True) if isinstance(a, Affine) and isinstance(b, Affine)
        )
        for r in reads
        if len(r.subscripts) == len(target)
    ]
    near = {tuple(d.const for d in o) for o in offsets if all(d.is_constant for d in o) and len(o) == len(target)}
    # The theorem is about stencils that reach to both sides in every dimension.
    sides = all({-1, 1} <= {math.copysign(1, o[k]) for o in near if o[k]} for k in range(len(target)))
    if not sides or len(target) != len(space):
        return None
    element = known_type(model.nest.array(body[0].target.array).ctype).bits // 8
    room, dimensions = cache_bytes / element, len(space)
    elements = counting.instances(statement) / (4 * (2 * room) ** (1 / dimensions))
    return IoBound(elements * element, "stencil", True)


__all__ = ["IoBound", "QuotaExceeded", "io_lower_bound"]


def _count_rows(part: isl.BasicSet, ends: Sequence[tuple[int, int]]) -> float:
    """Points of a set inside a box: for each value of all dimensions but the last, how long the row is.

    Raises QuotaExceeded where there are too many rows.
    """
    import numpy as np  # here, not above: the command line must start fast

    rows = math.prod(high - low + 1 for low, high in ends[:-1])
    if part.dim(isl.dim_type.div) or rows > _MOST_ROWS:
        found = part.to_set().count_val().to_str()
        if found is None:
            raise QuotaExceeded("the points are too many to count")
        return float(found)
    axes = [np.arange(low, high + 1, dtype=np.int64) for low, high in ends[:-1]]
    grid = np.meshgrid(*axes, indexing="ij", sparse=True)
    shape = tuple(len(axis) for axis in axes)
    low = np.full(shape, ends[-1][0], dtype=np.int64)
    high = np.full(shape, ends[-1][1], dtype=np.int64)
    inside = np.ones(shape, dtype=bool)
    for constraint in part.get_constraints():
        *outer, last = (constraint.get_coefficient_val(isl.dim_type.set, k).to_python() for k in range(len(ends)))
        rest = constraint.get_constant_val().to_python() + sum(c * x for c, x in zip(outer, grid, strict=True) if c)
        for sign in (1, -1) if constraint.is_equality() else (1,):  # sign * (rest + last * x) >= 0
            if last * sign > 0:
                low = np.maximum(low, -(sign * rest // (last * sign)))
            elif last:
                high = np.minimum(high, sign * rest // (-last * sign))
            else:
                inside &= sign * rest >= 0
    return float(np.where(inside, np.maximum(high - low + 1, 0), 0).sum())
