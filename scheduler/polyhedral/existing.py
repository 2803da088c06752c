"""Elements of an array that exist for certain: a program may leave out what it never reads."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Array, Predicate, Storage
from scheduler.ir.walk import AccessUse
from scheduler.polyhedral.model import Model, affine_text


def certain_uses(statement: str, array: Array, model: Model) -> Iterator[AccessUse]:
    """Those that happen at every instance of the statement, if all its instances run."""
    placed = model.placed[statement]
    if any(isinstance(a, Predicate) for a in placed.ancestors) or any(loop.is_opaque for loop in placed.loops):
        return
    for use in model.uses(statement):
        if use.access.array == array.name and use.must and use.access.is_affine:
            yield use


def declared_text(array: Array, tuple_name: str) -> str:
    """isl text of the subscripts inside the array's extents, as far as they are known."""
    names = [f"d{k}" for k in range(len(array.shape))]
    conditions = [f"{name} >= 0" for name, extent in zip(names, array.shape, strict=True) if extent is not None]
    for name, extent in zip(names, array.shape, strict=True):
        if isinstance(extent, Affine):
            conditions.append(f"{name} < {affine_text(extent)}")
    return f"{{ {tuple_name}[{', '.join(names)}] : {' and '.join(conditions) or '0 = 0'} }}"


def is_whole(array: Array) -> bool:
    """Whether all elements inside its extents exist: it is declared in full."""
    return array.storage in (Storage.GLOBAL, Storage.LOCAL) and not array.flat and None not in array.shape


def lies_between(around: isl.Set, accessed: isl.Set | None) -> bool:
    """Whether every element lies in memory between two elements of `accessed`, or what the pointer points to."""
    if accessed is None or not around.params().is_subset(accessed.params()):
        return False
    zeros = ", ".join("0" for _ in range(around.dim(isl.dim_type.set)))
    name = around.get_tuple_name() if around.has_tuple_name() else ""
    origin = isl.Set.read_from_str(around.get_ctx(), f"{{ {name}[{zeros}] }}").intersect_params(accessed.params())
    first, last = accessed.union(origin.align_params(accessed.get_space())).lexmin(), accessed.lexmax()
    return bool(around.lexmin().lex_lt_set(first).is_empty()) and bool(around.lexmax().lex_gt_set(last).is_empty())


def exist(model: Model, array: Array, around: isl.Set) -> bool:
    """Whether all of a set of elements lie in an array of a nest, as it runs as a whole."""
    if array.rows:
        return False  # nothing is known of what lies between elements
    declared = declared_text(array, around.get_tuple_name())
    if not around.is_subset(isl.Set.read_from_str(model.context, model.parameter_prefix() + declared)):
        return False
    return is_whole(array) or lies_between(around, _accessed(model, array))


def _accessed(model: Model, array: Array) -> isl.Set | None:
    total: isl.Set | None = None
    for statement in model.placed:
        for use in certain_uses(statement, array, model):
            part = model.access_relation(statement, use).range()
            total = part if total is None else total.union(part)
    return total
