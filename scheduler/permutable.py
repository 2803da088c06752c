"""Making loops permutable: the shifts and skews that let a whole band be tiled (Bondhugula et al. 2008, Pluto).

A band of loops is fully permutable if no dependence decreases in any of its rows; then it may be tiled.
For time loops around stencils that means fusing the inner nests with a delay each and skewing space
against time.
"""

from __future__ import annotations

from itertools import product

from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeLoop, TreeNode, path_to, statements_below
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Fuse, Schedule, Shift, Skew

_MAX_SHIFT = 4
_MAX_SKEW = 4


def permutable_band(replayer: Replayer, schedule: Schedule, chain: tuple[TreeLoop, ...]) -> Schedule | None:
    """The schedule extended by the least skews that make a perfect chain fully permutable; None if there are none."""
    outer = chain[0]
    within = frozenset(s for s, _ in outer.rows)
    steps: list[Skew] = []
    tree = replayer.tree(schedule)
    above: list[tuple[str, dict[str, Affine]]] = [(outer.name, dict(outer.rows))]
    for loop in chain[1:]:
        bases = list(dict.fromkeys((0, len(above) - 1)))  # the outermost loop and the one just outside
        for factors in sorted(product(range(_MAX_SKEW + 1), repeat=len(bases)), key=lambda f: (sum(f), f[::-1])):
            rows = dict(loop.rows)
            for base, factor in zip(bases, factors, strict=True):
                rows = {s: row + above[base][1][s] * factor for s, row in rows.items()}
            if replayer.checker.never_decreases(tree, outer.name, rows.__getitem__, within):
                steps += [Skew(above[b][0], loop.name, f) for b, f in zip(bases, factors, strict=True) if f]
                above.append((loop.name, rows))
                break
        else:
            return None
    result = (*schedule, *steps)
    return result if isinstance(replayer.replay(result), ScheduledNest) else None


def fuse_time_loop(replayer: Replayer, schedule: Schedule, time: TreeLoop, depth: int) -> Schedule | None:
    """Fuses the outer `depth` levels of all the nests inside a time loop, each delayed by the least legal shifts.

    None if a nest is not a perfect chain that deep or no shifts up to 4 iterations a level are legal.
    """
    children = time.children
    if len(children) < 2 or not all(isinstance(child, TreeLoop) for child in children):
        return None
    levels = [_chain_names(child) for child in children]
    if any(len(names) < depth for names in levels):
        return None
    delays = [[0] * depth for _ in children]
    for number in range(1, len(children)):
        for level in range(depth):
            start = max(delays[number - 1][level], 0)
            for amount in range(start, start + _MAX_SHIFT + 1):
                delays[number][level] = amount
                if _level_ordered(replayer, schedule, time, levels, delays, number, level):
                    break
            else:
                return None
    steps: list[Shift | Fuse] = []
    for level in range(depth):
        for number in range(1, len(children)):
            if delays[number][level]:
                steps += [
                    Shift(levels[number][level], s, Affine.constant(delays[number][level]))
                    for s in statements_below(children[number])
                ]
        steps += [Fuse(levels[0][level], levels[number][level]) for number in range(1, len(children))]
    candidate = (*schedule, *steps)
    return candidate if isinstance(replayer.replay(candidate), ScheduledNest) else None


def _chain_names(node: TreeNode) -> list[str]:
    names: list[str] = []
    while isinstance(node, TreeLoop):
        names.append(node.name)
        if len(node.children) != 1:
            return names
        node = node.children[0]
    return names


def _level_ordered(
    replayer: Replayer,
    schedule: Schedule,
    time: TreeLoop,
    levels: list[list[str]],
    delays: list[list[int]],
    number: int,
    level: int,
) -> bool:
    """Whether, within one time step, no dependence into nest `number` from an earlier one decreases at this level."""
    tree = replayer.tree(schedule)
    members = [statements_below(child) for child in time.children]
    owner = {s: k for k, group in enumerate(members) for s in group}

    def row(statement: str) -> Affine:
        k = owner[statement]
        node = next(n for _, n in path_to(tree, statement) if isinstance(n, TreeLoop) and n.name == levels[k][level])
        return node.row(statement) + delays[k][level]

    # With outer=None only what the time loop leaves unsatisfied counts: dependences within one time step;
    # those across time steps are for the skews.
    return all(
        replayer.checker.never_decreases(tree, None, row, frozenset((*members[earlier], *members[number])))
        for earlier in range(number)
    )
