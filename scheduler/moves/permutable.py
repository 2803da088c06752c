"""Making loops permutable: the shifts and skews that let a whole band be tiled (Bondhugula et al. 2008, Pluto).

A band of loops is fully permutable if no dependence decreases in any of its rows; then it may be tiled.
For time loops around stencils that means fusing the inner nests with a delay each and skewing space
against time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, find_loop, path_to, statements_below
from scheduler.polyhedral.distances import Distances
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import Fuse, Reverse, Shift, Sink, Skew

_MAX_SHIFT = 4


def permutable_band(replayer: Replayer, schedule: Schedule, chain: tuple[TreeLoop, ...]) -> Schedule | None:
    """The schedule extended by the least skews, and reversals, that make a perfect chain fully permutable.

    None if there are none with small factors.
    """
    steps: list[Skew | Reverse] = []
    tree = replayer.tree(schedule)
    above: list[tuple[str, dict[str, Affine]]] = []
    for loop in chain:
        rows = dict(loop.rows)
        if replayer.checker.never_decreases(tree, chain[0].name, rows.__getitem__, rows.keys()):
            above.append((loop.name, rows))
            continue
        try:
            distances = Distances(replayer.checker, tree, chain[0].name, [*(r for _, r in above), rows])
            factors = distances.row("keeps", ends=True)
        except QuotaExceeded:
            return None
        if factors is None:
            return None
        if factors[-1] < 0:
            steps.append(Reverse(loop.name))
            rows = {s: -row for s, row in rows.items()}
        for (name, base), factor in zip(above, factors, strict=False):
            if factor:
                steps.append(Skew(name, loop.name, factor))
                rows = {s: row + base[s] * factor for s, row in rows.items()}
        above.append((loop.name, rows))
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


def fuse_imperfect_time_loop(replayer: Replayer, schedule: Schedule, time: TreeLoop, depth: int) -> Schedule | None:
    """`fuse_time_loop` where some nests are not perfect chains that deep: statements and shallower nests first move
    into the first or last iteration of the loop beside them (the boundary of fdtd-2d). None if that is not legal.
    """
    children = time.children
    if depth < 1 or not any(len(_chain_names(child)) >= depth for child in children):
        return None
    while True:
        shallow = [node for node in time.children if len(_chain_names(node)) < depth]
        if not shallow:
            break
        sunk = next(filter(None, (_beside_deeper(replayer, schedule, time, node, depth) for node in shallow)), None)
        if sunk is None:
            return None
        schedule, time = sunk, _named(replayer.tree(sunk), time.name)
    return schedule if len(time.children) == 1 else fuse_time_loop(replayer, schedule, time, depth)


def _beside_deeper(
    replayer: Replayer, schedule: Schedule, time: TreeLoop, node: TreeNode, depth: int
) -> Schedule | None:
    """A child of the time loop moved into a perfect chain of `depth` loops next to it, fused with what is there."""
    place = time.children.index(node)
    for position in (place - 1, place + 1):
        loop = time.children[position] if 0 <= position < len(time.children) else None
        if not isinstance(loop, TreeLoop) or len(_chain_names(loop)) < depth:
            continue
        statement = statements_below(node)[0]
        for at in _ends(replayer, replayer.tree(schedule), loop, statement, position < place):
            sunk = (*schedule, Sink(statement, loop.name, at))
            if not _legal(replayer, sunk):
                continue
            inner = _named(replayer.tree(sunk), loop.name)
            joined = sunk if depth == 1 else fuse_time_loop(replayer, sunk, inner, depth - 1)
            if joined is None:
                joined = fuse_imperfect_time_loop(replayer, sunk, inner, depth - 1)
            if joined is not None:
                return joined
    return None


def sink_into_band(replayer: Replayer, schedule: Schedule, time: TreeLoop, depth: int) -> Schedule | None:
    """Makes a time loop and `depth` levels inside it a perfect chain: level by level, statements that stand beside a
    loop move into its first or last iteration or next to it, and loops beside each other are fused (Cholesky).

    None if that is not legal.
    """
    for _ in range(depth):
        sunk = _sunk(replayer, schedule, time)
        if sunk is None:
            return None
        schedule, time = sunk
        if len(time.children) > 1:
            fused = fuse_time_loop(replayer, schedule, time, 1)
            if fused is None:
                return None
            schedule, time = fused, _named(replayer.tree(fused), time.name)
        (inner,) = time.children
        if not isinstance(inner, TreeLoop):
            return None
        time = inner
    return schedule


def _sunk(replayer: Replayer, schedule: Schedule, around: TreeLoop) -> tuple[Schedule, TreeLoop] | None:
    """Every statement among the children moved into the loop before it, or, where there is none, behind it."""
    while any(isinstance(child, Leaf) for child in around.children):
        tree, children = replayer.tree(schedule), around.children
        beside = [
            (leaf, loop, after)
            for pair in pairwise(children)
            for leaf, loop, after in ((pair[1], pair[0], True), (pair[0], pair[1], False))
            if isinstance(leaf, Leaf) and isinstance(loop, TreeLoop)
        ]
        for leaf, loop, after in sorted(beside, key=lambda found: not found[2]):
            steps = (Sink(leaf.statement, loop.name, at) for at in _ends(replayer, tree, loop, leaf.statement, after))
            found = next((s for s in ((*schedule, step) for step in steps) if _legal(replayer, s)), None)
            if found is not None:
                schedule, around = found, _named(replayer.tree(found), around.name)
                break
        else:
            return None
    return schedule, around


def _ends(
    replayer: Replayer, tree: tuple[TreeNode, ...], loop: TreeLoop, statement: str, after: bool
) -> Iterator[Affine]:
    """Where a loop that runs as written ends (or begins), for a statement beside it: beyond, then just inside."""
    member = next((s for s, row in loop.rows if row == Affine.of(loop.origin)), None)
    written = next((x for x in replayer.model.placed[member].loops if x.name == loop.origin), None) if member else None
    if member is None or written is None or written.is_opaque or written.step != 1:
        return
    # What the member's iterators are outside, the statement's rows in the same loops are.
    same = {
        outer.origin: outer.row(statement)
        for _, outer in path_to(tree, statement)
        if isinstance(outer, TreeLoop) and dict(outer.rows).get(member) == Affine.of(outer.origin)
    }
    known = {p.name for p in replayer.nest.parameters} | same.keys()
    bounds = written.stop if after else written.start
    assert isinstance(bounds, tuple)
    for bound in bounds:
        if bound.names() <= known:
            end = bound.substitute(same)
            yield from (end, end - 1) if after else (end - 1, end)


def _legal(replayer: Replayer, schedule: Schedule) -> bool:
    try:
        return isinstance(replayer.replay(schedule), ScheduledNest)
    except NotApplicable:
        return False


def _named(tree: tuple[TreeNode, ...], name: str) -> TreeLoop:
    found = find_loop(tree, name)
    assert found is not None
    return found


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
