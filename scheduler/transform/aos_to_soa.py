"""AosToSoa: members of an array of structures that a nest only reads are copied to arrays of their own first.

`for i { for j: S(b[i].x, b[j].x) }` becomes `for r: b_x[r] = b[r].x; for i { for j: S(b_x[i], b_x[j]) }`: what
neighbours have lies side by side then, so that loops over them can be vectorized, and caches hold nothing else.
Source: Hundt, Mannarswamy and Chakrabarti, "Practical structure layout optimization and advice" (CGO 2006), structure
peeling; here for as long as the nest runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import islpy as isl

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.mapping import map_nodes
from scheduler.ir.names import free_name
from scheduler.ir.nest import (
    Access,
    Array,
    Assign,
    Constraint,
    Guard,
    Loop,
    LoopNest,
    Node,
    Read,
    Statement,
    Storage,
)
from scheduler.ir.walk import AccessUse, Placed, loops, placed_statements, uses
from scheduler.normalize.scalars import extreme, value_range
from scheduler.polyhedral.existing import exist
from scheduler.polyhedral.model import Model, affine_text, isl_name
from scheduler.transform.common import Tree

_WORD = re.compile(r"[A-Za-z0-9]+")
_ReadAt = tuple[Placed, AccessUse]


@dataclass(frozen=True, slots=True)
class AosToSoa:
    """Copies what the nest only reads of an array of structures, or of short rows, to an array each before it begins.

    It stands before all other steps: it changes the nest that these are for. The arrays are called after the member or
    its place.
    """

    keyword: ClassVar[str] = "columns"
    array: str

    def apply(self, tree: Tree) -> Tree:
        raise NotApplicable("columns stands before all other steps")

    def cut(self, model: Model) -> LoopNest:
        """The nest with a loop in front that copies. Raises NotApplicable, QuotaExceeded."""
        with model.quota():
            return _copied(model, self.array)

    def words(self) -> str:
        return (
            f"Before anything else copy the members of {self.array} that are only read to arrays of their own, so that "
            "those of neighbours lie side by side."
        )


def read_only_columns(nest: LoopNest, name: str) -> dict[int, tuple[_ReadAt, ...]]:
    """Places in the rows of an array that the nest reads, always with affine subscripts, and does not write: the reads.

    Empty where the array has no rows, or the place of some access is no constant.
    """
    array = next((a for a in nest.arrays if a.name == name), None)
    if array is None or len(array.shape) < 2 or array.rows or array.storage is Storage.PRIVATE:
        return {}
    found: dict[int, list[_ReadAt]] = {}
    lost: set[int] = set()
    for placed in placed_statements(nest):
        for use in uses(placed):
            if use.access.array != name:
                continue
            place = use.access.subscripts[-1]
            if not isinstance(place, Affine) or not place.is_constant:
                return {}
            found.setdefault(place.const, []).append((placed, use))
            if use.is_write or not use.access.is_affine:
                lost.add(place.const)
    return {column: tuple(reads) for column, reads in sorted(found.items()) if column not in lost}


def _copied(model: Model, name: str) -> LoopNest:
    nest = model.nest
    columns = read_only_columns(nest, name)
    if not columns:
        raise NotApplicable(f"{name} has no members that are only read, at places that are known")
    array = nest.array(name)
    reads = [read for found in columns.values() for read in found]
    box, runs = _box(nest, reads), _runs(nest, reads)
    if not exist(model, array, _elements(model, array, tuple(columns), box, runs)):
        raise NotApplicable(f"between the rows of {name} may lie some that the program never reads")
    fresh = _Names(nest)
    named = {column: fresh(f"{name}_{_spelling(array, column)}") for column in columns}
    iterators = [fresh(f"{name}_r") for _ in box]
    row = tuple(map(Affine.of, iterators))
    first: Node = Statement(
        fresh(f"{name}_copy"),
        tuple(
            Assign(
                Access(own, tuple(r - low for r, (low, _) in zip(row, box, strict=True))),
                "=",
                Read(Access(name, (*row, Affine.constant(column))), array.ctype),
            )
            for column, own in named.items()
        ),
    )
    for iterator, (low, high) in reversed(list(zip(iterators, box, strict=True))):
        first = Loop(iterator, "long", (low,), (high,), 1, (first,))

    def moved(access: Access) -> Access:
        *rows, column = access.subscripts if access.array == name else (None,)
        if not isinstance(column, Affine) or column.const not in named:
            return access
        assert all(isinstance(r, Affine) for r in rows)
        near = (r - low for r, (low, _) in zip(rows, box, strict=True) if isinstance(r, Affine))
        return Access(named[column.const], tuple(near))

    extents = tuple(high - low for low, high in box)
    made = (Array(own, array.ctype, extents, Storage.PRIVATE, expanded=len(extents)) for own in named.values())
    body = (Guard(runs, (first,)) if all(runs) else first, *map_nodes(nest.body, moved))
    return replace(nest, arrays=(*nest.arrays, *made), body=body)


class _Names:
    """Names that a nest does not use yet."""

    def __init__(self, nest: LoopNest) -> None:
        self.taken = {x.name for x in loops(nest)} | {p.name for p in nest.parameters} | {a.name for a in nest.arrays}
        self.taken |= {p.statement.name for p in placed_statements(nest)}

    def __call__(self, wish: str) -> str:
        made = free_name(wish, self.taken)
        self.taken.add(made)
        return made


def _spelling(array: Array, column: int) -> str:
    """What a column is called: as the member, else its number."""
    member = array.members[column] if column < len(array.members) else ""
    return "_".join(_WORD.findall(member)) or str(column)


def _box(nest: LoopNest, reads: Sequence[_ReadAt]) -> tuple[tuple[Affine, Affine], ...]:
    """For each dimension of the rows the first that is read, and the one behind the last, of parameters alone.

    Raises NotApplicable.
    """
    parameters = frozenset(p.name for p in nest.parameters)
    box: list[tuple[Affine, Affine]] = []
    for dimension in range(len(reads[0][1].access.subscripts) - 1):
        low: Affine | None = None
        high: Affine | None = None
        for placed, use in reads:
            subscript = use.access.subscripts[dimension]
            assert isinstance(subscript, Affine)
            first = extreme(subscript, placed.loops, parameters, lowest=True)
            last = extreme(subscript, placed.loops, parameters, lowest=False)
            if first is None or last is None:
                raise NotApplicable(f"the rows of {use.access.array} that are read depend on data")
            low, high = _farther(low, first, -1), _farther(high, last, 1)
        assert low is not None and high is not None
        box.append((low, high + 1))
    return tuple(box)


def _farther(known: Affine | None, bound: Affine, sign: int) -> Affine:
    """The greater of two bounds, or with sign -1 the smaller. Raises NotApplicable."""
    if known is None:
        return bound
    difference = bound - known
    if not difference.is_constant:
        raise NotApplicable(f"no one knows which of {known} and {bound} is the greater")
    return bound if sign * difference.const > 0 else known


def _runs(nest: LoopNest, reads: Iterable[_ReadAt]) -> tuple[tuple[Constraint, ...], ...]:
    """What has to hold for one of the reads to happen at all: all loops around it have iterations."""
    parameters = frozenset(p.name for p in nest.parameters)
    found: dict[tuple[Constraint, ...], None] = {}
    for placed, _ in reads:
        needed: dict[Constraint, None] = {}
        for depth, loop in enumerate(placed.loops):
            low, high = value_range(loop, placed.loops[:depth], parameters)
            if low is not None and high is not None and not (high - low).is_constant:
                needed.setdefault(Constraint(high - low - 1))
        found.setdefault(tuple(needed))
    return tuple(found)


def _elements(
    model: Model,
    array: Array,
    columns: tuple[int, ...],
    box: tuple[tuple[Affine, Affine], ...],
    runs: tuple[tuple[Constraint, ...], ...],
) -> isl.Set:
    """What is copied."""
    names = [f"d{k}" for k in range(len(box) + 1)]
    conditions = [model.context_text()]
    for name, (low, high) in zip(names, box, strict=False):
        conditions.append(f"{affine_text(low)} <= {name} < {affine_text(high)}")
    conditions.append("(" + " or ".join(f"{names[-1]} = {column}" for column in columns) + ")")
    ways = (" and ".join(map(model.constraint_text, conjunction)) or "0 = 0" for conjunction in runs)
    conditions.append("(" + " or ".join(f"({way})" for way in ways) + ")")
    text = f"{{ {isl_name(array.name)}[{', '.join(names)}] : {' and '.join(conditions)} }}"
    return isl.Set.read_from_str(model.context, model.parameter_prefix() + text)
