"""A loop tree as a nest again: what a program would look like whose source had this order.

Nests that do the same are written in many orders. Each has a normal form (`normalize.fission`, `normalize.stride`),
which is a tree; here it becomes a nest that can be embedded, and any other legal order one to test that with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scheduler.errors import SchedulerError
from scheduler.ir.affine import Affine
from scheduler.ir.names import free_name
from scheduler.ir.nest import Guard, Loop, LoopNest, Node, Predicate
from scheduler.ir.rename import renamed_nodes
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, statements_below
from scheduler.ir.walk import Placed, bound_names, loops, placed_statements
from scheduler.normalize.accumulators import without_accumulators
from scheduler.normalize.fission import maximal_fission, refuse_neighbours
from scheduler.normalize.stride import minimize_strides
from scheduler.replay import Replayer

_Names = Mapping[str, str]  # of a statement's iterators, so far


def nest_of(nest: LoopNest, tree: tuple[TreeNode, ...]) -> LoopNest | None:
    """The nest (private arrays expanded) in the order of the tree, without marks; None where that is no plain nest.

    Tiles, skewed and shifted loops are none, nor are loops put together that have different bounds, nor those put
    outside of one that bounds them. Conditions stand around each statement.
    """
    maker = _Maker(nest)
    try:
        body = maker.nodes(tree, {name: {} for name in maker.placed})
    except _NoNest:
        return None
    names = {loop.name for loop in loops(replace(nest, body=body))}
    arrays = tuple(a if a.scope in names else replace(a, scope=None) for a in nest.arrays)
    return replace(nest, arrays=arrays, body=body)


def normal_form(replayer: Replayer) -> Replayer:
    """Of the nest without private sums and temporaries (`normalize.accumulators`), fissioned as far as dependences
    allow, its loops in the order of small strides, and put together again where that pays; of the nest itself where
    that is no plain nest, or too hard to find. It says what a nest is like: sums are added up in another order.

    Source: Trümper et al. 2024 (a-priori loop nest normalization); the re-fusion is ours.
    """
    try:
        plain = without_accumulators(replayer.nest)
        replayer = replayer if plain == replayer.nest else Replayer(plain)
        order = minimize_strides(replayer, maximal_fission(replayer))
        # Loops of different bounds are no plain nest once they are fused.
        for schedule in (refuse_neighbours(replayer, order), order):
            made = nest_of(replayer.nest, replayer.tree(schedule)) if schedule else None
            if made is not None:
                return Replayer(made)
        return replayer
    except SchedulerError:
        return replayer


class _NoNest(Exception):
    pass


class _Maker:
    """Makes nodes of tree nodes; `used`: names of loops so far, which are unique in a nest."""

    def __init__(self, nest: LoopNest) -> None:
        self.placed = {p.statement.name: p for p in placed_statements(nest)}
        self.fixed = frozenset(p.name for p in nest.parameters)
        self.used: set[str] = set(self.fixed) | {a.name for a in nest.arrays}

    def nodes(self, tree: tuple[TreeNode, ...], names: Mapping[str, _Names]) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in tree:
            if isinstance(node, Leaf):
                found.append(_statement(self.placed[node.statement], names[node.statement]))
                continue
            loop, inner = self.loop(node, names)
            found.append(replace(loop, body=self.nodes(node.children, inner)))
        return tuple(found)

    def loop(self, node: TreeLoop, names: Mapping[str, _Names]) -> tuple[Loop, Mapping[str, _Names]]:
        """The loop, without its body, and the names that iterators have in that."""
        if node.tile:
            raise _NoNest
        inner = dict(names)
        found: Loop | None = None
        for statement in statements_below(node):
            own = _own(self.placed[statement], node.row(statement))
            (renamed,) = renamed_nodes((replace(own, body=(), span=None),), names[statement])
            assert isinstance(renamed, Loop)
            if bound_names(renamed) - self.fixed - set(names[statement].values()):
                raise _NoNest
            if found is None:
                found = replace(renamed, name=free_name(own.name, self.used))
                self.used.add(found.name)
            elif replace(renamed, name=found.name, ctype=found.ctype) != found:
                raise _NoNest
            inner[statement] = {**names[statement], own.name: found.name}
        assert found is not None
        return found, inner


def _own(placed: Placed, row: Affine) -> Loop:
    """The loop of a statement that a row goes along."""
    for loop in placed.loops:
        if row == Affine.of(loop.name, 1 if loop.step > 0 else -1):
            return loop
    raise _NoNest


def _statement(placed: Placed, names: _Names) -> Node:
    """The statement in the conditions around it."""
    node: Node = placed.statement
    for around in reversed(placed.ancestors):
        if isinstance(around, Guard | Predicate):
            node = replace(around, body=(node,))
    (renamed,) = renamed_nodes((node,), names)
    return renamed
