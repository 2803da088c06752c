"""The tree of a nest as the user wrote it."""

from __future__ import annotations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Guard, Loop, LoopNest, Node, Predicate, Statement
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, statements_below


def initial_tree(nest: LoopNest) -> tuple[TreeNode, ...]:
    """The identity schedule: source order, no marks. Guards and predicates belong to the statements' domains."""

    def visit(nodes: tuple[Node, ...]) -> tuple[TreeNode, ...]:
        result: list[TreeNode] = []
        for node in nodes:
            if isinstance(node, Statement):
                result.append(Leaf(node.name))
            elif isinstance(node, Guard | Predicate):
                result.extend(visit(node.body))
            else:
                assert isinstance(node, Loop)
                children = visit(node.body)
                row = Affine.of(node.name, 1 if node.step > 0 else -1)
                statements = tuple(s for child in children for s in statements_below(child))
                if statements:
                    rows = tuple((s, row) for s in statements)
                    result.append(TreeLoop(node.name, rows, children, node.name, opaque=node.is_opaque))
        return tuple(result)

    return visit(nest.body)
