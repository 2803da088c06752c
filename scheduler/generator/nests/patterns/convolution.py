"""Windows over one or two dimensions: convolutions, pooling, strided and dilated, and upsampling."""

from __future__ import annotations

from scheduler.generator.nests.builder import Builder
from scheduler.generator.nests.expressions import access, assign, binary, call, conditional, integer, literal, product
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Expr, Node


def convolution(builder: Builder) -> tuple[Node, ...]:
    rng = builder.rng
    dimensions = 1 if builder.size.depth < 4 or rng.random() < 0.6 else 2
    outer = builder.iterators(dimensions)
    window = [builder.iterator(wish) for wish in ("r", "c")[:dimensions]]
    stride, dilation = rng.choice((1, 1, 2)), rng.choice((1, 1, 2))
    place = [Affine.of(o, stride) + Affine.of(w, dilation) for o, w in zip(outer, window, strict=True)]
    if rng.random() < 0.2:
        place = [Affine.of(o).floordiv(2) + Affine.of(w) for o, w in zip(outer, window, strict=True)]
    source: Expr = builder.read(access(builder.input(dimensions), *place))
    target = access(builder.state(dimensions, fresh=True), *map(Affine.of, outer))
    zero: Expr = literal("0.0", builder.ctype) if builder.floating else integer(0)
    if rng.random() < 0.3:  # pooling
        old = builder.read(target)
        value = call("fmax", old, source) if builder.floating else conditional(binary(">", old, source), old, source)
        update = builder.statement(assign(target, value))
    else:
        weight = builder.read(access(builder.input(dimensions), *map(Affine.of, window)))
        update = builder.statement(assign(target, product(rng, weight, source), "+="))
    sizes = [Affine.constant(rng.randint(2, 3)) if rng.random() < 0.5 else builder.parameter() for _ in window]
    inner = builder.nested(window, sizes, update, plain=True)
    body: list[Node] = [builder.statement(assign(target, zero)), inner] if rng.random() < 0.7 else [inner]
    return (builder.nested(outer, [builder.parameter() for _ in outer], *body),)
