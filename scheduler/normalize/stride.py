"""Stride minimization: in every perfect chain of loops the legal order with the smallest strides innermost.

Source: Trümper et al. 2024, "A Priori Loop Nest Normalization": among the legal permutations take the one
whose sum of strides, weighted towards the innermost loop, is least.
"""

from __future__ import annotations

from itertools import permutations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import LoopNest
from scheduler.ir.tree import Leaf, NodePath, TreeLoop, TreeNode, paths_of
from scheduler.ir.walk import AccessUse, expression_names
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import Interchange

_UNKNOWN_EXTENT = 1024
_MAX_CHAIN = 6
_EXACT = 1e-6  # of a determinant that is an integer


def chains(tree: tuple[TreeNode, ...]) -> tuple[tuple[TreeLoop, ...], ...]:
    """Every maximal perfect chain of loops, outer to inner."""
    found: list[tuple[TreeLoop, ...]] = []
    for node in tree:
        if isinstance(node, Leaf):
            continue
        chain = [node]
        while len(chain[-1].children) == 1 and isinstance(chain[-1].children[0], TreeLoop):
            chain.append(chain[-1].children[0])
        found.append(tuple(chain))
        found.extend(chains(chain[-1].children))
    return tuple(found)


def directions(tree: tuple[TreeNode, ...], loop: TreeLoop) -> dict[str, dict[str, int]]:
    """For every statement below a loop, how its iterators move in one step of the loop while the other loops stand.

    Where that is not determined (a statement that was sunk), what the loop's own row says.
    """
    paths = paths_of(tree)
    return {statement: _direction(paths[statement], loop, row) for statement, row in loop.rows}


def _direction(path: NodePath, loop: TreeLoop, row: Affine) -> dict[str, int]:
    import numpy as np  # here, not above: the command line must start fast

    statement = path[-1][1]
    assert isinstance(statement, Leaf)
    around = [node for _, node in path if isinstance(node, TreeLoop) and not node.tile]
    rows = [node.row(statement.statement) for node in around]
    names = sorted({name for r in rows for name in r.names()})
    own = {name: row.coefficient(name) for name in row.names()}
    if loop.tile or len(rows) != len(names):
        return own
    matrix = np.array([[r.coefficient(name) for name in names] for r in rows], dtype=np.float64)
    if abs(abs(np.linalg.det(matrix)) - 1.0) > _EXACT:
        return own
    moved = np.linalg.solve(matrix, [float(node.name == loop.name) for node in around])
    return {name: step for name, value in zip(names, moved, strict=True) if (step := round(float(value)))}


def access_stride(nest: LoopNest, use: AccessUse, direction: dict[str, int]) -> int:
    """|distance| in elements between accesses when each iterator moves by `direction`; opaque counts as far
    where it depends on one of them."""
    array = nest.array(use.access.array)
    known = {p.name: p.value for p in nest.parameters if p.value is not None}
    stride, factor = 0, 1
    for subscript, extent in zip(reversed(use.access.subscripts), reversed(array.shape), strict=True):
        if isinstance(subscript, Affine):
            stride += factor * sum(subscript.coefficient(name) * step for name, step in direction.items())
        elif expression_names(subscript) & direction.keys():
            return _UNKNOWN_EXTENT
        size = _UNKNOWN_EXTENT
        if extent is not None:
            size = extent.evaluate(known) if extent.names() <= known.keys() else _UNKNOWN_EXTENT
        factor *= max(size, 1)
    return abs(stride)


def loop_cost(replayer: Replayer, loop: TreeLoop) -> float:
    """How badly the statements below would stride if this loop were innermost (0: all accesses invariant)."""
    total = 0.0
    for statement, row in loop.rows:
        moved = {n: row.coefficient(n) for n in row.names() if row.coefficient(n)}
        direction = dict(list(moved.items())[-1:])
        for use in replayer.model.uses(statement):
            if replayer.nest.array(use.access.array).is_scalar:
                continue
            total += min(access_stride(replayer.nest, use, direction), 64)
    return total


def minimize_strides(replayer: Replayer, schedule: Schedule = ()) -> Schedule:
    """The schedule extended by interchanges that put every chain in its best legal order."""
    done: set[str] = set()
    while True:
        pending = [c for c in chains(replayer.tree(schedule)) if c[0].rows and not _key(c) & done]
        if not pending:
            return schedule
        chain = pending[0]
        done |= _key(chain)
        schedule = best_order(replayer, schedule, chain)


def _key(chain: tuple[TreeLoop, ...]) -> set[str]:
    return {loop.name for loop in chain}


def best_order(replayer: Replayer, schedule: Schedule, chain: tuple[TreeLoop, ...]) -> Schedule:
    for candidate in legal_orders(replayer, schedule, chain, 1):
        return candidate
    return schedule


def legal_orders(
    replayer: Replayer, schedule: Schedule, chain: tuple[TreeLoop, ...], count: int
) -> tuple[Schedule, ...]:
    """The `count` legal schedules with the best orders of a chain, best first (the present order included)."""
    names = tuple(loop.name for loop in chain)
    if len(names) < 2 or len(names) > _MAX_CHAIN:
        return (schedule,)
    cost = {loop.name: loop_cost(replayer, loop) for loop in chain}
    position = {name: k for k, name in enumerate(names)}

    def badness(order: tuple[str, ...]) -> tuple[object, ...]:
        moved = sum(a > b for k, a in enumerate(map(position.get, order)) for b in map(position.get, order[k:]))  # type: ignore[operator]
        return (*(cost[name] for name in reversed(order)), moved)

    found: list[Schedule] = []
    for order in sorted(permutations(names), key=badness):
        candidate = (*schedule, *permute_steps(names, order))
        if isinstance(replayer.replay(candidate), ScheduledNest):
            found.append(candidate)
            if len(found) == count:
                break
    return tuple(found)


def permute_steps(names: tuple[str, ...], order: tuple[str, ...]) -> Schedule:
    """Interchanges that bring a chain from `names` to `order` (selection sort)."""
    current = list(names)
    steps: list[Interchange] = []
    for k, wanted in enumerate(order):
        if current[k] != wanted:
            at = current.index(wanted)
            steps.append(Interchange(current[k], wanted))
            current[k], current[at] = current[at], current[k]
    return tuple(steps)
