"""In-place recurrences with random distances: `A[i][j] = f(A[i - 1][j + 1], A[i][j - 2])`."""

from __future__ import annotations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Expr, Loop, Node
from tests.generator.nests.builder import Builder
from tests.generator.nests.expressions import access


def recurrence(builder: Builder) -> tuple[Node, ...]:
    rng = builder.rng
    depth = rng.randint(1, min(3, builder.size.depth))
    names = builder.iterators(depth)
    arrays = [builder.state(depth) for _ in range(rng.randint(1, 2))]
    statements: list[Node] = []
    for target in arrays:
        terms: list[Expr] = []
        for _ in range(rng.randint(1, 3)):
            offsets = [rng.choice((-2, -1, -1, 0, 0, 1)) for _ in names]
            place = [Affine.of(name) + offset for name, offset in zip(names, offsets, strict=True)]
            if depth > 1 and rng.random() < 0.1:
                rng.shuffle(place)
            terms.append(builder.read(rng.choice(arrays), *place))
        if rng.random() < 0.3:
            terms.append(builder.given(*names))
        value = builder.shaped(builder.scaled(terms))
        statements.append(builder.store(access(target, *names), value))
    nodes = tuple(statements)
    for name in reversed(names):
        extent = builder.parameter()
        loop: Loop = builder.counted(name, extent, *nodes, least=rng.randint(0, 2))
        nodes = (loop,)
    return nodes
