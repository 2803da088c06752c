"""Whether a block of an array that is to be copied exists: a program may leave out what it does not read."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from scheduler.codegen.places import Place
from scheduler.codegen.polytree import PolyTree
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Array, Predicate, Storage
from scheduler.ir.tree import PackMark, statements_below
from scheduler.ir.walk import AccessUse
from scheduler.polyhedral.model import Model, affine_text


def elements_exist(
    array: Array,
    mark: PackMark,
    place: Place,
    poly: PolyTree,
    accesses: frozenset[Access],
    touched: isl.Set,
    times: isl.Set,
) -> bool:
    """Whether what is copied lies in the array. `touched`: what `accesses` read in one iteration.

    `times`: what is known of the times of the loops around.

    The elements of an array that is declared in full exist; of what a pointer points to, those from the one it points
    to, or the first, to the last that the nest accesses for certain: not below data-dependent conditions or in loops
    that may run no iteration.
    """
    certain = None
    for statement in statements_below(place.loop):
        for use in certain_uses(statement, array, poly.model):
            if use.access in accesses:
                part = poly.touched(statement, use, place.path)
                certain = part if certain is None else certain.union(part)
    around = copied_box(touched.intersect_params(times), mark).intersect_params(times)
    if certain is not None and around.is_subset(certain):
        return True
    if array.rows:
        return False  # nothing is known of what lies between elements
    if not around.is_subset(_declared(array, poly, around)):
        return False
    whole = array.storage in (Storage.GLOBAL, Storage.LOCAL) and not array.flat and None not in array.shape
    return whole or _between(around, _accessed(array, poly))


def certain_uses(statement: str, array: Array, model: Model) -> Iterator[AccessUse]:
    """Those that happen at every instance of the statement, if all its instances run."""
    placed = model.placed[statement]
    if any(isinstance(a, Predicate) for a in placed.ancestors) or any(loop.is_opaque for loop in placed.loops):
        return
    for use in model.uses(statement):
        if use.access.array == array.name and use.must and use.access.is_affine:
            yield use


def _accessed(array: Array, poly: PolyTree) -> isl.Set | None:
    """All elements that the nest accesses for certain."""
    total: isl.Set | None = None
    for statement in poly.model.placed:
        for use in certain_uses(statement, array, poly.model):
            part = poly.touched(statement, use, ())
            total = part if total is None else total.union(part)
    return total


def _between(around: isl.Set, accessed: isl.Set | None) -> bool:
    """Whether every element lies in memory between two elements of `accessed`, or what the pointer points to."""
    if accessed is None or not around.params().is_subset(accessed.params()):
        return False
    zeros = ", ".join("0" for _ in range(around.dim(isl.dim_type.set)))
    name = around.get_tuple_name() if around.has_tuple_name() else ""
    origin = isl.Set.read_from_str(around.get_ctx(), f"{{ {name}[{zeros}] }}").intersect_params(accessed.params())
    first, last = accessed.union(origin.align_params(accessed.get_space())).lexmin(), accessed.lexmax()
    return bool(around.lexmin().lex_lt_set(first).is_empty()) and bool(around.lexmax().lex_gt_set(last).is_empty())


def copied_box(touched: isl.Set, mark: PackMark) -> isl.Set:
    """The smallest box around a set, for each value of its parameters; from where a panel begins."""
    rank = touched.dim(isl.dim_type.set)
    around: isl.Set | None = None
    for d in range(rank):
        values = touched.project_out(isl.dim_type.set, d + 1, rank - d - 1).project_out(isl.dim_type.set, 0, d)
        up = isl.Map.read_from_str(touched.get_ctx(), "{ [x] -> [y] : y >= x }")
        down, start = up.reverse(), up
        if mark.panel and d == mark.panel_dim:
            text = f"{{ [x] -> [y] : y >= {mark.panel}*floor(x/{mark.panel}) }}"
            start = isl.Map.read_from_str(touched.get_ctx(), text)
        between = values.apply(start).intersect(values.apply(down))
        part = between.insert_dims(isl.dim_type.set, 0, d).insert_dims(isl.dim_type.set, d + 1, rank - d - 1)
        part = part.set_tuple_name(touched.get_tuple_name()) if touched.has_tuple_name() else part
        around = part if around is None else around.intersect(part)
    assert around is not None
    return around


def _declared(array: Array, poly: PolyTree, around: isl.Set) -> isl.Set:
    """Subscripts inside the array's extents, as far as they are known."""
    names = [f"d{k}" for k in range(len(array.shape))]
    conditions = [f"{name} >= 0" for name, extent in zip(names, array.shape, strict=True) if extent is not None]
    for name, extent in zip(names, array.shape, strict=True):
        if isinstance(extent, Affine):
            conditions.append(f"{name} < {affine_text(extent)}")
    tuple_name = around.get_tuple_name() if around.has_tuple_name() else ""
    return poly.read_set(f"{{ {tuple_name}[{', '.join(names)}] : {' and '.join(conditions) or '0 = 0'} }}")
