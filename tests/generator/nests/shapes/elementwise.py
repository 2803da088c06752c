"""Assignments of every element: permuted, reversed, strided and offset subscripts."""

from __future__ import annotations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Expr, Node
from tests.generator.nests.builder import Builder
from tests.generator.nests.expressions import access, index_value, product


def subscript(builder: Builder, name: str) -> Affine:
    """An iterator, mostly as it is."""
    rng, plain = builder.rng, Affine.of(name)
    roll = rng.random()
    if roll < 0.6:
        return plain
    if roll < 0.75:
        return plain + rng.randint(-2, 2)
    if roll < 0.85:
        return plain * -1
    return plain * 2 + rng.randint(0, 1) if roll < 0.95 else plain.floordiv(2)


def subscripts(builder: Builder, names: list[str]) -> list[Affine]:
    """One subscript an iterator, in random order."""
    return [subscript(builder, name) for name in builder.rng.sample(names, len(names))]


def elementwise(builder: Builder) -> tuple[Node, ...]:
    rng = builder.rng
    depth = rng.randint(1, min(3, builder.size.depth))
    names = builder.iterators(depth)
    statements: list[Node] = []
    for _ in range(rng.randint(1, builder.size.statements)):
        target = access(builder.state(depth), *subscripts(builder, names))
        terms: list[Expr] = []
        for _ in range(rng.randint(1, 3)):
            used = names if rng.random() < 0.7 else rng.sample(names, rng.randint(0, depth))
            factor = builder.read(builder.input(len(used)), *subscripts(builder, used))
            roll = rng.random()
            if roll < 0.4:
                source = access(builder.state(depth), *subscripts(builder, names))
                terms.append(product(rng, factor, builder.read(source)))
            else:
                terms.append(
                    factor if roll < 0.8 else index_value(rng, rng.choice(names), builder.ctype, builder.loop_type)
                )
        value = builder.scaled(terms)
        statements.append(builder.store(target, builder.shaped(value)))
    extents = [builder.extent() for _ in names]
    order = rng.sample(range(depth), depth)
    return (builder.nested([names[k] for k in order], extents, *statements),)
