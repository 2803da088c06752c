"""Stencils under a time loop: two arrays in turn, in place, or one plane a time step."""

from __future__ import annotations

from itertools import product as combinations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Expr, Loop, Node, Statement
from tests.generator.nests.builder import Builder
from tests.generator.nests.expressions import access, product


def stencil(builder: Builder) -> tuple[Node, ...]:
    rng = builder.rng
    dimensions = rng.randint(1, max(1, min(3, builder.size.depth - 1)))
    time = builder.fresh("t")
    radius = rng.choice((1, 1, 2))
    extents = [builder.parameter() for _ in range(dimensions)]
    around = [o for o in combinations(range(-radius, radius + 1), repeat=dimensions)]
    points = rng.sample(around, min(len(around), rng.randint(2, 5)))
    coefficient = builder.input(dimensions) if rng.random() < 0.3 else None

    def sweep(target: str, source: str, plane: int | None) -> Loop:
        names = builder.iterators(dimensions)

        def at(array: str, offsets: tuple[int, ...], offset: int) -> Expr:
            return builder.read(array, *_place(names, offsets, None if plane is None else (time, offset)))

        terms = [at(source, point, 0) for point in points]
        if coefficient is not None:
            factor = builder.read(coefficient, *_place(names, (0,) * dimensions, None))
            terms[0] = product(rng, factor, terms[0])
        place = _place(names, (0,) * dimensions, None if plane is None else (time, 1))
        statement = builder.store(access(target, *place), builder.scaled(terms))
        return _interior(builder, names, extents, radius, statement)

    form = rng.choice(("jacobi", "in place", "planes"))
    if form == "jacobi":
        first, second = builder.state(dimensions, fresh=True), builder.state(dimensions, fresh=True)
        body: list[Node] = [sweep(second, first, None)]
        if rng.random() < 0.7:
            body.append(sweep(first, second, None))
        else:
            names = builder.iterators(dimensions)
            place = _place(names, (0,) * dimensions, None)
            copy = builder.store(access(first, *place), builder.read(second, *place))
            body.append(_interior(builder, names, extents, radius, copy))
    elif form == "in place":
        array = builder.state(dimensions)
        body = [sweep(array, array, None)]
    else:
        array = builder.state(dimensions + 1, fresh=True)
        body = [sweep(array, array, 1)]
    return (builder.loop(time, 0, builder.extent(), *body),)


def _place(names: list[str], offsets: tuple[int, ...], plane: tuple[str, int] | None) -> list[Affine]:
    spatial = [Affine.of(name) + offset for name, offset in zip(names, offsets, strict=True)]
    return spatial if plane is None else [Affine.of(plane[0]) + plane[1], *spatial]


def _interior(builder: Builder, names: list[str], extents: list[Affine], radius: int, statement: Statement) -> Loop:
    nodes: tuple[Node, ...] = (statement,)
    for name, extent in reversed(list(zip(names, extents, strict=True))):
        nodes = (builder.loop(name, radius, extent - radius, *nodes),)
    loop = nodes[0]
    assert isinstance(loop, Loop)
    return loop
