"""Maximal fission: every loop is split wherever the dependences allow (Trümper et al. 2024, a-priori normalization).

Neighbours that it separated come together again where that pays (`refuse_neighbours`)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, statements_below, tree_loops
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import Distribute, Fuse


def refuse_neighbours(replayer: Replayer, schedule: Schedule) -> Schedule:
    """The schedule extended by the fusions that pay."""
    changed = True
    tried: set[tuple[str, str]] = set()
    while changed:
        changed = False
        for first, second in _neighbours(replayer.tree(schedule)):
            if (first.name, second.name) in tried or not _similar(replayer, first, second):
                continue
            tried.add((first.name, second.name))
            candidate = fuse_fully(replayer, schedule, first, second)
            if candidate is not None:
                schedule, changed = candidate, True
                break
    return schedule


def fuse_fully(replayer: Replayer, schedule: Schedule, first: TreeLoop, second: TreeLoop) -> Schedule | None:
    """Fuses two neighbouring chains at every level; None if that is illegal or costs a parallel loop."""
    before = replayer.checker.sequential_loops(replayer.tree(schedule))
    steps: list[Fuse] = []
    names: list[tuple[str, str]] = []
    a: TreeNode = first
    b: TreeNode = second
    while isinstance(a, TreeLoop) and isinstance(b, TreeLoop):
        steps.append(Fuse(a.name, b.name))
        names.append((a.name, b.name))
        if len(a.children) != 1 or len(b.children) != 1:
            break
        a, b = a.children[0], b.children[0]
    candidate = (*schedule, *steps)
    if not isinstance(replayer.replay(candidate), ScheduledNest):
        return None
    after = replayer.checker.sequential_loops(replayer.tree(candidate))
    lost = any(x in after and x not in before and y not in before for x, y in names)
    return None if lost else candidate


def _neighbours(nodes: tuple[TreeNode, ...]) -> list[tuple[TreeLoop, TreeLoop]]:
    found = [(a, b) for a, b in pairwise(nodes) if isinstance(a, TreeLoop) and isinstance(b, TreeLoop)]
    for node in nodes:
        if isinstance(node, TreeLoop):
            found.extend(_neighbours(node.children))
    return found


def depth_of_chain(node: TreeNode) -> int:
    """Loops from here down the only children; 0 for a statement, -1 if the tree branches into loops below."""
    if isinstance(node, Leaf):
        return 0
    if all(isinstance(child, Leaf) for child in node.children):
        return 1
    if len(node.children) != 1:
        return -1
    below = depth_of_chain(node.children[0])
    return -1 if below < 0 else below + 1


def _similar(replayer: Replayer, first: TreeLoop, second: TreeLoop) -> bool:
    depth = depth_of_chain(first)
    if depth < 0 or depth != depth_of_chain(second) or first.opaque or second.opaque:
        return False
    model = replayer.model
    touched = [
        {
            u.access.array
            for s in statements_below(node)
            for u in model.uses(s)
            if not model.nest.array(u.access.array).is_scalar
        }
        for node in (first, second)
    ]
    return bool(touched[0] & touched[1])


def maximal_fission(
    replayer: Replayer, schedule: Schedule = (), only: Callable[[TreeLoop], bool] = lambda loop: True
) -> Schedule:
    """The schedule extended by every legal split of the loops `only` accepts, outer loops first."""
    rejected: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
    while True:
        step = _next_split(replayer, schedule, rejected, only)
        if step is None:
            return schedule
        schedule = (*schedule, step)


def _next_split(
    replayer: Replayer,
    schedule: Schedule,
    rejected: set[tuple[tuple[str, ...], tuple[str, ...]]],
    only: Callable[[TreeLoop], bool],
) -> Distribute | None:
    for loop in filter(only, tree_loops(replayer.tree(schedule))):
        for position in range(1, len(loop.children)):
            statements = tuple(s for s, _ in loop.rows)
            parts = (statements, (loop.name, str(position)))
            if parts in rejected:
                continue
            step = Distribute(loop.name, position)
            if isinstance(replayer.replay((*schedule, step)), ScheduledNest):
                return step
            rejected.add(parts)
    return None
