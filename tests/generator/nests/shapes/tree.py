"""Imperfect trees of loops with statements at every level and arbitrary affine subscripts."""

from __future__ import annotations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Expr, Node, Statement
from tests.generator.nests.builder import Builder
from tests.generator.nests.expressions import access, index_value, product


def tree(builder: Builder) -> tuple[Node, ...]:
    rng = builder.rng
    depth = rng.randint(2, max(2, builder.size.depth))
    budget = [builder.size.statements + 1]
    return (_loop(builder, [], depth, budget),)


def _loop(builder: Builder, around: list[str], depth: int, budget: list[int]) -> Node:
    rng = builder.rng
    name = builder.fresh("ijkl"[len(around) % 4])
    names = [*around, name]
    body: list[Node] = []
    for _ in range(rng.choice((1, 2, 2, 3))):
        if budget[0] <= 0:
            break
        if depth > 1 and rng.random() < 0.55:
            body.append(_loop(builder, names, depth - 1, budget))
        else:
            body.append(_statement(builder, names))
            budget[0] -= 1
    if not body:
        body.append(_statement(builder, names))
    if around and rng.random() < 0.2:
        return builder.loop(name, 0, Affine.of(around[-1]) + 1, *body)
    return builder.counted(name, builder.extent(), *body)


def _access(builder: Builder, array: str, names: list[str]) -> Access:
    """One subscript a dimension: an iterator, a sum or difference of two, or a constant."""
    rng = builder.rng
    subscripts: list[Affine] = []
    for _ in builder.arrays[array].shape:
        subscript = Affine.of(rng.choice(names), rng.choice((1, 1, 1, 1, -1, 2)))
        if rng.random() < 0.15:
            subscript = subscript + Affine.of(rng.choice(names), rng.choice((1, -1)))
        if rng.random() < 0.05:
            subscript = Affine()
        subscripts.append(subscript + rng.choice((0, 0, 0, -1, 1)))
    return access(array, *subscripts)


def _statement(builder: Builder, names: list[str]) -> Statement:
    rng = builder.rng
    highest = min(3, len(names))
    target = _access(builder, builder.state(rng.randint(1, highest)), names)
    terms: list[Expr] = []
    for _ in range(rng.randint(1, 3)):
        factor = builder.read(_access(builder, builder.input(rng.randint(0, highest)), names))
        roll = rng.random()
        if roll < 0.4:
            terms.append(builder.read(_access(builder, rng.choice(builder.states), names)))
        elif roll < 0.7:
            terms.append(product(rng, factor, builder.read(_access(builder, rng.choice(builder.states), names))))
        else:
            terms.append(factor if roll < 0.9 else index_value(rng, names[-1], builder.ctype, builder.loop_type))
    return builder.store(target, builder.shaped(builder.scaled(terms)))
