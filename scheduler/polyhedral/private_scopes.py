"""Scopes of private arrays made narrower: iterations of an inner loop that fill a scratch array before they read it can
have one each.

`#pragma omp parallel for private(line)` says that threads do not share `line`; that the iterations of loops inside do
not either is what lets them run in another order. An array is private to a loop if every read in an iteration comes
behind a write of the same element in the same iteration. Source: Maydan, Amarasinghe, Lam, "Array data-flow analysis
and its use in array privatization" (POPL 1993).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Array, Constraint, LoopNest, Predicate, Storage
from scheduler.ir.walk import AccessUse
from scheduler.polyhedral.dependences import earlier_text
from scheduler.polyhedral.model import Model, QuotaExceeded

_MOST_ASSUMED, _MOST_AT_LEAST = 2, 4  # conditions on sizes, which are tested when the code runs: few, and mild ones


def narrow_scopes(nest: LoopNest) -> LoopNest:
    """The same nest with each private array, if it is no scalar, private to the innermost loop that it can be.

    Where that holds but for empty loops it is assumed that there are none.
    """
    if not any(_is_scratch(array) for array in nest.arrays):
        return nest
    model = Model(nest)
    for array in filter(_is_scratch, nest.arrays):
        for loop in _inside(model, array):
            try:
                with model.quota():
                    assumed = _private_if(model, array, loop)
            except QuotaExceeded:
                assumed = None
            if assumed is not None:
                arrays = tuple(replace(a, scope=loop) if a.name == array.name else a for a in nest.arrays)
                new = tuple(c for c in assumed if c not in nest.assumptions)
                nest = replace(nest, arrays=arrays, assumptions=(*nest.assumptions, *new))
                break
    return nest


def _is_scratch(array: Array) -> bool:
    return array.storage is Storage.PRIVATE and bool(array.shape) and array.scope is not None and not array.expanded


def _uses(model: Model, array: Array) -> list[tuple[str, AccessUse]]:
    return [(s, use) for s in model.placed for use in model.uses(s) if use.access.array == array.name]


def _inside(model: Model, array: Array) -> Iterator[str]:
    """The loops around all uses of an array that stand inside its scope, innermost first."""
    users = list(dict.fromkeys(statement for statement, _ in _uses(model, array)))
    if not users:
        return
    common = min(model.common_loops(users[0], user) for user in users)
    around = model.iterators(users[0])[:common]
    if array.scope in around:
        yield from reversed(around[around.index(array.scope) + 1 :])


def _private_if(model: Model, array: Array, loop: str) -> tuple[Constraint, ...] | None:
    """Conditions on sizes under which no iteration of the loop reads what another one wrote; None: there are none."""
    uses = _uses(model, array)
    writers = [(s, use) for s, use in uses if use.is_write and _is_certain(model, s, use, loop)]
    unset: isl.Set | None = None
    for reader, use in uses:
        if use.is_write:
            continue
        left = model.domain(reader, "unbounded")
        for writer, written in writers:
            text = earlier_text(model, writer, written.access, reader, use.access)
            if text is None or not all(isinstance(s, Affine) for s in use.access.subscripts):
                continue
            depth = model.iterators(reader).index(loop) + 1
            before = isl.Map.read_from_str(model.context, text)
            for k in range(depth):
                before = before.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
            left = left.subtract(before.range())
        sizes = left.params()
        unset = sizes if unset is None else unset.union(sizes)
    if unset is None or unset.is_empty():
        return ()
    runs = unset
    for statement in dict.fromkeys(statement for statement, _ in uses):
        runs = runs.union(model.domain(statement, "unbounded").params())
    return _conditions(model, unset, runs)


def _is_certain(model: Model, statement: str, use: AccessUse, loop: str) -> bool:
    """Whether the write happens in every iteration that the statement's domain has."""
    ancestors = model.placed[statement].ancestors
    inside = model.placed[statement].loops
    names = [one.name for one in inside]
    known = not any(one.is_opaque for one in inside[names.index(loop) + 1 :])
    return known and use.must and use.access.is_affine and not any(isinstance(a, Predicate) for a in ancestors)


def _conditions(model: Model, unset: isl.Set, runs: isl.Set) -> tuple[Constraint, ...] | None:
    """Lower limits of few sizes with which something `runs` that exclude `unset`; None where there are none."""
    allowed = runs.subtract(unset)
    if allowed.is_empty():
        return None
    pieces = allowed.coalesce().remove_redundancies().gist(runs).coalesce().get_basic_sets()
    if len(pieces) != 1 or not isl.Set.from_basic_set(pieces[0]).intersect(unset).is_empty():
        return None
    found: list[Constraint] = []
    for constraint in pieces[0].get_constraints():
        if constraint.is_div_constraint() or constraint.is_equality():
            return None
        affine = Affine.constant(constraint.get_constant_val().to_python())
        for k, name in enumerate(model.parameter_names()):
            factor = constraint.get_coefficient_val(isl.dim_type.param, k).to_python()
            affine = affine + Affine.of(name, factor)
        if len(affine.terms) != 1 or affine.terms[0][1] != 1 or affine.const < -_MOST_AT_LEAST:
            return None
        found.append(Constraint(affine, ">="))
    return tuple(found) if 0 < len(found) <= _MOST_ASSUMED else None
