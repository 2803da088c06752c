"""The canonical schedule: the outermost parallel loops in parallel and nothing else; what profiles are taken of.

Source: Trümper et al. 2023, section 3.2.
"""

from __future__ import annotations

from scheduler.ir.tree import TreeLoop, TreeNode
from scheduler.replay import Replayer
from scheduler.schedule import Schedule
from scheduler.transform import Parallelize


def canonical_schedule(replayer: Replayer, threads: int) -> Schedule:
    """Marks the outermost loop on every path that carries no dependence; the empty schedule for one thread.

    Loops with data-dependent bounds are never marked.
    """
    if threads < 2:
        return ()
    sequential = replayer.checker.sequential_loops(replayer.tree(()))
    steps: list[Parallelize] = []

    def visit(nodes: tuple[TreeNode, ...]) -> None:
        for node in nodes:
            if isinstance(node, TreeLoop):
                if node.name in sequential or node.opaque:
                    visit(node.children)
                else:
                    steps.append(Parallelize(node.name))

    visit(replayer.tree(()))
    return tuple(steps)
