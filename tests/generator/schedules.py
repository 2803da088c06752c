"""Random schedules: steps that look sensible on the current tree. Many are illegal, some not applicable."""

from __future__ import annotations

import random
from itertools import pairwise

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.nest import LoopNest
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, statements_below, tree_loops
from scheduler.ir.walk import placed_statements, uses
from scheduler.schedule import Schedule
from scheduler.transform import (
    Distribute,
    Fuse,
    Interchange,
    Pack,
    Parallelize,
    RegisterBlock,
    Reverse,
    Shift,
    Sink,
    Skew,
    Stream,
    Tile,
    Transformation,
    Unroll,
    UnrollJam,
    Vectorize,
)

Tree = tuple[TreeNode, ...]

_WEIGHTS: dict[type[Transformation], float] = {
    Interchange: 4,
    Tile: 4,
    Skew: 2,
    Fuse: 3,
    Distribute: 3,
    Reverse: 1.5,
    Shift: 1.5,
    Sink: 1.5,
    Parallelize: 2.5,
    Vectorize: 1.5,
    Unroll: 0.7,
    UnrollJam: 0.7,
    RegisterBlock: 1,
    Pack: 0.7,
    Stream: 0.7,
}


def random_schedule(nest: LoopNest, rng: random.Random, length: int, tree: Tree, refused: float = 0.0) -> Schedule:
    """At most `length` random steps from `tree` (`initial_tree(nest)`).

    A step that does not apply is drawn anew, or kept with probability `refused`.
    """
    steps: list[Transformation] = []
    for _ in range(length * 12):
        if len(steps) == length:
            break
        step = random_step(nest, rng, tree)
        if step is None:
            continue
        try:
            tree = step.apply(tree)
        except NotApplicable:
            if rng.random() >= refused:
                continue
        steps.append(step)
    return tuple(steps)


def random_step(nest: LoopNest, rng: random.Random, tree: Tree) -> Transformation | None:
    """One step with the names of the tree's loops; None when the kind drawn has no place in this tree."""
    if not any(True for _ in tree_loops(tree)):
        return None
    kind = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    return _Draw(nest, rng, tree).step(kind)


class _Draw:
    def __init__(self, nest: LoopNest, rng: random.Random, tree: Tree) -> None:
        self.nest = nest
        self.rng = rng
        self.tree = tree
        self.placed = list(placed_statements(nest))
        self.loops = list(tree_loops(tree))
        # Runs of siblings, the roots among them, with the loop they stand in.
        self.families: list[tuple[TreeLoop | None, Tree]] = [(None, tree), *((x, x.children) for x in self.loops)]

    def step(self, kind: type[Transformation]) -> Transformation | None:
        rng = self.rng
        loop = rng.choice(self.loops)
        if kind is Fuse:
            return self.fuse()
        if kind is Distribute:
            wide = [x for x in self.loops if len(x.children) > 1]
            chosen = rng.choice(wide or self.loops)
            return Distribute(chosen.name, rng.randint(1, max(1, len(chosen.children) - 1)))
        if kind is Sink:
            return self.sink()
        if kind is Pack:
            return self.pack(loop)
        if kind is Reverse:
            return Reverse(loop.name)
        if kind is Shift:
            statement, _ = rng.choice(loop.rows)
            return Shift(loop.name, statement, self.amount())
        if kind is Parallelize:
            depth = len(self.chain(loop))
            collapse = rng.randint(1, depth) if rng.random() < 0.3 else 1
            return Parallelize(loop.name, rng.randint(0, 1), rng.choice((0, 0, 1, 2)), collapse)
        if kind in (Vectorize, Stream):
            innermost = [x for x in self.loops if all(isinstance(child, Leaf) for child in x.children)]
            if not innermost:
                return None
            return Vectorize(rng.choice(innermost).name) if kind is Vectorize else self.stream(rng.choice(innermost))
        if kind is Unroll:
            return Unroll(loop.name, rng.choice((0, 2, 4)))
        if kind is UnrollJam:
            return UnrollJam(loop.name, rng.choice((2, 4)))
        return self.of_chain(kind, loop)

    def chain(self, loop: TreeLoop) -> list[TreeLoop]:
        """The loop and those perfectly nested in it."""
        found = [loop]
        while len(found[-1].children) == 1 and isinstance(below := found[-1].children[0], TreeLoop):
            found.append(below)
        return found

    def of_chain(self, kind: type[Transformation], loop: TreeLoop) -> Transformation | None:
        rng, names = self.rng, [x.name for x in self.chain(loop)]
        if kind is Tile:
            count = rng.randint(1, min(3, len(names)))
            picked = sorted(rng.sample(range(len(names)), count)) if rng.random() < 0.3 else range(count)
            return Tile(tuple(names[k] for k in picked), tuple(rng.choice((2, 2, 3, 4, 5, 8)) for _ in picked))
        if kind is RegisterBlock:
            count = rng.randint(1, min(3, len(names)))
            loops = tuple(rng.sample(names, count))
            return RegisterBlock(loops, tuple(rng.choice((1, 2, 2, 3, 4)) for _ in loops))
        if len(names) < 2:
            if kind is not Skew or rng.random() < 0.5:
                return None
            # Skewing does not need a perfect nest.
            names = [x.name for x in tree_loops((loop,))]
            if len(names) < 2:
                return None
        outer, inner = sorted(rng.sample(range(len(names)), 2))
        if kind is Skew:
            return Skew(names[outer], names[inner], rng.choice((1, 1, 2, -1, -2)))
        return Interchange(names[outer], names[inner])

    def fuse(self) -> Transformation | None:
        pairs = [
            (first.name, second.name)
            for _, nodes in self.families
            for first, second in pairwise(nodes)
            if isinstance(first, TreeLoop) and isinstance(second, TreeLoop)
        ]
        return Fuse(*self.rng.choice(pairs)) if pairs else None

    def sink(self) -> Transformation | None:
        """What stands beside a loop moves to its first iteration, a constant one, or one an iterator around gives."""
        rng, places = self.rng, []
        for _, nodes in self.families:
            for first, second in pairwise(nodes):
                for node, loop in ((first, second), (second, first)):
                    if isinstance(loop, TreeLoop):
                        places.append((statements_below(node), loop.name))
        if not places:
            return None
        moved, loop_name = rng.choice(places)
        inside = [{loop.name for loop in p.loops} for p in self.placed if p.statement.name in moved]
        around = sorted(set.intersection(*inside))
        at = Affine.constant(rng.randint(0, 2))
        if around and rng.random() < 0.5:
            at = Affine.of(rng.choice(around)) + rng.randint(-1, 1)
        elif rng.random() < 0.3:
            at = self.amount() - 1
        return Sink(rng.choice(moved), loop_name, at)

    def pack(self, loop: TreeLoop) -> Transformation | None:
        """Mostly of an array the loop only reads."""
        rng, below = self.rng, {name for name, _ in loop.rows}
        found = [(u.access.array, u.is_write) for p in self.placed if p.statement.name in below for u in uses(p)]
        written = {name for name, is_write in found if is_write}
        arrays = [a for a in self.nest.arrays if a.shape]
        likely = [a for a in arrays if (a.name, False) in found and a.name not in written]
        if not arrays:
            return None
        array = rng.choice(likely if likely and rng.random() < 0.9 else arrays)
        rank = len(array.shape)
        order = tuple(rng.sample(range(rank), rank))
        if rng.random() < 0.5:
            return Pack(loop.name, array.name, order)
        return Pack(loop.name, array.name, order, rng.randrange(rank), rng.choice((2, 4)))

    def stream(self, loop: TreeLoop) -> Transformation | None:
        """Of an array the loop writes."""
        below = {name for name, _ in loop.rows}
        written = [u.access.array for p in self.placed if p.statement.name in below for u in uses(p) if u.is_write]
        return Stream(loop.name, self.rng.choice(written)) if written else None

    def amount(self) -> Affine:
        if self.nest.parameters and self.rng.random() < 0.2:
            return Affine.of(self.rng.choice(self.nest.parameters).name)
        return Affine.constant(self.rng.choice((-2, -1, 1, 1, 2)))
