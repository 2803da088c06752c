"""Tensor contractions, matrix products among them: permuted operands, any loop order, scaled or initialized results."""

from __future__ import annotations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Node, Read
from tests.generator.nests.builder import Builder
from tests.generator.nests.expressions import access, assign, product


def contraction(builder: Builder) -> tuple[Node, ...]:
    rng = builder.rng
    depth = max(2, builder.size.depth)
    kept = rng.randint(1, min(3, depth - 1))
    summed = rng.randint(1, min(2, depth - kept))
    names = builder.iterators(kept + summed)
    extents = dict(zip(names, [builder.parameter() for _ in names], strict=True))
    place = rng.sample(names[:kept], kept)
    target = access(builder.state(kept, fresh=True), *place)

    def operand() -> Read:
        # Every operand has the summed iterators and some of the kept ones.
        used = names[kept:] + rng.sample(names[:kept], rng.randint(0, kept))
        rng.shuffle(used)
        return builder.given(*used)

    value = product(rng, operand(), operand())
    if rng.random() < 0.3:
        value = product(rng, builder.read(builder.input(0)), value)
    update = builder.store(target, value, "+=")
    first = None
    if rng.random() < 0.6:
        zero = builder.number("0.0", 0)
        half = builder.number("0.5", 2)
        first = builder.statement(rng.choice((assign(target, zero), assign(target, half, "*="))))
    if first is not None and rng.random() < 0.5:
        inner = builder.nested(names[kept:], [extents[n] for n in names[kept:]], update)
        return (builder.nested(names[:kept], [extents[n] for n in names[:kept]], first, inner),)
    order = rng.sample(names, len(names)) if rng.random() < 0.6 else names
    nest = builder.nested(order, [extents[n] for n in order], update, plain=rng.random() < 0.7)
    if first is None:
        return (nest,)
    again = builder.iterators(kept)
    renamed = dict(zip(names, map(Affine.of, again), strict=False))
    action = first.body[0]
    assert not hasattr(action, "condition")
    moved = access(target.array, *(renamed[n] for n in place))
    outside = builder.store(moved, action.value, action.op)
    return builder.nested(again, [extents[n] for n in names[:kept]], outside), nest
