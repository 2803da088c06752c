"""Whether a block of an array that is to be copied exists: a program may leave out what it does not read."""

from __future__ import annotations

import islpy as isl

from scheduler.codegen.tree.places import Place
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.ir.nest import Access, Array
from scheduler.ir.tree import PackMark, statements_below
from scheduler.polyhedral.existing import certain_uses, declared_text, is_whole, lies_between


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
    tuple_name = around.get_tuple_name() if around.has_tuple_name() else ""
    if not around.is_subset(poly.read_set(declared_text(array, tuple_name))):
        return False
    return is_whole(array) or lies_between(around, _accessed(array, poly))


def _accessed(array: Array, poly: PolyTree) -> isl.Set | None:
    """All elements that the nest accesses for certain."""
    total: isl.Set | None = None
    for statement in poly.model.placed:
        for use in certain_uses(statement, array, poly.model):
            part = poly.touched(statement, use, ())
            total = part if total is None else total.union(part)
    return total


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
