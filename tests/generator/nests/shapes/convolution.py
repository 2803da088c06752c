"""Windows over one or two dimensions: convolutions, pooling, strided and dilated, and upsampling."""

from __future__ import annotations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Expr, Node
from tests.generator.nests.builder import Builder
from tests.generator.nests.expressions import access, binary, call, conditional, product


def convolution(builder: Builder) -> tuple[Node, ...]:
    rng = builder.rng
    dimensions = 1 if builder.size.depth < 4 or rng.random() < 0.6 else 2
    outer = builder.iterators(dimensions)
    window = [builder.fresh(wish) for wish in ("r", "c")[:dimensions]]
    stride, dilation = rng.choice((1, 1, 2)), rng.choice((1, 1, 2))
    place = [Affine.of(o, stride) + Affine.of(w, dilation) for o, w in zip(outer, window, strict=True)]
    if rng.random() < 0.2:
        place = [Affine.of(o).floordiv(2) + Affine.of(w) for o, w in zip(outer, window, strict=True)]
    source: Expr = builder.given(*place)
    target = access(builder.state(dimensions, fresh=True), *outer)
    zero: Expr = builder.number("0.0", 0)
    if rng.random() < 0.3:  # pooling
        old = builder.read(target)
        value = call("fmax", old, source) if builder.floating else conditional(binary(">", old, source), old, source)
        update = builder.store(target, value)
    else:
        weight = builder.given(*window)
        update = builder.store(target, product(rng, weight, source), "+=")
    sizes = [Affine.constant(rng.randint(2, 3)) if rng.random() < 0.5 else builder.parameter() for _ in window]
    inner = builder.nested(window, sizes, update, plain=True)
    body: list[Node] = [builder.store(target, zero), inner] if rng.random() < 0.7 else [inner]
    return (builder.nested(outer, [builder.parameter() for _ in outer], *body),)
