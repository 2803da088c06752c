"""Fusion of any two nests that stand side by side, at every level, shifted or reversed where dependences ask for it.

Nests that are apart are first brought together, past those between them. A shift is the least that keeps what the
second nest needs of the first in order, solved for level by level.
Source: the shifts are those of Megiddo and Sarkar 1997 and of Pluto (Bondhugula et al. 2008); that every pair and
level is a candidate is LOOPer's (Merouani et al. 2024, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import islpy as isl

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeLoop, TreeNode, statements_below
from scheduler.moves.space import Space
from scheduler.polyhedral.model import QuotaExceeded, affine_text, isl_name
from scheduler.schedule import Schedule
from scheduler.transform import Fuse, Reverse, Shift
from scheduler.transform.common import the_loop
from scheduler.transform.reschedule import time_maps

_MAX_SHIFT = 16  # iterations, where it is a number
_SMALL = 0.01  # of the nest's work: what is less is not worth a candidate

_Place = tuple[tuple[int, ...], int, int]  # the positions of the loops around, those of two of the innermost's children


def fusions(space: Space, schedule: Schedule) -> Iterator[Schedule]:
    """Legal fusions of two nests that share an array: those with most work first, of each pair the deepest first."""
    tree = space.replayer.tree(schedule)
    pairs = [(around, a, b) for around, nodes in _siblings(tree, ()) for a, b in _pairs(nodes)]
    work = {pair: _work(space, tree, pair) for pair in pairs}
    total = sum(map(space.instances, space.replayer.model.placed))
    for pair in sorted(pairs, key=lambda pair: -work[pair]):
        if work[pair] >= _SMALL * total and _shares(space, tree, pair):
            for base, around, at in _together(space, schedule, pair):
                yield from _fused_at_all_depths(space, base, around, at)


def fused(space: Space, schedule: Schedule, first: str, second: str, depth: int) -> Schedule | None:
    """The schedule with loop `second` fused into loop `first` before it, and so on for `depth` levels of their chains.

    None where no shift makes that legal.
    """
    for reversal in ((), (Reverse(second),)):
        try:
            found = _fused((*schedule, *reversal), space, first, second, depth)
        except (NotApplicable, QuotaExceeded):
            continue
        if found is not None and space.legal(found):
            return found
    return None


def _fused(schedule: Schedule, space: Space, first: str, second: str, depth: int) -> Schedule | None:
    """With the least shifts, legal or not; None where no shift is finite. Raises NotApplicable, QuotaExceeded."""
    for level in range(depth):
        tree = space.replayer.tree(schedule)
        a, b = (the_loop(tree, name) for name in (first, second))
        amount = _least_shift(space, tree, a, b)
        if amount is None:
            return None
        if amount != Affine():
            schedule = (*schedule, *(Shift(second, s, amount) for s in statements_below(b)))
        schedule = (*schedule, Fuse(first, second))
        if level + 1 < depth:
            inner = _only(a), _only(b)
            if inner[0] is None or inner[1] is None:
                return None
            first, second = inner[0].name, inner[1].name
    return schedule


def _least_shift(space: Space, tree: tuple[TreeNode, ...], first: TreeLoop, second: TreeLoop) -> Affine | None:
    """How much later the second loop must run, so that no dependence on the first one decreases; None: no finite one.

    Raises QuotaExceeded.
    """
    model, checker = space.replayer.model, space.replayer.checker
    before, after = set(statements_below(first)), set(statements_below(second))
    least, parametric = 0, set[Affine]()
    with model.quota():
        for _, dependence, left in checker.unsatisfied(tree, None, before | after):
            source, sink = dependence.source, dependence.sink
            if source not in before or sink not in after or checker.relaxed(dependence):
                continue
            own, other = (frozenset(model.iterators(name)) for name in (source, sink))
            difference = f"({affine_text(second.row(sink), '_t', other)}) - ({affine_text(first.row(source), '', own)})"
            pair = f"{model.tuple_text(source)} -> {model.tuple_text(sink, '_t')}"
            along = isl.Map.read_from_str(model.context, f"{model.parameter_prefix()}{{ [{pair}] -> [{difference}] }}")
            distances = left.wrap().apply(along)
            value = distances.dim_min_val(0)
            if value.is_int():
                least = max(least, -value.to_python())
                continue
            bound = _parametric(space, distances)
            if bound is None:
                return None
            parametric.add(-bound)
    if not parametric:
        return Affine.constant(least) if least <= _MAX_SHIFT else None
    return parametric.pop() if len(parametric) == 1 else None


def _parametric(space: Space, distances: isl.Set) -> Affine | None:
    """The least distance as an expression of the sizes, where it is one."""
    if not distances.dim_has_lower_bound(isl.dim_type.set, 0):
        return None
    pieces: list[isl.Aff] = []
    distances.dim_min(0).foreach_piece(lambda _, aff: pieces.append(aff))
    if len(pieces) != 1 or pieces[0].dim(isl.dim_type.div):
        return None
    (aff,) = pieces
    names = {isl_name(p.name): p.name for p in space.replayer.nest.parameters}
    found = Affine.constant(_whole(aff.get_constant_val()))
    for k in range(aff.dim(isl.dim_type.param)):
        name = str(aff.get_dim_name(isl.dim_type.param, k))
        factor = _whole(aff.get_coefficient_val(isl.dim_type.param, k))
        if factor and name not in names:
            return None
        found = found + (Affine.of(names[name], factor) if factor else 0)
    return found


def _whole(value: isl.Val) -> int:
    return int(value.to_python()) if value.is_int() else 0


# ------------------------------------------------------------------------------------------- pairs


def _siblings(nodes: Sequence[TreeNode], around: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], list[TreeNode]]]:
    """The children of the nest and of every loop, with the positions that lead there."""
    yield around, list(nodes)
    for position, node in enumerate(nodes):
        if isinstance(node, TreeLoop):
            yield from _siblings(node.children, (*around, position))


def _pairs(nodes: Sequence[TreeNode]) -> Iterator[tuple[int, int]]:
    usable = [k for k, node in enumerate(nodes) if isinstance(node, TreeLoop) and not _marked(node)]
    yield from ((a, b) for a in usable for b in usable if a < b)


def _together(space: Space, schedule: Schedule, pair: _Place) -> Iterator[tuple[Schedule, tuple[int, ...], int]]:
    """The schedule with the two nests side by side: the positions around, and that of the first of them."""
    around, a, b = pair
    if b == a + 1:
        yield schedule, around, a
        return
    try:
        maps = time_maps(space.replayer.tree(schedule))
    except NotApplicable:  # tiled or marked
        return
    level = len(around)
    for place in (a + 1, b - 1):  # the second comes forward, or the first goes back

        def moved(position: int, place: int = place) -> int:
            if place == a + 1:
                return a + 1 if position == b else position + (a < position < b)
            return b - 1 if position == a else position - (a < position < b)

        steps = tuple(
            replace(one, positions=(*one.positions[:level], moved(one.positions[level]), *one.positions[level + 1 :]))
            if one.positions[:level] == around
            else one
            for one in maps.maps
        )
        together: Schedule = (replace(maps, maps=steps),)
        if space.legal(together):
            yield together, around, a if place == a + 1 else b - 1
            return


def _fused_at_all_depths(space: Space, schedule: Schedule, around: tuple[int, ...], at: int) -> Iterator[Schedule]:
    first, second = _at(space.replayer.tree(schedule), (around, at, at + 1))
    assert isinstance(first, TreeLoop) and isinstance(second, TreeLoop)
    for depth in range(min(_depth(first), _depth(second)), 0, -1):
        found = fused(space, schedule, first.name, second.name, depth)
        if found is not None:
            yield found


def _depth(loop: TreeLoop) -> int:
    """Loops of the perfect chain that begins here."""
    inner = _only(loop)
    return 1 if inner is None else 1 + _depth(inner)


def _only(loop: TreeLoop) -> TreeLoop | None:
    (*others, last) = loop.children
    return last if not others and isinstance(last, TreeLoop) and not _marked(last) else None


def _marked(loop: TreeLoop) -> bool:
    return loop.opaque or bool(loop.tile or loop.packs or loop.register)


def _at(tree: Sequence[TreeNode], pair: _Place) -> tuple[TreeNode, TreeNode]:
    around, a, b = pair
    for position in around:
        node = tree[position]
        assert isinstance(node, TreeLoop)
        tree = node.children
    return tree[a], tree[b]


def _work(space: Space, tree: Sequence[TreeNode], pair: _Place) -> float:
    """Instances of the smaller of the two nests."""
    return min(sum(map(space.instances, statements_below(node))) for node in _at(tree, pair))


def _shares(space: Space, tree: Sequence[TreeNode], pair: _Place) -> bool:
    model = space.replayer.model
    touched = [
        {
            use.access.array
            for statement in statements_below(node)
            for use in model.uses(statement)
            if not model.nest.array(use.access.array).is_scalar
        }
        for node in _at(tree, pair)
    ]
    return bool(touched[0] & touched[1])
