"""Packing carried over: which array of the target plays the part of the donor's, and in which order it is copied.

An array is known by which of the matched loops each of its dimensions moves with: the donor's B[k][j], packed in panels
of j, is the target's W[j'][k'] with its dimensions the other way round.
"""

from __future__ import annotations

from perfembed.transfer.loop_assignment import distances
from perfembed.transfer.match import Matching, Pair
from perfembed.transfer.view import Side, View
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access
from scheduler.ir.tree import TreeLoop, tree_loops
from scheduler.transform import Pack

_MIN_AGREEMENT = 0.5
_MAX_PANEL = 64


def pack(
    donor: Side, target: Side, ours: View, theirs: View, matching: Matching, step: Pack, loop: str
) -> tuple[Pack, Pack, Pair] | str:
    """(adapted, with the donor's panel, the arrays' pair) for the target's loop `loop`, or why there is none."""
    first, second = ours.loop(step.loop), theirs.loop(loop)
    if first is None or second is None:
        return f"there is no loop {step.loop}"
    inside = {x.origin for x in tree_loops(second.children)}
    read = _accesses(donor, first, step.array)
    if not read:
        return f"the donor does not read {step.array} there with affine subscripts"
    partners = _origins(ours, theirs, matching, step.loop)
    packed = {mark.array for mark in second.packs}
    best: tuple[float, Access, tuple[int, ...]] | None = None
    for access in _accesses(target, second):
        if access.array in packed or any(m.array == access.array for x in tree_loops((second,)) for m in x.packs):
            continue
        if inside <= {n for s in access.subscripts if isinstance(s, Affine) for n in s.names()}:
            continue  # every element is read once: a copy cannot pay
        near = 1 - float(distances((step.array,), (access.array,), ours.arrays, theirs.arrays)[0, 0])
        for model in read:
            agreement, dims = _same_dimensions(model, access, partners)
            if agreement >= _MIN_AGREEMENT and (best is None or agreement + 0.2 * near > best[0]):
                best = agreement + 0.2 * near, access, dims
    if best is None:
        return f"no array is read, more than once, along the loops that {step.array} is read along"
    _, access, dims = best
    pair = Pair(
        "array",
        step.array,
        access.array,
        float(distances((step.array,), (access.array,), ours.arrays, theirs.arrays)[0, 0]),
    )
    made = _order(step, dims, len(access.subscripts))
    if made is None:
        return f"{access.array} has no dimension for the panels of {step.array}"
    order, panel_dim = made
    literal = Pack(loop, access.array, order, panel_dim, step.panel if panel_dim >= 0 else 0)
    panel = _panel(target, second, access, panel_dim) or literal.panel
    adapted = Pack(loop, access.array, order, panel_dim, panel if panel_dim >= 0 else 0)
    return adapted, literal, pair


def _accesses(side: Side, loop: TreeLoop, array: str | None = None) -> tuple[Access, ...]:
    """The different accesses to arrays (to one, if named) that are only read, and affinely, below a loop."""
    uses = [u for s, _ in loop.rows for u in side.replayer.model.uses(s)]
    barred = {u.access.array for u in uses if u.is_write or not u.access.is_affine}
    found = [u.access for u in uses if u.access.subscripts and u.access.array not in barred]
    return tuple(dict.fromkeys(a for a in found if array is None or a.array == array))


def _origins(ours: View, theirs: View, matching: Matching, loop: str) -> dict[str, str]:
    """Which iterator of the target stands for which of the donor's: as their loops over elements are matched.

    Of the donor's loops around and below `loop` only: where a loop was split, its other parts have the same origin.
    """
    near = {x.name: x.origin for path in ours.paths for x in path.loops if any(y.name == loop for y in path.loops)}
    origin = {x.name: x.origin for x in tree_loops(theirs.tree)}
    return {near[a]: origin[pair.target] for a, pair in matching.loops.items() if a in near}


def _same_dimensions(model: Access, access: Access, partners: dict[str, str]) -> tuple[float, tuple[int, ...]]:
    """(share of the donor's dimensions found again, for each of them the target's dimension or -1)."""
    wanted = [_partners_of(s, partners) for s in model.subscripts]
    given = [s.names() if isinstance(s, Affine) else frozenset[str]() for s in access.subscripts]
    dims: list[int] = []
    hits = 0.0
    for names in wanted:
        free = [(len(names & given[k]), k) for k in range(len(given)) if k not in dims]
        count, k = max(free, key=lambda pair: (pair[0], -pair[1]), default=(0, -1))
        dims.append(k if count else -1)
        hits += count / max(len(names), 1) if names else 0.0
    extra = sum(1 for k in range(len(given)) if k not in dims)
    return hits / max(len(wanted) + extra, 1), tuple(dims)


def _partners_of(subscript: object, partners: dict[str, str]) -> frozenset[str]:
    if not isinstance(subscript, Affine):
        return frozenset()
    return frozenset(partners[n] for n in subscript.names() if n in partners)


def _order(step: Pack, dims: tuple[int, ...], rank: int) -> tuple[tuple[int, ...], int] | None:
    """(order, panel dimension) of the target's array: the donor's through `dims`, further dimensions outermost."""
    kept = [dims[k] for k in step.order if k < len(dims) and dims[k] >= 0]
    order = (*(k for k in range(rank) if k not in kept), *kept)
    if not step.panel:
        return order, -1
    if not 0 <= step.panel_dim < len(dims) or dims[step.panel_dim] < 0:
        return None
    panel = dims[step.panel_dim]
    return (panel, *(k for k in order if k != panel)) if step.order[0] == step.panel_dim else order, panel


def _panel(side: Side, loop: TreeLoop, access: Access, dimension: int) -> int:
    """The register block's size of the loop that the panel's dimension moves with; 0 where there is none."""
    subscript = access.subscripts[dimension] if dimension >= 0 else None
    if not isinstance(subscript, Affine):
        return 0
    inside = {x.name: x for x in tree_loops((loop,))}
    for mark in [x.register for x in inside.values() if x.register]:
        for name, size in zip(mark.loops, mark.sizes, strict=True):
            if name in inside and inside[name].origin in subscript.names() and 2 <= size <= _MAX_PANEL:
                return size
    return 0
